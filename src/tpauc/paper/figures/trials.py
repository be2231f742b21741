"""The trials of a figure: small models on a known distribution, or networks on the paper's images.

**On the plane**, the default: the paper's own experiments take days. Here a linear scorer or a net with one hidden
layer learns from a sample of a `tpauc.paper.theory.populations.PlaneMixture`, by Adam on the whole sample at once, and
is measured on the distribution itself. So the numbers carry the noise of the training sample and of the initial
weights, but none of a test set, and the largest TPAUC that any scorer can have is known. A warm-up is the paper's:
steps of the square AUC loss before the loss itself.

**On images** each trial is a cell of the paper's tables, trained by its protocol. The trainings are kept in the folder
of a table (`tpauc.paper.experiments.table_folder`). So an interrupted figure continues where it stopped, several
processes can share the work, and figures share the cells that they have in common.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tpauc._validation import FloatArray, check_choice
from tpauc.losses.baselines import FocalLoss, TruncatedLoss
from tpauc.losses.tpauc_loss import SquareAUCLoss, WarmUp
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.cells import Cell, Request
from tpauc.paper.experiments.image_data import Say
from tpauc.paper.experiments.methods import METHODS, ClassSizes, Parameters, Place
from tpauc.paper.experiments.published import WARMUP_GRID
from tpauc.paper.experiments.table_folder import TableFolder
from tpauc.paper.figures.figure import Experiment, Row, Trial
from tpauc.paper.theory.bayes import bayes_tpauc
from tpauc.paper.theory.populations import BENT_BORDER, FinitePopulation, PlaneMixture
from tpauc.region import Region

# --------------------------------------------------------------------------------------------------------- on the plane

MODELS = ("linear", "net")
_HIDDEN, _LEARNING_RATE = 16, 0.02


class Budget(NamedTuple):
    """How much is spent on a figure."""

    seeds: int = 3
    steps: int = 200
    warmup: int = 60
    n_positive: int = 100
    n_negative: int = 900
    side: int = 100  # of the grid on which a scorer is measured


# The medians of the paper's 27 best parameters each.
USUAL = {"exponent": 0.03, "gamma": 15.0}

# Methods that the tables do not have, or for which they select the hardest examples once per epoch. Here they are
# selected in each step, which sees the whole sample.
_ON_THE_WHOLE_SAMPLE: dict[str, Callable[[Parameters], nn.Module]] = {
    "CE": lambda parameters: FocalLoss(gamma=0.0),
    "TruncOPAUC": lambda parameters: TruncatedLoss(None, parameters["beta"]),
    "CE-TruncOPAUC": lambda parameters: TruncatedLoss(None, parameters["beta"], loss="cross_entropy"),
    "TruncTPAUC": lambda parameters: TruncatedLoss(parameters["alpha"], parameters["beta"]),
    "CE-TruncTPAUC": lambda parameters: TruncatedLoss(parameters["alpha"], parameters["beta"], loss="cross_entropy"),
}


def parameters_of(method: str, region: Region, budget: Budget) -> dict[str, float]:
    """Return the parameters of a method by name, with their values on the plane.

    Examples
    --------
    >>> parameters_of("TPAUC-Poly", Region(0.3, 0.3), Budget())["exponent"]
    0.03
    >>> parameters_of("anchored", Region(0.3, 0.5), Budget(steps=200))
    {'alpha': 0.3, 'beta': 0.5, 'plain_epochs': 100, 'tau': 0.3}
    """
    if method == "CE":
        return {}
    known = METHODS[method].parameters(Place("cifar10-lt", 1, region, budget.steps))
    return {name: USUAL.get(name, value) for name, value in known.items()}


def loss_of(method: str, parameters: Parameters, budget: Budget) -> nn.Module:
    """Return the loss of a method as in the tables, or its form for a sample that is one batch."""
    if method in _ON_THE_WHOLE_SAMPLE:
        return _ON_THE_WHOLE_SAMPLE[method](parameters)
    return METHODS[method].make_loss(parameters, ClassSizes(budget.n_positive, budget.n_negative))


def trained_scores(
    model: str, loss: nn.Module, *, warmup: int, seed: int, budget: Budget, mixture: PlaneMixture = BENT_BORDER
) -> FloatArray:
    """Train a model and return its scores at the cells of the distribution, of shape (side^2,).

    The first ``warmup`` steps use the square AUC loss. The seed decides the sample and the initial weights.
    """
    rng = np.random.default_rng(seed)
    points, labels = mixture.sample(budget.n_positive, budget.n_negative, rng)
    inputs, targets = torch.tensor(points, dtype=torch.float32), torch.tensor(labels)
    network = new_model(model, torch.Generator().manual_seed(seed))
    staged = WarmUp(SquareAUCLoss(), loss, warmup)
    optimizer = torch.optim.Adam(network.parameters(), lr=_LEARNING_RATE)
    for step in range(budget.steps):
        staged.set_epoch(step)
        optimizer.zero_grad()
        staged(network(inputs), targets).backward()
        optimizer.step()
    with torch.no_grad():
        scores: FloatArray = network(torch.tensor(cells(budget.side, mixture)[0]).float())[:, 0].double().numpy()
    return scores


def new_model(model: str, generator: torch.Generator) -> nn.Module:
    """Return a scorer on the plane, its weights drawn from the generator."""
    if check_choice(model, "model", MODELS) == "linear":
        network: nn.Module = nn.Linear(2, 1)
    else:
        network = nn.Sequential(nn.Linear(2, _HIDDEN), nn.Tanh(), nn.Linear(_HIDDEN, 1))
    draw_weights(network, generator)
    return network


def draw_weights(network: nn.Module, generator: torch.Generator) -> None:
    """Draw the weights of all linear layers from the generator, within torch's default bounds."""
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Linear):
                bound = 1.0 / math.sqrt(layer.in_features)
                for parameter in layer.parameters():
                    parameter.uniform_(-bound, bound, generator=generator)


