"""What notebooks show of results: well-formed tables without scripts, with the figures, all texts escaped."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tpauc
from tpauc._notebook import html_table
from tpauc.metrics.intervals import Interval

REGION = {"alpha": 0.5, "beta": 0.5}
RNG = np.random.default_rng(0)
Y = np.arange(200) < 60
SCORE = RNG.normal(size=200) + 2 * Y
NASTY = "<script>alert('&\"')</script>"


def advice():
    X, y = make_classification(300, n_features=4, weights=[0.7], random_state=0)
    return tpauc.advise(X, y, n_folds=2, n_repeats=1, random_state=0, **REGION)


RESULTS = {
    "interval": lambda: tpauc.tpauc_interval(Y, SCORE, random_state=0, **REGION),
    "interval of few": lambda: tpauc.tpauc_interval(Y, SCORE, alpha=0.05, beta=0.5, random_state=0),
    "comparison": lambda: tpauc.compare_tpauc(Y, SCORE, -SCORE, random_state=0, **REGION),
    "equal models": lambda: tpauc.compare_tpauc(Y, SCORE, SCORE, random_state=0, **REGION),
    "rate": lambda: tpauc.tpr_at_fpr(Y, SCORE, fpr=0.1),
    "picked point": lambda: tpauc.operating_point(Y, SCORE, guarantee=0.9, prevalence=0.01, **REGION),
    "no alarm": lambda: tpauc.operating_point(Y, np.zeros(200), **REGION),
    "given point": lambda: tpauc.evaluate_threshold(Y, SCORE, 1.0),
    "decision curve": lambda: tpauc.net_benefit(Y, 1 / (1 + np.exp(-SCORE))),
    "one decision": lambda: tpauc.net_benefit(Y, 1 / (1 + np.exp(-SCORE)), thresholds=0.5),
    "plan": lambda: tpauc.plan_study(0.5, 0.5, tpauc=0.6, half_width=0.2),
    "subgroups": lambda: tpauc.evaluate_by(Y, SCORE, np.array([NASTY, "b"])[np.arange(200) % 2], **REGION),
    "advice": advice,
}


def shown_text(html):
    """Return the text of an element; an error if it is not well-formed."""
    return " ".join(" ".join(ElementTree.fromstring(html).itertext()).split())


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table_without_scripts_or_colours(name):
    html = RESULTS[name]()._repr_html_()
    shown_text(html)
    assert not re.search(r"<(script|style|link|img|iframe)|on\w+=|javascript:|https?:", html)
    # A translucent grey is visible on light and dark pages; no other colour is set.
    assert set(re.findall(r"#[0-9a-f]+", html)) == {"#8886"}
    assert not re.search(r"(?<![-\w])(color|background)\s*:", html)


def test_the_tables_hold_the_figures():
    interval = RESULTS["interval"]()
    text = shown_text(interval._repr_html_())
    assert f"{interval.estimate:.4f}" in text
    assert f"{interval.low:.4f} to {interval.high:.4f}" in text
    assert "30 positives, 70 negatives" in text
    few = RESULTS["interval of few"]()
    assert few.caution in shown_text(few._repr_html_())
    point = RESULTS["picked point"]()
    text = shown_text(point._repr_html_())
    assert "FPR <= 0.5 on new data with probability 0.9" in text
    assert "judged on the rows that the threshold was picked on" in text
    assert all(f"{rate.low:.4f} to {rate.high:.4f}" in text for rate in point.intervals.values())
    plan = RESULTS["plan"]()
    assert shown_text(plan._repr_html_()).endswith(repr(plan))
    found = RESULTS["advice"]()
    assert found.verdict in shown_text(found._repr_html_())


def test_a_printed_interval_is_a_line_and_its_caution():
    interval = RESULTS["interval"]()
    assert str(interval) == (
        f"{interval.estimate:.4f} in {interval.low:.4f} to {interval.high:.4f} "
        f"(30 hard positives, 70 hard negatives; {interval.method})"
    )
    few = RESULTS["interval of few"]()
    assert str(few).splitlines()[1:] == [f"  {few.caution}"]
    rate = Interval(0.5, 0.25, 0.75, "clopper-pearson")
    assert str(rate) == "0.5000 in 0.2500 to 0.7500 (clopper-pearson)"


def test_a_comparison_says_whether_a_difference_is_shown():
    assert "does not contain 0" in RESULTS["comparison"]()._repr_html_()
    assert "contains 0: no difference is shown" in RESULTS["equal models"]()._repr_html_()


def test_a_long_decision_curve_is_shown_in_part():
    curve = RESULTS["decision curve"]()
    rows = ElementTree.fromstring(curve._repr_html_()).findall("table/tbody/tr")
    assert [row[0].text for row in (rows[0], rows[-1])] == ["0.01", "0.99"]
    assert len(rows) == 9
    assert repr(curve).startswith("<Net benefit at 99 threshold probabilities, prevalence 0.3: the model is best at ")


def test_the_text_of_advice_is_its_verdict_and_five_figures():
    found = RESULTS["advice"]()
    lines = repr(found).splitlines()
    assert lines[0] == f"Advice: {found.verdict}"
    assert [line.split("  ")[1].strip() for line in lines[1:]] == [
        *("plain", "balanced", "region", "region minus plain", "region minus balanced"),
    ]


def test_all_texts_are_escaped():
    html = html_table(NASTY, [[NASTY, NASTY]], header=[NASTY, NASTY], notes=[NASTY, ""])
    assert "<script" not in html
    assert shown_text(html).count(NASTY) == 6
    assert "&lt;script" in RESULTS["subgroups"]()._repr_html_()


def test_a_comparison_is_printed_in_a_line():
    found = RESULTS["comparison"]()
    limits = f"{found.low:+.4f} to {found.high:+.4f}"
    assert str(found) == f"{found.difference:+.4f} in {limits} (p = {found.p_value:.3g}; {found.method})"
