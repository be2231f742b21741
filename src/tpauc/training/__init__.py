"""Training on batches: `fit` and `evaluate` on Lightning Fabric, on one machine or several. Needs ``tpauc[train]``.

| module | idea |
| --- | --- |
| `fitting` | `fit`: from a model and data to the best model; how processes are started |
| `config` | `TrainConfig`, everything that decides how a run goes |
| `loop`, `run_state` | the loop itself; all state by which a run goes on after a stop |
| `data`, `setup` | batches of tensors or of a data set; loss, optimiser, rates, sampler |
| `evaluation`, `scoring` | `evaluate`; exact scores over processes |
| `checkpoints`, `run_folder`, `random_state` | files that are whole or not there, and hold no code |
| `interruption`, `vital_signs`, `pacing`, `launching`, `log` | signals; NaN; when to save; processes; what is shown |
"""

from tpauc.training.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from tpauc.training.config import TrainConfig
from tpauc.training.evaluation import Evaluation, evaluate
from tpauc.training.fitting import FitResult, fit
from tpauc.training.interruption import TrainingInterrupted
from tpauc.training.vital_signs import TrainingDivergedError

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
