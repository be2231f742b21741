"""Whether results stand on the test data that are given: another copy of the images may be split in another way.

Images are put in order by their contents. So other images, and the same ones encoded anew, give splits of the same
sizes with other examples in them, and the labels come in another order. A training keeps its labels beside its scores.
"""

from __future__ import annotations

from pathlib import Path

from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.request_data import sizes_of
from tpauc.paper.experiments.results import ResultsFile, cell_of
from tpauc.paper.experiments.running import _OTHER_IMAGES, ScoreFolder, check_same_labels
from tpauc.training.data import Data, as_examples


def check_measured_on(results: ResultsFile, wanted: Request | Cell, test: Data, data_dir: Path) -> None:
    """Raise if there are results for the data set, subset and split that are wanted on other test data.

    Parameters
    ----------
    results : ResultsFile
        In the folder of a table. Results whose training is gone are judged by the size of their data.
    wanted : Request or Cell
        Whose data are given.
    test : (images, labels) or Dataset
        The test data.
    data_dir : Path
        Where they come from, for the message.
    """
    place = (wanted.dataset, wanted.subset, wanted.split)
    sizes, positive = sizes_of(test, "test"), as_examples(test, "test").positive
    for row in results.read():
        if (row.dataset, row.subset, row.split) != place:
            continue
        _check_same_test_data(
            (row.test_positives, row.test_negatives),
            sizes,
            what="{}, subset {}, split {}".format(*place),
            path=results.path,
            data_dir=data_dir,
        )
        scores = ScoreFolder.of(cell_of(row), results.path.parent)
        if (kept := scores.labels()) is not None:
            check_same_labels(kept.test, positive, "test", scores.path)


def _check_same_test_data(
    measured: tuple[int, int], given: tuple[int, int], *, what: str, path: object, data_dir: object
) -> None:
    """Raise if results stand on other test data, by their numbers of positives and negatives, than those given."""
    if measured != given:
        raise ValueError(
            f"{path} holds results of {what} on {measured[0]:,} positives and {measured[1]:,} negatives, but the test "
            f"data in {data_dir} have {given[0]:,} and {given[1]:,}; {_OTHER_IMAGES}"
        )
