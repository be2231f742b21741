"""Labels and scores for tests: drawn by hypothesis, or normal scores of a known TPAUC."""

import numpy as np
from hypothesis import strategies as st

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
