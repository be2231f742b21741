"""`ROCRegionDisplay`, and `plot_roc` on given axes: what is drawn where, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgba
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tpauc import ROCRegionDisplay, TPAUCClassifier, plot_roc, plot_scores, roc_band, tpauc_score

REGION = {"alpha": 0.3, "beta": 0.2}


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return pyplot.subplots()[1]


def sample(n=400, seed=0):
    """Return features, of which the first two tell something, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    X = rng.normal(size=(n, 4))
    X[:, :2] += 2.0 * y[:, None]
    return X, y.astype(int)


def polygon_area(artist):
    """Return the area of what `fill_between` drew."""
    x, y = artist.get_paths()[0].vertices[:-1].T
    return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2


# ------------------------------------------------------------------------------------------------------- predictions


def test_the_curve_is_the_roc_curve(ax):
    X, y = sample()
    display = ROCRegionDisplay.from_predictions(y, X[:, 0], ax=ax, name="model", **REGION)
    fpr, tpr, _ = roc_curve(y, X[:, 0])
    drawn = display.line_.get_xydata().tolist()
    assert set(map(tuple, drawn)) <= set(zip(fpr.tolist(), tpr.tolist(), strict=True))
    corners = roc_curve(y, X[:, 0], drop_intermediate=True)
    assert len(drawn) >= len(corners[0]) - 1  # scikit-learn keeps the first threshold also on a straight line
    assert (display.ax_, display.figure_, display.band_, display.chance_level_) == (ax, ax.figure, None, None)
    value = tpauc_score(y, X[:, 0], **REGION)
    assert display.tpauc == value
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"model (TPAUC = {value:.3f})"]


def test_the_tinted_area_is_tpauc_and_nothing_else_is_filled(ax):
    rng = np.random.default_rng(0)
    y = np.arange(1000) < 200  # 0.3 * 200 and 0.2 * 800 are whole numbers, so that the area is exact
    score = rng.normal(size=1000) + 2 * y
    display = ROCRegionDisplay.from_predictions(y, score, ax=ax, **REGION)
    assert polygon_area(display.area_) / (0.3 * 0.2) == pytest.approx(tpauc_score(y, score, **REGION), rel=1e-9)
    assert not display.region_.get_fill()
    assert display.region_.get_bbox().extents == pytest.approx([0.0, 0.7, 0.2, 1.0])
    assert ax.collections[:] == [display.area_]


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_the_band_is_the_one_of_roc_band(ax, kind):
    X, y = sample()
    display = ROCRegionDisplay.from_predictions(y, X[:, 0], ax=ax, band=kind, confidence=0.9, **REGION)
    expected = roc_band(y, X[:, 0], kind=kind, confidence=0.9, fpr=display.band.fpr)
    np.testing.assert_array_equal(display.band.low, expected.low)
    np.testing.assert_array_equal(display.band.high, expected.high)
    assert {0.0, REGION["beta"], 1.0} <= set(display.band.fpr.tolist())
    # At any rate, the drawn band holds what `limits` says, which is safe between two rates of the grid.
    drawn = display.band_.get_paths()[0]
    for rate in (0.0501, 0.3333):
        low, high = expected.limits(rate)
        assert drawn.contains_points([(rate, low + 1e-6), (rate, high - 1e-6)]).all()
        assert not drawn.contains_points([(rate, low - 1e-6), (rate, high + 1e-6)]).any()
    assert f"90 % band, {kind}" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_without_axes_there_is_a_new_figure_of_pyplot():
    X, y = sample()
    display = ROCRegionDisplay.from_predictions(y, X[:, 0], **REGION)
    assert display.figure_ is pyplot.gcf()
    again = display.plot()
    assert again is display
    assert len(pyplot.get_fignums()) == 2


def test_axes_show_the_whole_curve_or_the_region():
    X, y = sample()
    whole = ROCRegionDisplay.from_predictions(y, X[:, 0], plot_chance_level=True, **REGION)
    assert whole.ax_.get_xlim() == (-0.01, 1.01)
    np.testing.assert_array_equal(whole.chance_level_.get_xydata(), [[0, 0], [1, 1]])
    corner = ROCRegionDisplay.from_predictions(y, X[:, 0], zoom=True, **REGION)
    assert corner.ax_.get_xlim() == (0.0, 0.2)
    assert corner.ax_.get_ylim() == pytest.approx((0.7, 1.0))
    missed = ROCRegionDisplay.from_predictions([1, 1, 0, 0], [0, 0, 1, 1], zoom=True, alpha=0.5, beta=0.5)
    assert missed.area_ is None
    assert missed.line_.get_label() == "TPAUC = 0.000, not in the region"


