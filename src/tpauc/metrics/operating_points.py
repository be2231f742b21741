"""Operating points: a threshold, its rates with exact intervals, and whether they lie in the region.

`tpauc.metrics.thresholds` says how a threshold is picked, and `tpauc.metrics._alarm_rates` how the intervals are made.
`operating_point` picks a threshold and judges it on the same rows. That flatters it: the rates on new rows are worse on
average. `evaluate_threshold` judges a threshold on rows that had no part in picking it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy.typing as npt

from tpauc._notebook import html_table, limits_text
from tpauc._validation import BoolArray, FloatArray, check_open_share, check_share
from tpauc.metrics._alarm_rates import AlarmCounts as AlarmCounts
from tpauc.metrics._alarm_rates import AlarmedRows, intervals_of, rates_of
from tpauc.metrics._proportions import BY_GROUPS as BY_GROUPS  # the method of intervals that know of groups
from tpauc.metrics._proportions import Proportion, ScoredRows, scored_rows, weighted_rows
from tpauc.metrics.intervals import IntArray, Interval
from tpauc.metrics.thresholds import MAX_TPR, ThresholdRule, allowed_mass, check_threshold, pick_threshold
from tpauc.region import Region

_CONFIDENCE = 0.95


@dataclass(frozen=True, repr=False)
class OperatingPoint:
    """A threshold and its rates; what :func:`operating_point` and :func:`evaluate_threshold` return.

    Attributes
    ----------
    threshold : float
        A row raises an alarm when its score is at least this; infinity if no row may.
    tpr, fpr : float
        Share of the positives that raise an alarm, and of the negatives.
    feasible : bool or None
        Whether the rates on these rows lie in the region; None if no region was given.
    precision, npv, alarm_rate : float
        Share of the alarms that are positives, of the other rows that are negatives, and of all rows that raise an
        alarm; at `prevalence` if it is given, else in the sample. NaN where there is no such row.
    true_positives, false_positives, true_negatives, false_negatives : int or float
        Numbers of rows; sums of weights if these are not whole numbers.
    tpr_shortfall, fpr_excess : float or None
        By how much the TPR is below ``1 - alpha`` and the FPR above ``beta``; 0 where they are not.
    alpha, beta : float or None
        The region.
    rule : str or None
        The rule that picked the threshold; None if it was given.
    guarantee : float or None
        With which probability the FPR (rule "max_tpr") or the TPR (rule "min_fpr") on new data keeps to the region.
    prevalence : float or None
        The share of positives that was asked for; None for the sample's.
    confidence : float
        Of the intervals.
    picked_here : bool
        Whether the threshold was picked on the rows that the rates are taken from.
    intervals : mapping from str to Interval
        For "tpr", "fpr", "precision", "npv" and "alarm_rate": ``estimate``, ``low``, ``high`` and the ``method``.
    alarms_per_1000 : float
        Alarms per 1,000 rows.

    Examples
    --------
    >>> point = evaluate_threshold([1] * 50 + [0] * 950, [1] * 45 + [0] * 936 + [1] * 19, 0.5, prevalence=0.01)
    >>> print(f"{point.tpr:.2f} {point.fpr:.2f} {point.precision:.2f} {point.alarms_per_1000:.1f}")
    0.90 0.02 0.31 28.8
    >>> print(f"{point.intervals['precision'].low:.2f} to {point.intervals['precision'].high:.2f}")
    0.19 to 0.47
    """

    threshold: float
    tpr: float
    fpr: float
    feasible: bool | None
    precision: float
    npv: float
    alarm_rate: float
    true_positives: float
    false_positives: float
    true_negatives: float
    false_negatives: float
    tpr_shortfall: float | None
    fpr_excess: float | None
    alpha: float | None
    beta: float | None
    rule: str | None
    guarantee: float | None
    prevalence: float | None
    confidence: float
    picked_here: bool
    _proportions: Mapping[str, Proportion] = field(hash=False)

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The five rates with their limits, by name."""
        # Made on demand, as SciPy takes longer to load than everything else here takes to run.
        return intervals_of(self._proportions, self.prevalence, self.confidence)

    @property
    def alarms_per_1000(self) -> float:
        """Alarms per 1,000 rows."""
        return 1000.0 * self.alarm_rate

    def __repr__(self) -> str:
        level = f"{100 * self.confidence:g} % in"
        lines = [
            f"  {title:<10}  {getattr(self, name):.4f}  {level} [{found.low:.4f}, {found.high:.4f}]  {text}"
            for name, (title, text) in self._explained().items()
            for found in [self.intervals[name]]
        ]
        return "\n".join([f"OperatingPoint: {self._title()}", *lines, *(f"  {note}" for note in self._notes())])

    def _repr_html_(self) -> str:
        rows = [
            [title, f"{found.estimate:.4f}", limits_text(found.low, found.high), text]
            for name, (title, text) in self._explained().items()
            for found in [self.intervals[name]]
        ]
        header = ["", "rate", f"{100 * self.confidence:g} % interval", ""]
        return html_table(f"Operating point: {self._title()}", rows, header=header, notes=self._notes())

    def _explained(self) -> dict[str, tuple[str, str]]:
        """Return the title of each rate, and what it is a share of."""
        n_positive = self.true_positives + self.false_negatives
        n_negative = self.false_positives + self.true_negatives
        caught = f"{self.true_positives:,.6g} of {n_positive:,.6g} positives caught"
        alarmed = f"{self.false_positives:,.6g} of {n_negative:,.6g} negatives alarmed"
        at = "" if self.prevalence is None else f" at prevalence {self.prevalence:g}"
        return {
            "tpr": ("TPR", caught + ("" if self.alpha is None else f", {1.0 - self.alpha:g} wanted")),
            "fpr": ("FPR", alarmed + ("" if self.beta is None else f", {self.beta:g} allowed")),
            "precision": ("precision", f"of the alarms are positives{at}"),
            "npv": ("NPV", f"of the other rows are negatives{at}"),
            "alarm_rate": ("alarm rate", f"{self.alarms_per_1000:.4g} alarms per 1,000 rows{at}"),
        }

    def _notes(self) -> list[str]:
        verdict = [] if self.feasible is None else [self._verdict()]
        picked = "judged on the rows that the threshold was picked on; evaluate_threshold takes others"
        return [*verdict, picked] if self.picked_here else verdict

    def _title(self) -> str:
        return f"alarm at score >= {self.threshold:.6g}{self._origin()}"

    def _origin(self) -> str:
        if self.rule is None:
            return " (given)"
        if self.guarantee is None:
            return f" (rule {self.rule})"
        promise = f"FPR <= {self.beta:g}" if self.rule == MAX_TPR else f"TPR >= {1.0 - (self.alpha or 0.0):g}"
        return f" (rule {self.rule}; {promise} on new data with probability {self.guarantee:g})"

    def _verdict(self) -> str:
        if self.feasible:
            return "in the region"
        missed = [
            f"{name} too {side} by {amount:.4g}"
            for name, side, amount in (("TPR", "low", self.tpr_shortfall), ("FPR", "high", self.fpr_excess))
            if amount
        ]
        return f"not in the region: {', '.join(missed)}"


