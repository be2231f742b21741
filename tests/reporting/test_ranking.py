"""Rankings in steps: exact areas of every region, before and after reduction, against the library."""

import base64

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpauc.metrics.area import area_in_region
from tpauc.metrics.operating_points import evaluate_threshold
from tpauc.region import Region, hard_mass
from tpauc.reporting import page
from tpauc.reporting.embedding import steps_within_budget
from tpauc.reporting.ranking import encoded, exact_steps, listed_thresholds, reduced, score_steps


def area_of(steps, region, *, whole=True):
    """Return TPAUC and which part of it the borders of mixed steps leave open, step by step."""
    total_positive, total_negative = steps.positives.sum().item(), steps.negatives.sum().item()
    k_positive = hard_mass(total_positive, region.alpha) if whole else total_positive * region.alpha
    k_negative = hard_mass(total_negative, region.beta) if whole else total_negative * region.beta
    passed = caught = twice = unknown = 0
    for n, p, inner in zip(steps.negatives.tolist(), steps.positives.tolist(), steps.inner.tolist(), strict=True):
        hard_n = min(max(k_negative - passed, 0), n)
        hard_p = p - min(max(total_positive - k_positive - caught, 0), p)
        passed, caught = passed + n, caught + p
        twice += 2 * hard_p * max(k_negative - passed, 0)
        if inner == -1:
            twice += hard_p * hard_n
        elif (hard_n, hard_p) == (n, p):
            twice += inner
        elif inner > 0:
            unknown += 2 * hard_n * hard_p
    pairs = 2 * k_positive * k_negative
    return twice / pairs, unknown / pairs


labelled = st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(1, 3)), min_size=4, max_size=60).filter(
    lambda rows: len({label for label, _, _ in rows}) == 2
)
shares = st.floats(0.05, 1.0)


def arrays(rows):
    y, s, w = (np.array(column) for column in zip(*rows, strict=True))
    return y, s.astype(float), w.astype(float)


@settings(deadline=None, max_examples=150)
@given(labelled, shares, shares, st.sampled_from(["alike", "repeated", "weighted"]))
def test_steps_have_the_areas_of_the_library(rows, alpha, beta, kind):
    y, s, weight = arrays(rows)
    weight = {"alike": None, "repeated": weight, "weighted": weight / 3.7}[kind]
    masses = [np.ones(y.size) if weight is None else weight] * 2
    region = Region(alpha, beta)
    whole = kind != "weighted"
    if whole and not (hard_mass(masses[0][y].sum(), alpha) and hard_mass(masses[1][~y].sum(), beta)):
        return
    steps = exact_steps(score_steps(y, s, weight))
    assert steps.is_exact
    found, unknown = area_of(steps, region, whole=whole)
    assert found == pytest.approx(area_in_region(y, s, region, weight=weight), abs=1e-12)
    assert unknown == 0


def many_rows(n=4000, decimals=9):
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.4
    return y, np.round(rng.normal(size=n) + y, decimals)


@pytest.mark.parametrize("decimals", [9, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.2), (0.01, 0.9), (1.0, 1.0), (0.123, 0.0456)])
def test_reduction_keeps_the_area_in_the_region(decimals, weighted, alpha, beta):
    y, s = many_rows(decimals=decimals)
    weight = np.random.default_rng(1).gamma(1.0, size=y.size) if weighted else None
    region = Region(alpha, beta)
    steps = exact_steps(score_steps(y, s, weight))
    few = reduced(steps, 60, region)
    assert few.negatives.size <= 64 < steps.negatives.size
    assert not few.is_exact
    found, unknown = area_of(few, region, whole=not weighted)
    assert unknown == 0
    assert found == pytest.approx(area_in_region(y, s, region, weight=weight), abs=1e-9)
    assert few.negatives.sum() == pytest.approx(steps.negatives.sum(), rel=1e-12)
    assert few.positives.sum() == pytest.approx(steps.positives.sum(), rel=1e-12)


