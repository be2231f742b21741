"""`TPAUCBooster`: boosted trees for a region behind scikit-learn's interface.

In each fold a path (`boosting_path`) boosts with log-loss and then for the region, with candidates along the way. The
candidates are weighed by their TPAUC on the rows that their fold did not train on (`tpauc.classifiers._candidates`).
The scorer is the weighted mean of the candidates, averaged over the folds. Trees trained on different rows err in
different places, so their mean is better than each of them, and no refit is needed.
"""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn.utils.validation import check_is_fitted

from tpauc._validation import (
    check_between,
    check_count,
    check_flag,
    check_non_negative,
    check_number,
    check_positive,
    check_share,
    import_extra,
)
from tpauc.classifiers._input import checked_rows
from tpauc.classifiers.base import RegionClassifier, TrainingData, class_counts
from tpauc.classifiers.boosting.boosting_path import BoostingPath, PathValidation, Rounds, held_out_rows
from tpauc.classifiers.folds import fold_groups, stratified_folds
from tpauc.classifiers.progress import tree_threads
from tpauc.region import Region

Array = npt.NDArray[Any]

# Rounds of log-loss after which there is a candidate; the next ones are each twice the last but one.
_CANDIDATE_ROUNDS = (10, 20, 30, 50, 75, 100, 150)
_LEAST_ROUNDS = 100  # of log-loss; it ends when twice the rounds of the best candidate brought nothing better
_STANDARD_ERRORS = 0.5  # a candidate that far below the best has 1/e of its weight


