"""What readers can ask a report: the region, the threshold, a link, in headless Chromium against the library."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest

import tpauc
from opened_page import Opened, launched
from tpauc.metrics._proportions import clopper_pearson
from tpauc.reporting import embedding, report
from tpauc.reporting.curves import roc_vertices
from tpauc.reporting.figures import roc_window
from tpauc.reporting.wording import limits_text

expect = pytest.importorskip("playwright.sync_api", reason="playwright, which drives chromium, is not installed").expect
REGION = {"alpha": 0.3, "beta": 0.2}
RATES = {"tpr": 1.0, "fpr": 1.0, "precision": 1.0, "npv": 1.0, "alarm_rate": 1000.0}


def rows(kind):
    """Return labels, scores of three models and weights: all different, tied, or weighted."""
    rng = np.random.default_rng(1)
    y = rng.random(400) < 0.3
    scores = {f"model {gain:g}": gain * y + rng.normal(size=400) for gain in (1.0, 2.0, 1.5)}
    if kind != "continuous":
        scores = {name: np.round(values, 1) for name, values in scores.items()}
    weight = {"repeated": rng.integers(0, 4, 400), "weighted": rng.gamma(1.0, size=400) + 1e-3}.get(kind)
    return y, scores, weight


KINDS = ("continuous", "tied", "repeated", "weighted")


@pytest.fixture(scope="module")
def browser():
    yield from launched()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    made = {}
    for kind in KINDS:
        y, scores, weight = rows(kind)
        options = {"n_resamples": 40, "pngs": False, "date": "2026-01-31", "sample_weight": weight}
        made[kind] = report(y, scores, **REGION, **options, out=folder / f"{kind}.html")
    return made


@pytest.fixture
def opened(browser, files, request):
    kind = getattr(request, "param", "continuous")
    with Opened(browser, files[kind], permissions=["clipboard-read", "clipboard-write"]) as found:
        yield found
        # Whatever a test did, the page neither complained nor asked the network for anything.
        assert found.complaints == []
        assert {url.partition("#")[0] for url in found.requests if not url.startswith("data:")} == {
            files[kind].as_uri()
        }


def areas(page):
    """Return the TPAUC of each model in the ranking, in its order."""
    found = page.locator("#ranking tbody tr").evaluate_all(
        "rows => rows.map(row => [row.querySelector('th').textContent,"
        " Number(row.querySelector('[data-label=TPAUC]').dataset.value)])"
    )
    return dict(found)


def set_region(page, alpha, beta):
    page.fill("#alpha", repr(alpha))
    page.fill("#beta", repr(beta))


def check_areas(page, kind, alpha, beta):
    y, scores, weight = rows(kind)
    found = areas(page)
    assert sorted(found.values(), reverse=True) == list(found.values())
    for name, values in scores.items():
        expected = tpauc.tpauc_score(y, values, alpha=alpha, beta=beta, sample_weight=weight)
        assert found[name] == pytest.approx(expected, abs=1e-9)
    assert set(found) == set(scores)


# --------------------------------------------------------------------------------------------------------------- region


@pytest.mark.parametrize(("opened", "kind"), [(kind, kind) for kind in KINDS], indirect=["opened"])
def test_twenty_regions_have_the_areas_of_the_library(opened, kind):
    rng = np.random.default_rng(2)
    typed = [(0.29, 0.57), (1.0, 1.0), (1 - 0.9, 1 - 0.95), (0.05, 1.0), (1.0, 0.01)]
    regions = [*typed, *rng.uniform(0.02, 1.0, size=(15, 2)).tolist()]
    assert len(regions) == 20
    check_areas(opened.page, kind, **REGION)
    for alpha, beta in regions:
        set_region(opened.page, alpha, beta)
        check_areas(opened.page, kind, alpha, beta)


def test_the_comparison_of_areas_can_fail(opened):
    set_region(opened.page, 0.5, 0.5)
    with pytest.raises(AssertionError):
        check_areas(opened.page, "continuous", 0.5, 0.51)


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def plot_box(page, panel="roc-panel-1"):
    plot = page.locator(f"#{panel} .plot > svg")
    plot.scroll_into_view_if_needed()
    return plot.bounding_box()


def at(box, x, y):
    """Return the pixel of a false positive rate and a miss rate in the whole plot."""
    return box["x"] + x * box["width"], box["y"] + y * box["height"]


def typed_region(page):
    return float(page.input_value("#alpha")), float(page.input_value("#beta"))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ((0.2, 0.15), (0.45, 0.15), (0.3, 0.45)),  # the right edge
        ((0.1, 0.3), (0.1, 0.5), (0.5, 0.2)),  # the lower edge
        ((0.2, 0.3), (0.4, 0.6), (0.6, 0.4)),  # the corner
    ],
)
def test_edges_are_dragged_with_the_mouse(opened, start, end, expected):
    page = opened.page
    box = plot_box(page)
    drag(page, at(box, *start), at(box, *end))
    alpha, beta = typed_region(page)
    assert (alpha, beta) == pytest.approx(expected, abs=2 / box["width"])
    check_areas(page, "continuous", alpha, beta)
    assert f"alpha={alpha}&beta={beta}" in page.url
    region = page.locator("#roc-panel-1 rect.region").bounding_box()
    assert region["width"] == pytest.approx(beta * box["width"], abs=3)
    assert region["height"] == pytest.approx(alpha * box["height"], abs=3)


def test_edges_are_dragged_with_a_finger(browser, files):
    with Opened(browser, files["continuous"], 400, has_touch=True, is_mobile=True) as opened:
        page = opened.page
        box = plot_box(page)
        fingers = opened.context.new_cdp_session(page)
        path = [at(box, 0.2, 0.1), at(box, 0.3, 0.1), at(box, 0.5, 0.1)]
        for kind, points in zip(("touchStart", "touchMove", "touchMove"), path, strict=True):
            point = {"x": points[0], "y": points[1]}
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        # The browser collects what fingers do before it tells the page.
        expect(page.locator("#beta")).to_have_value(re.compile(r"0\.(49|50|5).*"))
        alpha, beta = typed_region(page)
        assert (alpha, beta) == pytest.approx((0.3, 0.5), abs=2 / box["width"])
        check_areas(page, "continuous", alpha, beta)


def test_edges_are_moved_with_the_keyboard(opened):
    page = opened.page
    edge = page.get_by_role("slider", name="alpha, the share")
    edge.focus()
    page.keyboard.press("ArrowDown")
    assert typed_region(page) == (0.31, 0.2)
    page.keyboard.press("PageDown")
    assert typed_region(page) == (0.41, 0.2)
    assert edge.get_attribute("aria-valuenow") == "0.41"
    assert edge.get_attribute("aria-valuetext") == "0.41: at least 59\N{NO-BREAK SPACE}% caught"
    page.keyboard.press("Tab")  # the other edge comes next
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert typed_region(page) == (0.41, 0.09)
    check_areas(page, "continuous", 0.41, 0.09)
    page.keyboard.press("End")
    check_areas(page, "continuous", 0.41, 1.0)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("beta")


def test_small_shares_move_in_small_steps(opened):
    set_region(opened.page, 0.3, 0.021)
    opened.page.get_by_role("slider", name="beta, the share").focus()
    moves = {"ArrowLeft": (0.011, 0.01, 0.009), "ArrowRight": (0.01, 0.011)}
    for key, expected in moves.items():
        for beta in expected:
            opened.page.keyboard.press(key)
            assert typed_region(opened.page)[1] == beta


def test_a_region_that_selects_nobody_is_refused(opened):
    page, (y, _, _) = opened.page, rows("continuous")
    before = areas(page)
    page.fill("#alpha", "0.001")
    problem = page.locator("#region-problem")
    assert problem.inner_text().startswith(f"This alpha selects none of the {y.sum()} positives")
    assert areas(page) == before
    page.fill("#alpha", "1.5")
    assert problem.inner_text() == "alpha must be a share above 0 and at most 1."
    assert page.get_attribute("#alpha", "aria-invalid") == "true"
    page.fill("#alpha", "0.3")
    assert not problem.is_visible()
    assert areas(page) == before


def test_the_corner_follows_and_moves_away_where_no_curve_is(browser, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.5
    weak = rng.normal(size=500) + 0.5 * y
    out = report(y, {"weak": weak}, alpha=0.5, beta=0.5, out=tmp_path / "r.html", pngs=False)
    with Opened(browser, out) as opened:
        page = opened.page
        assert page.locator("#roc-panel-2 figcaption").inner_text() == "Inside the region"
        set_region(page, 0.05, 0.05)
        assert page.locator("#roc-panel-2 figcaption").inner_text() == "Around the region"
        assert page.locator("#roc-panel-2 path.line[data-name]").bounding_box()["height"] > 50
        ticks = page.locator("#roc-panel-2 .tick").all_text_contents()
        assert max(map(float, ticks)) > 0.2
        # The same corner as the one that Python draws for this region.
        region, plot = (page.locator(f"#roc-panel-2 {part}").bounding_box() for part in ("rect.region", ".plot > svg"))
        expected = roc_window([roc_vertices(y, weak)], tpauc.Region(0.05, 0.05))
        assert region["width"] / plot["width"] == pytest.approx(0.05 / expected.beta, abs=0.01)


# ------------------------------------------------------------------------------------------------------------ threshold


def rates(page):
    """Return value, low and high of each rate that is shown."""
    return page.locator("#rates tbody tr").evaluate_all(
        """rows => Object.fromEntries(rows.map(row => [row.dataset.rate, [
            Number(row.querySelector('[data-label=Value]').dataset.value),
            Number(row.querySelector('[data-label=Interval]').dataset.low),
            Number(row.querySelector('[data-label=Interval]').dataset.high)]]))"""
    )


def rate_texts(page):
    """Return how each rate and its interval are written."""
    return page.locator("#rates tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )


def check_rates(page, kind, name, threshold, prevalence=None):
    y, scores, weight = rows(kind)
    point = tpauc.evaluate_threshold(y, scores[name], threshold, prevalence=prevalence, sample_weight=weight)
    shown = rates(page)
    for rate, factor in RATES.items():
        found = point.intervals[rate]
        expected = [factor * value for value in (found.estimate, found.low, found.high)]
        assert shown["alarms" if rate == "alarm_rate" else rate] == pytest.approx(
            expected, rel=1e-9, abs=1e-9, nan_ok=True
        )
    percentages = [list(limits_text(*shown[rate])) for rate in ("tpr", "fpr", "precision", "npv")]
    if not math.isnan(shown["precision"][0]):
        assert rate_texts(page)[:4] == percentages
    counts = page.locator("#confusion td").evaluate_all("cells => cells.map(cell => Number(cell.dataset.value))")
    wanted = point.true_positives, point.false_negatives, point.false_positives, point.true_negatives
    assert counts == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("opened", "kind"), [(kind, kind) for kind in KINDS], indirect=["opened"])
def test_rates_and_intervals_are_the_library_s(opened, kind):
    page = opened.page
    _, scores, _ = rows(kind)
    for number, (name, values) in enumerate(scores.items()):
        page.select_option("#model", str(number))
        for share in (0.02, 0.5, 0.9):
            threshold = float(np.quantile(values, share)) + (0.001 if share == 0.5 else 0.0)
            page.fill("#threshold", repr(threshold))
            page.click("#scores")  # the field is left
            check_rates(page, kind, name, threshold)
    for prevalence in (0.001, 0.4):
        page.fill("#prevalence", repr(prevalence))
        check_rates(page, kind, name, threshold, prevalence)
    page.fill("#prevalence", "1")
    assert page.locator("#threshold-problem").inner_text() == "The prevalence must be above 0 and below 1."


@pytest.mark.parametrize(
    ("part", "size"), [(0, 10), (10, 10), (3, 7), (1, 10**7), (9_999_000, 10**7), (123_456, 10**6)]
)
def test_intervals_of_large_and_small_counts_are_exact(browser, tmp_path, part, size):
    """Repeated rows make any counts: positives with an alarm and without, and one negative of each kind."""
    weight = [part or 1, (size - part) or 1, 1, 1]
    score = [1.0 if part else 0.0, 0.0 if part < size else 1.0, 0.0, 1.0]
    total = weight[0] + weight[1]
    out = report(
        [1, 1, 0, 0], {"m": score}, alpha=1, beta=1, sample_weight=weight, intervals="delong", pngs=False,
        out=tmp_path / "r.html",
    )  # fmt: skip
    with Opened(browser, out, address="#threshold=1") as opened:
        caught = sum(w for w, s, positive in zip(weight, score, (1, 1, 0, 0), strict=True) if positive and s == 1.0)
        low, high = clopper_pearson(caught, total, 0.95)
        assert rates(opened.page)["tpr"] == pytest.approx([caught / total, low, high], rel=1e-9, abs=1e-12)


def test_the_threshold_is_dragged_and_moved_with_the_keyboard(opened):
    page = opened.page
    _, scores, _ = rows("continuous")
    name = "model 2"
    listed = np.unique(scores[name])
    box = plot_box(page, "score-panel-2")
    start = float(page.get_by_role("slider", name=f"Threshold of {name}").get_attribute("aria-valuenow"))
    handle = page.locator("#score-panel-2 .handle .knob").bounding_box()
    drag(page, (handle["x"] + 7, handle["y"] + 7), at(box, 0.6, 0.5))
    threshold = float(page.input_value("#threshold"))
    assert threshold in listed
    assert threshold != start
    check_rates(page, "continuous", name, threshold)
    page.get_by_role("slider", name=f"Threshold of {name}").focus()
    page.keyboard.press("ArrowRight")
    higher = listed[np.searchsorted(listed, threshold) + 1]
    assert float(page.input_value("#threshold")) == higher
    check_rates(page, "continuous", name, higher)
    assert page.locator("#threshold-means").inner_text() == "chosen here, on these rows"
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert page.input_value("#threshold") == ""
    check_rates(page, "continuous", name, math.inf)
    page.click("#reset-threshold")
    assert float(page.input_value("#threshold")) == start


def test_pointing_at_a_curve_shows_its_point_and_a_click_takes_it(opened):
    page = opened.page
    y, scores, _ = rows("continuous")
    box = plot_box(page)
    page.mouse.move(*at(box, 0.6, 0.08))
    tip = page.locator(".tip")
    name, tpr, fpr, threshold = re.fullmatch(r"(.*)\nTPR (.*), FPR (.*)\nthreshold (.*)", tip.inner_text()).groups()
    page.mouse.click(*at(box, 0.6, 0.08))
    chosen = float(page.input_value("#threshold"))
    point = tpauc.evaluate_threshold(y, scores[name], chosen)
    assert (f"{point.tpr:.4f}", f"{point.fpr:.4f}") == (tpr, fpr)
    assert chosen == pytest.approx(float(threshold.replace("\N{MINUS SIGN}", "-")), rel=1e-3)
    check_rates(page, "continuous", name, chosen)
    page.mouse.move(*at(box, 0.9, 0.9))
    assert not tip.is_visible()


# -------------------------------------------------------------------------------------------- models, link, hand back


def test_models_are_switched_off_and_on(opened):
    page = opened.page
    names = list(rows("continuous")[1])
    page.get_by_role("checkbox", name=names[1], exact=True).uncheck()  # the one in focus
    assert set(areas(page)) == {names[0], names[2]}
    drawn = page.locator("#roc-panel-1 path.line[data-name]").evaluate_all("n => n.map(p => p.dataset.name)")
    assert drawn == [names[0], names[2]]
    assert page.input_value("#model") != "1"
    page.get_by_role("checkbox", name=names[0], exact=True).uncheck()
    page.get_by_role("checkbox", name=names[2], exact=True).click()
    assert set(areas(page)) == {names[2]}  # the last one stays
    page.get_by_role("checkbox", name=names[0], exact=True).check()
    page.get_by_role("button", name=names[0], exact=True).click()
    assert page.input_value("#model") == "0"
    assert page.get_by_role("button", name=names[0], exact=True).get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize(("opened", "kind"), [("tied", "tied"), ("weighted", "weighted")], indirect=["opened"])
def test_the_choice_is_handed_back(opened, kind):
    page = opened.page
    y, scores, weight = rows(kind)
    set_region(page, 0.4, 0.25)
    page.select_option("#model", "2")
    page.fill("#threshold", "0.7")
    page.fill("#prevalence", "0.02")
    page.click("#copy-json")
    expect(page.locator("#copied")).to_have_text("JSON copied")
    handed = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert handed == json.loads(page.inner_text("#handed"))
    page.click("#copy-python")
    expect(page.locator("#copied")).to_have_text("Python copied")
    names = {"y_true": y, "y_score": scores[handed["model"]], "sample_weight": weight}
    exec(page.evaluate("navigator.clipboard.readText()"), names)
    chosen, picked = names["chosen"], names["picked"]
    assert handed["tpauc"] == pytest.approx(names["area"], abs=1e-9)
    for field in ("threshold", "tpr", "fpr", "precision", "alarms_per_1000", "true_positives", "false_negatives"):
        assert handed[field] == pytest.approx(getattr(chosen, field), rel=1e-9)
    assert (picked.alpha, picked.beta, picked.prevalence, picked.confidence) == (0.4, 0.25, 0.02, 0.95)


def view(page):
    """Return what a reader sees of the state."""
    fields = [page.input_value(f"#{name}") for name in ("alpha", "beta", "model", "threshold", "prevalence")]
    return fields, areas(page), rates(page)


def test_a_link_shows_the_same_view(browser, files, opened):
    page = opened.page
    set_region(page, 0.35, 0.12)
    page.select_option("#model", "2")
    page.fill("#threshold", "0.25")
    page.fill("#prevalence", "0.05")
    page.get_by_role("checkbox", name="model 1", exact=True).uncheck()
    page.click("#scores")
    address = "#" + page.url.partition("#")[2]
    assert address == "#alpha=0.35&beta=0.12&model=model+1.5&threshold=0.25&prevalence=0.05&off=model+1"
    with Opened(browser, files["continuous"], address=address) as other:
        assert view(other.page) == view(page)
        other.page.goto(files["continuous"].as_uri() + "#alpha=0.5&beta=0.5")  # the same page, another view
        check_areas(other.page, "continuous", 0.5, 0.5)
        other.page.goto(files["continuous"].as_uri() + "#alpha=-3&beta=x&model=nobody&threshold=&prevalence=7&off=?")
        check_areas(other.page, "continuous", **REGION)
    page.click("#reset-region")
    assert "alpha" not in page.url


# ----------------------------------------------------------------------------------------------------------- the policy


def test_nothing_but_the_script_of_the_page_runs(browser, files):
    with Opened(browser, files["continuous"]) as opened:
        result = opened.page.evaluate(
            """async () => {
                const script = Object.assign(document.createElement("script"), {textContent: "window.alien = 1"});
                document.body.append(script);
                document.body.insertAdjacentHTML("beforeend", "<p id='bait' onclick='window.alien = 2'>x</p>");
                document.getElementById("bait").click();
                const fetched = await fetch("data:,x").then(() => true, () => false);
                return [window.alien ?? null, fetched];
            }"""
        )
        assert result == [None, False]
        assert any("Content Security Policy" in text for text in opened.complaints)


def test_the_page_can_be_read_without_scripts(browser, files):
    with Opened(browser, files["continuous"], java_script_enabled=False) as opened:
        page = opened.page
        assert page.locator(".live:visible").count() == 0
        assert page.locator("#models tbody tr:visible").count() == 3
        assert page.locator('[id^="score-panel-"]:visible').count() == 3
        assert page.locator("#roc-panel-1 path.line[data-name]:visible").count() == 3
        assert page.locator("#roc-panel-2 path.line[data-name]:visible").count() >= 1
        assert page.locator("#roc-panel-1 rect.region").bounding_box()["width"] > 50
        rule = page.locator("#score-panel-1 .rule.operating")
        assert rule.evaluate("node => getComputedStyle(node).display") == "inline"


def test_the_script_draws_what_python_drew(browser, files):
    """Scripts or not, the same curves: their paths differ by rounding at most."""
    drawn = []
    for scripts in (True, False):
        with Opened(browser, files["continuous"], java_script_enabled=scripts) as opened:
            paths = opened.page.locator("#roc-panel-2 path.line[data-name]").all()
            drawn.append([[float(v) for v in re.split("[ML ]", path.get_attribute("d"))[1:]] for path in paths])
    for with_script, without in zip(*drawn, strict=True):
        # The script keeps the corners of stairs that Python leaves out where they lie on a straight line.
        assert abs(stairs_area(with_script) - stairs_area(without)) < 1e-4


def stairs_area(values):
    x, y = np.array(values).reshape(-1, 2).T / 1000.0
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]))) / 2.0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_screenshots(browser, files, tmp_path, width, scheme):
    with Opened(browser, files["tied"], width, scheme) as opened:
        page = opened.page
        plot = plot_box(page)
        page.mouse.move(*at(plot, 0.4, 0.1))
        page.click("#copy-python")
        picture = page.screenshot(path=tmp_path / f"report-{width}-{scheme}.png", full_page=True)
        assert int.from_bytes(picture[16:20], "big") == width
        assert int.from_bytes(picture[20:24], "big") > 2000
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.complaints == []


@pytest.mark.parametrize("width", [400, 600, 800, 1000, 1300, 1600])
def test_controls_fit_and_do_not_overlap(browser, files, width):
    with Opened(browser, files["continuous"], width, address="#alpha=0.01&beta=0.01") as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        overlapping = page.evaluate(
            """() => {
                const nodes = [...document.querySelectorAll(
                    ".controls label, .controls input, .controls select, .controls button, .controls .means, "
                    + ".legend li, .hand-back button, #ranking td, #rates td, #confusion td")]
                    .filter(node => node.offsetWidth > 0).map(node => [node, node.getBoundingClientRect()]);
                const clash = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1
                    && b.top < a.bottom - 1;
                return nodes.flatMap(([node, box], i) => nodes.slice(i + 1).filter(([other, otherBox]) =>
                    !node.contains(other) && clash(box, otherBox)).map(([other]) => node.outerHTML + other.outerHTML));
            }"""
        )
        assert overlapping == []


# -------------------------------------------------------------------------------------------------------- long curves


def test_a_reduced_curve_is_exact_in_its_region_and_states_its_bound_elsewhere(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "_MOST_STEPS", {True: 300, False: 300})
    monkeypatch.setattr(embedding, "_MOST_THRESHOLDS", 100)
    rng = np.random.default_rng(4)
    y = rng.random(20_000) < 0.4
    score = rng.normal(size=y.size) + y
    deployed = tpauc.evaluate_threshold(y, score, 0.123456789, **REGION)
    deployed = dataclasses.replace(deployed, rule="max_tpr", guarantee=0.95)
    out = report(
        y, {"m": score}, **REGION, operating_points={"m": deployed}, out=tmp_path / "r.html", pngs=False,
        intervals="delong",
    )  # fmt: skip
    with Opened(browser, out) as opened:
        page = opened.page
        assert areas(page)["m"] == pytest.approx(tpauc.tpauc_score(y, score, **REGION), abs=1e-12)
        assert page.locator("#ranking-note").inner_text() == "These areas are exact."
        assert rates(page)["tpr"][0] == deployed.tpr  # the deployed threshold is listed, whatever else is
        bounds = []
        for alpha, beta in ((0.2, 0.3), (0.111, 0.377), (0.9, 0.05)):
            set_region(page, alpha, beta)
            bound = float(page.locator("#ranking [data-bound]").get_attribute("data-bound"))
            assert abs(areas(page)["m"] - tpauc.tpauc_score(y, score, alpha=alpha, beta=beta)) <= bound + 1e-12
            bounds.append(bound)
        assert max(bounds) > 1e-9
        assert "have the stated error at most" in page.locator("#ranking-note").inner_text()
        page.fill("#threshold", "1")
        page.click("#scores")
        listed = float(page.input_value("#threshold"))  # the nearest one that the page knows
        assert 0 < abs(listed - 1) < 0.2
        assert rates(page)["fpr"][0] == tpauc.evaluate_threshold(y, score, listed).fpr
