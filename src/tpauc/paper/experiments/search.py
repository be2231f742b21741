"""Search the parameters of a method by validation TPAUC, through Optuna; several machines can share a study.

The search space is made of the paper's grids: the exponent (Poly) or gamma (Exp), for each class if they differ, and
the epochs of warm-up; for "anchored" the width of the border and the epochs before it. A trial is a cell of a table
(`cells`): it has checkpoints, continues after a stop, and `tpauc reproduce table --set ...` finds it trained. Test data
are scored, but the search does not use them.

The storage URL says where the study is kept, such as ``sqlite:///search.db`` or the address of a database server. Every
process with the same URL and the same request takes part, until the study has the wanted number of finished trials, or
has tried every combination. If Optuna proposes a combination a second time, an untried one takes its place.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tpauc._validation import check_count, import_extra
from tpauc.paper.data.datasets import Splits
from tpauc.paper.experiments.backbones import BACKBONES
from tpauc.paper.experiments.cell_training import Backbone, best_epoch, train_cell
from tpauc.paper.experiments.cells import Cell, Request, parameters_text, region_text
from tpauc.paper.experiments.image_data import ImageData, Say
from tpauc.paper.experiments.published import EXPONENT_GRID, GAMMA_GRID, WARMUP_GRID
from tpauc.training.exceptions import TrainingDivergedError

TAU_GRID = (0.03, 0.1, 0.3, 1.0)  # from nearly the exact selection to weights within a factor of 2
TEMPERATURE_GRID = (0.1, 1.0, 10.0)  # of KL, as in the paper that introduced it
_SECONDS_TO_WAIT, _LONGEST_WAIT = 1.0, 60
_PAUSES = (0.1, 0.3, 0.9)  # seconds between attempts to open a study
_PROCESS = "process"


class StorageError(ValueError):
    """The storage cannot keep a study: it is not a URL, has no driver, or cannot be opened."""


@dataclass(frozen=True)
class SearchResult:
    """The best parameters of a study so far."""

    study: str  # its name in the storage
    trials: int  # different combinations of parameters that have been tried to the end
    parameters: dict[str, float]
    validation_tpauc: float


def search_space(request: Request) -> dict[str, tuple[float, ...]]:
    """Return the values to choose from, by name of the parameter; parameters that the request sets are not searched.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("TPAUC-Poly",), seeds=(0,), epochs=20)
    >>> search_space(request)
    {'exponent': (0.01, 0.03, 0.05, 0.08, 0.1, 1.0, 5.0), 'warmup_epochs': (0, 3, 5, 8, 10, 15)}
    """
    epochs = request.epochs
    known: dict[str, tuple[float, ...]] = {
        **dict.fromkeys(("exponent", "positive_exponent", "negative_exponent"), EXPONENT_GRID),
        **dict.fromkeys(("gamma", "positive_gamma", "negative_gamma"), GAMMA_GRID),
        "warmup_epochs": tuple(value for value in WARMUP_GRID if value < epochs),
        "plain_epochs": tuple(sorted({quarter * epochs // 4 for quarter in range(4)})),
        "lam": TEMPERATURE_GRID,
    }
    names = [name for name, _ in request.cells()[0].parameters if name not in request.parameters]
    known["tau"] = TEMPERATURE_GRID if request.methods[0] == "KL" else TAU_GRID  # a temperature, or a width in ranks
    return {name: known[name] for name in names if name in known}


def study_name(request: Request) -> str:
    """Return the name of the study of a request: everything that a trial depends on besides the searched parameters.

    Examples
    --------
    >>> study_name(Request(dataset="cifar10-lt", subset=1, methods=("TPAUC-Poly",), seeds=(0,), epochs=20))
    'cifar10-lt subset 1 TPAUC-Poly (0.3, 0.3) paper 20 epochs split 0 seed 0'
    """
    fixed = f" {text}" if (text := parameters_text(sorted(request.parameters.items()))) else ""
    return (
        f"{request.dataset} subset {request.subset} {request.methods[0]}{fixed} {region_text(request.regions[0])} "
        f"{request.recipe} {request.epochs} epochs split {request.split} seed {request.seeds[0]}"
    )


class Search:
    """The study of a request with one method, one seed and one region; its trainings are kept in table ``out``.

    ``storage`` is a URL, by default of a file ``search.db`` in ``out``; a study that cannot be opened is a
    `StorageError`. ``backbone`` returns a new network, by default the network of the data set.
    """

    def __init__(
        self,
        request: Request,
        out: Path,
        data_dir: Path,
        *,
        storage: str | None = None,
        backbone: Backbone | None = None,
    ) -> None:
        for name in ("methods", "seeds", "regions"):
            if len(values := getattr(request, name)) != 1:
                raise ValueError(f"a search takes one of {name}, got {len(values)}: {', '.join(map(str, values))}")
        self._request, self._out, self._data = request, out, ImageData(data_dir)
        self._backbone = backbone or BACKBONES[request.dataset]
        self._space = search_space(request)
        if not self._space:
            raise ValueError(f"{request.methods[0]} has no parameters to search")
        self._optuna: Any = import_extra("optuna", "paper")
        if storage is None:
            out.mkdir(parents=True, exist_ok=True)
            # SQLAlchemy, on which Optuna is built, escapes a "?" in the name of the folder.
            url = import_extra("sqlalchemy", "paper").URL.create("sqlite", database=str(out / "search.db"))
            storage = url.render_as_string(hide_password=False)
        self._study = _opened_study(self._optuna, study_name(request), storage)
        self._collisions = 0

    def run(self, trials: int, *, say: Say = print, progress: bool = True) -> SearchResult:
        """Try parameters until the study has ``trials`` finished trials, including the trials of other processes.

        If there are fewer combinations of parameters, all of them are tried. Images on which the region cannot be
        measured are refused before anything is trained.

        Raises
        ------
        StorageError
            If the study cannot be reached any longer. Finished trainings are kept.
        """
        check_count(trials, "trials")
        try:
            self._retry_lost_trials()
            while len(self._finished()) < min(trials, len(self._combinations())):
                self._try(self._data.load(self._request, say=say), say, progress)
            return self.best()
        except self._optuna.exceptions.StorageInternalError as error:
            reason = str(error.__cause__ or error).partition("\n")[0]
            raise StorageError(f"the study cannot be reached any longer, try again ({reason})") from error

    def best(self) -> SearchResult:
        """Return the best parameters so far."""
        study = self._study
        return SearchResult(study.study_name, len(self._finished()), dict(study.best_params), float(study.best_value))

    def _try(self, splits: Splits, say: Say, progress: bool) -> None:
        """Train and measure one combination of parameters; after a stop it is tried again first."""
        study, state = self._study, self._optuna.trial.TrialState
        trial = study.ask()
        # Seeded by the number of the trial, which is unique: processes that start together choose differently.
        seeds = np.random.SeedSequence(self._request.seeds[0], spawn_key=(trial.number,))
        study.sampler = self._optuna.samplers.TPESampler(seed=int(seeds.generate_state(1)[0]), constant_liar=True)
        trial.set_user_attr(_PROCESS, _this_process())
        chosen = {name: trial.suggest_categorical(name, values) for name, values in self._space.items()}
        if chosen in self._finished():  # Optuna learns nothing from a failed trial
            study.tell(trial, state=state.FAIL)
            self._enqueue_another(chosen, seeds)
            return
        cell = self._cell(chosen)
        say(f"trial {trial.number + 1}: {cell.title}")
        try:
            trained = train_cell(cell, splits, self._out, self._backbone, progress=progress)
            _, value = best_epoch(trained, cell.epochs, cell.regions[0])
        except BlockingIOError:
            say(f"trial {trial.number + 1}: another process is training it")
            study.tell(trial, state=state.FAIL)
            self._enqueue_another(chosen, seeds)
            time.sleep(
                _SECONDS_TO_WAIT * min(2**self._collisions, _LONGEST_WAIT)
            )  # all remaining combinations may be busy
            self._collisions += 1
        except TrainingDivergedError as error:
            say(f"trial {trial.number + 1}: {error}")
            study.tell(trial, 0.0)
        except BaseException:
            study.tell(trial, state=state.FAIL)
            study.enqueue_trial(chosen)
            raise
        else:
            self._collisions = 0
            study.tell(trial, value)
            say(f"trial {trial.number + 1}: validation TPAUC {value:.4f}")

    def _retry_lost_trials(self) -> None:
        """Enqueue the trials of killed processes of this machine again."""
        state = self._optuna.trial.TrialState
        for trial in self._study.get_trials(states=(state.RUNNING,)):
            if _is_lost(trial.user_attrs):
                try:
                    self._study.tell(trial.number, state=state.FAIL)
                except ValueError:  # another process has enqueued it again already
                    continue
                self._study.enqueue_trial(trial.params)

    def _cell(self, chosen: Mapping[str, float]) -> Cell:
        return replace(self._request, parameters={**self._request.parameters, **chosen}).cells()[0]

    def _combinations(self) -> list[dict[str, float]]:
        return [dict(zip(self._space, values, strict=True)) for values in itertools.product(*self._space.values())]

    def _finished(self) -> list[dict[str, float]]:
        """Return the different combinations that have been tried to the end."""
        complete = self._study.get_trials(deepcopy=False, states=(self._optuna.trial.TrialState.COMPLETE,))
        return [chosen for chosen in self._combinations() if any(trial.params == chosen for trial in complete)]

    def _enqueue_another(self, chosen: Mapping[str, float], seeds: np.random.SeedSequence) -> None:
        """Enqueue another combination that is not finished, if there is one."""
        finished = self._finished()
        if left := [other for other in self._combinations() if other != chosen and other not in finished]:
            self._study.enqueue_trial(left[int(np.random.default_rng(seeds).integers(len(left)))])


def _opened_study(optuna: Any, name: str, storage: str) -> Any:
    try:
        return _created_study(optuna, name, storage)
    except Exception as error:  # from Optuna, from SQLAlchemy, or from the driver that the URL names
        shown = re.sub(r"(://[^:/@]*):.*@", r"\1:...@", storage)  # without its password
        reason = str(error).partition("\n")[0]
        rule = "storage must be the URL of a database that can be opened, such as sqlite:///search.db"
        raise StorageError(f"{rule}, got {shown!r} ({reason})") from error


def _created_study(optuna: Any, name: str, storage: str) -> Any:
    """Open or create a study; if several processes create it at once, all but one fail and find it a moment later."""
    pauses = list(_PAUSES)
    while True:
        try:
            return optuna.create_study(study_name=name, storage=storage, direction="maximize", load_if_exists=True)
        except Exception:  # of any driver, see above
            if not pauses:
                raise
            time.sleep(pauses.pop(0))


def _this_process() -> str:
    return f"{platform.node()} {os.getpid()}"


def _is_lost(attributes: Mapping[str, Any]) -> bool:
    """Return whether a running trial belongs to a process of this machine that has ended."""
    node, _, number = str(attributes.get(_PROCESS, "")).rpartition(" ")
    if node != platform.node():
        return False
    if os.name == "nt":  # signal 0 is Ctrl-C there, not a question
        return False
    if int(number) == os.getpid():  # an earlier process with the same number, or an interrupted search of this one
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it runs, for another user
        return False
    return False
