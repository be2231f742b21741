"""Train a model for a region: `fit`, on one machine or several.

An epoch passes over stratified batches (`tpauc.samplers`), then measures exact TPAUC, OPAUC and AUC and the three risks
of the paper's bound on the validation data. The model with the best validation TPAUC is kept. Of equal ones it is the
one with the best OPAUC, then AUC, then the lowest training loss, then the last one: before the region is reached, TPAUC
is 0 in every epoch, and the progress line says so.

Several processes share each batch. The losses of this package are those of the whole batch, so the course of training
does not depend on the number of processes. ``TrainConfig(devices=2)`` starts two of them within the call. A script that
calls ``fit`` may also be started by a launcher, on one machine or on each of several:

    torchrun --nproc-per-node 2 train.py                                                   # devices=2
    torchrun --nproc-per-node 2 --nnodes 2 --rdzv-endpoint HOST:29500 train.py             # devices=2, nodes=2

``fit`` then returns the same result in every process, and the processes stay joined: a loss that is called afterwards
is again the loss over all of them. Only the first process writes files, so the machines need no common disk.
Needs the extra ``tpauc[train]``.
"""

from __future__ import annotations

import copy
import logging
import sys
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch.distributed as dist
from torch import nn

from tpauc._validation import brief, check_module, check_trainable, import_extra
from tpauc.training._loop import TrainingLoop
from tpauc.training._processes import StopSignals, leave_group_at_exit, run_in_processes, starts_processes
from tpauc.training._state import EpochHook, Progress, Task, Transform, preserved_random_state
from tpauc.training.checkpoint import RunFolder
from tpauc.training.config import TrainConfig
from tpauc.training.data import Data, as_examples
from tpauc.training.exceptions import TrainingDivergedError, TrainingInterrupted
from tpauc.training.setup import make_fabric, make_loss

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True)
class FitResult:
    """What :func:`fit` returns.

    Attributes
    ----------
    model : nn.Module
        The model given, with the best weights (without validation data, the last ones).
    history : list of dict
        For each epoch: ``epoch``, ``step`` (steps so far), ``loss`` (mean over its steps), ``lr``; measured on the
        validation data ``tpauc``, ``opauc``, ``auc``, ``relaxed_risk``, ``truncated_risk``, ``zero_one_risk``; and
        ``seconds``, the time trained so far.
    best_epoch : int or None
        Epoch of the best model, counted from 1; None without validation data or before the first epoch has ended.
    ended : {"epochs", "patience", "time limit"}
        Why training ended.
    folder : RunFolder or None
        The files of the run: ``folder.last``, ``folder.best``, ``folder.history``, ``folder.config``.

    Examples
    --------
    >>> rows = [{"epoch": 1, "tpauc": 0.4}, {"epoch": 2, "tpauc": 0.3}]
    >>> result = FitResult(model=nn.Identity(), history=rows, best_epoch=1, ended="patience", folder=None)
    >>> result.best
    {'epoch': 1, 'tpauc': 0.4}
    """

    model: nn.Module
    history: list[dict[str, float]]
    best_epoch: int | None
    ended: str
    folder: RunFolder | None

    @property
    def best(self) -> dict[str, float] | None:
        """The row of the history that belongs to the best model."""
        return None if self.best_epoch is None else self.history[self.best_epoch - 1]


