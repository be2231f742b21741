"""Labels and scores for tests: drawn by hypothesis, or normal scores of a known TPAUC."""

import math

import numpy as np
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

SHARE = st.integers(100, 1000).map(lambda thousandths: thousandths / 1000)
SEED = st.integers(0, 2**32 - 1)


@st.composite
def samples(draw, n_models=1):
    """Labels and scores of some models, with many ties or almost none; 10 of each class, so that 0.1 selects one."""
    n_positive, n_negative = draw(st.integers(10, 30)), draw(st.integers(10, 30))
    generator = np.random.default_rng(draw(SEED))
    y = generator.permutation(np.arange(n_positive + n_negative) < n_positive)
    n_values = draw(st.sampled_from([2, 5, 10**6]))
    return y, *(
        generator.integers(n_values, size=y.size) / n_values + draw(st.sampled_from([0.0, 0.25, 1.0])) * y
        for _ in range(n_models)
    )


def binormal(generator, n_positive, n_negative, shift, spread=1.0):
    """Labels and scores: negatives standard normal, positives normal with the given mean and standard deviation."""
    y = np.arange(n_positive + n_negative) < n_positive
    scores = generator.normal(size=y.size)
    scores[y] = shift + spread * scores[y]
    return y, scores


def binormal_tpauc(shift, spread, alpha, beta, steps=20_000):
    """Mean over the lowest share ``alpha`` of the positives of the share of the hard negatives below, by midpoints."""
    positives = shift + spread * ndtri((np.arange(steps) + 0.5) / steps * alpha)
    return np.clip(1.0 - ndtr(-positives) / beta, 0.0, 1.0).mean()


def shift_for(tpauc, spread=1.0, alpha=0.3, beta=0.3):
    """Mean of the positives that gives this TPAUC, by bisection."""
    low, high = -10.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binormal_tpauc(middle, spread, alpha, beta, 2_000) < tpauc else (low, middle)
    return low


def assert_rate(hits, trials, at_least, at_most):
    """Fail unless a rate within these bounds explains the hits, to three standard errors."""
    low = at_least - 3 * math.sqrt(at_least * (1 - at_least) / trials)
    high = at_most + 3 * math.sqrt(at_most * (1 - at_most) / trials)
    assert low <= hits / trials <= high, f"{hits} of {trials} is not within {at_least} to {at_most}"
