"""Tables give the values of the NumPy functions, on every engine; mistakes are reported with the number of rows."""

import re
from decimal import Decimal

import numpy as np
import polars
import pyarrow
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reference
import tpauc
from numpy_values import assert_same_interval, assert_same_point
from scored_samples import SHARE, samples
from tpauc import frames
from tpauc.frames import _counting, _inside

REGION = {"alpha": 0.5, "beta": 0.4}


def made_up(n=400, seed=0, decimals=1):
    generator = np.random.default_rng(seed)
    y = generator.random(n) < 0.4
    return y, np.round(generator.normal(size=n) + y, decimals)


def as_table(y, scores, **more):
    return pyarrow.table({"y": np.asarray(y).astype(np.int64), "s": scores, **more})


def assert_equals_numpy(found, y, scores, alpha, beta):
    assert found.interval.estimate == tpauc.tpauc_score(y, scores, alpha=alpha, beta=beta)
    expected = tpauc.tpauc_interval(y, scores, alpha=alpha, beta=beta, method="delong")
    assert_same_interval(found.interval, expected)
    assert_same_point(found.point, tpauc.operating_point(y, scores, alpha=alpha, beta=beta))
    assert (found.n_positive, found.n_negative, found.error) == (np.sum(y), np.sum(~np.asarray(y)), 0.0)


# ------------------------------------------------------------------------------------------------------------ exactness


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sample=samples(),
    alpha=SHARE,
    beta=SHARE,
    exponent=st.sampled_from([0, -300, 300, 3]),
    most=st.sampled_from([1, 10**6]),
)
def test_every_embedded_engine_equals_numpy_and_the_reference(
    on_embedded, monkeypatch, sample, alpha, beta, exponent, most
):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)  # 1: all cells with several scores are cut again and again
    y, scores = sample
    scores = (scores - 0.5) * 10.0**exponent
    table = on_embedded(as_table(y, scores))
    arguments = {"label": "y", "score": "s", "alpha": alpha, "beta": beta}
    (found,) = frames.evaluate(table, **arguments)
    assert_equals_numpy(found, y, scores, alpha, beta)
    assert found.interval.estimate == pytest.approx(reference.tpauc(y, scores, alpha, beta), rel=1e-12)
    for ties in ("optimistic", "pessimistic"):
        expected = tpauc.tpauc_score(y, scores, alpha=alpha, beta=beta, ties=ties)
        assert frames.tpauc_score(table, **arguments, ties=ties) == expected


def test_spark_equals_numpy(spark):
    y, scores = made_up()
    scores[:2] = -0.0, 0.0
    (found,) = frames.evaluate(spark.createDataFrame(as_table(y, scores)), label="y", score="s", **REGION)
    assert_equals_numpy(found, y, scores, **REGION)


def test_spark_cuts_full_cells_again(spark, monkeypatch):
    monkeypatch.setattr(_counting, "MOST_ROWS", 100)
    y, scores = made_up(decimals=9)
    scores = 0.5 + 1e-9 * scores
    (found,) = frames.evaluate(spark.createDataFrame(as_table(y, scores)), label="y", score="s", **REGION)
    assert_equals_numpy(found, y, scores, **REGION)


HARD_SCORES = {
    "one value": np.zeros(400),
    "two zeros": np.where(np.arange(400) % 2, -0.0, 0.0),
    "one cell": 0.5 + 1e-12 * made_up(decimals=3)[1],
    "neighbouring floats": np.ldexp(np.random.default_rng(0).integers(2**52, 2**52 + 9, 400).astype(float), -52),
    "denormal": 5e-324 * np.round(100 * made_up()[1]),
    "all magnitudes": np.sign(made_up()[1]) * 10.0 ** np.random.default_rng(1).uniform(-300, 300, 400),
    "ends of the range": np.random.default_rng(2).choice([-1.7e308, -1.0, 0.0, 5e-324, 1.7e308], 400),
    "far from zero": 1e15 + np.round(made_up(decimals=3)[1] * 8) / 8,
}


