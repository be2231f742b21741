"""Panels, plots and the page of a report."""

import base64
import dataclasses
import datetime
import errno
import hashlib
import html
import json
import os
import platform
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from tpauc._validation import check_text, import_extra
from tpauc.metrics import intervals
from tpauc.metrics.area import auc_score, opauc_score, tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval
from tpauc.metrics.operating_points import evaluate_threshold, operating_point
from tpauc.region import Region
from tpauc.reporting import page, report
from tpauc.reporting.curves import MAX_POINTS, roc_vertices
from tpauc.reporting.figures import (
    check_history,
    check_named_scores,
    is_drawable,
    roc_panels,
    score_text,
    training_panels,
)
from tpauc.reporting.findings import Rows, bands
from tpauc.reporting.page import check_page_path
from tpauc.reporting.panels import look_of
from tpauc.reporting.plots import plot_roc, plot_scores, plot_training
from tpauc.reporting.wording import limits_text, rate_text

REGION = {"alpha": 0.3, "beta": 0.3}
FAST = {"n_resamples": 50}


def two_models(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.25
    return y, {"plain": y + rng.normal(size=n), "better": 2 * y + rng.normal(size=n)}


# ---------------------------------------------------------------------------------------------------------- panels


def test_roc_panels_mark_every_operating_point():
    y, scores = two_models()
    points = {name: operating_point(y, s, **REGION) for name, s in scores.items()}
    whole, corner = roc_panels(y, scores, points, Region(**REGION))
    assert whole.region == (0.3, 0.3)
    assert [(mark.x, mark.y, mark.filled) for mark in whole.marks] == [
        (point.fpr, point.tpr, point.feasible) for point in points.values()
    ]
    inside = [point for point in points.values() if point.feasible]
    assert inside
    for mark, point in zip(corner.marks, inside, strict=True):
        assert (mark.x, mark.y) == (pytest.approx(point.fpr / 0.3), pytest.approx((point.tpr - 0.7) / 0.3))


def test_an_empty_corner_says_so_and_shows_where_the_curves_are():
    y, scores = two_models()
    reversed_scores = {"reversed": -scores["better"]}
    points = {name: operating_point(y, s, **REGION) for name, s in reversed_scores.items()}
    whole, corner = roc_panels(y, reversed_scores, points, Region(**REGION))
    assert corner.title == "Around the region"
    assert "No curve reaches the region" in corner.description
    assert not points["reversed"].feasible
    assert not whole.marks[0].filled
    # The corner is enlarged until the curve comes into sight, and the region is still marked in it.
    assert corner.x_axis.high > 0.3
    assert max(corner.lines[-1].y) > 0.1
    assert corner.region == (pytest.approx(0.3 / corner.x_axis.high), pytest.approx(0.3 / (1 - corner.y_axis.low)))


def test_a_hopeless_curve_is_shown_around_the_corner_and_not_in_the_whole_plot():
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.1
    scores = {"weak": rng.normal(size=2000) + 0.5 * y}
    points = {"weak": operating_point(y, scores["weak"], alpha=0.05, beta=0.05)}
    _, corner = roc_panels(y, scores, points, Region(0.05, 0.05))
    width, height = corner.x_axis.high, 1.0 - corner.y_axis.low
    assert width == pytest.approx(height)  # the shape of the region
    assert width < 0.7
    curve = corner.lines[-1]
    # The curve crosses the plot: it comes in at the lower edge and leaves at the right one, a third from the corner.
    assert (curve.y[0], curve.x[-1]) == (0.0, 1.0)
    assert np.interp(0.0, curve.x - (1.0 - curve.y), curve.x) == pytest.approx(1.0 / 1.5, abs=0.01)


HISTORY = [
    {"epoch": 1, "step": 10, "lr": 0.1, "tpauc": 0.2, "auc": 0.6, "loss": 0.9, "note": "first"},
    {"epoch": 2, "step": 20, "lr": 0.1, "tpauc": None, "auc": 0.7, "loss": float("nan"), "note": "second"},
    {"epoch": 3, "step": 30, "lr": 0.05, "tpauc": 0.4, "auc": 0.65, "loss": 0.5, "note": "third"},
]


def test_training_panels_have_one_line_a_run_and_pass_over_missing_numbers():
    panels = training_panels({"a": HISTORY, "b": HISTORY[:1]}, {"a": look_of(0), "b": look_of(1)})
    assert [panel.title for panel in panels] == ["Loss", "TPAUC", "AUC", "Lr"]
    loss, tpauc = panels[:2]
    np.testing.assert_allclose(loss.lines[0].x, [0.0, 1.0])
    assert [line.name for line in loss.lines] == ["a", "b"]
    assert [mark.text for mark in tpauc.marks] == ["a: 0.4 at epoch 3", "b: 0.2 at epoch 1"]
    assert [mark.text for mark in loss.marks] == ["b: 0.9 at epoch 1"]  # a single point would not be seen as a line


# ----------------------------------------------------------------------------------------------------- matplotlib


def test_plots_have_their_panels():
    y, scores = two_models()
    assert [axes.get_title(loc="left") for axes in plot_roc(y, scores, **REGION).axes] == [
        "Whole curve",
        "Inside the region",
    ]
    assert [axes.get_title(loc="left") for axes in plot_scores(y, scores, **REGION).axes] == ["plain", "better"]
    assert [axes.get_title(loc="left") for axes in plot_training(HISTORY).axes] == ["Loss", "TPAUC", "AUC", "Lr"]


def test_plot_roc_draws_the_curve():
    y, scores = two_models()
    axes = plot_roc(y, {"plain": scores["plain"]}, **REGION).axes[0]
    fpr, tpr = roc_vertices(y, scores["plain"])
    drawn = axes.lines[1].get_xydata()
    np.testing.assert_array_equal(drawn, np.stack([fpr, tpr], 1))


def test_names_are_shown_as_they_are(tmp_path):
    y, scores = two_models()
    names = ["_private", "$x_{$ costs $", "n" * 200]
    figure = plot_roc(y, dict.fromkeys(names, scores["plain"]), **REGION)
    figure.savefig(tmp_path / "roc.png")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == [*names[:2], "n" * 39 + "\N{HORIZONTAL ELLIPSIS}"]


def test_importing_loads_neither_matplotlib_nor_torch_and_plotting_no_pyplot():
    code = """
import sys
import tpauc.reporting
heavy = {"matplotlib", "jinja2", "torch"} & sys.modules.keys()
assert not heavy, heavy
tpauc.reporting.plots.plot_roc([1, 1, 0, 0], {"m": [4, 2, 3, 1]}, alpha=0.5, beta=0.5).savefig(sys.stderr.buffer)
assert "matplotlib.pyplot" not in sys.modules
print("fine")
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, check=False)
    assert result.stdout == b"fine\n", result.stderr[-2000:]


# ------------------------------------------------------------------------------------------------------------ page


class Page(HTMLParser):
    """Cells of the tables, texts, identifiers and references of a page; tags must nest."""

    VOID = frozenset({"meta", "link", "br", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.paths, self.tables = [], [], [], [], {}
        self.texts, self.scripts = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.references += [attributes[name] for name in ("src", "href", "xlink:href", "data") if name in attributes]
        if tag == "path" and "data-name" in attributes:
            self.paths.append((attributes["data-name"], attributes["d"]))
        if tag == "table":
            self.tables[attributes["id"]] = self.rows = []
        if tag == "tr":
            self.rows.append({})
        if tag == "td" and "data-value" in attributes:
            self.rows[-1][attributes["data-label"]] = attributes["data-value"]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.texts.append(data)


def write(tmp_path, **changes):
    y, scores = two_models()
    options = {"out": tmp_path / "report.html", **REGION, **FAST, "pngs": False, **changes}
    page = report(options.pop("y_true", y), options.pop("scores", scores), **options)
    return page.read_text(encoding="utf-8")


def test_tables_hold_the_library_s_values(tmp_path):
    y, scores = two_models()
    page = Page(write(tmp_path))
    (_, *rows), (_, *thresholds) = page.tables["models"], page.tables["thresholds"]
    assert len(rows) == len(scores)
    for row, picked, s in zip(rows, thresholds, scores.values(), strict=True):
        point = operating_point(y, s, **REGION)
        assert float(row["TPAUC"]) == tpauc_score(y, s, **REGION)
        assert float(row["OPAUC"]) == opauc_score(y, s, beta=REGION["beta"])
        assert float(row["AUC"]) == auc_score(y, s)
        shown = [float(picked[key]) for key in ("Threshold", "TPR", "FPR", "Precision", "Alarm rate")]
        assert shown == [point.threshold, point.tpr, point.fpr, point.precision, point.alarm_rate]
    versus = compare_tpauc(y, scores["better"], scores["plain"], **REGION, **FAST, random_state=0)
    _, row = page.tables["comparisons"]
    assert (float(row["Difference"]), float(row["p-value"])) == (versus.difference, versus.p_value)
    assert versus.difference > 0


NOTE = "A threshold picked on these rows is picked on the rows it is judged by"


def test_a_threshold_picked_on_the_rows_it_is_judged_by_is_marked(tmp_path):
    y, scores = two_models()
    given = {name: evaluate_threshold(y, s, 0.5, **REGION) for name, s in scores.items()}
    text = " ".join(write(tmp_path).split())
    assert NOTE in text
    assert "This threshold was picked on the rows it is judged by." in text
    assert text.count('<span class="flattered">on these rows</span>') == 2
    text = " ".join(write(tmp_path, operating_points=given).split())
    assert NOTE not in text
    assert "This threshold was picked" not in text
    assert text.count("<span>beforehand</span>") == 2
    _, *rows = Page(text).tables["thresholds"]
    for row, point in zip(rows, given.values(), strict=True):
        assert (float(row["Threshold"]), float(row["TPR"]), float(row["FPR"])) == (0.5, point.tpr, point.fpr)
    text = " ".join(write(tmp_path, operating_points={"plain": given["plain"]}).split())
    assert NOTE in text
    assert text.count("<span>beforehand</span>") == text.count('<span class="flattered">on these rows</span>') == 1


def test_the_lead_states_the_threshold_that_was_given_first(tmp_path):
    """It is in use, whichever model has the highest TPAUC."""
    y, scores = two_models()
    given = evaluate_threshold(y, scores["plain"], 0.5, **REGION)
    text = " ".join(write(tmp_path, operating_points={"plain": given}).split())
    assert f"At the threshold {score_text(0.5)} plain finds {100 * given.tpr:.1f} % of the positives" in text
    assert "Deployed threshold <small>plain</small>" in text
    best = operating_point(y, scores["better"], **REGION)
    text = " ".join(write(tmp_path).split())
    assert f" better finds {100 * best.tpr:.1f} % of the positives" in text
    assert "Deployed threshold" not in text


@pytest.mark.parametrize(
    ("second", "verdict"),
    [
        (lambda y, s: s["better"], "better (p "),
        (lambda y, s: s["plain"] + 0.0, "ranks all rows as plain does."),
    ],
)
def test_the_comparison_is_told_in_words(tmp_path, second, verdict):
    y, scores = two_models()
    text = " ".join(write(tmp_path, scores={"plain": scores["plain"], "other": second(y, scores)}).split())
    assert f"other: {verdict}" in text


def test_a_guarantee_is_stated(tmp_path):
    y, scores = two_models()
    promised = operating_point(y, scores["plain"], **REGION, guarantee=0.9)
    text = " ".join(write(tmp_path, operating_points={"plain": promised}).split())
    assert "For plain the FPR on new rows keeps to the region with probability 90 %" in text
    assert "Guarantee: FPR \u2264 30 % on new rows with probability 90 %." in text


def test_every_deployed_threshold_states_its_guarantee(tmp_path):
    y, scores = two_models()
    given = {}
    for name, values in scores.items():
        picked = operating_point(y, values, **REGION, guarantee=0.9)
        judged = evaluate_threshold(y, values, picked.threshold, **REGION)
        given[name] = dataclasses.replace(judged, rule=picked.rule, guarantee=picked.guarantee)
    text = " ".join(write(tmp_path, operating_points=given).split())
    first, second = scores
    assert f"Deployed threshold <small>{first}</small>" in text
    assert "<strong>Guarantee: FPR \u2264 30 % on new rows with probability 90 %.</strong>" in text
    assert f"Guarantee for {second}: FPR" in text
    assert f"Guarantee for {first}" not in text


def test_zero_has_no_sign():
    assert score_text(-0.0) == score_text(0.0) == "0.000"


def test_a_threshold_without_alarms_has_no_precision(tmp_path):
    y, scores = two_models()
    silent = evaluate_threshold(y, scores["plain"], np.inf, **REGION)
    page = Page(write(tmp_path, operating_points={"plain": silent}))
    assert page.tables["thresholds"][1]["Precision"] == "nan"
    assert "none" in [text.strip() for text in page.texts]


def test_groups_widen_the_intervals(tmp_path):
    y, scores = two_models()
    twice = {name: np.repeat(s, 4) for name, s in scores.items()}
    groups = np.repeat(np.arange(y.size), 4)
    options = {"y_true": np.repeat(y, 4), "scores": twice, "intervals": "delong"}
    alone, together = (Page(write(tmp_path, **options, groups=found)).texts for found in (None, groups))
    interval = tpauc_interval(options["y_true"], twice["plain"], **REGION, method="delong", groups=groups)
    shown = f"{interval.low:.4f} \N{EN DASH} {interval.high:.4f}"
    assert shown in together
    assert shown not in alone


def test_intervals_are_the_library_s_to_the_shown_digits(tmp_path):
    y, scores = two_models()
    text = " ".join(" ".join(Page(write(tmp_path, confidence=0.9)).texts).split())
    for s in scores.values():
        for alpha, beta in ((0.3, 0.3), (1.0, 0.3), (1.0, 1.0)):
            interval = tpauc_interval(y, s, alpha=alpha, beta=beta, confidence=0.9, **FAST, random_state=0)
            assert f"{interval.estimate:.4f} {interval.low:.4f} \N{EN DASH} {interval.high:.4f}" in text
    assert "90 % interval" in text
    assert "95 %" not in text


def test_page_says_how_its_intervals_were_made(tmp_path, monkeypatch):
    def facts(**options):
        return " ".join(" ".join(Page(write(tmp_path, **options)).texts).split())

    assert f"Intervals 95 % {FAST['n_resamples']} resamples Results" in facts()
    assert "Intervals 95 % large-sample (DeLong) Results" in facts(intervals="delong")
    y, scores = two_models()
    found = tpauc_interval(y, next(iter(scores.values())), **REGION, method="delong")
    assert f"{found.low:.4f} \N{EN DASH} {found.high:.4f}" in facts(intervals="delong")
    monkeypatch.setattr(intervals, "_MOST_DRAWS", 0)
    monkeypatch.setattr(intervals, "_MANY", 20)
    areas = {"TPAUC": REGION, "OPAUC": {"alpha": 1.0, "beta": 0.3}, "AUC": {"alpha": 1.0, "beta": 1.0}}
    made = {
        area: [name for name, s in scores.items() if tpauc_interval(y, s, **region, **FAST).method == "delong"]
        for area, region in areas.items()
    }
    assert [len(names) for names in made.values()] == [1, 2, 1]  # each way of saying it
    first = next(iter(scores))
    assert f"; large-sample (DeLong) for TPAUC of {first}, OPAUC, AUC of {first}" in facts()
    with pytest.raises(ValueError, match="intervals must be one of"):
        write(tmp_path, intervals="exact")


def test_page_needs_nothing_else(tmp_path):
    text = write(tmp_path, history=HISTORY)
    page = Page(text)
    assert page.references == ["data:,"]
    assert text.count("<script") == 2  # data and script
    assert re.findall(r"https?:(?!//www\.w3\.org/2000/svg)|url\(|@import|fetch\(|import\(|XMLHttp|eval\(", text) == []
    assert re.findall(r"<[^>]*\son\w+=", text.split("<script")[0]) == []  # the policy would not run them
    assert len(page.ids) == len(set(page.ids))


def test_the_policy_names_the_hash_of_the_script_and_forbids_all_else(tmp_path):
    text = write(tmp_path)
    script = Page(text).scripts[1]
    code = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(policy).split(";"))
    assert rules["script-src"] == f"'sha256-{code}'"
    assert rules["default-src"] == rules["connect-src"] == rules["base-uri"] == rules["form-action"] == "'none'"


def test_the_page_says_how_it_was_made(tmp_path, monkeypatch):
    def told(**options):
        return " ".join(" ".join(Page(write(tmp_path, **options)).texts).split())

    y, _ = two_models()
    n = np.count_nonzero(y)
    text = told(date="2026-01-31", command="make the report", random_state=7)
    assert f"Rows {y.size}: {n} positives and {y.size - n} negatives Prevalence {100 * n / y.size:.4g} % " in text
    assert "Date 2026-01-31 Command make the report Seed 7 Versions tpauc " in text
    assert f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy " in text
    assert "Date 2026-02-01 Command tpauc.report(y_true, scores, alpha=0.3, " in told(date=datetime.date(2026, 2, 1))
    assert f"Date {datetime.datetime.now(datetime.UTC):%Y-%m-%d}" in told()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert "Date 1970-01-02" in told()
    assert "Date 2026-01-31" in told(date="2026-01-31")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH must be a number of seconds since 1970, got 'soon'"):
        told()


def test_weights_count_as_repeated_rows_do(tmp_path):
    y, scores = two_models()
    times = np.random.default_rng(5).integers(0, 3, y.size)
    repeated = {name: np.repeat(values, times) for name, values in scores.items()}
    options = {"intervals": "delong"}
    first = Page(write(tmp_path, sample_weight=times, **options))
    second = Page(write(tmp_path, y_true=np.repeat(y, times), scores=repeated, **options))
    assert first.tables["models"] == second.tables["models"]
    assert first.tables["thresholds"] == second.tables["thresholds"]
    curves, others = (json.loads(found.scripts[0])["models"] for found in (first, second))
    assert [model["steps"] for model in curves] == [model["steps"] for model in others]
    assert [model["band"] for model in curves] == [model["band"] for model in others]


def test_other_weights_are_taken_everywhere(tmp_path):
    y, scores = two_models()
    weight = np.random.default_rng(5).gamma(1.0, size=y.size)
    found = Page(write(tmp_path, sample_weight=weight))
    for row, s in zip(found.tables["models"][1:], scores.values(), strict=True):
        assert float(row["TPAUC"]) == pytest.approx(tpauc_score(y, s, **REGION, sample_weight=weight), abs=1e-12)
    for row, s in zip(found.tables["thresholds"][1:], scores.values(), strict=True):
        point = operating_point(y, s, **REGION, sample_weight=weight)
        assert float(row["TPR"]) == point.tpr
    assert all(model["band"] is None for model in json.loads(found.scripts[0])["models"])


def test_the_headline_declares_no_winner_by_chance(tmp_path):
    y, scores = two_models()
    close = scores["better"] + 0.01 * np.random.default_rng(6).normal(size=y.size)
    text = " ".join(write(tmp_path, scores={"one": scores["better"], "other": close}).split())
    assert 'class="headline">No clear winner.' in text
    text = " ".join(write(tmp_path).split())
    assert 'class="headline">better has the highest TPAUC' in text
    text = " ".join(write(tmp_path, scores={"one": scores["better"], "same": scores["better"] * 2.0}).split())
    assert 'class="headline">one and same rank all rows alike' in text


def test_a_tpauc_of_0_is_explained(tmp_path):
    y, scores = two_models()
    text = " ".join(write(tmp_path, scores={"reversed": -scores["better"]}).split())
    assert 'class="headline">reversed does not reach the region: TPAUC is 0.' in text
    most = operating_point(y, -scores["better"], **REGION)
    fewest = operating_point(y, -scores["better"], **REGION, rule="min_fpr")
    assert f"catches {' '.join(rate_text(most.tpr).split())} of the positives" in text
    assert f"false alarms on {' '.join(rate_text(fewest.fpr).split())} of the negatives" in text
    assert "<figcaption>Around the region</figcaption>" in text


def test_the_threshold_of_the_closest_model_is_stated_where_none_reaches_the_region(tmp_path):
    """The headline speaks of the model that catches most, and so does the card below it."""
    _, scores = two_models()
    text = " ".join(write(tmp_path, scores={"far": -scores["better"], "near": -scores["plain"]}).split())
    assert "false alarms near, the closest," in text
    assert "Threshold <small>near</small>" in text


def test_rates_of_rows_in_groups_have_the_intervals_of_groups(tmp_path):
    y, scores = two_models()
    groups = np.arange(y.size) // 8
    assert "design effect" not in write(tmp_path)
    page = Page(write(tmp_path, groups=groups))
    assert "design effect of groups" in " ".join(page.texts)
    alone, together = (operating_point(y, scores["plain"], **REGION, groups=known) for known in (None, groups))
    shown = [
        limits_text(rate.estimate, rate.low, rate.high)[1]
        for rate in (alone.intervals["tpr"], together.intervals["tpr"])
    ]
    assert shown[0] != shown[1]
    assert shown[0] not in page.texts
    assert shown[1] in page.texts


def test_a_given_threshold_that_knows_nothing_of_groups_is_named(tmp_path):
    y, scores = two_models()
    groups = np.arange(y.size) // 8
    said = "The intervals of the rates of plain take rows as independent."
    for known, expected in ((None, True), (groups, False)):
        given = evaluate_threshold(y, scores["plain"], 0.5, **REGION, groups=known)
        text = " ".join(write(tmp_path, groups=groups, operating_points={"plain": given}).split())
        assert (said in text) is expected


@pytest.mark.parametrize("repeated", [False, True])
def test_a_curve_of_few_scores_lies_in_its_band(repeated):
    """Its straight lines lie above what thresholds reach, and a band for thresholds left them out."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) < 300
    score = np.round(rng.normal(size=2000) + 2 * y)
    if repeated:
        cells, weight = np.unique(np.stack([score, y]), axis=1, return_counts=True)
        rows = Rows(cells[1] == 1.0, {"m": cells[0]}, weight.astype(np.float64))
    else:
        rows = Rows(y, {"m": score})
    band = bands(rows, Region(0.3, 0.2), 0.95)["m"]
    fpr, tpr, _ = roc_curve(y, score, drop_intermediate=False)
    on_curve = np.interp(band.fpr, fpr, tpr)
    assert (band.low <= on_curve).all()
    assert (on_curve <= band.high).all()


def test_user_text_is_escaped_everywhere(tmp_path):
    name = "<script>alert('x')</script>\"&amp;"
    _, scores = two_models()
    text = write(
        tmp_path,
        title=name,
        scores={name: scores["plain"], name + "2": scores["better"]},
        history={name: HISTORY, name + "3": HISTORY},
    )
    assert text.count("<script") == 2
    page = Page(text)
    assert name in page.texts
    assert (name + "3") in page.texts
    data = json.loads(page.scripts[0])
    assert [model["name"] for model in data["models"]] == [name, name + "2"]
    assert {drawn for drawn, _ in page.paths} == {name, name + "2", name + "3"}


def test_one_model_has_no_comparison_and_history_takes_its_name(tmp_path):
    _, scores = two_models()
    page = Page(write(tmp_path, scores={"only": scores["better"]}, history=HISTORY))
    assert set(page.tables) == {"models", "thresholds", "ranking", "rates", "confusion"}
    # Two ROC panels and four of training.
    assert [name for name, _ in page.paths] == ["only"] * 6


def test_large_data_make_a_small_page(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(300_000) < 0.2
    s = rng.normal(size=y.size) + 2 * y
    text = write(tmp_path, y_true=y, scores={"model": s}, n_resamples=39)
    points = [path.count("L") + 1 for _, path in Page(text).paths]
    assert len(points) == 2
    assert MAX_POINTS / 4 < max(points) <= MAX_POINTS


def test_same_input_same_bytes(tmp_path):
    first, second = (write(tmp_path / name, pngs=True) for name in "ab")
    assert first == second
    pictures = sorted(path.name for path in (tmp_path / "a").glob("*.png"))
    assert pictures == ["report-roc.png", "report-scores.png"]
    for name in pictures:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_pngs_are_pictures_of_readable_size(tmp_path):
    write(tmp_path, pngs=True, history=HISTORY)
    for name in ("roc", "scores", "training"):
        head = (tmp_path / f"report-{name}.png").read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(head[16:20], "big") >= 1200


# ------------------------------------------------------------------------------------------------- files and errors


def test_folder_is_made_and_file_has_usual_permissions(tmp_path):
    write(tmp_path / "new" / "folder")
    page = tmp_path / "new" / "folder" / "report.html"
    usual = tmp_path / "usual"
    usual.touch()
    assert page.stat().st_mode == usual.stat().st_mode
    assert os.listdir(page.parent) == ["report.html"]


@pytest.mark.parametrize("stage", ["write", "move"])
def test_an_error_while_writing_leaves_what_was_there(tmp_path, monkeypatch, stage):
    (tmp_path / "report.html").write_text("precious")
    (tmp_path / "report-roc.png").write_text("precious too")

    def full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync" if stage == "write" else "replace", full_disk)
    with pytest.raises(OSError, match=r"report cannot be written: No space left on device.*report-roc\.png"):
        write(tmp_path, pngs=True)
    assert (tmp_path / "report.html").read_text() == "precious"
    assert (tmp_path / "report-roc.png").read_text() == "precious too"
    assert sorted(os.listdir(tmp_path)) == ["report-roc.png", "report.html"]


def test_an_existing_page_is_replaced(tmp_path):
    (tmp_path / "report.html").write_text("old")
    assert write(tmp_path).startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["report.html", "report-roc.png"])
def test_a_file_that_appears_while_the_report_is_made_is_kept(tmp_path, monkeypatch, name):
    drawn = page.rendered

    def slow(*arguments, **options):
        (tmp_path / name).write_text("of another process")
        return drawn(*arguments, **options)

    monkeypatch.setattr(page, "rendered", slow)
    with pytest.raises(FileExistsError, match=f"{name} exists, and overwrite=False"):
        report(Y, {"a": SCORES}, alpha=1, beta=1, out=tmp_path / "report.html", overwrite=False)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "of another process")]