@functools.cache
def cells(side: int, mixture: PlaneMixture = BENT_BORDER) -> tuple[FloatArray, FinitePopulation]:
    """Return the grid on which scorers are measured, computed once."""
    return mixture.cells(side)


def square(share: float) -> Region:
    """Return the region with ``alpha = beta = share``."""
    return Region(share, share)


_DEFAULT_BUDGET = Budget()


@dataclass(frozen=True)
class OnPlane:
    """The rows of an experiment on the plane, as a figure calls for them.

    Examples
    --------
    >>> tiny = Budget(seeds=1, steps=2, n_positive=10, n_negative=20, side=20)
    >>> (row,) = OnPlane(Experiment([Trial("SqAUC")], [Region(0.5, 0.5)]), tiny)(False)
    >>> row["method"], 0.0 <= row["tpauc"] <= row["limit"]
    ('SqAUC', True)
    """

    experiment: Experiment
    budget: Budget = _DEFAULT_BUDGET

    def __call__(self, _full: bool) -> list[Row]:
        """Return the rows; a larger budget is spent on images, not here."""
        return measure_on_plane(self.experiment, self.budget)


def measure_on_plane(experiment: Experiment, budget: Budget) -> list[Row]:
    """Train each trial with each seed, and measure it in each region; the ``limit`` is the largest possible TPAUC."""
    return [
        row
        for trial in experiment.trials
        for seed in range(budget.seeds)
        for row in _measured(trial, experiment, seed, budget)
    ]


def _measured(trial: Trial, experiment: Experiment, seed: int, budget: Budget) -> list[Row]:
    _, population = cells(budget.side)
    trained: dict[tuple[tuple[str, float], ...], FloatArray] = {}  # by parameters: most losses serve every region
    found = []
    for region in experiment.regions:
        known = parameters_of(trial.method, region, budget)
        parameters = {**known, **trial.replacing(known, budget.steps)}
        key = tuple(parameters.items())
        if key not in trained:
            loss, warmup = loss_of(trial.method, parameters, budget), int(parameters.get("warmup_epochs", 0))
            trained[key] = trained_scores("net", loss, warmup=warmup, seed=seed, budget=budget)
        for measured in experiment.measured_in(region):
            tpauc, limit = population.tpauc(trained[key], measured), bayes_tpauc(population, measured)
            found.append(trial.row(data="plane", seed=seed, region=measured, tpauc=tpauc, limit=limit))
    return found


# ------------------------------------------------------------------------------------------------------------ on images

EPOCHS, SEED = 50, 0
PAPER_WARMUPS = tuple(epochs / EPOCHS for epochs in WARMUP_GRID)

_Trainings = dict[Path, list[Cell]]


class UnfinishedError(ValueError):
    """Some trainings of an experiment are missing: another process is busy with them, or they have failed."""


class ImageRuns(NamedTuple):
    """The folder of a table that keeps trainings on images, and the data that they are trained on."""

    folder: Path
    data_dir: Path
    dataset: str | None = None  # None for the data set of the paper's figure
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

    It is an `UnfinishedError` if another process is training a part of it, or a training has failed.
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
