"""The public names: where each is defined. Type checkers read this file, and the package loads names by it."""

from tpauc.classifiers.advice import Advice as Advice
from tpauc.classifiers.advice import advise as advise
from tpauc.classifiers.boosting.booster import TPAUCBooster as TPAUCBooster
from tpauc.classifiers.boosting.metric import lightgbm_metric as lightgbm_metric
from tpauc.classifiers.boosting.metric import xgboost_metric as xgboost_metric
from tpauc.classifiers.boosting.objective import lightgbm_objective as lightgbm_objective
from tpauc.classifiers.boosting.objective import xgboost_objective as xgboost_objective
from tpauc.classifiers.tpauc_classifier import TPAUCClassifier as TPAUCClassifier
from tpauc.classifiers.tpauc_classifier import tpauc_scorer as tpauc_scorer
from tpauc.losses.baselines import ClassBalancedCrossEntropy as ClassBalancedCrossEntropy
from tpauc.losses.baselines import ClassBalancedFocal as ClassBalancedFocal
from tpauc.losses.baselines import FocalLoss as FocalLoss
from tpauc.losses.baselines import ReweightedCrossEntropy as ReweightedCrossEntropy
from tpauc.losses.baselines import TruncatedLoss as TruncatedLoss
from tpauc.losses.minimax import MinimaxTPAUCLoss as MinimaxTPAUCLoss
from tpauc.losses.minimax import descent_ascent as descent_ascent
from tpauc.losses.rank_weighting import Anchored as Anchored
from tpauc.losses.surrogates import Hinge as Hinge
from tpauc.losses.surrogates import SquaredHinge as SquaredHinge
from tpauc.losses.tpauc_loss import SquareAUCLoss as SquareAUCLoss
from tpauc.losses.tpauc_loss import TPAUCLoss as TPAUCLoss
from tpauc.losses.tpauc_loss import WarmUp as WarmUp
from tpauc.losses.tpauc_loss import empirical_risks as empirical_risks
from tpauc.losses.weighting import Exponential as Exponential
from tpauc.losses.weighting import Polynomial as Polynomial
from tpauc.losses.weighting import Uniform as Uniform
from tpauc.losses.weighting import Weighting as Weighting
from tpauc.metrics.area import auc_score as auc_score
from tpauc.metrics.area import opauc_score as opauc_score
from tpauc.metrics.area import tpauc_score as tpauc_score
from tpauc.metrics.area import tpr_dependent_opauc as tpr_dependent_opauc
from tpauc.metrics.comparison import compare_tpauc as compare_tpauc
from tpauc.metrics.intervals import tpauc_interval as tpauc_interval
from tpauc.metrics.operating_points import operating_point as operating_point
from tpauc.metrics.torchmetric import TwoWayPartialAUC as TwoWayPartialAUC
from tpauc.metrics.torchmetric import two_way_partial_auc as two_way_partial_auc
from tpauc.region import Region as Region
from tpauc.reporting import plot_roc as plot_roc
from tpauc.reporting import plot_scores as plot_scores
from tpauc.reporting import plot_training as plot_training
from tpauc.reporting import report as report
from tpauc.samplers import HardExampleSampler as HardExampleSampler
from tpauc.samplers import StratifiedBatchSampler as StratifiedBatchSampler
from tpauc.training import CheckpointError as CheckpointError
from tpauc.training import Evaluation as Evaluation
from tpauc.training import FitResult as FitResult
from tpauc.training import TrainConfig as TrainConfig
from tpauc.training import TrainingDivergedError as TrainingDivergedError
from tpauc.training import TrainingInterrupted as TrainingInterrupted
from tpauc.training import evaluate as evaluate
from tpauc.training import fit as fit
from tpauc.training import load_checkpoint as load_checkpoint
from tpauc.training import save_checkpoint as save_checkpoint

__version__: str
__all__: list[str]