Y, SCORES = [1, 0, 1, 0], [0.9, 0.1, 0.4, 0.5]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"scores": {}}, ValueError, "scores must hold at least one model"),
        ({"scores": SCORES}, TypeError, "scores must map the name of each model to its scores, got list"),
        ({"scores": {" ": SCORES}}, ValueError, "the name of a model in scores must not be empty, got ' '"),
        ({"scores": {3: SCORES}}, TypeError, "the name of a model in scores must be a string, got 3"),
        ({"scores": {"\ud800": SCORES}}, ValueError, "must be text that UTF-8 can encode"),
        ({"scores": {"a": SCORES, "b": SCORES[:3]}}, ValueError, r"y_true and scores\['b'\] must have equal length"),
        ({"scores": {"a": [0.1, float("nan"), 0.2, 0.3]}}, ValueError, r"scores\['a'\] must be finite"),
        ({"scores": {"a": [1e301, 0, 1, 2]}}, ValueError, r"scores\['a'\] must lie within \+-1e\+300"),
        ({"y_true": [1, 1, 1, 1]}, ValueError, "y_true has no negative example"),
        ({"alpha": 0.1}, ValueError, "alpha=0.1 selects none of the 2 positive examples"),
        ({"beta": 0.1}, ValueError, "beta=0.1 selects none of the 2 negative examples"),
        ({"beta": 1.5}, ValueError, "beta must be a share"),
        ({"title": ""}, ValueError, "title must not be empty"),
        ({"title": 3}, TypeError, "title must be a string"),
        ({"command": " "}, ValueError, "command must not be empty"),
        ({"date": "yesterday"}, ValueError, "date must be a date or a text such as '2026-01-31', got 'yesterday'"),
        ({"date": 2026}, TypeError, "date must be a date or a text such as '2026-01-31', got 2026"),
        ({"sample_weight": [1, 1, 0, -1]}, ValueError, "sample_weight must not be negative"),
        ({"sample_weight": [1, 0, 1, 0]}, ValueError, "sample_weight is zero for every negative example"),
        ({"confidence": 1.5}, ValueError, "confidence"),
        ({"n_resamples": 0}, ValueError, "n_resamples"),
        ({"history": [{"loss": 1.0}]}, ValueError, "row 0 must have the key 'epoch', found 'loss'"),
        ({"history": [{"epoch": float("nan")}]}, ValueError, "epoch of history of 'm', row 0 must be finite"),
        ({"history": [{"epoch": "one"}]}, TypeError, "epoch of history of 'm', row 0 must be a number"),
        ({"history": [[1, 2]]}, TypeError, "row 0 must be a mapping"),
        ({"history": [{"epoch": 1, 2: 3.0}]}, TypeError, "row 0 must be a mapping with strings as keys"),
        ({"history": [{"epoch": 1, "loss": "0.5"}]}, ValueError, "history must hold a finite number besides"),
        ({"history": [{"epoch": 1, "step": 5}]}, ValueError, "history must hold a finite number besides"),
        ({"history": []}, ValueError, "history of 'm' must hold at least one epoch"),
        ({"history": {"run": {"epoch": 1}}}, TypeError, "history of 'run' must be a list"),
        ({"history": {"": [{"epoch": 1}]}}, ValueError, "the name of a run in history must not be empty"),
        ({"operating_points": [1]}, TypeError, "operating_points must be a mapping from names of models, got list"),
        ({"operating_points": {"x": 1}}, ValueError, "operating_points has the model 'x', which has no scores"),
        (
            {"operating_points": {"m": 0.5}},
            TypeError,
            r"operating_points\['m'\] must be an OperatingPoint, .* got float",
        ),
        ({"groups": [1, 1, 1, 1]}, ValueError, "groups must hold at least 2 groups with a positive row"),
        ({"groups": [1, 2]}, ValueError, "y_true and groups must have equal length"),
        ({"out": "report"}, ValueError, "out must be the name of a file that ends in .html, got 'report'"),
        ({"out": "scores.csv"}, ValueError, "out must be the name of a file that ends in .html"),
    ],
)
def test_mistakes_are_named_and_nothing_is_written(tmp_path, monkeypatch, changes, error, message):
    monkeypatch.chdir(tmp_path)
    options = {"y_true": Y, "scores": {"m": SCORES}, "alpha": 0.5, "beta": 0.5, "out": "report.html", **FAST}
    with pytest.raises(error, match=message):
        report(**{**options, **changes})
    assert os.listdir(tmp_path) == []