def test_reduction_is_fine_in_other_regions_too():
    y, s = many_rows(100_000)
    few = reduced(exact_steps(score_steps(y, s)), 2000, Region(0.1, 0.1))
    rng = np.random.default_rng(2)
    for alpha, beta in 10.0 ** rng.uniform(-2, 0, size=(50, 2)):
        region = Region(alpha, beta)
        found, unknown = area_of(few, region)
        exact = area_in_region(y, s, region)
        assert found - 1e-12 <= exact <= found + unknown + 1e-12
        # d = (log n+ + log n-) / 2000, and two steps may be cut; twice as much, since `unknown` is no tight bound.
        assert unknown <= 2 * 2 * (2 * np.log(60_000) / 2000) ** 2 / 4


def test_few_steps_are_kept():
    y, s = many_rows(200)
    steps = exact_steps(score_steps(y, s))
    assert reduced(steps, 1000, Region(0.1, 0.1)) is steps


def decoded(text):
    """Read whole numbers of seven bits per byte, as the script does."""
    found, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def test_codes_are_read_back():
    y, s = many_rows(decimals=2)
    for steps in (exact_steps(score_steps(y, s)), reduced(exact_steps(score_steps(y, s)), 5, Region(0.1, 0.1))):
        coded = encoded(steps)
        assert coded["whole"] is True
        assert decoded(coded["negatives"]) == steps.negatives.tolist()
        assert decoded(coded["positives"]) == steps.positives.tolist()
        assert [value - 1 for value in decoded(coded["inner"])] == steps.inner.tolist()
    steps = exact_steps(score_steps(y, s, np.full(y.size, 0.1)))
    assert np.frombuffer(base64.b64decode(encoded(steps)["inner"]), "<f8").tolist() == steps.inner.tolist()


@pytest.mark.parametrize("most", [10_000, 200])
def test_listed_thresholds_have_the_counts_of_the_library(most):
    y, s = many_rows()
    found = listed_thresholds(score_steps(y, s), most, [0.5, float("inf"), 99.0])
    assert len(found["score"]) <= most + 2
    assert sorted(found["score"], reverse=True) == found["score"]
    assert {0.5, 99.0} <= set(found["score"])
    for place in range(0, len(found["score"]), 37):
        point = evaluate_threshold(y, s, found["score"][place])
        assert (found["tp"][place], found["fp"][place]) == (point.true_positives, point.false_positives)
    assert (found["tp"][0], found["fp"][0]) == (0, 0)
    assert (found["tp"][-1], found["fp"][-1]) == (y.sum(), (~y).sum())
    tpr, fpr = np.array(found["tp"]) / y.sum(), np.array(found["fp"]) / (~y).sum()
    assert np.hypot(np.diff(tpr), np.diff(fpr)).max() < (0.05 if most == 200 else 0.01)


def test_a_million_rows_fit_into_three_megabytes(tmp_path, monkeypatch):
    """`benchmarks/report_size.py` does it with 1e7 rows."""
    rng = np.random.default_rng(0)
    y = rng.random(1_000_000) < 0.5
    scores = {f"model {k}": (rng.normal(size=y.size) + (1.0 + 0.3 * k) * y).astype(np.float32) for k in range(5)}
    monkeypatch.setattr(page, "bands", lambda *_: {})  # a few kB, and most of the time
    out = page.report(
        y, scores, alpha=0.1, beta=0.05, out=tmp_path / "report.html", pngs=False, intervals="delong", n_resamples=39
    )
    assert out.stat().st_size < 3_000_000
    region = Region(0.1, 0.05)
    steps = steps_within_budget(score_steps(y, scores["model 0"]), 5, region)
    assert not steps.is_exact
    assert area_of(steps, region)[0] == pytest.approx(area_in_region(y, scores["model 0"], region), abs=1e-9)