def fit(
    model: nn.Module,
    train: Data,
    validation: Data | None,
    loss: nn.Module,
    config: TrainConfig,
    *,
    transform: Transform | None = None,
    on_epoch: EpochHook | None = None,
) -> FitResult:
    """Train ``model`` in place and return it with the weights of its best epoch.

    Parameters
    ----------
    model : nn.Module
        Returns one logit per input, of shape ``(n,)`` or ``(n, 1)``. It is trained in training mode. If it is given in
        training mode, submodules in evaluation mode (frozen BatchNorm) stay in evaluation mode.
    train, validation : (inputs, labels) or Dataset
        Two tensors with one example per row, which are indexed one batch at a time, or a map-style data set of pairs
        ``(input, label)``. Labels are 0/1 or -1/1. Without validation data (None) the last model is kept.
    loss : nn.Module
        Called as ``loss(logits, labels)``, for example a `TPAUCLoss`.
    config : TrainConfig
        All other settings.
    transform : callable, optional
        Called as ``transform(inputs, generator)`` on every training batch, on its device, for example to augment it.
        If it draws its random numbers from ``generator``, a resumed run goes on with the same ones.
    on_epoch : callable, optional
        Called as ``on_epoch(epoch, model, validation_scores)`` at the end of every epoch (counted from 1), in every
        process. The scores are logits. The call comes before the checkpoint of the epoch is written: a run that resumes
        after an epoch has made the call for it, and an epoch that is trained again is reported again.

    Returns
    -------
    FitResult

    Raises
    ------
    TrainingInterrupted
        After SIGTERM or Ctrl-C, once a checkpoint is written. A script that does not catch it exits with 143 or 130.
    TrainingDivergedError
        If a loss, gradient, weight or score is NaN or infinite.
    CheckpointError
        If the checkpoint to resume from is foreign, damaged, or of another model.
    ValueError
        If it was begun with other settings, data or functions. Functions without a name are told in a warning.
    OSError
        If the folder cannot be written; the last checkpoint in it is unchanged.

    Notes
    -----
    Random numbers are drawn from torch's, NumPy's and Python's global generators, which are seeded by ``config.seed``
    and restored afterwards. Calls from several threads take turns, and each gives what it gives alone. On a CPU, with
    the same number of processes, a resumed run is bit-equal to an uninterrupted one; with ``workers`` only if reading
    an example draws no random numbers.

    Examples
    --------
    >>> import torch
    >>> from tpauc import Polynomial, TPAUCLoss, evaluate
    >>> inputs = torch.linspace(-1.0, 1.0, 100)[:, None]
    >>> labels = (inputs[:, 0] > 0.5).int()
    >>> config = TrainConfig(alpha=0.5, beta=0.5, epochs=3, lr=0.1, progress=False)
    >>> result = fit(torch.nn.Linear(1, 1), (inputs, labels), (inputs, labels), TPAUCLoss(Polynomial(3.0)), config)
    >>> result.ended, len(result.history), evaluate(result.model, (inputs, labels), alpha=0.5, beta=0.5).auc
    ('epochs', 3, 1.0)
    """
    with preserved_random_state():
        task = _checked_task(model, train, validation, loss, config, transform, on_epoch)
        progress = _train_in_new_processes(task) if starts_processes(config) else _train_here(task)
    if progress.best is not None:
        model.load_state_dict(progress.best["model"])
    return FitResult(
        model=model,
        history=progress.history,
        best_epoch=None if progress.best is None else progress.best["epoch"],
        ended=progress.end_reason(config) or "time limit",
        folder=None if config.out is None else RunFolder(config.out),
    )


def _checked_task(
    model: nn.Module,
    train: Data,
    validation: Data | None,
    loss: nn.Module,
    config: TrainConfig,
    transform: Transform | None,
    on_epoch: EpochHook | None,
) -> Task:
    """Raise now what would otherwise come up after an epoch of training."""
    check_trainable(check_module(model, "model"))
    check_module(loss, "loss")
    if not isinstance(config, TrainConfig):
        raise TypeError(f"config must be a TrainConfig, got {type(config).__name__}")
    for name, function in (("transform", transform), ("on_epoch", on_epoch)):
        if function is not None and (isinstance(function, type) or not callable(function)):
            raise TypeError(f"{name} must be callable, got {brief(function)}")
    if config.patience is not None and validation is None:
        raise ValueError(f"patience={config.patience} needs validation data, got validation=None")
    import_extra("lightning_fabric", "train")
    if config.out is not None and config.tensorboard:
        import_extra("tensorboard", "train")
    validation_examples = None
    if validation is not None:
        validation_examples = as_examples(validation, "validation")
        n_positive = int(validation_examples.positive.sum())
        config.region.hard_positives(n_positive)
        config.region.hard_negatives(validation_examples.positive.size - n_positive)
    return Task(model, as_examples(train, "train"), validation_examples, loss, config, transform, on_epoch)


def _train_here(task: Task) -> Progress:
    """Train in this process, alone or together with others that a launcher has started."""
    fabric = make_fabric(task.config, started_here=False)
    try:
        leave_group_at_exit()
        with StopSignals() as stop:
            progress: Progress = fabric.launch(lambda launched: _train(launched, task, stop))
            return progress
    except TrainingInterrupted as interruption:
        if fabric.is_global_zero:
            print(interruption, file=sys.stderr)
        raise


def _train_in_new_processes(task: Task) -> Progress:
    """Train in new processes, which leave the result in the folder of the run."""
    config = task.config
    with tempfile.TemporaryDirectory() as temporary:
        out = temporary if config.out is None else config.out
        if config.out is None:
            task = task._replace(config=replace(config, out=out, tensorboard=False))
        try:
            run_in_processes(_train_in_new_process, config, task)
        except (TrainingInterrupted, TrainingDivergedError) as error:
            if config.out is None:
                error.checkpoint = None
            if isinstance(error, TrainingInterrupted):
                print(error, file=sys.stderr)
            raise
        state = RunFolder(out).load()
        assert state is not None, "the processes ended without an error, so the first has saved"
    if config.precision == "64-true":
        task.model.double()
    task.model.load_state_dict(state["model"])
    make_loss(task.loss, config).load_state_dict(state["loss"])
    return Progress.from_state(state)


def _train_in_new_process(stop: StopSignals, task: Task) -> None:
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    # Tensors from another process share its memory; each process trains its own model.
    own = task._replace(model=copy.deepcopy(task.model), loss=copy.deepcopy(task.loss))
    make_fabric(task.config, started_here=True).launch(lambda launched: _train(launched, own, stop))
    dist.destroy_process_group()


def _train(fabric: Fabric, task: Task, stop: StopSignals) -> Progress:
    loop = TrainingLoop(fabric, task, stop)
    loop.run()
    return loop.state.progress
