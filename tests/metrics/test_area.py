"""Each metric against plain loops, scikit-learn and the properties that define it.

Agreement is to 1e-12: every value is a mean of terms in [0, 1] over at most a few hundred pairs (1e12 in the large
tests), which the fast path counts in whole numbers, so rounding is a few times 1e-16.
"""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import reference
from tpauc.metrics.area import auc_score, opauc_score, partial_auc_score, tpauc_score, tpr_dependent_opauc
from tpauc.region import Region

TIES = ["half", "optimistic", "pessimistic"]
RULE = st.sampled_from(TIES)
# Three decimals: far from any doubt about rounding, which tests/test_region.py looks into.
SHARE = st.integers(100, 1000).map(lambda thousandths: thousandths / 1000)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
# scikit-learn subtracts neighbouring scores, and warns where the difference overflows.
MODERATE = st.floats(-1e300, 1e300)
FEW_VALUES = st.integers(-2, 2).map(float)
Y = np.array([1, 1, 1, 1, 0, 0, 0, 0])
SCORE = np.array([0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1])


@st.composite
def samples(draw, floats=FINITE):
    """Labels and scores, with many ties or almost none; 10 of each class, so that a share of 0.1 selects somebody."""
    n_positive, n_negative = draw(st.integers(10, 18)), draw(st.integers(10, 18))
    labels = draw(st.permutations([1] * n_positive + [0] * n_negative))
    values = draw(st.sampled_from([FEW_VALUES, floats]))
    n = n_positive + n_negative
    return np.array(labels), np.array(draw(st.lists(values, min_size=n, max_size=n)))


def assert_same(value, expected):
    assert isinstance(value, float)
    assert abs(value - expected) <= 1e-12, f"{value} is not {expected}"


# ------------------------------------------------------------------------------------------------ the plain reference


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE)
@settings(deadline=None, max_examples=100)
def test_tpauc_equals_the_plain_loops(sample, alpha, beta, ties):
    expected = reference.tpauc(*sample, alpha, beta, ties)
    assert_same(tpauc_score(*sample, alpha=alpha, beta=beta, ties=ties), expected)
    area = tpauc_score(*sample, alpha=alpha, beta=beta, ties=ties, normalize=False)
    assert_same(area, expected * alpha * beta)


@given(sample=samples(), region=st.lists(st.integers(0, 10), min_size=4, max_size=4), ties=RULE)
@settings(deadline=None, max_examples=100)
def test_a_rectangle_equals_the_plain_loops(sample, region, ties):
    (min_alpha, alpha), (min_beta, beta) = (sorted(tenth / 10 for tenth in side) for side in (region[:2], region[2:]))
    assume(min_alpha < alpha and min_beta < beta)
    region = Region(alpha, beta, min_alpha, min_beta)
    expected = reference.partial_auc(*sample, alpha, beta, min_alpha, min_beta, ties)
    assert_same(partial_auc_score(*sample, region=region, ties=ties), expected)
    assert_same(partial_auc_score(*sample, region=region, ties=ties, normalize=False), expected * region.area)
    weight = np.ones(sample[0].size)
    assert_same(partial_auc_score(*sample, region=region, ties=ties, sample_weight=weight), expected)


def test_a_rectangle_with_weights_that_it_cuts():
    y, score, weight = [1, 1, 1, 0, 0], [3.0, 2.0, 1.0, 2.5, 0.5], [0.5, 0.5, 1.0, 0.5, 0.5]
    # By weight from the hardest on: positives 1.0 (1), 2.0 (0.5), 3.0 (0.5); of them 0.5 to 1.75 counts.
    region = Region(alpha=0.875, beta=0.5, min_alpha=0.25)
    assert_same(partial_auc_score(y, score, region=region, sample_weight=weight), 0.25 / 1.25)


def test_partial_areas_are_rectangles():
    rng = np.random.default_rng(0)
    y = np.arange(500) < 150
    score = rng.normal(size=500).round(1) + y
    assert partial_auc_score(y, score, region=Region(0.3, 0.2)) == tpauc_score(y, score, alpha=0.3, beta=0.2)
    assert partial_auc_score(y, score, region=Region(1, 0.2, 0, 0.1)) == opauc_score(y, score, beta=0.2, min_fpr=0.1)
    assert partial_auc_score(y, score, region=Region(1, 1)) == auc_score(y, score)
    # Reversed: swapping the classes and the sign of the scores swaps alpha with beta and keeps all pairs.
    region, mirrored = Region(0.7, 0.3, 0.2, 0.1), Region(0.3, 0.7, 0.1, 0.2)
    assert partial_auc_score(y, score, region=region) == partial_auc_score(~y, -score, region=mirrored)
    # Four rectangles make up the whole.
    parts = [Region(a, b, a - 0.5, b - 0.5) for a in (0.5, 1) for b in (0.5, 1)]
    areas = [partial_auc_score(y, score, region=part, normalize=False) for part in parts]
    assert_same(sum(areas), auc_score(y, score))


