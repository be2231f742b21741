"""The trials of a figure on images: each is a cell of the paper's tables, trained by its protocol.

The trainings are kept in the folder of a table (`tpauc.paper.experiments.table_folder`). So an interrupted figure
continues where it stopped, several processes can share the work, and figures share the cells that they have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.image_data import Say
from tpauc.paper.experiments.methods import METHODS, Place
from tpauc.paper.experiments.published import WARMUP_GRID
from tpauc.paper.experiments.table_folder import TableFolder
from tpauc.paper.figures.figure import Experiment, Row, Trial

EPOCHS, SEED = 50, 0
PAPER_WARMUPS = tuple(epochs / EPOCHS for epochs in WARMUP_GRID)

_Trainings = dict[Path, list[Cell]]


class UnfinishedError(ValueError):
    """Some trainings of an experiment are missing: another process is busy with them, or they have failed."""


class ImageRuns(NamedTuple):
    """Where trainings on images are kept, and on which data.

    Attributes
    ----------
    folder : Path
        Folder of a table.
    data_dir : Path
        Where the images are.
    dataset : str or None
        A key of `tpauc.paper.data.datasets.DATASETS`; None for the data set of the paper's figure.
    subset : int
        Which classes are positive: 1, 2 or 3.
    """

    folder: Path
    data_dir: Path
    dataset: str | None = None
    subset: int = 1


class Workload(NamedTuple):
    """The trainings of a figure on images: how many, on which data, and how many epochs are left."""

    dataset: str
    subset: int
    trainings: int
    epochs_left: int

    def __str__(self) -> str:
        title = f"{DATASETS[self.dataset].title}, subset {self.subset}"
        return f"{self.trainings} trainings of {EPOCHS} epochs on {title}; {self.epochs_left:,} epochs are left"


def requests_of(experiment: Experiment, runs: ImageRuns) -> list[Request]:
    """Return the trials as requests for cells of the paper's tables.

    Examples
    --------
    >>> from tpauc.region import Region
    >>> experiment = Experiment([Trial("TPAUC-Poly", 0.5, warmup=0.2)], [Region(0.3, 0.3)])
    >>> (request,) = requests_of(experiment, ImageRuns(Path("table"), Path("data")))
    >>> request.dataset, request.parameters
    ('cifar10-lt', {'warmup_epochs': 10, 'exponent': 0.5})
    """
    return [request for trial in experiment.trials for request in _requests_of_trial(trial, experiment, runs)]


def _requests_of_trial(trial: Trial, experiment: Experiment, runs: ImageRuns) -> list[Request]:
    """Return one request for all regions, or one per region if each is measured by OPAUC as well."""
    dataset = runs.dataset or experiment.dataset
    known = METHODS[trial.method].parameters(Place(dataset, runs.subset, experiment.regions[0], EPOCHS))
    together = tuple(experiment.regions)
    groups = [experiment.measured_in(region) for region in together] if experiment.by_opauc else [together]
    return [
        Request(
            dataset=dataset,
            subset=runs.subset,
            methods=(trial.method,),
            seeds=(SEED,),
            epochs=EPOCHS,
            regions=regions,
            per_region=not experiment.by_opauc,
            parameters=trial.replacing(known, EPOCHS),
        )
        for regions in groups
    ]


def workload_of(experiment: Experiment, runs: ImageRuns) -> Workload:
    """Return how many trainings there are, and how many of their epochs are left."""
    requests, table = requests_of(experiment, runs), TableFolder(runs.folder, runs.data_dir)
    trainings = _trainings(requests)
    left = sum(_epochs_left(cells, table) for cells in trainings.values())
    return Workload(requests[0].dataset, runs.subset, len(trainings), left)


def seconds_left(experiment: Experiment, runs: ImageRuns, *, say: Say) -> float:
    """Return an estimate of the time left on this machine, from the time of one epoch of each method."""
    requests, table = requests_of(experiment, runs), TableFolder(runs.folder, runs.data_dir)
    epoch_seconds: dict[str, float] = {}
    for request in requests:
        if request.methods[0] not in epoch_seconds:
            left = [planned for planned in table.plan(request, say=say) if planned.epochs_left]
            epoch_seconds |= {planned.cell.method: planned.seconds / planned.epochs_left for planned in left}
    return sum(
        epoch_seconds.get(cells[0].method, 0.0) * _epochs_left(cells, table) for cells in _trainings(requests).values()
    )


def measure_on_images(experiment: Experiment, runs: ImageRuns, *, say: Say) -> list[Row]:
    """Train the missing part of an experiment, and return its rows, with the columns of `measure_on_plane`.

    Raises
    ------
    UnfinishedError
        If another process is training a part of it, or a training has failed.
    """
    requests, table = requests_of(experiment, runs), TableFolder(runs.folder, runs.data_dir)
    failed: dict[str, str] = {}
    for request in requests:
        failed |= table.fill(request, say=say).failed
    _check_complete(_trainings(requests), table, failed)
    return [
        trial.row(
            data=f"{request.dataset}-{request.subset}", seed=SEED, region=result.region, tpauc=result.tpauc, limit=""
        )
        for trial in experiment.trials
        for request in _requests_of_trial(trial, experiment, runs)
        for result in table.results_of(request)
    ]


def _check_complete(trainings: _Trainings, table: TableFolder, failed: Mapping[str, str]) -> None:
    if failed:
        title, reason = next(iter(failed.items()))
        raise UnfinishedError(
            f"{len(failed)} of {len(trainings)} trainings have failed, the first is {title}: {reason}"
        )
    missing = [cells[0].title for cells in trainings.values() if any(map(table.results.missing, cells))]
    if missing:
        raise UnfinishedError(
            f"another process is busy with {len(missing)} of {len(trainings)} trainings, the first is {missing[0]}; "
            "give the same command again when it is finished"
        )


def _trainings(requests: Sequence[Request]) -> _Trainings:
    """Return the cells of each training, by its folder."""
    found: _Trainings = {}
    for request in requests:
        for cell in request.cells():
            found.setdefault(cell.folder(Path()), []).append(cell)
    return found


def _epochs_left(cells: Sequence[Cell], table: TableFolder) -> int:
    """Return how many epochs of a training are left for the cells that need it."""
    return max(map(table.epochs_left, cells))
