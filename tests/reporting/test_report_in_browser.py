"""The report as a reader sees it: opened from a file in headless Chromium."""

import numpy as np
import pytest

from opened_page import Opened, launched
from tpauc.metrics.area import auc_score, opauc_score, tpauc_score
from tpauc.metrics.comparison import compare_tpauc
from tpauc.metrics.intervals import tpauc_interval
from tpauc.metrics.operating_points import operating_point
from tpauc.reporting import report
from tpauc.reporting.wording import limits_text

REGION = {"alpha": 0.3, "beta": 0.3}
RESAMPLING = {"n_resamples": 100, "random_state": 0}
WIDTHS, SCHEMES = (1280, 800, 400), ("light", "dark")
# A name that has no place to break and would widen the page if it could.
NAMES = ("Cross-entropy", "Better & <wider>" + "w" * 80, "Reversed")


def data():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.25
    return y, {name: gain * y + rng.normal(size=600) for name, gain in zip(NAMES, (1.5, 2.0, -1.0), strict=True)}


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    y, scores = data()
    rows = [{"epoch": e, "loss": 1 / e, "tpauc": 0.5 - 0.4 / e, "auc": 0.9 - 0.3 / e} for e in range(1, 11)]
    out = tmp_path_factory.mktemp("report") / "report.html"
    return report(y, scores, **REGION, **RESAMPLING, out=out, history={NAMES[0]: rows, "other": rows[:5]}, pngs=False)


@pytest.fixture(scope="module", params=[(width, scheme) for width in WIDTHS for scheme in SCHEMES], ids=str)
def opened(request, browser, page_file):
    with Opened(browser, page_file, *request.param) as opened:
        opened.width, opened.scheme = request.param
        yield opened


def test_nothing_is_complained_about_and_nothing_else_is_loaded(opened, page_file):
    assert opened.complaints == []
    assert {url for url in opened.requests if not url.startswith("data:")} == {page_file.as_uri()}


def test_the_page_does_not_scroll_sideways(opened):
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= opened.width


def test_no_text_is_cut_off(opened):
    """Every text lies inside the page, or in a box that scrolls."""
    outside = opened.page.evaluate(
        """() => [...document.querySelectorAll("h1,h2,h3,p,dt,dd,li,figcaption,svg text,td,th")]
            .filter(node => !node.closest(".table-box") && !node.closest("thead"))
            .filter(node => node.getBoundingClientRect().left < 0 || node.getBoundingClientRect().right > innerWidth)
            .map(node => node.textContent)"""
    )
    assert outside == []


@pytest.mark.parametrize("panel", ["roc-panel-1", "roc-panel-2"])
def test_both_roc_panels_are_drawn(opened, panel):
    curves = opened.page.locator(f"#{panel} path.line[data-name]")
    drawn = {
        curve.get_attribute("data-name"): (curve.bounding_box(), curve.get_attribute("d")) for curve in curves.all()
    }
    # The reversed scores never reach the region, so the second panel has no curve of theirs.
    assert set(drawn) == set(NAMES if panel == "roc-panel-1" else NAMES[:2])
    for box, path in drawn.values():
        assert box["width"] > 5
        assert box["height"] > 5
        assert path.count("L") > 5
    plot = opened.page.locator(f"#{panel} .plot > svg").bounding_box()
    assert plot["width"] > 240
    assert plot["width"] == pytest.approx(plot["height"], rel=0.01)
    assert opened.page.locator(f"#{panel} .mark").first.bounding_box()["width"] > 5
    assert opened.page.locator(f"#{panel} rect.region").bounding_box()["width"] > 50


def test_lines_have_the_colours_of_the_scheme(opened):
    stroke = opened.page.locator("#roc-panel-1 path.line[data-name]").first.evaluate("n => getComputedStyle(n).stroke")
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (stroke, paper) == {
        "light": ("rgb(34, 69, 202)", "rgb(255, 255, 255)"),
        "dark": ("rgb(125, 151, 251)", "rgb(23, 22, 27)"),
    }[opened.scheme]