def test_the_same_call_without_a_mistake_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = report(Y, {"m": SCORES}, alpha=0.5, beta=0.5, out="report.html", **FAST)
    assert page == Path("report.html")
    assert page.exists()


def test_unwritable_places(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"out: the folder .*/file/new cannot be made, because .*/file is a file"):
        check_page_path(tmp_path / "file" / "new" / "report.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        check_page_path(tmp_path / "folder.html")

    def refuse(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(PermissionError, match="is not writable: Permission denied"):
        check_page_path(tmp_path / "report.html")


def test_checks_pass_what_is_right(tmp_path):
    assert check_text("name", "title") == "name"
    assert check_page_path(str(tmp_path / "Report.HTM")) == tmp_path / "Report.HTM"
    assert check_history(HISTORY, only_run="run") == {"run": HISTORY}
    assert check_history({"a": HISTORY}, only_run="run") == {"a": HISTORY}
    positive, checked = check_named_scores([-1, 1], {"m": [1, 2]})
    assert positive.tolist() == [False, True]
    assert checked["m"].tolist() == [1.0, 2.0]
    assert import_extra("json", "report").loads("1") == 1


@pytest.mark.parametrize("value", [0, -2.5, np.float32(1), np.int64(3), 1e300])
def test_numbers_are_drawable(value):
    assert is_drawable(value)


@pytest.mark.parametrize("value", [None, "1", float("nan"), float("-inf"), 10**400, 1e301, np.float64("nan"), 1j, [1]])
def test_other_values_are_not_drawable(value):
    assert not is_drawable(value)


def test_a_missing_extra_is_named_before_anything_is_written(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError, match=r"matplotlib .* pip install 'tpauc\[report\]'"):
        write(tmp_path, pngs=True)
    assert os.listdir(tmp_path) == []
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tpauc\[report\]'"):
        plot_roc(Y, {"m": SCORES}, alpha=0.5, beta=0.5)
    write(tmp_path)  # the page alone does without matplotlib
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"jinja2 .* pip install 'tpauc\[report\]'"):
        write(tmp_path)


@pytest.mark.parametrize("n_models", [1, 4, 7])
def test_no_label_is_cut_off_however_many_models(n_models):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.2
    scores = {f"model {k}": rng.normal(size=300) + 2 * y for k in range(n_models)}
    figure = plot_roc(y, scores, alpha=0.3, beta=0.3)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = figure.get_tightbbox(canvas.get_renderer())
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= 0
    assert drawn.x1 <= width
    assert drawn.y1 <= height
