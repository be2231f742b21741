"""The paper's figures: both files are written, and the rows hold what the picture is said to show."""

import csv
import dataclasses
import json

import numpy as np
import pytest
from PIL import Image
from scipy.integrate import trapezoid
from typer.testing import CliRunner

from tpauc.cli.main import app
from tpauc.paper.figures import FIGURES, catalogue, make_figure
from tpauc.paper.figures.areas import ALPHA, BETA
from tpauc.paper.figures.risks import EXPONENTS

NAMES = [
    "areas",
    "concave-convex",
    "sufficient-condition",
    "bound-training",
    "weight-landscapes",
    "duality",
    "saddle",
    "collapse",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a function that makes a figure once, and gives its files and the rows of its CSV."""
    folder = tmp_path_factory.mktemp("figures")
    done = {}

    def make(name):
        if name not in done:
            files = make_figure(name, folder)
            done[name] = files, read_rows(files.csv)
        return done[name]

    return make


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{column: number_or_text(value) for column, value in row.items()} for row in csv.DictReader(file)]


def number_or_text(value):
    try:
        return float(value)
    except ValueError:
        return value


def columns(rows, *names):
    return [np.array([row[name] for row in rows]) for name in names]


def having(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


# ------------------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_a_picture_and_its_rows(made, name):
    files, rows = made(name)
    assert (files.png.name, files.csv.name) == (f"{name}.png", f"{name}.csv")
    with Image.open(files.png) as image:
        pixels = np.asarray(image.convert("L"))
    assert min(pixels.shape) > 400
    assert pixels.min() < 100 < 200 < pixels.max()  # something is drawn
    assert len(rows) > 10
    assert all(value is not None for row in rows for value in row.values())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_drawn_outside_the_picture(name, made):
    files, _ = made(name)
    with Image.open(files.png) as image:
        pixels = np.asarray(image.convert("L"))
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert edge.min() == 255


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_it_is(name):
    figure = FIGURES[name]
    assert figure.shows
    assert figure.place
    assert "\n" not in figure.shows + figure.place
    assert name == name.lower().replace("_", "-").replace(" ", "-")


def test_rows_repeat_exactly(made):
    _, rows = made("collapse")
    again = FIGURES["collapse"].rows(False)
    assert [row["relaxed"] for row in rows] == [row["relaxed"] for row in again]


def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch):
    figure = FIGURES["areas"]
    make_figure("areas", tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fails(_rows):
        raise RuntimeError("no ink")

    monkeypatch.setitem(catalogue.FIGURES, "areas", dataclasses.replace(figure, draw=fails))
    with pytest.raises(RuntimeError, match="no ink"):
        make_figure("areas", tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="the figure cannot be written"):
        make_figure("areas", tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"name": "area"}, ValueError, r"^name must be one of 'areas', .*, got 'area'$"),
        ({"out": 3}, TypeError, r"^out must be a path, got 3$"),
        ({"full": "yes"}, TypeError, r"^full must be True or False, got 'yes'$"),
    ],
)
def test_wrong_arguments(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        make_figure(**({"name": "areas", "out": tmp_path} | arguments))


# ------------------------------------------------------------------------------------------------- what they show


def test_areas_are_those_under_the_drawn_curve(made):
    rows = made("areas")[1]
    fpr, tpr = columns(having(rows, area=""), "fpr", "tpr")
    areas = {row["series"]: row["area"] for row in rows if row["area"] != ""}
    # The curve is a staircase: with points at every corner its height left of beta is exact.
    grid = np.linspace(0, 1, 200_001)[:-1] + 2.5e-6
    height = np.interp(grid, fpr, tpr)
    left = grid < BETA
    expected = {
        "AUC": height.mean(),
        "OPAUC": np.where(left, height, 0).mean(),
        "TPAUC": np.where(left, np.maximum(height - (1 - ALPHA), 0), 0).mean(),
    }
    for name, area in expected.items():
        assert areas[name] == pytest.approx(area, abs=1e-5)  # 200,000 strips of a curve of 350 steps
    assert areas["TPAUC"] < areas["OPAUC"] < areas["AUC"]


def test_the_concave_weighting_covers_the_threshold_better(made):
    rows = made("concave-convex")[1]
    for shape in ("concave", "convex"):
        own = having(rows, shape=shape)
        x, weight, threshold, first, second = columns(own, "x", "weight", "threshold", "s1", "s2")
        gap = weight - threshold
        # 200 strips; the steep start of x^0.05 costs most.
        assert trapezoid(np.maximum(gap, 0), x) == pytest.approx(first[0], abs=0.004)
        assert trapezoid(np.maximum(-gap, 0), x) == pytest.approx(second[0], abs=0.004)
    ratio = {
        shape: having(rows, shape=shape)[0]["s1"] / having(rows, shape=shape)[0]["s2"]
        for shape in ("concave", "convex")
    }
    assert ratio["concave"] > 50
    assert ratio["convex"] < 0.25


def test_the_condition_holds_in_all_50_trials_of_the_concave_weightings(made):
    rows = made("sufficient-condition")[1]
    held = {
        name: [sum(row[what] == "True" for row in having(rows, weighting=name)) for what in ("condition", "bound")]
        for name in dict.fromkeys(row["weighting"] for row in rows)
    }
    assert held == {
        "Poly, exponent 0.1": [50, 50],
        "Poly, exponent 0.5": [50, 50],
        "Exp, gamma 5": [50, 50],
        "linear": [46, 50],
        "convex, exponent 2": [0, 0],
    }
    for row in rows:
        assert (row["condition"] == "True") == (row["margin"] >= 0)
        assert (row["bound"] == "True") == (row["relaxed"] >= row["truncated"])


def test_the_relaxed_risk_is_not_always_the_largest_in_training(made):
    rows = having(made("bound-training")[1], trained="printed")
    relaxed, truncated, zero_one = ({}, {}, {})
    for shape in EXPONENTS:
        relaxed[shape], truncated[shape], zero_one[shape] = columns(
            having(rows, shape=shape), "relaxed", "truncated", "zero_one"
        )
    assert (relaxed["nearly flat"] > truncated["nearly flat"]).all()
    assert relaxed["concave"][0] > truncated["concave"][0]
    assert relaxed["concave"][-1] < zero_one["concave"][-1]
    assert (relaxed["convex"] < truncated["convex"]).all()
    for shape in EXPONENTS:
        assert (truncated[shape] >= zero_one[shape]).all()
        assert relaxed[shape][-1] < relaxed[shape][0]
    # All scores have gone to one side, those of the negatives too.
    start, *_, end = having(rows, shape="concave")
    assert end["mean_positive"] > 0.99
    assert end["mean_negative"] > start["mean_negative"] > 0.5
    # The risk that fell furthest did not give the best ranking.
    assert zero_one["nearly flat"][-1] < zero_one["concave"][-1]


def test_training_on_the_normalised_risk_does_not_collapse(made):
    rows = made("bound-training")[1]
    for shape in EXPONENTS:
        printed, normalised = (having(rows, trained=trained, shape=shape) for trained in ("printed", "normalised"))
        assert printed[0]["zero_one"] == normalised[0]["zero_one"]  # the same start
        assert normalised[-1]["zero_one"] < 0.75 * normalised[0]["zero_one"]
        assert normalised[-1]["zero_one"] < printed[-1]["zero_one"] + 0.003
        assert normalised[-1]["mean_negative"] < 0.5 < normalised[-1]["mean_positive"]
        for row in normalised:  # the bound without a condition, with the least masses that weights can have
            assert row["truncated"] <= row["normalised"]
    ends = {trained: having(rows, trained=trained, shape="concave")[-1] for trained in ("printed", "normalised")}
    assert ends["normalised"]["zero_one"] < ends["printed"]["zero_one"]


def test_pair_weights_grow_with_hardness_and_are_symmetric(made):
    rows = made("weight-landscapes")[1]
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    assert len(names) == 4
    for name in names:
        own = having(rows, weighting=name)
        surface = np.array([row["pair_weight"] for row in own]).reshape(41, 41)
        np.testing.assert_allclose(surface, surface.T)
        assert (np.diff(surface, axis=0) >= 0).all()
        assert surface[0].max() == 0.0
        assert surface[-1, -1] == pytest.approx(1.0, abs=0.02)  # Exp, gamma 5: (1 - e^-5)^2
    corner = having(rows, weighting="Poly, 1/(gamma - 1) = 0.5", x=0.25, y=1.0)
    assert corner[0]["pair_weight"] == pytest.approx(0.5)


def test_lines_and_crosses_of_the_duality_agree(made):
    rows = made("duality")[1]
    weight, searched, penalty, integrated, hardness = columns(
        rows, "weight", "weight_by_search", "penalty", "penalty_by_quadrature", "hardness"
    )
    np.testing.assert_allclose(integrated, penalty, atol=1e-9)
    # At hardness 0 a flat penalty has its maximum anywhere near 0, to rounding.
    np.testing.assert_allclose(searched[hardness > 0], weight[hardness > 0], atol=1e-5)


def test_the_saddle_function_reaches_the_risk(made):
    rows = made("saddle")[1]
    for row in having(rows, step=0):
        assert row["saddle_function"] == 0.0
    for row in having(rows, step=200):
        # A step of 0.02 leaves (1 - 0.02)^400 of the squared distance of the slowest variables.
        assert row["saddle_function"] == pytest.approx(row["pairwise_risk"], abs=1e-3)
        if row["step_size"] == 0.2:
            assert row["saddle_function"] == pytest.approx(row["pairwise_risk"], abs=1e-12)


def test_the_relaxed_risk_falls_with_the_scores_and_the_others_do_not(made):
    rows = made("collapse")[1]
    names = list(dict.fromkeys(row["weighting"] for row in rows))
    for name in names:
        shift, relaxed, normalised, truncated, zero_one = columns(
            having(rows, weighting=name), "shift", "relaxed", "normalised", "truncated", "zero_one"
        )
        assert len(set(zero_one)) == 1
        assert (normalised > 0.4).all()
        assert normalised[-1] == pytest.approx(1.0)
        assert truncated[-1] == pytest.approx(0.09)
        if name == "Anchored":
            assert relaxed[-1] == pytest.approx(1.0)
        else:
            assert (np.diff(relaxed[shift >= 10]) < 0).all()
            assert relaxed[-1] < truncated[-1] < relaxed[0]
    assert names[-1] == "Anchored"
    assert len(names) == 4


# ---------------------------------------------------------------------------------------------------------- command


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", "figure", *map(str, arguments)])


def test_the_command_writes_both_files_and_keeps_what_is_there(tmp_path):
    done = run("areas", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {"areas.png", "areas.csv"}
    assert str(tmp_path / "areas.png") in done.stdout
    again = run("areas", "--out", tmp_path)
    assert again.exit_code == 2
    assert "exists; choose another --out, or give --overwrite" in again.stderr
    assert run("areas", "--out", tmp_path, "--overwrite").exit_code == 0


def test_the_list_of_figures():
    listed = run("--list")
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(FIGURES)
    found = json.loads(run("--list", "--json").stdout)
    assert found[0] == {"name": "areas", "place": "Figure 1", "shows": FIGURES["areas"].shows}


def test_the_command_in_json(tmp_path):
    done = json.loads(run("concave-convex", "--out", tmp_path, "--json").stdout)
    assert [file["name"] for file in done] == ["concave-convex"]
    assert (tmp_path / "concave-convex.csv").exists()


def test_all_figures_at_once(tmp_path, monkeypatch):
    two = {name: FIGURES[name] for name in ("concave-convex", "saddle")}
    # Another dict: items taken out of this one would come back in another order.
    monkeypatch.setattr("tpauc.paper.figures.FIGURES", two)
    assert run("all", "--out", tmp_path).exit_code == 0
    assert {path.stem for path in tmp_path.iterdir()} == {"concave-convex", "saddle"}
    (tmp_path / "saddle.png").unlink()
    # Nothing is made if one of the files is in the way.
    assert run("all", "--out", tmp_path).exit_code == 2
    assert not (tmp_path / "saddle.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["area"], "there is no figure 'area'; there are areas, "),
        ([], "say which figure to make; tpauc reproduce figure --list shows them"),
    ],
)
def test_what_was_typed_wrong(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