def test_several_displays_share_axes_and_legend(ax):
    X, y = sample()
    first = ROCRegionDisplay.from_predictions(y, X[:, 0], ax=ax, name="$a_", **REGION)
    second = ROCRegionDisplay.from_predictions(y, X[:, 1], ax=ax, name="_b", curve_kwargs={"color": "k"}, **REGION)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[0].startswith(r"\$a_ (TPAUC")  # shown as a dollar sign
    assert texts[1].startswith(" _b (TPAUC")  # a name with an underscore in front would be left out
    ax.figure.canvas.draw()
    assert first.line_.get_color() != second.line_.get_color() == "k"
    assert tuple(second.area_.get_facecolor()[0][:3]) == to_rgba("k")[:3]


def test_a_long_curve_is_thinned_and_stays_exact_in_a_tiny_region(ax):
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.5
    score = rng.normal(size=y.size) + 4 * y
    display = ROCRegionDisplay.from_predictions(y, score, alpha=0.1, beta=0.01, ax=ax)
    x, height = display.line_.get_data()
    assert x.size < 5000 < display.fpr.size
    assert (np.diff(x) >= 0).all()
    assert (np.diff(height) >= -1e-15).all()
    inside = np.linspace(0.0, 0.01, 1000)
    exact = np.interp(inside, display.fpr, display.tpr)
    shown = np.interp(inside, x, height)
    # Thinning moves no point by more than two thousandths of the region's height.
    assert np.abs(exact - shown)[exact > 0.9].max() <= 0.1 * 0.002


def test_labels_of_any_kind_with_their_name(ax):
    X, y = sample()
    named = np.where(y == 1, "ill", "well")
    display = ROCRegionDisplay.from_predictions(named, X[:, 0], pos_label="ill", ax=ax, **REGION)
    assert display.tpauc == tpauc_score(y, X[:, 0], **REGION)
    assert ax.get_xlabel() == "False positive rate (positive label: ill)"
    with pytest.raises(ValueError, match="name the positive label"):
        ROCRegionDisplay.from_predictions(named, X[:, 0], ax=ax, **REGION)


# -------------------------------------------------------------------------------------------------------- estimators


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), make_pipeline(StandardScaler(), GaussianNB())])
def test_an_estimator_is_scored_by_what_it_has(ax, model):
    X, y = sample()
    model.fit(X[:200], y[:200])
    display = ROCRegionDisplay.from_estimator(model, X[200:], y[200:], ax=ax, **REGION)
    score = model.predict_proba(X[200:])[:, 1]
    assert display.tpauc == tpauc_score(y[200:], score, **REGION)
    assert display.name == type(model).__name__


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()])
def test_the_first_class_can_be_positive(ax, model):
    X, y = sample()
    named = np.where(y == 1, "a", "b")
    model.fit(X, named)
    display = ROCRegionDisplay.from_estimator(model, X, named, pos_label="a", ax=ax, **REGION)
    assert display.tpauc == tpauc_score(y, model.predict_proba(X)[:, 0], **REGION) > 0.1


def test_a_classifier_that_knows_its_positive_class_is_asked(ax):
    X, y = sample()
    named = np.where(y == 1, "a", "b")
    model = make_pipeline(StandardScaler(), TPAUCClassifier(pos_label="a", random_state=0, **REGION)).fit(X, named)
    display = ROCRegionDisplay.from_estimator(model, X, named, ax=ax, **REGION)
    assert display.pos_label == "a"
    assert display.tpauc > 0.1
    assert display.tpauc == pytest.approx(tpauc_score(y, model.predict_proba(X)[:, 0], **REGION))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression(), "estimator must be a fitted classifier of two classes"),
        (LogisticRegression, "estimator must be a fitted classifier of two classes"),
        (LogisticRegression().fit([[0], [1], [2]], [0, 1, 2]), "estimator must be a fitted classifier of two classes"),
        (type("Labels", (), {"classes_": [0, 1]})(), "estimator must have decision_function or predict_proba"),
    ],
)
def test_what_is_no_fitted_classifier_is_refused(estimator, message):
    with pytest.raises(TypeError, match=message):
        ROCRegionDisplay.from_estimator(estimator, np.zeros((4, 1)), [0, 1, 0, 1], **REGION)
    assert not pyplot.get_fignums()


