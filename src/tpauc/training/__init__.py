"""Training on batches: `fit` and `evaluate` on Lightning Fabric, on one machine or several. Needs ``tpauc[train]``.

| module | contents |
| --- | --- |
| `fitting` | `fit`, from a model and data to the best model; start here |
| `config` | `TrainConfig`, all settings of a run |
| `setup` | what the settings name, as objects: Fabric, loss, optimiser, learning rates, sampler |
| `data` | tensors or a ``Dataset`` as batches of rows |
| `evaluation` | `evaluate`; scores of a model, and the metrics on them |
| `checkpoint` | `save_checkpoint`, `load_checkpoint`, the folder of a run |
| `exceptions` | what training raises |
| `_loop` | epochs, steps, validation, checkpoints |
| `_state` | everything that a resumed run needs: model, optimiser, sampler, progress, random numbers |
| `_monitor` | checks for NaN, the timer of checkpoints, the progress line, TensorBoard |
| `_processes` | signals, starting processes, communication between them |
"""

from tpauc.training.checkpoint import load_checkpoint, save_checkpoint
from tpauc.training.config import TrainConfig
from tpauc.training.evaluation import Evaluation, evaluate
from tpauc.training.exceptions import CheckpointError, TrainingDivergedError, TrainingInterrupted
from tpauc.training.fitting import FitResult, fit

__all__ = [
    "CheckpointError",
    "Evaluation",
    "FitResult",
    "TrainConfig",
    "TrainingDivergedError",
    "TrainingInterrupted",
    "evaluate",
    "fit",
    "load_checkpoint",
    "save_checkpoint",
]
