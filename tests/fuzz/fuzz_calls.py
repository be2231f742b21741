"""Fuzzing of calls: the metrics with labels, scores and weights of any kind, drawn by Hypothesis.

A call ends in a finite value in its range, or in a ``ValueError`` or ``TypeError``. Everything else is a finding.
"""

import math
import time
import warnings

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tpauc

SHARES = st.one_of(
    st.sampled_from([0.5, 1.0]),
    st.floats(0.0, 1.0),
    st.one_of(st.floats(), st.sampled_from([1, np.float32(0.3), 5e-324, "0.3", None, True, 0.3j])),
)
DTYPES = st.one_of(
    st.sampled_from([np.dtype(bool), np.dtype(np.int8), np.dtype(np.float64), np.dtype(np.float32)]),
    arrays.scalar_dtypes(),
)
CHECKED = ("auc_score", "opauc_score", "tpauc_score", "tpr_dependent_opauc", "tpauc_interval", "operating_point")


@st.composite
def columns(draw, size):
    """Draw a column of rows: labels, scores or weights, sound or not."""
    kind = draw(st.sampled_from(["labels", "scores", "scores", "weights", "any"]))
    if kind == "labels":
        return draw(arrays.arrays(np.int64, size, elements=st.integers(0, 1)))
    if kind in ("scores", "weights"):
        low, unsound = 0.0 if kind == "weights" else None, draw(st.integers(0, 4)) == 0
        sound = st.floats(low, allow_nan=False, allow_infinity=False)
        elements = st.one_of(sound, st.sampled_from([math.nan, math.inf, -1.0])) if unsound else sound
        return draw(arrays.arrays(np.float64, size, elements=elements))
    found = draw(arrays.arrays(draw(DTYPES), draw(st.sampled_from([size, size + 1, (size, 1), (size, 2), ()]))))
    return np.ma.masked_array(found, mask=draw(st.booleans())) if draw(st.booleans()) else found


@st.composite
def calls(draw):
    """Draw a public metric with arguments."""
    name, size = draw(st.sampled_from(CHECKED)), draw(st.integers(0, 30))
    labels = draw(arrays.arrays(np.int64, size, elements=st.integers(0, 1)))
    options = {}
    if name != "auc_score":
        options["beta"] = draw(SHARES)
        if name != "opauc_score":
            options["alpha"] = draw(SHARES)
    if draw(st.booleans()):
        options["sample_weight"] = draw(columns(size))
    if name == "tpauc_interval":
        options |= {"n_resamples": 50, "random_state": 0, "method": draw(st.sampled_from(["auto", "delong"]))}
    return name, labels if draw(st.integers(0, 3)) else draw(columns(size)), draw(columns(size)), options


def check(call):
    """Raise what is neither a sound value nor a refusal."""
    name, y_true, y_score, options = call
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = getattr(tpauc, name)(y_true, y_score, **options)
        except (ValueError, TypeError):
            return False
    values = {
        "tpauc_interval": lambda: (found.estimate, found.low, found.high),
        "operating_point": lambda: (found.tpr, found.fpr),
    }.get(name, lambda: (found,))()
    assert all(math.isfinite(value) and 0.0 <= value <= 1.0 for value in values), values
    return True


def fuzz(seconds, start_seed=0):
    """Draw calls for some time; return the numbers of calls and of those with a value, and what was found."""
    end, counts, findings, round_number = time.monotonic() + seconds, [0, 0], [], start_seed
    while time.monotonic() < end:

        @seed(round_number)
        @settings(
            max_examples=2_000,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(calls())
        def one_round(call):
            if time.monotonic() < end:
                counts[0] += 1
                counts[1] += check(call)

        try:
            one_round()
        except Exception as error:
            notes = " ".join(" ".join(getattr(error, "__notes__", [])).split())
            findings.append(f"{type(error).__name__}: {error} {notes}"[:1_000])
        round_number += 1
    return counts[0], counts[1], findings