def test_partial_auc_score_takes_a_region():
    with pytest.raises(TypeError, match=r"region must be a tpauc\.Region, got \(0\.3, 0\.2\)"):
        partial_auc_score(Y, SCORE, region=(0.3, 0.2))
    with pytest.raises(ValueError, match=r"no positive lies between miss rates of 0\.3 and 0\.4"):
        partial_auc_score(Y, SCORE, region=Region(0.4, 1, min_alpha=0.3))


@given(sample=samples(), beta=SHARE, part=st.integers(0, 7), ties=RULE)
@settings(deadline=None, max_examples=60)
def test_opauc_equals_the_plain_loops(sample, beta, part, ties):
    min_fpr = beta * part / 8
    n_negative = int((sample[0] == 0).sum())
    assume(reference.hard_count(n_negative, min_fpr) < reference.hard_count(n_negative, beta))
    expected = reference.opauc(*sample, min_fpr, beta, ties)
    assert_same(opauc_score(*sample, beta=beta, min_fpr=min_fpr, ties=ties), expected)
    area = opauc_score(*sample, beta=beta, min_fpr=min_fpr, ties=ties, normalize=False)
    assert_same(area, expected * (beta - min_fpr))


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE)
@settings(deadline=None, max_examples=60)
def test_tpr_dependent_opauc_equals_the_plain_loops(sample, alpha, beta, ties):
    expected = reference.tpr_dependent_opauc(*sample, alpha, beta, ties)
    assert_same(tpr_dependent_opauc(*sample, alpha=alpha, beta=beta, ties=ties, normalize=False), expected)
    n_negative = int((sample[0] == 0).sum())
    width = reference.hard_count(n_negative, beta) / n_negative
    assert_same(tpr_dependent_opauc(*sample, alpha=alpha, beta=beta, ties=ties), expected / width)


@given(sample=samples(), ties=RULE)
@settings(deadline=None, max_examples=50)
def test_auc_equals_the_plain_loops(sample, ties):
    assert_same(auc_score(*sample, ties=ties), reference.tpauc(*sample, 1.0, 1.0, ties))


@pytest.mark.parametrize(
    "mistake",
    [
        lambda y, s: reference.tpauc(y, s, 0.28, 0.29),
        lambda y, s: reference.tpauc(y, s, 0.29, 0.28),
        lambda y, s: reference.tpauc(y, s, 0.29, 0.29, "optimistic"),
        lambda y, s: reference.tpauc(y, s, 0.29, 0.29, "pessimistic"),
        lambda y, s: reference.tpauc(1 - y, s, 0.29, 0.29),
        lambda y, s: reference.tpauc(y, -s, 0.29, 0.29),
        lambda y, s: reference.tpauc(y, s, 0.29, 0.29) + 1e-11,
        lambda y, s: math.nan,
    ],
)
def test_the_comparison_can_fail(mistake):
    generator = np.random.default_rng(0)
    y = np.repeat([1, 0], 100)
    s = np.round(generator.normal(size=200) + 1.5 * y, 1)
    value = tpauc_score(y, s, alpha=0.29, beta=0.29)
    assert_same(value, reference.tpauc(y, s, 0.29, 0.29))
    with pytest.raises(AssertionError):
        assert_same(value, mistake(y, s))


# ----------------------------------------------------------------------------------------------------- scikit-learn


def sklearn_partial_auc(y, s, max_fpr):
    """scikit-learn's partial AUC as a mean in [0, 1], its standardisation (McClish) undone."""
    standardised = roc_auc_score(y, s, max_fpr=max_fpr)
    smallest, largest = max_fpr**2 / 2, max_fpr
    return (smallest + (2 * standardised - 1) * (largest - smallest)) / max_fpr


def cuts_a_tie_across_classes(y, s, k):
    """Whether the negatives k and k + 1 from the top, and a positive, all have one score."""
    negatives = sorted(s[y == 0], reverse=True)
    return k < len(negatives) and negatives[k - 1] == negatives[k] and negatives[k] in s[y == 1]


