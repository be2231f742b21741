"""Maximise and measure the Two-way Partial AUC. The public names, nothing else.

Names are imported when first used, so ``import tpauc`` and the metrics need NumPy alone and start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULE_OF = {
    "Advice": "classifiers.advice",
    "Anchored": "losses.rank_weighting",
    "CVaRTPAUCLoss": "losses.cvar",
    "CheckpointError": "training",
    "ClassBalancedCrossEntropy": "losses.baselines",
    "ClassBalancedFocal": "losses.baselines",
    "Evaluation": "training",
    "Exponential": "losses.weighting",
    "FPRAtRecallLoss": "losses.rate_constrained",
    "FitResult": "training",
    "FocalLoss": "losses.baselines",
    "HardExampleSampler": "samplers",
    "Hinge": "losses.surrogates",
    "InstanceWiseTPAUCLoss": "losses.instancewise",
    "KLTPAUCLoss": "losses.kl",
    "MinimaxTPAUCLoss": "losses.minimax",
    "Polynomial": "losses.weighting",
    "RecallAtFPRLoss": "losses.rate_constrained",
    "Region": "region",
    "ReweightedCrossEntropy": "losses.baselines",
    "SquareAUCLoss": "losses.tpauc_loss",
    "SquaredHinge": "losses.surrogates",
    "StratifiedBatchSampler": "samplers",
    "TPAUCBooster": "classifiers.boosting.booster",
    "TPAUCClassifier": "classifiers.tpauc_classifier",
    "TPAUCLoss": "losses.tpauc_loss",
    "TrainConfig": "training",
    "TrainingDivergedError": "training",
    "TrainingInterrupted": "training",
    "TruncatedLoss": "losses.baselines",
    "TwoWayPartialAUC": "metrics.torchmetric",
    "Uniform": "losses.weighting",
    "WarmUp": "losses.tpauc_loss",
    "Weighting": "losses.weighting",
    "advise": "classifiers.advice",
    "auc_score": "metrics.area",
    "compare_tpauc": "metrics.intervals",
    "descent_ascent": "losses.minimax",
    "empirical_risks": "losses.tpauc_loss",
    "evaluate": "training",
    "fit": "training",
    "lightgbm_metric": "classifiers.boosting.metric",
    "lightgbm_objective": "classifiers.boosting.objective",
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
    "tpauc_scorer": "classifiers.tpauc_classifier",
    "tpr_dependent_opauc": "metrics.area",
    "two_way_partial_auc": "metrics.torchmetric",
    "xgboost_metric": "classifiers.boosting.metric",
    "xgboost_objective": "classifiers.boosting.objective",
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
