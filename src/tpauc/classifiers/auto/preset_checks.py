"""What `tpauc.TPAUCClassifier` may be given with the presets "auto" and "auto-fast"."""

from __future__ import annotations

from typing import Any

from tpauc._validation import check_count, check_positive
from tpauc.classifiers.training_methods import REGION

_FIXED = {"method": REGION, "validation": "cv", "standardize": True}


def check_budget(time_limit: Any, n_jobs: Any) -> None:
    """Raise unless the limit is None or a number of seconds, and the jobs are None, -1 or at least 1.

    Examples
    --------
    >>> check_budget(60.0, -1)
    >>> check_budget(None, 0)
    Traceback (most recent call last):
        ...
    ValueError: n_jobs, unless None or -1 for all cores, must be at least 1, got 0
    """
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    if n_jobs is not None and n_jobs != -1:
        check_count(n_jobs, "n_jobs, unless None or -1 for all cores,")


def check_preset(classifier: Any) -> None:
    """Raise if a parameter of a classifier has another value than the one that a stack is trained with."""
    for name, only in _FIXED.items():
        given = getattr(classifier, name)
        if not isinstance(given, type(only)) or given != only:
            raise ValueError(
                f"model={classifier.model!r} is trained with {name}={only!r} only, got {given!r:.40}; leave it out"
            )
