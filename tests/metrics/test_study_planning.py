"""Planning of studies: the population, the formula against DeLong and plain simulation, limits, bad input.

Whether the numbers are right is simulated by `benchmarks/planning.py`; here few and small samples are drawn.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from scored_samples import binormal
from tpauc.metrics import study_planning as planning
from tpauc.metrics.area import tpauc_score
from tpauc.metrics.intervals import HARD_EXAMPLES_NEEDED, Interval, tpauc_interval
from tpauc.metrics.study_planning import StudyPlan, binormal_shift, plan_study
from tpauc.region import Region

CORNER = Region(0.3, 0.3)


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch):
    monkeypatch.setattr(planning, "_MOST_SAMPLES", 10)
    monkeypatch.setattr(planning, "_FEWEST_SAMPLES", 3)
    monkeypatch.setattr(planning, "_ROWS_PER_SAMPLE", {1: 5_000, 2: 1_000})
    monkeypatch.setattr(planning, "_HARD_ROWS", 5_000)


@pytest.fixture
def exact_intervals(monkeypatch):
    """Intervals of the half width 1.959964 s, so that a plan follows from the formula alone."""

    def constant(generator, population, n_positive, ratio, region, confidence):
        _, deviation = planning._value_and_deviation(population, region, ratio)
        quantile = -float(ndtri((1 - confidence) / 2))
        return quantile * deviation / math.sqrt(n_positive), deviation / math.sqrt(n_positive), n_positive

    monkeypatch.setattr(planning, "_simulated_limits", constant)


# ------------------------------------------------------------------------------------------------------ the population


@pytest.mark.parametrize(("tpauc", "spread"), [(0.05, 1.0), (0.6, 1.0), (0.95, 2.0)])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.3), (0.1, 0.05), (1.0, 0.1), (1.0, 1.0)])
def test_the_population_has_the_guessed_areas_and_correlation(tpauc, spread, alpha, beta):
    region = Region(alpha, beta)
    generator = np.random.default_rng(0)
    positives, negatives = planning._normal_population(generator, region, [tpauc, tpauc + 0.02], spread, 0.7)
    y = np.arange(positives.shape[1] + negatives.shape[1]) < positives.shape[1]
    for model, wanted in enumerate((tpauc, tpauc + 0.02)):
        found = tpauc_score(y, np.concatenate((positives[model], negatives[model])), alpha=alpha, beta=beta)
        assert found == pytest.approx(wanted, abs=2e-3)  # rows are quantiles, which miss the ends of the normal
    assert np.corrcoef(positives)[0, 1] == pytest.approx(0.7, abs=0.02)
    assert np.corrcoef(negatives)[0, 1] == pytest.approx(0.7, abs=0.02)


def test_the_shift_of_an_auc_is_known():
    assert binormal_shift(0.5, 1.0, Region(1, 1)) == pytest.approx(0.0, abs=1e-6)
    # AUC of two normals: Phi(shift / sqrt(1 + spread^2)); the mean over 4,000 positives errs by less than 1e-4.
    assert binormal_shift(0.9, 2.0, Region(1, 1)) == pytest.approx(float(ndtri(0.9)) * math.sqrt(5), abs=2e-3)


@pytest.mark.parametrize(("region", "n_positive"), [(Region(1, 1), 60), (CORNER, 200)])
def test_the_deviation_is_the_spread_of_simulated_areas(region, n_positive):
    """400 areas give their standard deviation to about 3.5 %."""
    generator = np.random.default_rng(0)
    population = planning._normal_population(generator, region, [0.6], 1.0, 0.0)
    value, deviation = planning._value_and_deviation(population, region, 3.0)
    assert value == pytest.approx(0.6, abs=1e-3)
    shift = binormal_shift(0.6, 1.0, region)
    area = {"alpha": region.alpha, "beta": region.beta}
    areas = [tpauc_score(*binormal(generator, n_positive, 3 * n_positive, shift), **area) for _ in range(400)]
    assert np.std(areas) == pytest.approx(deviation / math.sqrt(n_positive), rel=0.12)


def test_equal_models_have_no_spread_in_their_difference():
    positives, negatives = np.random.default_rng(0).normal(size=(2, 100))
    population = np.array([positives, positives]), np.array([negatives, negatives])
    assert planning._value_and_deviation(population, CORNER, 1.0)[1] == 0.0


# ------------------------------------------------------------------------------------------------------------ the plan


@pytest.mark.usefixtures("exact_intervals")
def test_rows_grow_with_the_square_of_precision_and_with_power():
    small, large = (plan_study(0.3, 0.3, tpauc=0.6, half_width=width) for width in (0.04, 0.02))
    assert large.n_positive == pytest.approx(4 * small.n_positive, abs=4)
    assert small.n_negative == 10 * small.n_positive
    # (1.96 + 0.84)^2 rows for a power of 80 % where (1.96 + 1.28)^2 give 90 %.
    eighty, ninety = (plan_study(0.3, 0.3, tpauc=0.6, difference=0.1, power=power) for power in (0.8, 0.9))
    assert ninety.n_positive / eighty.n_positive == pytest.approx((1.95996 + 1.28155) ** 2 / 2.80158**2, rel=0.01)
    assert (eighty.power, eighty.half_width, eighty.difference) == (0.8, None, 0.1)
    assert (small.power, small.half_width, small.difference) == (None, 0.04, None)


@pytest.mark.usefixtures("exact_intervals")
def test_more_negatives_correlation_and_confidence():
    def rows(**options):
        return plan_study(0.3, 0.3, **{"tpauc": 0.6, "difference": 0.05, **options}).n_positive

    assert rows(ratio=20) < rows(ratio=10) < rows(ratio=1)
    assert rows(correlation=0.9) < rows(correlation=0.5) < rows(correlation=0.0)
    assert rows(confidence=0.99) > rows()
    assert rows(spread=2.0) > rows()


def test_the_plan_follows_the_printed_intervals(monkeypatch):
    """Wider intervals by a fifth need 44 % more rows, or a little fewer, as intervals shrink faster than the root."""
    monkeypatch.setattr(planning, "_MOST_SAMPLES", 60)
    plan = plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1)

    def wider(*arguments, **options):
        found = tpauc_interval(*arguments, **options)
        margin = 0.1 * (found.high - found.low)
        return Interval(found.estimate, found.low - margin, found.high + margin, found.method)

    monkeypatch.setattr(planning, "tpauc_interval", wider)
    assert plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1).n_positive == pytest.approx(1.4 * plan.n_positive, rel=0.1)


@pytest.mark.parametrize("power", [-0.5, -0.7, -1.0])
@pytest.mark.parametrize("wider", [1.0, 3.0])
def test_the_plan_is_right_however_fast_intervals_shrink(monkeypatch, power, wider):
    """Where few examples decide, intervals shrink faster than with the root of the rows."""

    def shrinking(generator, population, n_positive, ratio, region, confidence):
        return wider * 0.1 * (n_positive / 300) ** power, 0.0, n_positive

    monkeypatch.setattr(planning, "_simulated_limits", shrinking)
    plan = plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1)
    assert plan.n_positive == pytest.approx(300 * wider ** (-1 / power), rel=0.01)


def test_an_interval_of_the_planned_size_has_the_planned_width():
    """Ten studies: mean half widths of so few vary by about 3 %, and so does the plan from few samples."""
    plan = plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1)
    generator, shift = np.random.default_rng(1), binormal_shift(0.6, 1.0, CORNER)
    found = [
        tpauc_interval(
            *binormal(generator, plan.n_positive, plan.n_negative, shift), alpha=0.3, beta=0.3, random_state=generator
        )
        for _ in range(10)
    ]
    assert np.mean([(interval.high - interval.low) / 2 for interval in found]) == pytest.approx(0.1, rel=0.12)


def test_a_pilot_stands_for_the_population():
    y, s = binormal(np.random.default_rng(0), 300, 1500, 2.0)
    plan = plan_study(0.3, 0.3, pilot=(y, s), half_width=0.05)
    assert plan.tpauc == pytest.approx(tpauc_score(y, s, alpha=0.3, beta=0.3), rel=1e-12)
    assert plan.n_negative == 5 * plan.n_positive
    guess = plan_study(0.3, 0.3, tpauc=plan.tpauc, half_width=0.05, ratio=5)
    assert plan.n_positive == pytest.approx(guess.n_positive, rel=0.3)  # 90 hard positives know this roughly
    names = np.where(y, "ill", "well")
    assert plan_study(0.3, 0.3, pilot=(names, np.exp(s)), pos_label="ill", half_width=0.05) == plan
    other = s + np.random.default_rng(1).normal(size=s.size)
    compared = plan_study(0.3, 0.3, pilot=[y, s, other], difference=0.05)
    assert compared.tpauc == plan.tpauc
    assert compared.n_positive > plan.fewest_positives


@pytest.mark.parametrize(("alpha", "beta", "positives", "negatives"), [(0.3, 0.3, 17, 17), (0.29, 0.01, 18, 500)])
def test_a_plan_has_at_least_five_hard_examples(alpha, beta, positives, negatives):
    assert HARD_EXAMPLES_NEEDED == 5
    region = Region(alpha, beta)
    assert (region.hard_positives(positives), region.hard_positives(positives - 1)) == (5, 4)
    plan = plan_study(alpha, beta, tpauc=0.5, half_width=0.49)
    assert (plan.fewest_positives, plan.fewest_negatives) == (positives, negatives)
    assert plan.n_positive >= positives
    assert plan.n_negative >= negatives
    assert repr(plan).endswith(" Fewer rows would do, but intervals are reliable from 5 hard examples on.")


def test_the_plan_reads_as_a_sentence():
    plan = plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1)
    assert isinstance(plan, StudyPlan)
    assert (
        repr(plan)
        == str(plan)
        == (
            f"{plan.n_positive:,} positives and {plan.n_negative:,} negatives give a TPAUC(0.3, 0.3) of 0.6 "
            "a 95 % interval of ± 0.1."
        )
    )
    plan = plan_study(0.3, 0.3, tpauc=0.6, difference=0.2, power=0.9)
    assert repr(plan) == (
        f"{plan.n_positive:,} positives and {plan.n_negative:,} negatives tell a TPAUC(0.3, 0.3) of 0.6 from one that "
        "is higher by 0.2 with a probability of 90 %, at a confidence of 95 %."
    )


def test_random_state():
    def rows(**options):
        return plan_study(0.3, 0.3, tpauc=0.6, half_width=0.1, **options).n_positive

    assert rows() == rows() == rows(random_state=0) == rows(random_state=np.random.default_rng(0))
    assert rows() != rows(random_state=1)
    assert rows(random_state=None) == pytest.approx(rows(), rel=0.25)


GOOD = {"alpha": 0.3, "beta": 0.3, "tpauc": 0.6, "half_width": 0.1}
PILOT = ([0, 1] * 10, list(range(20)))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"alpha": 0.0}, ValueError, r"alpha must be a share in \(0, 1\], got 0\.0"),
        ({"half_width": None}, ValueError, "either half_width or difference must be given, got None and None"),
        ({"difference": 0.1}, ValueError, r"either half_width or difference must be given, got 0\.1 and 0\.1"),
        ({"half_width": 0.5}, ValueError, r"half_width must be below 0\.5, .*, got 0\.5"),
        ({"half_width": 0.0}, ValueError, r"half_width must be above 0, got 0\.0"),
        ({"half_width": None, "difference": 1.0}, ValueError, r"difference must be in \(0, 1\), got 1\.0"),
        ({"half_width": None, "difference": 0.4}, ValueError, r"tpauc \+ difference must be below 1, got 0\.6 \+ 0\.4"),
        ({"tpauc": 1.0}, ValueError, r"tpauc must be in \(0, 1\), got 1\.0"),
        ({"tpauc": None}, ValueError, "tpauc must be given, or a pilot that shows it"),
        ({"power": 1.0}, ValueError, r"power must be in \(0, 1\), got 1\.0"),
        ({"confidence": 0.0}, ValueError, r"confidence must be in \(0, 1\), got 0\.0"),
        ({"ratio": 0.0}, ValueError, r"ratio must be above 0, got 0\.0"),
        ({"spread": -1.0}, ValueError, r"spread must be above 0, got -1\.0"),
        ({"correlation": 1.1}, ValueError, r"correlation must be in \[0, 1\], got 1\.1"),
        ({"correlation": "a"}, TypeError, "correlation must be a number, got 'a'"),
        ({"pilot": PILOT}, ValueError, r"tpauc must not be given together with a pilot, which has its own, got 0\.6"),
        (
            {"pilot": (*PILOT, PILOT[1]), "tpauc": None},
            ValueError,
            r"pilot must be \(y_true, y_score\) for a half_width, got 3 arrays",
        ),
        (
            {"pilot": PILOT, "tpauc": None, "half_width": None, "difference": 0.1},
            ValueError,
            r"pilot must be \(y_true, score_a, score_b\) for a difference, got 2 arrays",
        ),
        ({"pilot": {"y": 1}, "tpauc": None}, ValueError, r"pilot must be \(y_true, y_score\) .*, got dict"),
        ({"pilot": ([0, 1], [0, 1]), "tpauc": None}, ValueError, r"alpha=0\.3 selects none of the 1 positive examples"),
        ({"pilot": ([0, 1] * 9, [0, 1] * 9), "tpauc": None}, ValueError, "pilot must show some spread, got a perfect"),
        ({"pilot": ([1] * 9, [0] * 9), "tpauc": None}, ValueError, "y_true has no negative example"),
        ({"random_state": "a"}, TypeError, "random_state must be None, a whole number"),
    ],
)
def test_bad_input(changes, error, message):
    with pytest.raises(error, match=f"^{message}"):
        plan_study(**{**GOOD, **changes})
