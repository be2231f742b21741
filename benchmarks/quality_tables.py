"""Tables to compare on, and how they are split.

A table is a file that the command line can read (NPZ with ``X`` and ``y``, CSV, TSV, Parquet). A split puts 30 % of the
rows of each class aside to test on; rows that are exact copies of each other are on one side, whatever their labels.
What turns columns into numbers is fitted on the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tpauc.classifiers.folds import rows_to_hold_out
from tpauc.cli.features import FeatureColumns
from tpauc.cli.labels import labels_of
from tpauc.cli.table_io import read_table
from tpauc.region import Region

ENDINGS = (".csv", ".npz", ".parquet", ".pq", ".tsv")
TEST_SHARE = 0.3
FEWEST_HARD_POSITIVES = 4  # expected in the region among the test rows; with fewer a value says nothing

Array = NDArray[Any]


class Split(NamedTuple):
    """Rows to train on and to test on, shape (n, d), and which of them are positive, shape (n,)."""

    train_rows: Array
    train_labels: NDArray[np.bool_]
    test_rows: Array
    test_labels: NDArray[np.bool_]


@dataclass(frozen=True)
class Table:
    """A table in memory: features as a data frame, labels, and the number of its group of copies for each row."""

    name: str
    columns: FeatureColumns
    frame: Any
    positive: NDArray[np.bool_]
    group: NDArray[np.intp]

    @property
    def n_positive(self) -> int:
        """Number of positives."""
        return int(self.positive.sum())

    def allows(self, region: Region) -> bool:
        """Tell whether the region selects enough of the test rows; the same for all splits."""
        n_negative = self.positive.size - self.n_positive
        expected = TEST_SHARE * self.n_positive * region.alpha, TEST_SHARE * n_negative * region.beta
        return min(expected) >= FEWEST_HARD_POSITIVES

    def split(self, seed: int) -> Split:
        """Return the split of a seed."""
        in_test = rows_to_hold_out(self.positive, self.group, TEST_SHARE, np.random.default_rng(seed))
        train, test = self.frame[~in_test], self.frame[in_test]
        if self.columns.categories or self.frame.isna().to_numpy().any():
            preprocessing = self.columns.preprocessing().fit(train)
            train, test = preprocessing.transform(train), preprocessing.transform(test)
        return Split(np.asarray(train), self.positive[~in_test], np.asarray(test), self.positive[in_test])


def read(path: Path, target: str) -> Table:
    """Read a table from a file; positive is 1 or true of the column ``target``."""
    import pandas as pd

    columns_and_target = read_table(path)
    columns = FeatureColumns.of(columns_and_target, leave_out=[target])
    frame = columns.frame(columns_and_target)
    labels = labels_of(columns_and_target[target], f"column {target!r} of {path}")
    group = np.unique(pd.util.hash_pandas_object(frame, index=False), return_inverse=True)[1]
    return Table(path.stem, columns, frame, labels.positive, group)


def find(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Return the files of tables in a folder, or those with the given names, in order."""
    found = {path.stem: path for path in sorted(folder.iterdir()) if path.suffix.lower() in ENDINGS}
    if unknown := sorted(set(names) - set(found)):
        raise SystemExit(f"{folder} has no table {', '.join(unknown)}; it has {', '.join(found) or 'none'}")
    return [path for name, path in found.items() if not names or name in names]