@given(sample=samples(MODERATE))
@settings(deadline=None, max_examples=60)
def test_auc_equals_scikit_learn(sample):
    expected = roc_auc_score(*sample)
    assert_same(auc_score(*sample), expected)
    assert_same(tpauc_score(*sample, alpha=1, beta=1), expected)


@given(sample=samples(MODERATE), data=st.data())
@settings(deadline=None, max_examples=60)
def test_opauc_equals_scikit_learn(sample, data):
    """Where ``n- * beta`` is whole: we round it down, while scikit-learn cuts the curve between two negatives.

    And where the border does not cut a tie of positives and negatives: there scikit-learn's curve is a diagonal whose
    first part lies below its mean height, while we count each tied pair one half.
    """
    y, s = sample
    n_negative = int((y == 0).sum())
    k = data.draw(st.integers(1, n_negative - 1))
    assume(not cuts_a_tie_across_classes(y, s, k))
    assert_same(opauc_score(y, s, beta=k / n_negative), sklearn_partial_auc(y, s, k / n_negative))


def test_opauc_differs_from_scikit_learn_where_the_border_cuts_a_tie_across_classes():
    y, s = np.array([1, 0, 0]), np.zeros(3)
    assert cuts_a_tie_across_classes(y, s, 1)
    assert_same(opauc_score(y, s, beta=0.5), 0.5)
    assert_same(sklearn_partial_auc(y, s, 0.5), 0.25)


@pytest.mark.parametrize("decimals", [2, 15])
def test_a_million_rows_equal_scikit_learn(decimals):
    generator = np.random.default_rng(decimals)
    y = (generator.random(1_000_000) < 0.2).astype(np.int8)
    s = np.round(generator.normal(size=y.size) + y, decimals)
    weight = generator.random(y.size)
    assert_same(auc_score(y, s), roc_auc_score(y, s))
    # A million weights added up in two orders differ by more than 1e-16: about 1e-14 was seen.
    assert_same(tpauc_score(y, s, alpha=1, beta=1, sample_weight=weight), roc_auc_score(y, s, sample_weight=weight))
    if decimals == 15:
        n_negative = int((y == 0).sum())
        k = n_negative // 3
        assert_same(opauc_score(y, s, beta=k / n_negative), sklearn_partial_auc(y, s, k / n_negative))


# ------------------------------------------------------------------------------------------------------- properties


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE, seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_the_order_of_rows_does_not_matter(sample, alpha, beta, ties, seed):
    y, s = sample
    order = np.random.default_rng(seed).permutation(y.size)
    weight = np.random.default_rng(seed).random(y.size)
    kwargs = {"alpha": alpha, "beta": beta, "ties": ties}
    for score in (tpauc_score, tpr_dependent_opauc):
        assert_same(score(y[order], s[order], **kwargs), score(y, s, **kwargs))
    assert_same(opauc_score(y[order], s[order], beta=beta, ties=ties), opauc_score(y, s, beta=beta, ties=ties))
    assert_same(
        tpauc_score(y[order], s[order], sample_weight=weight[order], **kwargs),
        tpauc_score(y, s, sample_weight=weight, **kwargs),
    )


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE, data=st.data())
@settings(deadline=None, max_examples=40)
def test_a_strictly_increasing_transform_does_not_matter(sample, alpha, beta, ties, data):
    """Any such transform: the distinct scores are replaced by other distinct finite numbers in the same order."""
    y, s = sample
    distinct, place = np.unique(s, return_inverse=True)
    images = data.draw(st.lists(FINITE, min_size=distinct.size, max_size=distinct.size, unique=True))
    transformed = np.sort(images)[place]
    kwargs = {"alpha": alpha, "beta": beta, "ties": ties}
    for score in (tpauc_score, tpr_dependent_opauc):
        assert_same(score(y, transformed, **kwargs), score(y, s, **kwargs))
    assert_same(opauc_score(y, transformed, beta=beta, ties=ties), opauc_score(y, s, beta=beta, ties=ties))


@given(sample=samples(), alpha=SHARE, beta=SHARE)
@settings(deadline=None, max_examples=40)
def test_turning_labels_scores_and_region_round_does_not_matter(sample, alpha, beta):
    y, s = sample
    assert_same(tpauc_score(1 - y, -s, alpha=beta, beta=alpha), tpauc_score(y, s, alpha=alpha, beta=beta))


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE)
@settings(deadline=None, max_examples=40)
def test_special_regions_are_the_other_metrics(sample, alpha, beta, ties):
    assert_same(tpauc_score(*sample, alpha=1, beta=1, ties=ties), auc_score(*sample, ties=ties))
    one_way = opauc_score(*sample, beta=beta, ties=ties)
    assert_same(tpauc_score(*sample, alpha=1, beta=beta, ties=ties), one_way)
    assert_same(tpr_dependent_opauc(*sample, alpha=1, beta=beta, ties=ties), one_way)