class TPAUCBooster(RegionClassifier):
    """Gradient boosted trees trained for the region ``TPR >= 1 - alpha``, ``FPR <= beta``; LightGBM underneath.

    Missing values (NaN) are allowed. Copies of a row share a fold. If hardly any rows are distinct, so that copies
    cannot share a fold, there is a warning.

    Parameters
    ----------
    alpha, beta : float, default=0.3
        The region.
    n_folds : int, default=5
        Folds; fewer if a class has fewer distinct rows.
    n_repeats : int, default=1
        How often the rows are divided into folds. There are ``n_folds * n_repeats`` trainings.
    max_rounds : int, default=200
        Most rounds of log-loss. It ends sooner if twice the rounds of the best candidate brought nothing better.
    region_rounds : int, default=10
        Most rounds for the region, from the best candidate of log-loss and from a candidate of about half its rounds; 0
        boosts with log-loss alone.
    learning_rate : float, default=0.1
        Of log-loss rounds; rounds for the region take half of it.
    num_leaves, min_child_samples : int, default=31, 20
        Most leaves of a tree, fewest rows of a leaf.
    reg_lambda : float, default=0.1
        Penalty of the squared values of leaves. Leaves that hold only rare positives need one.
    subsample, colsample : float, default=1.0, 0.7
        Shares of the rows and of the features that a tree sees.
    pos_label : label, optional
        The positive class. By default the second in order, with a warning unless the labels are 0/1, -1/1 or booleans.
    calibrate : bool, default=False
        Fit `predict_proba` to the out-of-fold scores, as in `TPAUCClassifier`.
    n_jobs : int or None, default=None
        Threads; -1 is one per core. None is one thread for a table of fewer than a million values, whose threads would
        mostly wait for each other, and LightGBM's choice for larger ones. The trees are the same.
    random_state : int, RandomState or None, default=None
        Decides folds, and the rows and features that a tree sees.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The labels in order.
    pos_label_ : label
        The positive one of them.
    chosen_ : str
        The candidates with their shares.
    candidates_ : list of dict
        Name, rounds, region rounds, validated TPAUC and share of every candidate.
    paths_, offset_, shares_ : list of BoostingPath, float, dict
        The trees of each fold, the first score of all rows, the share of each candidate.
    threshold_ : float
        `predict` says positive where the logit of the positive class is at least this; `set_threshold` changes it. It
        is slightly conservative: it comes from the scores of single folds, and the mean of the folds, which scores new
        rows, spreads less. The share of false alarms on simulated tables was 0.08 to 0.09 where 0.10 was allowed.
    operating_point_ : OperatingPoint
        What chose `threshold_`, with its rates on rows that were not trained on: the highest TPR at ``FPR <= beta``.
    out_of_fold_scores_ : array of shape (n,)
        The logit for every training row, by the fold that did not see it.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(600, weights=[0.9], random_state=0)
    >>> booster = TPAUCBooster(alpha=0.3, beta=0.3, random_state=0).fit(X[:400], y[:400])
    >>> 0 <= booster.score(X[400:], y[400:]) <= 1
    True
    """

    def __init__(
        self,
        *,
        alpha: float = 0.3,
        beta: float = 0.3,
        n_folds: int = 5,
        n_repeats: int = 1,
        max_rounds: int = 200,
        region_rounds: int = 10,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        min_child_samples: int = 20,
        reg_lambda: float = 0.1,
        subsample: float = 1.0,
        colsample: float = 0.7,
        pos_label: Any = None,
        calibrate: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.n_folds = n_folds
        self.n_repeats = n_repeats
        self.max_rounds = max_rounds
        self.region_rounds = region_rounds
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample = colsample
        self.pos_label = pos_label
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TPAUCBooster:
        """Train on rows with labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels of two values.
        sample_weight : array-like of shape (n,), optional
            Whole weights act about as repeated rows: losses and validation weigh a row, but ``min_child_samples`` and
            the bins of LightGBM count it once.
        groups : array-like of shape (n,), optional
            Values that rows of a group share, such as the number of a patient. Rows of a group are never on both sides
            of a fold or hold-out, nor are copies of a row.

        Returns
        -------
        self
        """
        region = self._check_parameters()
        data, region, random = self._start_fit(X, y, sample_weight, groups, region, ensure_all_finite="allow-nan")
        folds = self._folds(data, random)
        self.offset_ = float(logit(np.average(data.positive, weights=data.weight)))
        self.paths_ = self._new_paths(data, folds, region, random)
        validation = PathValidation(data.X, data.positive, folds, region, data.weight)
        self._train(self.paths_, validation)
        for path in self.paths_:
            path.close()
        self._set_shares(validation)
        scores = self.offset_ + validation.scores() @ np.array(list(self.shares_.values()))
        self._keep_out_of_fold(scores, data)
        self._set_threshold(region, scores, data.positive, data.weight, data.weight)
        return self

    def _check_parameters(self) -> Region:
        check_count(self.n_folds, "n_folds", at_least=2)
        check_count(self.n_repeats, "n_repeats")
        check_count(self.max_rounds, "max_rounds")
        check_count(self.region_rounds, "region_rounds", at_least=0)
        check_between(check_positive(self.learning_rate, "learning_rate"), "learning_rate", 1e-10, 1e10)
        check_count(self.num_leaves, "num_leaves", at_least=2)
        check_count(self.min_child_samples, "min_child_samples")
        check_non_negative(self.reg_lambda, "reg_lambda")
        check_share(self.subsample, "subsample")
        check_share(self.colsample, "colsample")
        check_flag(self.calibrate, "calibrate")
        if self.n_jobs is not None and not (isinstance(self.n_jobs, int) and self.n_jobs == -1):
            check_count(self.n_jobs, "n_jobs, unless None or -1 for all cores,")
        return Region(self.alpha, self.beta)

    def _threads(self, n_values: int) -> int:
        if self.n_jobs is None:
            return tree_threads(n_values)
        return int(joblib.cpu_count()) if self.n_jobs == -1 else self.n_jobs

    def _folds(self, data: TrainingData, random: np.random.Generator) -> Array:
        n_rows = class_counts(data.positive, None)
        n_folds = min(self.n_folds, *n_rows)
        if n_folds < 2:
            raise ValueError(
                f"at least 2 rows of each class are needed, got {n_rows[0]} positive, {n_rows[1]} negative"
            )
        group, n_folds = fold_groups(data.X, data.positive, n_folds, groups=data.groups, stacklevel=3)
        return np.stack(
            [stratified_folds(data.positive, group, n_folds, random, data.weight) for _ in range(self.n_repeats)]
        )

    def _new_paths(
        self, data: TrainingData, folds: Array, region: Region, random: np.random.Generator
    ) -> list[BoostingPath]:
        lightgbm = import_extra("lightgbm", "lightgbm")
        tree = {
            "learning_rate": check_number(self.learning_rate, "learning_rate"),
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "lambda_l2": check_number(self.reg_lambda, "reg_lambda"),
            "bagging_fraction": check_number(self.subsample, "subsample"),
            "bagging_freq": 1,
            "feature_fraction": check_number(self.colsample, "colsample"),
            "feature_pre_filter": False,  # the bins do not depend on the size of leaves
            "num_threads": self._threads(data.X.size),
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }
        # Features are put into bins once, for all folds.
        whole = lightgbm.Dataset(data.X, data.positive, params=tree).construct()
        paths = []
        for held in held_out_rows(folds):
            kept = np.delete(np.arange(data.positive.size), held)
            tree["seed"] = int(random.integers(2**31))
            dataset, rows = whole.subset(kept).construct(), data.take(kept)
            paths.append(BoostingPath(dataset, rows, region, self.offset_, dict(tree), 0.5 * tree["learning_rate"]))
        return paths

    def _train(self, paths: list[BoostingPath], validation: PathValidation) -> None:
        """Boost all folds with log-loss as long as it helps, then for the region."""
        for rounds in self._candidate_rounds():
            validation.grow(paths, Rounds(rounds, 0))
            if rounds >= max(_LEAST_ROUNDS, 2 * validation.best().rounds):
                break
        if self.region_rounds == 0:
            return
        best = validation.best().rounds
        half = max((other.rounds for other in validation.candidates if other.rounds <= best / 2), default=best)
        lengths = {self.region_rounds // 2, self.region_rounds} - {0}
        for switch in sorted({half, best}):
            for rounds in sorted(lengths):
                validation.grow(paths, Rounds(switch, rounds))

    def _candidate_rounds(self) -> list[int]:
        found = list(_CANDIDATE_ROUNDS)
        while found[-1] < self.max_rounds:
            found.append(2 * found[-2])
        return [rounds for rounds in found if rounds < self.max_rounds] + [self.max_rounds]

    def _set_shares(self, validation: PathValidation) -> None:
        kinds = ["region" if rounds.region_rounds else "log-loss" for rounds in validation.candidates]
        names = [f"{kind} {a}+{b}" for kind, (a, b) in zip(kinds, validation.candidates, strict=True)]
        weighed = validation.tpauc().weighed(names, _STANDARD_ERRORS)
        self.shares_ = dict(zip(validation.candidates, weighed.shares.tolist(), strict=True))
        self.candidates_ = [
            {"name": kind, **rounds._asdict(), "tpauc": found["tpauc"], "share": found["share"]}
            for kind, rounds, found in zip(kinds, validation.candidates, weighed.candidates, strict=True)
        ]
        self.chosen_ = weighed.chosen

    # --------------------------------------------------------------------------------------------------- prediction

    def _logits(self, X: Any) -> Array:
        check_is_fitted(self)
        X = checked_rows(self, X, ensure_all_finite="allow-nan", reset=False)
        return np.asarray(self.offset_ + np.mean([path.weighted(X, self.shares_) for path in self.paths_], axis=0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
