"""Maximise and measure the Two-way Partial AUC. The public names, nothing else.

Names are imported when first used, so ``import tpauc`` and the metrics need NumPy alone and start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULE_OF = {
    "Advice": "advice",
    "Anchored": "weighting",
    "CheckpointError": "training",
    "ClassBalancedCrossEntropy": "baselines",
    "ClassBalancedFocal": "baselines",
    "Evaluation": "training",
    "Exponential": "weighting",
    "FitResult": "training",
    "FocalLoss": "baselines",
    "HardExampleSampler": "sampling",
    "Hinge": "surrogates",
    "MinimaxTPAUCLoss": "minimax",
    "Polynomial": "weighting",
    "Region": "region",
    "ReweightedCrossEntropy": "baselines",
    "SquareAUCLoss": "losses",
    "SquaredHinge": "surrogates",
    "StratifiedBatchSampler": "sampling",
    "TPAUCBooster": "boosting.booster",
    "TPAUCClassifier": "estimator",
    "TPAUCLoss": "losses",
    "TrainConfig": "training",
    "TrainingDivergedError": "training",
    "TrainingInterrupted": "training",
    "TruncatedLoss": "baselines",
    "TwoWayPartialAUC": "metrics.torchmetric",
    "Uniform": "weighting",
    "WarmUp": "losses",
    "Weighting": "weighting",
    "advise": "advice",
    "auc_score": "metrics.area",
    "compare_tpauc": "metrics.intervals",
    "descent_ascent": "minimax",
    "empirical_risks": "losses",
    "evaluate": "training",
    "fit": "training",
    "lightgbm_metric": "boosting.metric",
    "lightgbm_objective": "boosting.objective",
    "load_checkpoint": "training",
    "opauc_score": "metrics.area",
    "operating_point": "metrics.intervals",
    "plot_roc": "reporting",
    "plot_scores": "reporting",
    "plot_training": "reporting",
    "report": "reporting",
    "save_checkpoint": "training",
    "tpauc_interval": "metrics.intervals",
    "tpauc_score": "metrics.area",
    "tpauc_scorer": "estimator",
    "tpr_dependent_opauc": "metrics.area",
    "two_way_partial_auc": "metrics.torchmetric",
    "xgboost_metric": "boosting.metric",
    "xgboost_objective": "boosting.objective",
}

__all__ = list(_MODULE_OF)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tpauc' has no attribute {name!r}")
    value = getattr(import_module(f"tpauc.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
