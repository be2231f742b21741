"""The metrics on tables of any size, on the engine that holds them: DuckDB, Polars, PySpark, Ibis, or files.

The table stays where it is. The engine counts positives and negatives in cells of the score axis and adds up pairs
inside the cells that need it; Python receives the counts of at most 65,536 cells per pass, and sums. The values are
those of the NumPy functions.
"""

from tpauc._validation import import_extra

import_extra("narwhals", "frames")

from tpauc.frames.comparing import compare  # noqa: E402 - a missing extra is named first
from tpauc.frames.evaluating import (  # noqa: E402
    Evaluation,
    auc_score,
    evaluate,
    histogram,
    opauc_score,
    partial_auc_score,
    tpauc_score,
)
from tpauc.frames.opening import open_files  # noqa: E402
from tpauc.metrics.histogram import Histogram  # noqa: E402

__all__ = [
    "Evaluation",
    "Histogram",
    "auc_score",
    "compare",
    "evaluate",
    "histogram",
    "opauc_score",
    "open_files",
    "partial_auc_score",
    "tpauc_score",
]