@given(sample=samples(), alpha=SHARE, beta=SHARE)
@settings(deadline=None, max_examples=40)
def test_the_tie_rules_are_in_order(sample, alpha, beta):
    low, half, high = (
        tpauc_score(*sample, alpha=alpha, beta=beta, ties=rule) for rule in ("pessimistic", "half", "optimistic")
    )
    assert 0 <= low <= half <= high <= 1
    assert_same(half, (low + high) / 2)


@given(sample=samples(), data=st.data(), ties=RULE)
@settings(deadline=None, max_examples=40)
def test_pieces_between_false_positive_rates_add_up(sample, data, ties):
    """The pieces meet at whole numbers of negatives, so that rounding takes nothing away."""
    n = int((sample[0] == 0).sum())
    inner = data.draw(st.sets(st.integers(1, n - 1), max_size=4))
    borders = [0, *sorted(inner), n]
    pieces = [
        opauc_score(*sample, min_fpr=a / n, beta=b / n, ties=ties, normalize=False)
        for a, b in itertools.pairwise(borders)
    ]
    assert_same(math.fsum(pieces), auc_score(*sample, ties=ties))


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.1), (0.29, 1), (1, 0.29), (1, 1)])
def test_perfect_and_reversed_rankings(alpha, beta, ties):
    y = np.repeat([0, 1], 100)
    s = np.arange(200)
    assert tpauc_score(y, s, alpha=alpha, beta=beta, ties=ties) == 1.0
    assert tpauc_score(y, -s, alpha=alpha, beta=beta, ties=ties) == 0.0
    assert tpr_dependent_opauc(y, s, alpha=alpha, beta=beta, ties=ties) == 1.0
    assert tpr_dependent_opauc(y, -s, alpha=alpha, beta=beta, ties=ties) == 0.0


def test_the_tpr_dependent_area_may_order_two_models_the_other_way_round():
    """Half of the positives may be missed, half of the negatives let in: positives 1, 2 against negatives 3, 4 count.

    Model a wins one pair of four in the corner, but only one hard negative is below both easy positives. Model b wins
    none there, but both hard negatives are below the easy positives.
    """
    y = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    a = np.array([3, 5, 6, 7, 1, 2, 4, 9])
    b = np.array([3, 4, 8, 9, 1, 2, 5, 6])
    region = {"alpha": 0.5, "beta": 0.5}
    assert [tpauc_score(y, s, **region) for s in (a, b)] == [0.25, 0.0]
    assert [tpr_dependent_opauc(y, s, **region) for s in (a, b)] == [0.375, 0.5]


# ---------------------------------------------------------------------------------------------------------- weights


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE, data=st.data())
@settings(deadline=None, max_examples=60)
def test_whole_weights_are_repeated_rows(sample, alpha, beta, ties, data):
    y, s = sample
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size)))
    repeated_y, repeated_s = reference.repeated(y, weight), reference.repeated(s, weight)
    assume(all(reference.hard_count((repeated_y == side).sum(), share) for side, share in ((1, alpha), (0, beta))))
    kwargs = {"alpha": alpha, "beta": beta, "ties": ties}
    assert_same(tpauc_score(y, s, sample_weight=weight, **kwargs), tpauc_score(repeated_y, repeated_s, **kwargs))
    assert_same(tpauc_score(y, s, sample_weight=weight, **kwargs), reference.weighted_tpauc(y, s, weight, **kwargs))


@given(sample=samples(), alpha=SHARE, beta=SHARE, part=st.integers(0, 7), ties=RULE, data=st.data())
@settings(deadline=None, max_examples=60)
def test_whole_weights_are_repeated_rows_to_the_last_bit(sample, alpha, beta, part, ties, data):
    y, s = sample
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size)))
    repeated = reference.repeated(y, weight), reference.repeated(s, weight)
    n_negative = int((repeated[0] == 0).sum())
    assume(reference.hard_count((repeated[0] == 1).sum(), alpha) and n_negative)
    min_fpr = beta * part / 8
    assume(reference.hard_count(n_negative, min_fpr) < reference.hard_count(n_negative, beta))
    for metric in (
        partial(tpauc_score, alpha=alpha, beta=beta),
        partial(tpr_dependent_opauc, alpha=alpha, beta=beta),
        partial(tpr_dependent_opauc, alpha=alpha, beta=beta, normalize=False),
        partial(opauc_score, beta=beta, min_fpr=min_fpr),
        partial(opauc_score, beta=beta, min_fpr=min_fpr, normalize=False),
        auc_score,
    ):
        assert metric(y, s, ties=ties, sample_weight=weight) == metric(*repeated, ties=ties)


