"""Labels and scores from a file, checked under the names that their columns have there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tpauc._validation import FloatArray, check_scores
from tpauc.cli._checks import check_distinct_options, check_no_missing
from tpauc.cli.labels import Labels, labels_of
from tpauc.cli.table_io import read_table

if TYPE_CHECKING:
    import pyarrow as pa


class ScoreFile(NamedTuple):
    """The labels in a file, and the scores of each model by its column."""

    labels: Labels
    scores: dict[str, FloatArray]


def read_scores(path: Path, label: str, scores: Sequence[str], *, positive: str | None = None) -> ScoreFile:
    r"""Return the labels and the scores in a file; scores are finite, labels are of two values.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     _ = path.write_text("ill,model\nno,0.5\nyes,3\n")
    ...     read_scores(path, "ill", ["model"], positive="yes").scores
    {'model': array([0.5, 3. ])}
    """
    columns = [label, *scores]
    check_distinct_options(columns, "--label and --score")
    table = read_table(path, columns, numbers=scores)
    labels = labels_of(table[label], f"column {label!r}", positive=positive)
    return ScoreFile(labels, {name: _scores_of(table[name], f"column {name!r}") for name in scores})


def _scores_of(column: pa.ChunkedArray, name: str) -> FloatArray:
    import pyarrow as pa

    if column.null_count:
        check_no_missing(np.asarray(column.is_null()), name)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    _check_real(pa.types.is_integer(column.type) or pa.types.is_floating(column.type), name, column.type)
    # pyarrow's own way to NumPy would load pandas.
    return check_scores(np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks]), name)


def _check_real(is_real: bool, name: str, kind: object) -> None:
    """Raise if the column called ``name`` is of a kind that is no real number."""
    if not is_real:
        raise ValueError(f"{name} must hold real numbers, found {kind}")