@pytest.mark.parametrize("most", [1, 10**6])
@pytest.mark.parametrize("name", HARD_SCORES)
def test_scores_that_crowd_or_spread(on_embedded, monkeypatch, name, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    monkeypatch.setattr(_inside, "FEW_ROWS", 0.0 if most == 1 else 1.0)  # both ways of DuckDB
    y, scores = made_up()[0], HARD_SCORES[name]
    (found,) = frames.evaluate(on_embedded(as_table(y, scores)), label="y", score="s", **REGION)
    assert_equals_numpy(found, y, scores, **REGION)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.01, 0.3)])
@pytest.mark.parametrize("shift", [-9.0, 0.0, 9.0])
def test_perfect_reversed_and_useless_scores(on_embedded, shift, alpha, beta):
    y, scores = made_up(decimals=6)
    scores = scores + shift * y
    (found,) = frames.evaluate(on_embedded(as_table(y, scores)), label="y", score="s", alpha=alpha, beta=beta)
    assert_equals_numpy(found, y, scores, alpha, beta)


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_sums_of_powers_in_a_full_cell_are_exact(on_embedded, shift):
    generator = np.random.default_rng(0)
    y = generator.random(490_000) < 0.5  # almost as many as a cell may hold
    scores = 0.5 + 1e-9 * np.round(generator.normal(size=y.size) + shift * y, 5)
    table = on_embedded(as_table(y, scores))
    (found,) = frames.evaluate(table, label="y", score="s", alpha=1.0, beta=1.0)
    assert_equals_numpy(found, y, scores, 1.0, 1.0)


def test_one_way_and_whole_areas(on_embedded):
    y, scores = made_up()
    table = on_embedded(as_table(y, scores))
    columns = {"label": "y", "score": "s"}
    assert frames.auc_score(table, **columns) == tpauc.auc_score(y, scores)
    for options in ({"beta": 0.3}, {"beta": 0.4, "min_fpr": 0.1}, {"beta": 0.4, "normalize": False}):
        assert frames.opauc_score(table, **columns, **options) == tpauc.opauc_score(y, scores, **options)
    expected = tpauc.tpauc_score(y, scores, **REGION, normalize=False)
    assert frames.tpauc_score(table, **columns, **REGION, normalize=False) == expected


RECTANGLES = [
    tpauc.Region(0.6, 0.5, min_alpha=0.2, min_beta=0.1),
    tpauc.Region(1.0, 0.3, min_alpha=0.4),
    tpauc.Region(0.3, 1.0, min_beta=0.7),
    tpauc.Region(**REGION),
]


def test_rectangles(on_engine):
    y, scores = made_up()
    table = on_engine(as_table(y, scores))
    for region in RECTANGLES:
        for options in ({}, {"normalize": False, "ties": "optimistic"}):
            expected = tpauc.partial_auc_score(y, scores, region=region, **options)
            assert frames.partial_auc_score(table, label="y", score="s", region=region, **options) == expected


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sample=samples(), shares=st.lists(SHARE, min_size=4, max_size=4), most=st.sampled_from([1, 10**6]))
def test_any_rectangle_equals_numpy(monkeypatch, sample, shares, most):
    monkeypatch.setattr(_counting, "MOST_ROWS", most)
    y, scores = sample
    (min_alpha, alpha), (min_beta, beta) = sorted(shares[:2]), sorted(shares[2:])
    region = tpauc.Region(alpha, beta, min_alpha / 2, min_beta / 2)
    table = polars.DataFrame(as_table(y, scores))
    try:
        expected = tpauc.partial_auc_score(y, scores, region=region)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            frames.partial_auc_score(table, label="y", score="s", region=region)
    else:
        assert frames.partial_auc_score(table, label="y", score="s", region=region) == expected


def test_a_region_must_be_a_region():
    with pytest.raises(TypeError, match=r"region must be a tpauc.Region, got \(0.5, 0.4\)"):
        frames.partial_auc_score(as_table(*made_up()), label="y", score="s", region=(0.5, 0.4))


# ----------------------------------------------------------------------------------------------------- types of columns

