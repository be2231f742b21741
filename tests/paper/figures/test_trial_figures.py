"""Figures on Bayes scoring, bounds and experiments: their numbers and drawings."""

import dataclasses
import functools
import io
from statistics import median

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.figures import FIGURES, make_figure, theorems, trial_figures
from tpauc.paper.figures.figure import INK, line_style
from tpauc.paper.figures.trials import MODELS, Budget

TINY = Budget(seeds=2, steps=3, warmup=1, n_positive=12, n_negative=40, side=20)
TRIALS = ("gamma", "two-gammas", "warm-up", "opauc", "truncation", "best-gamma")
TRAINED = ("bayes-limit", *TRIALS)
EXACT = ("inconsistency", "middle-order", "excess-risk")


def compute(name):
    """Return the rows of a figure, by a tiny budget if something is trained."""
    if name == "bayes-limit":
        return theorems.compute_limit(TINY)
    rows = FIGURES[name].rows
    return (dataclasses.replace(rows, budget=TINY) if name in TRIALS else rows)(False)


@pytest.fixture(scope="module")
def tiny_rows():
    """Return a function that computes the rows of a figure once."""
    return functools.cache(compute)


# -------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", [*TRAINED, *EXACT])
def test_a_figure_draws_its_rows_inside_the_picture(name, tiny_rows):
    rows = tiny_rows(name)
    assert all(list(row) == list(rows[0]) for row in rows)
    figure = FIGURES[name].draw(rows)
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    with Image.open(buffer) as image:
        pixels = np.asarray(image.convert("L"))
    assert pixels.min() < 100
    for edge in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert edge.min() == 255


@pytest.mark.parametrize("name", [*TRAINED, *EXACT])
def test_every_panel_is_labelled(name, tiny_rows):
    for axes in FIGURES[name].draw(tiny_rows(name)).axes:
        assert axes.get_title(loc="left")
        assert axes.get_xlabel() or axes.get_ylabel()


@pytest.mark.parametrize("name", TRAINED)
def test_trained_rows_repeat_and_are_shares(name, tiny_rows):
    rows = tiny_rows(name)
    assert all(0.0 <= row["tpauc"] <= 1.0 for row in rows)
    if name == "opauc":
        assert compute(name) == rows


@pytest.mark.parametrize(
    ("name", "trials", "regions"),
    [
        ("gamma", 15, 3),
        ("two-gammas", 32, 3),
        ("warm-up", 16, 3),
        ("opauc", 7, 6),
        ("truncation", 11, 3),
        ("best-gamma", 10, 3),
    ],
)
def test_every_trial_has_a_row_for_each_region_and_seed(name, trials, regions, tiny_rows):
    assert len(FIGURES[name].rows.experiment.trials) == trials
    assert len(tiny_rows(name)) == trials * regions * TINY.seeds


def test_the_command_makes_one(tmp_path):
    files = make_figure("inconsistency", tmp_path)
    assert files.png.stat().st_size > 10_000
    assert files.csv.read_text().startswith("series,x,y\n")


# ----------------------------------------------------------------------------------------------------------- theory


def test_the_crossing_curves_are_ordered_differently(tiny_rows):
    rows = tiny_rows("inconsistency")
    values = {name: [row["y"] for row in rows if row["series"] == name] for name in ("TPAUC", "OPAUC from the entry")}
    assert values["TPAUC"][0] > values["TPAUC"][1]
    assert values["OPAUC from the entry"][0] < values["OPAUC from the entry"][1]
    # A limit right of the crossing agrees on this pair, but never on the pair made against it.
    assert max(row["y"] for row in rows if row["series"] == "this pair") > 0.0
    assert max(row["y"] for row in rows if row["series"] == "a pair made for c") < 0.0


def test_nothing_in_the_bayes_figure_passes_eta(tiny_rows):
    rows = tiny_rows("bayes-limit")
    limit = {row["share"]: row["tpauc"] for row in rows if row["series"] == "eta"}
    assert set(limit) == set(theorems.SHARES)
    for row in rows:
        assert row["tpauc"] <= limit[row["share"]] + 1e-12
    assert {row["model"] for row in rows if row["series"] in theorems.TRAINED} == set(MODELS)


def test_only_the_middle_counts(tiny_rows):
    rows = tiny_rows("middle-order")
    for row in rows:
        assert row["loss"] == pytest.approx(row["predicted"], abs=1e-12)
        assert row["part"] == "middle" or abs(row["loss"]) < 1e-12
    assert max(row["loss"] for row in rows) > 0.02


def test_the_terms_fall_and_bound_what_is_measured(tiny_rows):
    rows = tiny_rows("excess-risk")
    series = {}
    for row in rows:
        series.setdefault(row["series"], []).append(row["value"])
    for name, values in series.items():
        assert (np.diff(values) < 0).all(), name
    measured = np.array(series["measured"])
    for name in ("decomposition, sharper", "decomposition, as printed"):
        assert (measured <= series[name]).all()
    assert (measured <= series["one fixed scorer"][: measured.size]).all()
    # Printed, Theorem 5 falls ten times as fast as with the K that its constant allows.
    printed, best = series["Theorem 5, as printed"], series["Theorem 5, best K"]
    assert printed[0] < best[0]
    assert best[-1] / printed[-1] > 10.0 * best[0] / printed[0]


