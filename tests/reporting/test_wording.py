"""Titles and headlines: true whatever the numbers are."""

import numpy as np
import pytest

from tpauc.metrics.comparison import Comparison
from tpauc.metrics.operating_points import operating_point
from tpauc.region import Region
from tpauc.reporting.wording import (
    Standing,
    alike,
    headline,
    limits_text,
    promise,
    rate_text,
    stakeholder_title,
    verdict,
)

REGION = Region(0.1, 0.05)
NBSP = "\N{NO-BREAK SPACE}"


def standing(name, tpauc, lead=None, caught=0.5, alarms=0.4):
    compared = None if lead is None else Comparison(*lead, 0.5, "bootstrap")
    return Standing(name, tpauc, tpauc - 0.1, tpauc + 0.1, caught, alarms, compared)


def said(models, twins=()):
    return " ".join(headline(models, twins, REGION, f"95{NBSP}%")).replace(NBSP, " ")


def test_titles_say_what_is_asked():
    wanted = f"at least 90{NBSP}% caught, at most 5{NBSP}% false alarms"
    assert stakeholder_title(["a", "b"], REGION) == f"2 models: {wanted}"
    assert stakeholder_title(["a"], REGION) == f"a: {wanted}"
    assert stakeholder_title(["a"], REGION, "fraud") == f"Catching fraud: a, {wanted}"


def test_one_model_has_no_rivals():
    assert said([standing("a", 0.6)]) == "a reaches a TPAUC of 0.6000 (95 % interval 0.5000 to 0.7000)."


def test_a_winner_is_ahead_of_all_others_beyond_chance():
    text = said([standing("a", 0.6), standing("b", 0.4, (0.2, 0.1, 0.3)), standing("c", 0.3, (0.3, 0.1, 0.4))])
    assert text.startswith("a has the highest TPAUC, 0.6000")
    assert text.endswith("The 95 % interval of its lead over b and c excludes 0.")


@pytest.mark.parametrize("low", [-0.1, 0.0])
def test_no_winner_is_declared_where_the_interval_contains_0(low):
    text = said([standing("a", 0.6), standing("b", 0.55, (0.05, low, 0.3)), standing("c", 0.3, (0.3, 0.1, 0.4))])
    assert text.startswith("No clear winner. a has the highest TPAUC")
    assert "of the lead over b (+0.0500" in text
    assert "contains 0." in text
    assert " c " not in text


def test_a_tpauc_of_0_is_explained_by_what_the_curve_misses():
    text = said([standing("a", 0.0, caught=0.62, alarms=0.3), standing("b", 0.0, caught=0.5, alarms=0.2)])
    assert text == (
        "No model reaches the region: TPAUC is 0. With at most 5 % false alarms a, the closest, catches 62.0 % of the "
        "positives, not 90 %; to catch 90 % it raises false alarms on 30.0 % of the negatives, not 5 %."
    )
    assert said([standing("a", 0.0)]).startswith("a does not reach the region: TPAUC is 0.")


def test_identical_models_are_named_as_such():
    text = said([standing("a", 0.6), standing("b", 0.6, (0, 0, 0)), standing("c", 0.3, (0.3, 0.1, 0.4))], [["a", "b"]])
    assert text.startswith("a and b have the highest TPAUC")
    assert "a and b rank all rows alike" in text
    assert "a and b rank all rows alike" in said([standing("a", 0.0), standing("b", 0.0)], [["a", "b"]])
    everyone = said([standing("a", 0.6), standing("b", 0.6, (0, 0, 0))], [["a", "b"]])
    assert everyone == "a and b rank all rows alike: TPAUC 0.6000 (95 % interval 0.5000 to 0.7000)."


def test_alike_is_about_order_and_ties():
    s = np.array([0.3, 0.1, 0.2, 0.2])
    assert alike({"a": s, "b": s * 2, "c": np.exp(s), "d": -s}) == [["a", "b", "c"]]
    assert alike({"a": s, "b": np.array([0.3, 0.1, 0.2, 0.25])}) == []
    assert alike({"a": np.array([0.3, 0.1, 0.2, 0.25]), "b": s}) == []


def test_promises_name_the_rate_that_is_kept():
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.5
    s = rng.normal(size=2000) + 2 * y
    region = {"alpha": 0.2, "beta": 0.1}
    shown = Region(**region)
    texts = [
        promise(operating_point(y, s, **region, rule=rule, guarantee=guarantee), shown)
        for rule, guarantee in (("max_tpr", 0.95), ("min_fpr", 0.9), ("max_tpr", None))
    ]
    assert texts == [
        f"FPR \N{LESS-THAN OR EQUAL TO} 10{NBSP}% on new rows with probability 95{NBSP}%",
        f"TPR \N{GREATER-THAN OR EQUAL TO} 80{NBSP}% on new rows with probability 90{NBSP}%",
        None,
    ]


@pytest.mark.parametrize(
    ("lead", "p_value", "tpauc", "same", "expected"),
    [
        ((0.2, 0.1, 0.3), 0.0001, 0.6, False, "better (p < 0.001)"),
        ((-0.2, -0.3, -0.1), 0.01, 0.4, False, "worse (p = 0.010)"),
        ((0.1, -0.1, 0.3), 0.4, 0.5, False, "no significant difference (p = 0.400)"),
        ((0.0, 0.0, 0.0), 1.0, 0.5, False, "no significant difference (p = 1.000)"),
        ((0.0, 0.0, 0.0), 1.0, 0.5, True, "ranks all rows as a does"),
        ((0.0, 0.0, 0.0), 1.0, 0.0, False, "misses the region like a, so there is nothing to compare"),
    ],
)
def test_verdicts_say_no_more_than_the_comparison(lead, p_value, tpauc, same, expected):
    assert verdict(Comparison(*lead, p_value, "bootstrap"), tpauc, "a", same=same).replace(NBSP, " ") == expected


@pytest.mark.parametrize(
    ("rate", "limits", "shown"),
    [
        (0.5, (0.4, 0.6), ("50.0 %", "40.0 to 60.0 %")),
        (0.0, (0.0, 0.03), ("0.0 %", "0.0 to 3.0 %")),
        (0.0006, (0.0004, 0.0009), ("0.060 %", "0.040 to 0.090 %")),  # rare alarms
        (0.99985, (0.9997, 0.99991), ("99.985 %", "99.970 to 99.991 %")),  # nearly everyone is caught
        (0.05, (0.04996, 0.05004), ("5.000 %", "4.996 to 5.004 %")),  # a million rows
        (1.0, (1.0, 1.0), ("100.0 %", "100.0 to 100.0 %")),
    ],
)
def test_rates_have_the_digits_that_tell_their_limits_apart(rate, limits, shown):
    texts = [text.replace(NBSP, " ") for text in limits_text(rate, *limits)]
    assert [text.replace("\N{EN DASH}", "to") for text in texts] == list(shown)


def test_a_rare_rate_keeps_two_digits():
    assert [rate_text(rate).replace(NBSP, " ") for rate in (0.5, 0.00056, 0.99961)] == ["50.0 %", "0.056 %", "99.961 %"]


def test_the_closest_model_is_the_one_that_catches_most():
    text = said([standing("a", 0.0, caught=0.1), standing("b", 0.0, caught=0.4)])
    assert "false alarms b, the closest, catches 40.0 %" in text