SCORE_TYPES = {
    "float32": lambda s: pyarrow.array(s.astype(np.float32)),
    "integer": lambda s: pyarrow.array(np.round(10 * s).astype(np.int16)),
    "unsigned": lambda s: pyarrow.array(np.round(10 * (s - s.min())).astype(np.uint64)),
    "decimal": lambda s: pyarrow.array([Decimal(str(round(x, 1))) for x in s.tolist()], pyarrow.decimal128(9, 2)),
}


@pytest.mark.parametrize("kind", SCORE_TYPES)
def test_types_of_scores(on_embedded, kind):
    y, scores = made_up()
    column = SCORE_TYPES[kind](scores)
    (found,) = frames.evaluate(on_embedded(as_table(y, column)), label="y", score="s", **REGION)
    values = np.array([float(value) for value in column.to_pylist()])
    assert_equals_numpy(found, y, values, **REGION)


def test_types_of_scores_on_spark(spark):
    y, scores = made_up()
    columns = {kind: make(scores) for kind, make in SCORE_TYPES.items() if kind != "unsigned"}  # Spark has no such type
    columns |= {name: pyarrow.array(HARD_SCORES[name]) for name in ("denormal", "all magnitudes", "ends of the range")}
    table = spark.createDataFrame(pyarrow.table({"y": np.where(y, "ill", "well"), **columns}))
    found = frames.evaluate(table, label="y", score=list(columns), pos_label="ill", **REGION)
    for one in found:
        assert_equals_numpy(one, y, np.array([float(value) for value in columns[one.score].to_pylist()]), **REGION)


LABEL_TYPES = {
    "boolean": lambda y: y,
    "0/1 float": lambda y: y.astype(np.float32),
    "-1/1": lambda y: np.where(y, 1, -1),
    "-1/1 float": lambda y: np.where(y, 1.0, -1.0),
}


@pytest.mark.parametrize("kind", LABEL_TYPES)
def test_types_of_labels(on_embedded, kind):
    y, scores = made_up()
    table = on_embedded(pyarrow.table({"y": LABEL_TYPES[kind](y), "s": scores}))
    assert frames.tpauc_score(table, label="y", score="s", **REGION) == tpauc.tpauc_score(y, scores, **REGION)


@pytest.mark.parametrize("kind", ["boolean", "-1/1"])
def test_types_of_labels_on_spark(spark, kind):
    y, scores = made_up()
    table = spark.createDataFrame(pyarrow.table({"y": LABEL_TYPES[kind](y), "s": scores}))
    assert frames.tpauc_score(table, label="y", score="s", **REGION) == tpauc.tpauc_score(y, scores, **REGION)


@pytest.mark.parametrize(("pos_label", "other"), [("fraud", "ok"), ("ok", "fraud"), (2, 1), (0, 1)])
def test_the_positive_class_by_name(on_embedded, pos_label, other):
    y, scores = made_up()
    table = on_embedded(pyarrow.table({"y": [pos_label if one else other for one in y], "s": scores}))
    found = frames.tpauc_score(table, label="y", score="s", pos_label=pos_label, **REGION)
    assert found == tpauc.tpauc_score(y, scores, **REGION)


def test_pandas_pyarrow_and_polars_are_tables():
    y, scores = made_up()
    table = as_table(y, scores)
    expected = tpauc.tpauc_score(y, scores, **REGION)
    kinds = [table, table.to_pandas(), polars.DataFrame(table), polars.LazyFrame(table), pyarrow.dataset.dataset(table)]
    for kind in kinds:
        assert frames.tpauc_score(kind, label="y", score="s", **REGION) == expected