# --------------------------------------------------------------------------------------------- what a drawing may say


def level_lines(axes):
    """Return the colour and height of each line across a panel."""
    across = [line for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    return [(line.get_color(), line.get_ydata()[0]) for line in across]


def legend_names(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_each_region_of_the_gamma_figure_has_its_own_limit_and_square_auc(tiny_rows):
    rows = tiny_rows("gamma")
    figure = FIGURES["gamma"].draw(rows)
    wanted = set()
    for number, region in enumerate(REGIONS):
        own = [row for row in rows if row["alpha"] == region.alpha]
        plain = median(row["tpauc"] for row in own if row["method"] == "SqAUC")
        wanted |= {(line_style(number)["color"], height) for height in (plain, own[0]["limit"])}
    for axes in figure.axes:
        assert set(level_lines(axes)) == wanted
    assert {"SqAUC", "eta, the limit"} <= set(legend_names(figure))


def test_square_auc_is_among_the_rows_of_every_comparison(tiny_rows):
    for name in ("gamma", "warm-up", "opauc", "truncation"):
        assert "SqAUC" in {row["method"] for row in tiny_rows(name)}
    rows = [row for row in tiny_rows("warm-up") if row["alpha"] == 0.3]
    plain = median(row["tpauc"] for row in rows if row["method"] == "SqAUC")
    assert level_lines(FIGURES["warm-up"].draw(tiny_rows("warm-up")).axes[0]) == [(INK, plain), (INK, rows[0]["limit"])]
    left = FIGURES["truncation"].draw(tiny_rows("truncation")).axes[0]
    assert [text.get_text() for text in left.get_yticklabels()][-1] == "SqAUC"


def test_the_best_gamma_figure_names_what_it_draws(tiny_rows):
    known = tiny_rows("best-gamma")
    unknown = [row | {"limit": ""} for row in known]
    for rows, name in ((known, "TPAUC as a share of the limit"), (unknown, "TPAUC")):
        above = FIGURES["best-gamma"].draw(rows).axes[:2]
        assert [axes.get_ylabel() for axes in above] == [name, name]
        chosen = [r for r in rows if (r["method"], r["value"], r["beta"]) == ("TPAUC-Poly", 0.0001, 0.4)]
        expected = median(r["tpauc"] / (r["limit"] or 1.0) for r in chosen)
        assert above[0].lines[0].get_ydata()[0] == expected


def test_a_series_of_the_excess_risk_figure_looks_the_same_in_both_panels(tiny_rows):
    left, right = FIGURES["excess-risk"].draw(tiny_rows("excess-risk")).axes
    named = [[line for line in axes.lines if not line.get_label().startswith("_")] for axes in (left, right)]
    looks = [{line.get_label(): (line.get_color(), line.get_linestyle()) for line in lines} for lines in named]
    assert looks[0]["one fixed scorer"] == looks[1]["one fixed scorer"]
    for panel in looks:
        assert len(set(panel.values())) == len(panel)
    # One of the series has all its constants.
    assert left.get_title(loc="left") == "(a) the terms; constants left open are 1"


def test_the_inconsistency_figure_does_not_call_other_curves_roc_1_and_2(tiny_rows):
    figure = FIGURES["inconsistency"].draw(tiny_rows("inconsistency"))
    assert "ROC" not in figure.axes[2].get_ylabel()
    assert legend_names(figure) == ["ROC 1", "ROC 2", "pair ROC 1, ROC 2", "another pair, made for each c"]


def test_best_values_are_those_of_the_largest_tpauc():
    rows = [
        {"method": "TPAUC-Poly", "value": value, "seed": seed, "beta": 0.4, "tpauc": tpauc}
        for value, seed, tpauc in ((0.1, 0, 0.5), (0.2, 0, 0.6), (0.1, 1, 0.9), (0.2, 1, 0.8))
    ]
    assert trial_figures.best_values(rows, "TPAUC-Poly", 0.4) == [0.2, 0.1]


def test_the_map_of_two_gammas_has_positives_upwards_and_frames_the_best(tiny_rows):
    changed = {"value": 5.0, "negative_value": 0.01, "alpha": 0.3, "method": "TPAUC-Poly-two-sided"}
    rows = [
        row | {"tpauc": 1.0 if changed.items() <= row.items() else row["tpauc"] / 2} for row in tiny_rows("two-gammas")
    ]
    axes = FIGURES["two-gammas"].draw(rows).axes[0]
    assert axes.get_title(loc="left") == "(a) Poly in (0.3, 0.3): TPAUC in %"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.01", "0.05", "0.1", "5"]
    assert axes.images[0].get_array()[3, 0] == 1.0
    assert [text.get_text() for text in axes.texts][12] == "100.0"
    (frame,) = axes.lines
    assert (frame.get_xdata().mean().round(), frame.get_ydata().mean().round()) == (0.0, 3.0)