def test_weights_of_one_change_nothing():
    for normalize in (True, False):
        kwargs = {"alpha": 0.6, "beta": 0.8, "normalize": normalize}
        assert tpauc_score(Y, SCORE, sample_weight=np.ones(8), **kwargs) == tpauc_score(Y, SCORE, **kwargs)


FRACTION = st.one_of(st.floats(0.01, 3), st.floats(1e-9, 1e9), st.sampled_from([0.0, 0.25, 0.5, 1.5]))


@given(sample=samples(), alpha=SHARE, beta=SHARE, ties=RULE, data=st.data())
@settings(deadline=None, max_examples=60)
def test_fractional_weights_equal_the_plain_loops(sample, alpha, beta, ties, data):
    y, s = sample
    weight = np.array(data.draw(st.lists(FRACTION, min_size=y.size, max_size=y.size)))
    # So that no class is without weight and the weights are no counts.
    weight[np.flatnonzero(y == 1)[0]], weight[np.flatnonzero(y == 0)[0]] = 0.7, 1.3
    expected = reference.weighted_tpauc(y, s, weight, alpha, beta, ties)
    assert_same(tpauc_score(y, s, alpha=alpha, beta=beta, ties=ties, sample_weight=weight), expected)
    expected = reference.weighted_tpr_dependent_opauc(y, s, weight, alpha, beta, ties)
    assert_same(tpr_dependent_opauc(y, s, alpha=alpha, beta=beta, ties=ties, sample_weight=weight), expected)
    expected = reference.weighted_opauc(y, s, weight, beta / 4, beta, ties)
    assert_same(opauc_score(y, s, min_fpr=beta / 4, beta=beta, ties=ties, sample_weight=weight), expected)
    expected = reference.weighted_tpauc(y, s, weight, 1.0, 1.0, ties)
    assert_same(auc_score(y, s, ties=ties, sample_weight=weight), expected)


@given(
    sample=samples(),
    alpha=SHARE,
    beta=SHARE,
    scale=st.one_of(st.floats(1e-3, 1e3), st.sampled_from([1e-300, 2.0**-1060, 1e150, 1e307])),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=40)
def test_the_scale_of_fractional_weights_does_not_matter(sample, alpha, beta, scale, seed):
    y, s = sample
    # Eighths, so that weights scaled into the denormal range are still exact.
    weight = (np.random.default_rng(seed).integers(0, 8, y.size) + 0.125) / 8
    kwargs = {"alpha": alpha, "beta": beta}
    scaled = weight * scale
    assume(not (scaled == np.floor(scaled)).all() or scale > 1e100)
    assert_same(tpauc_score(y, s, sample_weight=scaled, **kwargs), tpauc_score(y, s, sample_weight=weight, **kwargs))