@pytest.mark.parametrize(
    "table", [3, None, [1, 2], np.zeros(3), pyarrow.RecordBatchReader.from_batches(pyarrow.schema([]), [])]
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(TypeError, match=r"^table must be"):
        frames.tpauc_score(table, label="y", score="s", **REGION)


# --------------------------------------------------------------------------------------- several models and subgroups


def test_several_models_and_subgroups_equal_each_alone(on_engine):
    y, first = made_up()
    generator = np.random.default_rng(5)
    second = 10.0 * first + generator.normal(size=y.size)
    site = generator.choice(["north", "south", None], y.size)
    table = on_engine(as_table(y, first, t=second, site=pyarrow.array(site, pyarrow.string())))
    found = frames.evaluate(table, label="y", score=["s", "t"], by="site", **REGION)
    assert [(one.by["site"], one.score) for one in found] == [
        (place, model) for place in ("north", "south", None) for model in ("s", "t")
    ]
    for one in found:
        rows = site == one.by["site"]
        assert_equals_numpy(one, y[rows], (first if one.score == "s" else second)[rows], **REGION)


def test_subgroups_of_two_columns_and_full_cells(on_embedded, monkeypatch):
    monkeypatch.setattr(_counting, "MOST_ROWS", 5)
    y, scores = made_up(decimals=3)
    generator = np.random.default_rng(5)
    site, month = generator.integers(0, 3, y.size), generator.integers(1, 3, y.size)
    table = on_embedded(as_table(y, scores, site=site, month=month))
    found = frames.evaluate(table, label="y", score="s", by=["month", "site"], **REGION)
    assert [tuple(one.by.values()) for one in found] == [(a, b) for a in (1, 2) for b in (0, 1, 2)]
    for one in found:
        rows = (site == one.by["site"]) & (month == one.by["month"])
        assert_equals_numpy(one, y[rows], scores[rows], **REGION)


# ----------------------------------------------------------------------------------------------------------- tolerance


def test_a_tolerance_allows_one_pass(on_embedded, monkeypatch):
    y, scores = made_up(n=3000, decimals=4)
    table = on_embedded(as_table(y, scores))
    arguments = {"label": "y", "score": "s", **REGION}
    (exact,) = frames.evaluate(table, **arguments)
    with monkeypatch.context() as patch:
        patch.setattr("tpauc.frames.evaluating.add_up_pairs", None)  # the last pass
        (found,) = frames.evaluate(table, **arguments, tolerance=1e-2)
    assert abs(found.interval.estimate - exact.interval.estimate) <= found.error <= 1e-2
    assert found.interval.low <= exact.interval.low < exact.interval.high <= found.interval.high
    assert found.point.tpr <= exact.point.tpr
    assert found.point.fpr <= REGION["beta"]
    assert found.point.fpr == np.mean(scores[~y] >= found.point.threshold)


def test_a_tolerance_that_one_pass_cannot_keep_gives_the_exact_value():
    y, scores = made_up()
    table = as_table(y, 1e-12 * scores)
    (found,) = frames.evaluate(table, label="y", score="s", **REGION, tolerance=1e-4)
    assert_equals_numpy(found, y, 1e-12 * scores, **REGION)


def test_the_histogram_of_a_table_is_that_of_its_arrays(on_engine):
    y, scores = made_up(decimals=3)
    scores[:6] = 0.5, 1.0, -1.0, 1e300, -1e300, 0.0  # at edges of bins
    expected = frames.Histogram()
    expected.update(y, scores)
    assert frames.histogram(on_engine(as_table(y, scores)), label="y", score="s") == expected


@pytest.mark.parametrize("bins", [1, 7, 100_000])
def test_histograms_of_any_size(on_embedded, bins):
    y, scores = made_up(decimals=3)
    expected = frames.Histogram(bins)
    expected.update(y, scores)
    assert frames.histogram(on_embedded(as_table(y, scores)), label="y", score="s", bins=bins) == expected


# ------------------------------------------------------------------------------------------------------------- mistakes


def spoilt(values, *bad):
    column = [float(value) for value in values]
    column[: len(bad)] = bad
    return pyarrow.array(column, pyarrow.float64(), from_pandas=False)


Y, S = made_up()
MISTAKES = {
    "null scores": ({"s": spoilt(S, None, None)}, "score='s' must be finite, found 2 null values"),
    "NaN": ({"s": spoilt(S, np.nan)}, "score='s' must be finite, found 1 NaN values"),
    "infinite": ({"s": spoilt(S, np.inf, -np.inf, np.nan)}, "found 1 NaN and 2 infinite values"),
    "null labels": ({"y": spoilt(Y, None, None, None)}, "label='y' has 3 null values"),
    "wrong labels": (
        {"y": spoilt(Y, 2, 3, np.nan)},
        r"must hold only 0/1 or only -1/1, found \d+ rows .* and 3 with other",
    ),
    "0 and -1": ({"y": spoilt(Y, -1, -1)}, r"found \d+ rows with 0, 2 with -1, \d+ with 1 and 0 with other values"),
    "both": ({"y": spoilt(Y, 5), "s": spoilt(S, None)}, "1 null values; label='y' must hold"),
    "text": ({"s": ["high"] * 400}, "score='s' must hold numbers, got 400 rows of type String"),
    "text labels": ({"y": ["a", "b"] * 200}, "got 400 rows of type String, for example 'a' and 'b'; .* pos_label"),
    "one class": ({"y": np.ones(400)}, "label='y' has no negative example among its 400"),
    "large integers": ({"s": np.arange(2**53, 2**53 + 400)}, "score='s' holds 400 integers of 2\\*\\*53 or more"),
    "empty": ({"y": np.zeros(0), "s": np.zeros(0)}, "the table has no rows"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_reported_with_the_number_of_rows(on_embedded, name):
    columns, message = MISTAKES[name]
    table = pyarrow.table({"y": Y.astype(float), "s": S} | columns)
    with pytest.raises(ValueError, match=message):
        frames.evaluate(on_embedded(table), label="y", score="s", **REGION)


def test_spark_reports_mistakes(spark):
    columns, message = MISTAKES["both"]
    table = spark.createDataFrame(pyarrow.table({"y": Y.astype(float), "s": S} | columns))
    with pytest.raises(ValueError, match=message):
        frames.evaluate(table, label="y", score="s", **REGION)


ARGUMENTS = [
    ({"label": "z"}, "label='z' is not a column of the table; it has 'y', 's'"),
    ({"score": "z"}, "score='z' is not a column"),
    ({"score": []}, "score must name at least one column"),
    ({"score": ["s", "s"]}, "score must name each column once"),
    ({"by": "z"}, "by='z' is not a column"),
    ({"groups": "z"}, "groups='z' is not a column"),
    ({"alpha": 0.001}, "alpha=0.001 selects none of the"),
    ({"alpha": 2}, "alpha must be a share"),
    ({"confidence": 1.0}, "confidence must be in"),
    ({"tolerance": 0.0}, "tolerance must be above 0"),
    ({"tolerance": 0.1, "groups": "y"}, "tolerance cannot be combined with groups"),
    ({"pos_label": 7}, r"must hold two classes, found 0 and 1 besides pos_label=7; \d+ rows are neither 7 nor 0"),
]


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        frames.evaluate(as_table(Y, S), **({"label": "y", "score": "s"} | REGION | arguments))


def test_a_subgroup_without_a_class_is_named():
    table = as_table(Y, S, site=np.where(Y, "a", np.where(S > 0, "a", "b")))
    with pytest.raises(ValueError, match="label='y' where site='b' has no positive example"):
        frames.evaluate(table, label="y", score="s", by="site", **REGION)


def test_min_fpr_is_checked():
    table = as_table(Y, S)
    with pytest.raises(ValueError, match=r"min_fpr must be in \[0, beta\)"):
        frames.opauc_score(table, label="y", score="s", beta=0.1, min_fpr=0.1)
    with pytest.raises(ValueError, match="no negative lies between"):
        frames.opauc_score(table, label="y", score="s", beta=0.1, min_fpr=0.0999)


def test_a_table_that_changes_between_passes_is_noticed(monkeypatch):
    found = iter([as_table(Y, S), as_table(Y, S + 1.0)])
    rows = _counting.Counted.rows

    def changed(counted):
        counted.columns = frames.evaluating.columns_of(next(found), "y", ["s"], None)
        return rows(counted)

    monkeypatch.setattr(_counting.Counted, "rows", changed)
    next(found)
    with pytest.raises(RuntimeError, match="the table changed between two passes"):
        frames.tpauc_score(as_table(Y, S), label="y", score="s", **REGION)