@pytest.mark.parametrize(
    "table", [np.asarray, pd.DataFrame, csr_array, np.ndarray.tolist], ids=lambda make: make.__name__
)
def test_folds_are_drawn_from_their_test_rows(ax, table):
    X, y = sample()
    model = LogisticRegression()
    folds = cross_validate(model, X, y, cv=4, return_estimator=True, return_indices=True)
    display = ROCRegionDisplay.from_cv_results(folds, table(X), y, ax=ax, name="folds", **REGION)
    expected = [
        tpauc_score(y[test], fitted.decision_function(X[test]), **REGION)
        for fitted, test in zip(folds["estimator"], folds["indices"]["test"], strict=True)
    ]
    assert display.tpauc == pytest.approx(expected)
    assert len(display.line_) == len(display.area_) == len(display.fpr) == 4
    assert len({line.get_color() for line in display.line_}) == 1
    label = f"folds (TPAUC = {np.mean(expected):.3f} \N{PLUS-MINUS SIGN} {np.std(expected):.3f})"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [label]
    opacities = [area.get_facecolor()[0][3] for area in display.area_]
    alone = ROCRegionDisplay.from_predictions(y, X[:, 0], **REGION).area_.get_facecolor()[0][3]
    assert 1 - np.prod(1 - np.array(opacities)) == pytest.approx(alone)


@pytest.mark.parametrize("options", [{}, {"return_estimator": True}, {"return_indices": True}])
def test_cross_validation_without_estimators_or_rows_is_refused(options):
    X, y = sample()
    folds = cross_validate(LogisticRegression(), X, y, **options)
    with pytest.raises(ValueError, match="return_estimator=True and return_indices=True"):
        ROCRegionDisplay.from_cv_results(folds, X, y, **REGION)


def test_other_rows_than_those_of_the_folds_are_refused():
    X, y = sample()
    folds = cross_validate(LogisticRegression(), X, y, return_estimator=True, return_indices=True)
    with pytest.raises(ValueError, match="X must hold the rows that were cross-validated"):
        ROCRegionDisplay.from_cv_results(folds, X[:100], y[:100], **REGION)
    with pytest.raises(ValueError, match="X and y must have as many rows, got 400 and 100"):
        ROCRegionDisplay.from_cv_results(folds, X, y[:100], **REGION)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"ax": "axes"}, TypeError, "ax must be one matplotlib Axes"),
        ({"band": "both"}, ValueError, "band must be"),
        ({"zoom": 1}, TypeError, "zoom must be True or False"),
        ({"curve_kwargs": [("color", "k")]}, TypeError, "curve_kwargs must map names"),
        ({"curve_kwargs": {"colour": "k"}}, ValueError, "curve_kwargs must be options of matplotlib's plot"),
        ({"name": 3}, TypeError, "name must be"),
        ({"alpha": 1.5}, ValueError, "alpha must"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    X, y = sample()
    with pytest.raises(error, match=message):
        ROCRegionDisplay.from_predictions(y, X[:, 0], **{**REGION, **options})


# ----------------------------------------------------------------------------------------------------------- plot_roc


def test_plot_roc_takes_one_score_and_given_axes(ax):
    X, y = sample()
    ax.set_title("mine", loc="left")
    assert plot_roc(y, X[:, 0], ax=ax, **REGION) is ax.figure
    assert ax.figure.axes == [ax]
    assert ax.get_title(loc="left") == "mine"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["model"]
    figure = plot_roc(y, X[:, 0].tolist(), **REGION)
    assert len(figure.axes) == 2
    assert len(plot_scores(y, X[:, 0], **REGION).axes) == 1
    with pytest.raises(TypeError, match="ax must be one matplotlib Axes"):
        plot_roc(y, X[:, 0], ax=figure, **REGION)


def test_plot_roc_does_not_fill_the_whole_region(ax):
    X, y = sample()
    plot_roc(y, X[:, 0], ax=ax, **REGION)
    assert not any(patch.get_fill() for patch in ax.patches)