@given(sample=samples(MODERATE), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_weighted_auc_equals_scikit_learn(sample, seed):
    weight = np.random.default_rng(seed).random(sample[0].size)
    value = tpauc_score(*sample, alpha=1, beta=1, sample_weight=weight)
    assert_same(value, roc_auc_score(*sample, sample_weight=weight))


@pytest.mark.parametrize("seed", range(20))
def test_weights_leave_the_range_alone(seed):
    """The rounded sum of weights that make up 1 is above 1 for some of these seeds."""
    weight = np.random.default_rng(seed).random(200)
    y, s = np.repeat([0, 1], 100), np.arange(200)
    value = tpauc_score(y, s, alpha=0.29, beta=0.31, sample_weight=weight)
    assert_same(value, 1.0)
    assert value <= 1.0
    assert tpauc_score(y, -s, alpha=0.29, beta=0.31, sample_weight=weight) == 0.0


def test_the_border_cuts_an_example():
    """By hand: positives 1, 2, 3 of weight 0.5, 1.5, 2; a quarter of 4 is all of the first and 0.5 of the second.

    Negatives 1.5 and 0 of weight 0.5 and 2; two fifths of 2.5 are all of the first and 0.5 of the second. The positive
    1 beats the negative 0, the positive 2 beats both: 0.5 * 0.5 + 0.5 * 1 of 1 * 1.
    """
    value = tpauc_score(
        [1, 1, 1, 0, 0], [1, 2, 3, 1.5, 0], alpha=0.25, beta=0.4, sample_weight=[0.5, 1.5, 2.0, 0.5, 2.0]
    )
    assert_same(value, 0.75)


def test_whole_weights_do_not_cut_an_example():
    """By hand: half of the positives' weight, 3, is 1.5 and rounds to 1, which is all of the positive 1."""
    y, s = [1, 1, 0], [1, 3, 2]
    assert tpauc_score(y, s, alpha=0.5, beta=1, sample_weight=[1, 2, 1]) == 0.0
    # The same weights times 0.3 are no counts: a third of the selected weight is of the positive 3.
    assert_same(tpauc_score(y, s, alpha=0.5, beta=1, sample_weight=[0.3, 0.6, 0.3]), 1 / 3)


def test_so_many_repeated_rows_that_their_pairs_overflow():
    weight = np.array([2.0**50, 2.0**51, 2.0**51, 2.0**50])
    assert auc_score([1, 1, 0, 0], [1, 3, 2, 0], sample_weight=weight) == 1 - (1 / 3) * (2 / 3)


def test_weights_too_large_to_count_are_still_weights():
    weight = [1e308, 1e308, 1e308, 1e308]
    assert_same(tpauc_score([1, 1, 0, 0], [1, 3, 2, 0], alpha=0.5, beta=0.5, sample_weight=weight), 0.0)
    assert_same(tpauc_score([1, 1, 0, 0], [1, 3, 2, 0], alpha=1, beta=1, sample_weight=weight), 0.75)


# ----------------------------------------------------------------------------------------------------- kinds of input


class Column:
    """Stands for any library's column: all NumPy knows of it is how to make an array of it."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


def pandas_series(values):
    return pytest.importorskip("pandas").Series(values, index=range(10, 10 + len(values)))


def read_only(values):
    array = np.array(values)
    array.setflags(write=False)
    return array


def every_other(values):
    array = np.repeat(np.array(values), 2)[::2]
    assert not array.flags.c_contiguous
    return array


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "column vector": lambda values: np.array(values)[:, None],
    "column": Column,
    "pandas": pandas_series,
    "tensor": lambda values: torch.tensor(np.array(values)),
    "read-only": read_only,
    "non-contiguous": every_other,
    "reversed view": lambda values: np.array(values[::-1])[::-1],
    "big-endian": lambda values: np.array(values).astype(np.array(values).dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_containers(container):
    y, s, weight = container(Y), container(SCORE), container(np.full(8, 0.5))
    region = {"alpha": 0.5, "beta": 0.5}
    assert tpauc_score(y, s, **region) == 0.25
    assert_same(tpauc_score(y, s, sample_weight=weight, **region), 0.25)
    assert opauc_score(y, s, beta=0.5) == 0.625
    assert auc_score(y, s) == 0.8125
    assert tpr_dependent_opauc(y, s, **region) == 0.625


@pytest.mark.parametrize(
    "labels", [Y, Y.astype(bool), Y.astype(np.uint8), Y.astype(np.float32), 2 * Y - 1, (2.0 * Y - 1), Y.tolist()]
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint16, np.int64])
def test_types(labels, dtype):
    scores = (10 * SCORE).round().astype(dtype)
    value = tpauc_score(labels, scores, alpha=0.5, beta=0.5)
    assert type(value) is float
    assert value == 0.25


def test_float32_scores_are_compared_as_they_are():
    """Scores one float32 step apart are no tie."""
    low = np.float32(0.7)
    s = np.array([np.nextafter(low, np.float32(1)), low], dtype=np.float32)
    assert auc_score([1, 0], s) == 1.0
    assert auc_score([0, 1], s) == 0.0


def test_positive_and_negative_zero_tie():
    assert auc_score([1, 0], [0.0, -0.0]) == 0.5
    assert tpauc_score([1, 0], [-0.0, 0.0], alpha=1, beta=1, sample_weight=[0.5, 0.5]) == 0.5


def test_inputs_are_not_modified():
    generator = np.random.default_rng(0)
    y = generator.permutation(Y)
    s, weight = generator.normal(size=8), generator.random(8)
    before = [array.copy() for array in (y, s, weight)]
    tpauc_score(y, s, alpha=0.5, beta=0.5)
    tpauc_score(y, s, alpha=0.5, beta=0.5, sample_weight=weight)
    opauc_score(y, s, beta=0.75, min_fpr=0.25)
    auc_score(y, s)
    tpr_dependent_opauc(y, s, alpha=0.5, beta=0.5)
    for array, copy in zip((y, s, weight), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_huge_finite_scores_are_fine():
    """Their sum overflows, in float64 and in float32."""
    for dtype, huge in ((np.float64, 1e308), (np.float32, 3e38)):
        s = np.array([huge, huge, -huge, huge, 0.9 * huge, -huge], dtype=dtype)
        y = [1, 1, 1, 0, 0, 0]
        assert_same(auc_score(y, s), reference.tpauc(y, s, 1, 1))
        weighted = tpauc_score(y, s, alpha=1, beta=1, sample_weight=np.full(6, 0.1))
        assert_same(weighted, reference.tpauc(y, s, 1, 1))


# ----------------------------------------------------------------------------------------------------------- mistakes

METRICS = {
    "tpauc_score": partial(tpauc_score, alpha=0.5, beta=0.5),
    "opauc_score": partial(opauc_score, beta=0.5),
    "auc_score": auc_score,
    "tpr_dependent_opauc": partial(tpr_dependent_opauc, alpha=0.5, beta=0.5),
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([0, 2, 0, 2], [1, 2, 3, 4], "y_true must hold only 0/1 or only -1/1, found the values 0, 2"),
        ([0, 0.5, 1, 1], [1, 2, 3, 4], "y_true .* found the values 0, 0.5, 1"),
        ([-1, 0, 1, 1], [1, 2, 3, 4], "y_true .* found the values -1, 0, 1"),
        ([0, np.nan, 1, 1], [1, 2, 3, 4], "y_true .* found the values 0, 1, nan"),
        (["no", "yes", "no", "yes"], [1, 2, 3, 4], "y_true must hold 0/1 or -1/1 as numbers or booleans, got dtype"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "y_true has no negative example among its 4"),
        ([-1, -1, -1], [1, 2, 3], "y_true has no positive example among its 3"),
        ([], [], "y_true has no positive example among its 0"),
        ([0, 1, 0, 1], [1, 2, 3], "y_true and y_score must have equal length, got 4 and 3"),
        ([[0, 1], [0, 1]], [1, 2], r"y_true must be one-dimensional, got shape \(2, 2\)"),
        ([0, 1], [[0.1, 0.9], [0.8, 0.2]], r"y_score must be one-dimensional, got shape \(2, 2\)"),
        ([0, 1, 0], [1, np.nan, 2], "y_score must be finite, found 1 NaN .* the first is nan at position 1"),
        ([0, 1, 0], [1, 2, np.inf], "y_score must be finite, .* the first is inf at position 2"),
        ([0, 1, 0], [-np.inf, 2, np.inf], "y_score .* found 2 NaN or infinite values, the first is -inf at position 0"),
        ([0, 1], ["a", "b"], "y_score must hold real numbers, got dtype"),
        ([0, 1], [1j, 2], "y_score must hold real numbers, got dtype complex128"),
        ([0, 1], [[1, 2], [3]], "y_score cannot be read as an array"),
    ],
)
def test_bad_data_are_named(metric, y, s, message):
    with pytest.raises(ValueError, match=message):
        metric(y, s)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, 1], "y_true and sample_weight must have equal length, got 4 and 3"),
        ([1, -2, 1, 1], "sample_weight must not be negative, found -2"),
        ([1, 1, np.nan, 1], "sample_weight must be finite, .* the first is nan at position 2"),
        ([0, 0, 1, 1], "sample_weight is zero for every positive example"),
        ([1, 0.5, 0, 0], "sample_weight is zero for every negative example"),
        (["1"] * 4, "sample_weight must hold real numbers"),
    ],
)
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_bad_weights_are_named(metric, weight, message):
    with pytest.raises(ValueError, match=message):
        metric([1, 1, 0, 0], [1, 2, 3, 4], sample_weight=weight)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_the_positive_label_may_be_named(metric):
    expected = metric(Y, SCORE)
    names = np.where(Y == 1, "fraud", "ok")
    assert metric(names, SCORE, pos_label="fraud") == expected
    assert metric(names.astype(object), SCORE, pos_label="fraud") == expected
    assert metric(names, -SCORE, pos_label="ok") == metric(1 - Y, -SCORE)
    assert metric(np.where(Y == 1, 4, 2), SCORE, pos_label=4) == expected
    assert metric(1 - Y, SCORE, pos_label=0) == expected


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())
def test_labels_that_need_a_name_say_so(metric):
    names = np.where(Y == 1, "fraud", "ok")
    with pytest.raises(ValueError, match=r"of 'fraud' and 'ok' name the positive label, pos_label='fraud' or pos_lab"):
        metric(names, SCORE)
    with pytest.raises(ValueError, match=r"of 2 and 4 name the positive label, pos_label=2 or pos_label=4"):
        metric(np.where(Y == 1, 4, 2), SCORE)
    with pytest.raises(ValueError, match=r"pos_label='Fraud' is not among the labels of y_true, which are 'fraud', "):
        metric(names, SCORE, pos_label="Fraud")


def test_a_region_that_selects_nobody_says_how_many_are_needed():
    with pytest.raises(ValueError, match=r"alpha=0\.2 selects none of the 4 positive .* at least 5 are needed"):
        tpauc_score(Y, SCORE, alpha=0.2, beta=0.5)
    with pytest.raises(ValueError, match=r"beta=0\.01 selects none of the 4 negative .* at least 100 are needed"):
        opauc_score(Y, SCORE, beta=0.01)
    with pytest.raises(ValueError, match=r"alpha=0\.2 selects none of the 4 positive"):
        tpr_dependent_opauc(Y, SCORE, alpha=0.2, beta=0.5)
    with pytest.raises(ValueError, match=r"alpha=0\.2 selects none of the 4 positive"):
        tpauc_score(Y, SCORE, alpha=0.2, beta=0.5, sample_weight=np.ones(8))
    between = r"no negative lies between false positive rates of 0\.3 and 0\.4: there are only 4 negatives"
    with pytest.raises(ValueError, match=between):
        opauc_score(Y, SCORE, min_fpr=0.3, beta=0.4)


@pytest.mark.parametrize("share", [0, -0.1, 1.0001, math.nan, math.inf])
def test_bad_shares_are_named(share):
    for metric in (tpauc_score, tpr_dependent_opauc):
        with pytest.raises(ValueError, match="alpha must be"):
            metric(Y, SCORE, alpha=share, beta=0.5)
        with pytest.raises(ValueError, match="beta must be"):
            metric(Y, SCORE, alpha=0.5, beta=share)
    with pytest.raises(ValueError, match="beta must be"):
        opauc_score(Y, SCORE, beta=share)


@pytest.mark.parametrize("min_fpr", [-0.1, 0.5, 0.6, math.nan])
def test_a_bad_smallest_false_positive_rate_is_named(min_fpr):
    with pytest.raises(ValueError, match="min_fpr must be"):
        opauc_score(Y, SCORE, beta=0.5, min_fpr=min_fpr)


@pytest.mark.parametrize("normalize", ["no", None, 0])
@pytest.mark.parametrize(
    "score", [partial(tpauc_score, alpha=0.5), partial(tpr_dependent_opauc, alpha=0.5), opauc_score]
)
def test_normalize_is_true_or_false(score, normalize):
    with pytest.raises(TypeError, match="normalize must be True or False, got"):
        score(Y, SCORE, beta=0.5, normalize=normalize)


def test_bad_options_are_named():
    for metric in (
        lambda ties: tpauc_score(Y, SCORE, alpha=0.5, beta=0.5, ties=ties),
        lambda ties: opauc_score(Y, SCORE, beta=0.5, ties=ties),
        lambda ties: auc_score(Y, SCORE, ties=ties),
        lambda ties: tpr_dependent_opauc(Y, SCORE, alpha=0.5, beta=0.5, ties=ties),
    ):
        with pytest.raises(ValueError, match="ties must be one of 'half', 'optimistic', 'pessimistic', got 'third'"):
            metric("third")
    with pytest.raises(TypeError, match="alpha must be a number, got 'half'"):
        tpauc_score(Y, SCORE, alpha="half", beta=0.5)


def test_shares_too_small_for_float64_are_refused():
    """Found by fuzzing: the weight of the selected pairs was 0, and divided by."""
    with pytest.raises(ValueError, match="alpha and beta select less weight than float64 can hold"):
        tpauc_score([0, 1], [0, 0], alpha=5e-324, beta=0.5, sample_weight=[3.5, 2.0**53])
    with pytest.raises(ValueError, match="alpha and beta select less weight than float64 can hold"):
        tpauc_score([0, 1], [0, 0], alpha=5e-324, beta=1.0, sample_weight=[3.5, 2.5])  # half a tie was 0