def test_the_table_shows_the_library_s_values(opened):
    y, scores = data()
    rows = opened.page.locator("#models tbody tr").all()
    for row, (name, s) in zip(rows, scores.items(), strict=True):
        assert row.locator("th").inner_text().strip() == name
        for label, value, alpha, beta in (
            ("TPAUC", tpauc_score(y, s, **REGION), 0.3, 0.3),
            ("OPAUC", opauc_score(y, s, beta=0.3), 1.0, 0.3),
            ("AUC", auc_score(y, s), 1.0, 1.0),
        ):
            cell = row.locator(f'td[data-label="{label}"]')
            interval = tpauc_interval(y, s, alpha=alpha, beta=beta, **RESAMPLING)
            assert cell.locator(".estimate").inner_text() == f"{value:.4f}"
            assert cell.locator(".interval").inner_text() == f"{interval.low:.4f} \N{EN DASH} {interval.high:.4f}"
            assert cell.bounding_box()["height"] > 20


def test_the_thresholds_are_shown_with_their_rates_and_marked_as_picked_here(opened):
    y, scores = data()
    rows = opened.page.locator("#thresholds tbody tr").all()
    for row, (name, s) in zip(rows, scores.items(), strict=True):
        assert row.locator("th").inner_text().strip() == name
        point = operating_point(y, s, **REGION)
        for label, rate in (("TPR", "tpr"), ("FPR", "fpr"), ("Precision", "precision"), ("Alarm rate", "alarm_rate")):
            cell, found = row.locator(f'td[data-label="{label}"]'), point.intervals[rate]
            shown = cell.locator(".estimate").inner_text(), cell.locator(".interval").inner_text()
            assert shown == limits_text(found.estimate, found.low, found.high)
        assert row.locator('td[data-label="Picked"]').inner_text() == "on these rows"
        assert row.locator('td[data-label="In region"]').inner_text() == ("yes" if point.feasible else "no")


def test_the_comparison_shows_the_library_s_values(opened):
    y, scores = data()
    rows = opened.page.locator("#comparisons tbody tr").all()
    for row, name in zip(rows, NAMES[1:], strict=True):
        versus = compare_tpauc(y, scores[name], scores[NAMES[0]], **REGION, **RESAMPLING)
        shown = row.locator('td[data-label="Difference"]').inner_text().replace("\N{MINUS SIGN}", "-")
        assert shown == f"{versus.difference:+.4f}"
        expected = "< 0.001" if versus.p_value < 0.001 else f"{versus.p_value:.3f}"
        assert row.locator('td[data-label="p-value"]').inner_text() == expected


def test_scores_and_training_are_drawn(opened):
    for name, count in (("score-panel", 1), ("training-panel", 3)):
        panels = opened.page.locator(f'[id^="{name}-"]:visible')  # of the scores only those of the chosen model
        assert panels.count() == count
        for panel in panels.all():
            line = panel.locator("path.line").first.bounding_box()
            assert line["width"] > 100
            assert line["height"] > 20


def test_a_reader_who_does_not_see_is_told(opened):
    snapshot = opened.page.locator("main").aria_snapshot()
    for expected in (
        'heading "3 models: at least 70 % caught, at most 30 % false alarms"',
        'heading "Results"',
        'heading "ROC curve and region"',
        'table "Areas with their',
        'slider "alpha, the share of positives that may be missed"',
        'slider "beta, the share of negatives that may be false alarms"',
        f'slider "Threshold of {NAMES[1]}"',
        'spinbutton "Prevalence share of positives in use"',
        'checkbox "Cross-entropy"',
    ):
        assert expected in snapshot, expected
    images = opened.page.locator("svg[role=img], svg[role=group]")
    assert images.count() == 2 + 3 + 3
    assert all(len(image.get_attribute("aria-label")) > 20 for image in images.all())


def test_the_overflow_checks_can_fail(browser, tmp_path):
    wide = tmp_path / "wide.html"
    wide.write_text("<!doctype html><p style='width: 900px'>wide</p><script>console.log('heard')</script>")
    with Opened(browser, wide, 400, "light") as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") > 400
        assert opened.complaints == ["heard"]