def operating_point(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    alpha: float,
    beta: float,
    rule: str = MAX_TPR,
    guarantee: float | None = None,
    miss_cost: float | None = None,
    alarm_cost: float | None = None,
    capacity: Sequence[float] | None = None,
    prevalence: float | None = None,
    confidence: float = _CONFIDENCE,
    sample_weight: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> OperatingPoint:
    """Pick a threshold by a rule, and return its rates on the same rows with exact intervals.

    A row raises an alarm when its score is at least the threshold. By default that is the threshold with the highest
    TPR at ``FPR <= beta``, and of these the one with the lowest FPR; it is the score of a positive. If even the highest
    positive comes with more than ``beta`` of the negatives (all scores tied, say), no allowed threshold catches a
    positive: the threshold is then ``inf``, with TPR and FPR 0. Shares are rounded down as everywhere: ``floor(n- *
    beta)`` negatives may be false alarms and ``floor(n+ * alpha)`` positives may be missed; both numbers may be 0.

    The intervals are right for a threshold that was picked on other rows (:func:`evaluate_threshold`); on the rows it
    was picked on they are too favourable. Only ``guarantee`` allows for the picking: one class alone decides the
    threshold, its rate is promised, and the interval of the other class's rate is right.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, 0/1 or -1/1, as bool, int or float; any two labels with ``pos_label``.
    y_score : array-like of shape (n,)
        Scores, higher for the positive class; any finite numbers.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].
    rule : {"max_tpr", "min_fpr", "cost", "capacity"}, default="max_tpr"
        Highest TPR at ``FPR <= beta``; lowest FPR at ``TPR >= 1 - alpha``; lowest cost; or highest TPR with no more
        alarms than there is capacity for. The last two do not look at ``alpha`` and ``beta``; `feasible` does. Among
        thresholds of equal cost the one with the widest gap to the next lower score is taken.
    guarantee : float, optional
        In (0, 1), such as 0.95. For the rule "max_tpr": the lowest threshold whose FPR on new data is at most ``beta``
        with this probability, for "min_fpr": the highest one whose TPR is at least ``1 - alpha``. Exact for every
        distribution of scores, if the rows are independent and the model was not trained on them. With too few examples
        there is an error that says how many are needed (59 negatives for 0.95 and ``beta=0.05``). With ``groups`` the
        promise is made for whole groups: at most ``beta`` of new groups have any false alarm, so the mean over groups
        of the FPR within a group is at most ``beta``. That is conservative.
    miss_cost, alarm_cost : float, optional
        For the rule "cost": of a missed positive and of a false alarm.
    capacity : (float, float), optional
        For the rule "capacity": ``(alarms, rows)``, at most so many alarms per so many rows.
    prevalence : float, optional
        Share of positives where the threshold will be used, in (0, 1); by default the sample's. Precision, NPV and
        alarm rate, and the rules "cost" and "capacity", are for this share.
    confidence : float, default=0.95
        Of the intervals, in (0, 1).
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. Whole numbers stand for repeated rows. With others the rates are weighted, the intervals
        take Kish's effective number of rows, and no guarantee is possible.
    groups : array-like of shape (n,), optional
        The patient, card or site of each row. Intervals then take the number of rows over the design effect. Each
        class needs rows in at least two groups.
    pos_label : label, optional
        The label of the positive class, needed if labels are not 0/1, -1/1 or booleans.

    Returns
    -------
    OperatingPoint
        With ``threshold``, ``tpr``, ``fpr``, ``precision``, ``npv``, ``alarm_rate``, the four counts, ``feasible`` and
        by how much the region is missed, and ``intervals``.

    See Also
    --------
    evaluate_threshold : Judge a threshold on other rows.
    tpr_at_fpr : The TPR at a given FPR, with an interval that allows for the choice of the threshold.
    GuaranteedThresholdClassifier : A classifier with such a threshold.

    References
    ----------
    X. Tong, Y. Feng and J. J. Li (2018), Neyman-Pearson classification algorithms and NP receiver operating
    characteristics. Science Advances 4 (guarantee).
    C. J. Clopper and E. S. Pearson (1934), The use of confidence or fiducial limits. Biometrika 26.
    E. L. Korn and B. I. Graubard (1998), Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 24 (groups).

    Examples
    --------
    >>> y = [1, 1, 1, 1, 0, 0, 0, 0]
    >>> score = [0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]
    >>> operating_point(y, score, alpha=0.25, beta=0.25)
    OperatingPoint: alarm at score >= 0.6 (rule max_tpr)
      TPR         0.7500  95 % in [0.1941, 0.9937]  3 of 4 positives caught, 0.75 wanted
      FPR         0.2500  95 % in [0.0063, 0.8059]  1 of 4 negatives alarmed, 0.25 allowed
      precision   0.7500  95 % in [0.1941, 0.9937]  of the alarms are positives
      NPV         0.7500  95 % in [0.1941, 0.9937]  of the other rows are negatives
      alarm rate  0.5000  95 % in [0.1570, 0.8430]  500 alarms per 1,000 rows
      in the region
      judged on the rows that the threshold was picked on; evaluate_threshold takes others
    >>> operating_point(y, score, alpha=0.25, beta=0.25, rule="cost", miss_cost=10, alarm_cost=1).threshold
    0.3
    >>> operating_point(y, score, alpha=0.25, beta=0.25, guarantee=0.95)
    Traceback (most recent call last):
    ...
    ValueError: guarantee=0.95 for beta=0.25 needs at least 11 negative examples, found 4; give more, a larger beta or a lower guarantee
    """  # noqa: E501 - the error stands on one line
    region = Region(alpha, beta)
    checked_rule = ThresholdRule(rule, guarantee, miss_cost, alarm_cost, capacity)
    prevalence, confidence = _check_shares(prevalence, confidence)
    rows = scored_rows(y_true, y_score, sample_weight, groups, pos_label)
    threshold = pick_threshold(rows, checked_rule, region, prevalence)
    return _judged(rows, threshold, region.alpha, region.beta, prevalence, confidence, checked_rule)


def operating_point_in_region(
    positive: BoolArray,
    scores: FloatArray,
    region: Region,
    rule: ThresholdRule | None = None,
    weight: FloatArray | None = None,
    groups: IntArray | None = None,
) -> OperatingPoint:
    """Return :func:`operating_point` of labels, scores, weights above 0 and groups that are checked already."""
    rows = ScoredRows(positive, scores, None, groups)
    if weight is not None:
        rows = weighted_rows(positive, scores, weight, groups)
    rule = rule or ThresholdRule()
    return _judged(rows, pick_threshold(rows, rule, region), region.alpha, region.beta, None, _CONFIDENCE, rule)


def evaluate_threshold(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    threshold: float,
    *,
    alpha: float | None = None,
    beta: float | None = None,
    prevalence: float | None = None,
    confidence: float = _CONFIDENCE,
    sample_weight: npt.ArrayLike | None = None,
    groups: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> OperatingPoint:
    """Judge a threshold on rows that had no part in picking it: rates with exact intervals.

    Parameters
    ----------
    y_true, y_score, prevalence, confidence, sample_weight, groups, pos_label
        As in :func:`operating_point`.
    threshold : float
        A row raises an alarm when its score is at least this; infinity if none does.
    alpha, beta : float, optional
        The region to hold the rates against. `feasible` then says whether they lie in it, on these rows; with one of
        the two, whether that one is kept.

    Returns
    -------
    OperatingPoint
        With ``picked_here=False``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(4000) < 0.2
    >>> score = rng.normal(size=4000) + 3 * y
    >>> old, new = slice(0, 2000), slice(2000, None)
    >>> picked = operating_point(y[old], score[old], alpha=0.2, beta=0.05, guarantee=0.95)
    >>> evaluate_threshold(y[new], score[new], picked.threshold, alpha=0.2, beta=0.05)
    OperatingPoint: alarm at score >= 1.75463 (given)
      TPR         0.8816  95 % in [0.8466, 0.9111]  365 of 414 positives caught, 0.8 wanted
      FPR         0.0460  95 % in [0.0362, 0.0575]  73 of 1,586 negatives alarmed, 0.05 allowed
      precision   0.8333  95 % in [0.7951, 0.8670]  of the alarms are positives
      NPV         0.9686  95 % in [0.9587, 0.9767]  of the other rows are negatives
      alarm rate  0.2190  95 % in [0.2010, 0.2378]  219 alarms per 1,000 rows
      in the region
    """
    given = check_threshold(threshold)
    alpha = None if alpha is None else check_share(alpha, "alpha")
    beta = None if beta is None else check_share(beta, "beta")
    prevalence, confidence = _check_shares(prevalence, confidence)
    rows = scored_rows(y_true, y_score, sample_weight, groups, pos_label)
    return _judged(rows, given, alpha, beta, prevalence, confidence, None)


def _check_shares(prevalence: float | None, confidence: float) -> tuple[float | None, float]:
    prevalence = None if prevalence is None else check_open_share(prevalence, "prevalence")
    return prevalence, check_open_share(confidence, "confidence")


def _judged(
    rows: ScoredRows,
    threshold: float,
    alpha: float | None,
    beta: float | None,
    prevalence: float | None,
    confidence: float,
    rule: ThresholdRule | None,
) -> OperatingPoint:
    """Return the rates of a threshold; ``rule`` is what picked it on these rows."""
    alarms = AlarmedRows.of(rows, threshold)
    return _point(threshold, alarms, rows.counts_alike, alpha, beta, prevalence, confidence, rule)


def point_of_counts(
    threshold: float, counts: AlarmCounts, region: Region, confidence: float, rule: ThresholdRule | None = None
) -> OperatingPoint:
    """Return what :func:`operating_point` returns for a threshold that a rule picked, from counts of the same rows."""
    rule = rule or ThresholdRule()
    return _point(threshold, counts, True, region.alpha, region.beta, None, confidence, rule)


def _point(
    threshold: float,
    alarms: AlarmedRows | AlarmCounts,
    counts_alike: bool,
    alpha: float | None,
    beta: float | None,
    prevalence: float | None,
    confidence: float,
    rule: ThresholdRule | None,
) -> OperatingPoint:
    proportions = alarms.proportions()
    shortfall = _beyond(alarms.missed, alarms.caught, alpha, counts_alike)
    excess = _beyond(alarms.alarmed, alarms.quiet, beta, counts_alike)
    judged = [amount == 0.0 for amount in (shortfall, excess) if amount is not None]
    return OperatingPoint(
        threshold=threshold,
        **rates_of(proportions, prevalence),
        feasible=all(judged) if judged else None,
        true_positives=alarms.caught,
        false_positives=alarms.alarmed,
        true_negatives=alarms.quiet,
        false_negatives=alarms.missed,
        tpr_shortfall=shortfall,
        fpr_excess=excess,
        alpha=alpha,
        beta=beta,
        rule=None if rule is None else rule.name,
        guarantee=None if rule is None else rule.guarantee,
        prevalence=prevalence,
        confidence=confidence,
        picked_here=rule is not None,
        _proportions=proportions,
    )


def _beyond(wrong: float, right: float, share: float | None, counts_alike: bool) -> float | None:
    """Return by how much the share of a class on the wrong side exceeds what the region allows."""
    if share is None:
        return None
    total = wrong + right
    return 0.0 if wrong <= allowed_mass(total, share, counts_alike) else wrong / total - share
