"""Two-way partial AUC on tensors, accumulated over batches and processes.

Over the ``k+`` lowest-scored positives and the ``k-`` highest-scored negatives,

    TPAUC = (won + tie * tied) / (k+ k-),

where ``won`` and ``tied`` count their pairs with ``s+ > s-`` and ``s+ == s-``: the value of
:func:`tpauc.tpauc_score`, found by selection on the device of the tensors. Counts are whole numbers (int64) and the
result is float64 (float32 on a device without float64), so there is a single rounding whatever the type of the scores.

**Bins.** A state of fixed size keeps two histograms instead of the scores, counted on the device of the tensors. Bins
and bounds are those of :class:`tpauc.metrics.histogram.Histogram`: the exact value lies between the value with all
pairs of one bin lost and the value with all of them won. The estimate is the middle of the two, the error bound half
their distance.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from tpauc._validation import brief, check_class_counts, check_count, check_logits_and_labels
from tpauc.metrics._tensor_columns import TASKS, Columns, check_columns
from tpauc.metrics._tensor_pairs import check_finite, histogram_counts, mean_over_hard_pairs, widest_float
from tpauc.metrics.area import tie_credit
from tpauc.metrics.histogram import Histogram
from tpauc.region import Region

_SETTINGS = "settings"  # the key of alpha, beta, bins and ties in a saved state


def two_way_partial_auc(
    scores: Tensor,
    labels: Tensor,
    *,
    alpha: float,
    beta: float,
    ties: str = "half",
    min_alpha: float = 0.0,
    min_beta: float = 0.0,
) -> Tensor:
    """Two-way partial AUC of one set of scores: :func:`tpauc.metrics.area.tpauc_score` on tensors.

    Parameters
    ----------
    scores : Tensor of shape (n,) or (n, 1)
        Floating point, finite, higher for the positive class; logits or probabilities alike.
    labels : Tensor of shape (n,) or (n, 1)
        0/1 or -1/1, as bool, integer or float.
    alpha, beta : float
        Share of positives that may be missed, share of negatives that may be false alarms; each in (0, 1].
    ties : {"half", "optimistic", "pessimistic"}, default="half"
        What a positive and a negative of equal score count.
    min_alpha, min_beta : float, default=0.0
        Shares of the hardest positives and negatives that do not count, for a rectangle as in :class:`tpauc.Region`.

    Returns
    -------
    Tensor of shape (), float64
        On the device of the scores, without a gradient.

    Examples
    --------
    >>> scores = torch.tensor([0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1])
    >>> labels = torch.tensor([1, 1, 1, 1, 0, 0, 0, 0])
    >>> two_way_partial_auc(scores, labels, alpha=0.5, beta=0.5)
    tensor(0.2500, dtype=torch.float64)
    """
    region = Region(alpha, beta, min_alpha, min_beta)
    tie = tie_credit(ties)
    return mean_over_hard_pairs(*_by_class(scores, labels), region, tie)


class TwoWayPartialAUC(Metric):
    """:func:`two_way_partial_auc` accumulated over batches and processes, as a ``torchmetrics.Metric``.

    ``update(scores, labels)`` takes what the function takes. Without ``bins`` every score is kept and ``compute()`` is
    exact, also over processes with unequal or empty shares of the data. With ``bins`` the state has a fixed size and
    ``compute()`` is an estimate: the exact value is at most :attr:`error_bound` away, always.

    ``forward`` adds a batch and returns the value of this batch alone. It is NaN if the region selects no example of a
    class in the batch, as is usual for small batches of rare events; ``compute`` raises a ``ValueError`` in that case.

    Parameters
    ----------
    alpha, beta, ties, min_alpha, min_beta
        As in :func:`two_way_partial_auc`. Bins cannot tell a tie from a near miss; the bound covers every rule.
    bins : int, optional
        Number of bins of each of the two histograms, as in :class:`tpauc.metrics.histogram.Histogram`.
    task : {"binary", "multilabel", "multiclass"}, default="binary"
        For several labels, ``update`` takes scores and labels of shape (n, num_labels), NaN for unknown labels. For
        classes it takes scores of shape (n, num_classes) and the class of each row, and each class is taken against the
        rest.
    num_labels, num_classes : int, optional
        How many; needed for the task.
    average : {"macro", "weighted", "micro", "none", None}, default="macro"
        For several columns: the mean, the mean by the numbers of positives, the value of all labels together (for
        "multilabel" only), or one value per column. If the region selects no example of a column, its value is NaN
        without an average, and ``compute`` raises a ``ValueError`` with one.
    **kwargs
        Parameters of ``torchmetrics.Metric``: ``process_group``, ``sync_on_compute``, ``dist_sync_on_step`` and so on.

    Examples
    --------
    >>> metric = TwoWayPartialAUC(alpha=0.5, beta=0.5)
    >>> metric.update(torch.tensor([0.9, 0.8, 0.6, 0.3]), torch.tensor([1, 1, 1, 1]))
    >>> metric.update(torch.tensor([0.7, 0.4, 0.2, 0.1]), torch.tensor([0, 0, 0, 0]))
    >>> metric.compute()
    tensor(0.2500, dtype=torch.float64)

    In bins the pairs (0.6, 0.7) and (0.3, 0.4) cannot be told apart:

    >>> coarse = TwoWayPartialAUC(alpha=0.5, beta=0.5, bins=8)
    >>> coarse.update(torch.tensor([0.9, 0.8, 0.6, 0.3, 0.7, 0.4, 0.2, 0.1]), torch.tensor([1, 1, 1, 1, 0, 0, 0, 0]))
    >>> coarse.compute(), round(coarse.error_bound, 3)
    (tensor(0.5000, dtype=torch.float64), 0.25)

    Several labels, each with a value of its own:

    >>> labels = TwoWayPartialAUC(alpha=1.0, beta=1.0, task="multilabel", num_labels=2, average=None)
    >>> scores = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.1, 0.2]])
    >>> labels.update(scores, torch.tensor([[1, 0], [1, 1], [0, 1], [0, float("nan")]]))
    >>> labels.compute()
    tensor([0.7500, 1.0000], dtype=torch.float64)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self,
        alpha: float,
        beta: float,
        bins: int | None = None,
        *,
        ties: str = "half",
        min_alpha: float = 0.0,
        min_beta: float = 0.0,
        task: str = "binary",
        num_labels: int | None = None,
        num_classes: int | None = None,
        average: str | None = "macro",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.region = Region(alpha, beta, min_alpha, min_beta)
        self.bins = None if bins is None else check_count(bins, "bins")
        self.ties, self._tie = ties, tie_credit(ties)
        self._last_bound = torch.tensor(0.0)
        self.columns = check_columns(task, num_labels, num_classes, average)
        if self.columns is not None and self.bins is None:
            self.scores: list[Tensor] | Tensor
            self.labels: list[Tensor] | Tensor
            self.add_state("scores", [], dist_reduce_fx="cat")
            self.add_state("labels", [], dist_reduce_fx="cat")
        elif self.bins is None:
            self.positive_scores: list[Tensor] | Tensor
            self.negative_scores: list[Tensor] | Tensor
            self.add_state("positive_scores", [], dist_reduce_fx="cat")
            self.add_state("negative_scores", [], dist_reduce_fx="cat")
        else:
            self.positive_counts: Tensor
            self.negative_counts: Tensor
            shape = (self.bins,) if self.columns is None else (self.columns.number, self.bins)
            self.add_state("positive_counts", torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")
            self.add_state("negative_counts", torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, scores: Tensor, labels: Tensor) -> None:
        """Add a batch; it may be empty or hold one class only."""
        _check_not_synced(self._is_synced)
        if self.columns is not None:
            self._add_columns(self.columns, scores, labels)
            return
        positive_scores, negative_scores = _by_class(scores, labels)
        if self.bins is None:
            assert isinstance(self.positive_scores, list)
            assert isinstance(self.negative_scores, list)
            # Both get a part of every batch, even an empty one, so that both have the widest type seen when joined.
            self.positive_scores.append(positive_scores)
            self.negative_scores.append(negative_scores)
        else:
            self.positive_counts = self.positive_counts + histogram_counts(positive_scores, self.bins)
            self.negative_counts = self.negative_counts + histogram_counts(negative_scores, self.bins)

    def _add_columns(self, columns: Columns, scores: Tensor, labels: Tensor) -> None:
        coded = columns.coded(scores, labels)
        if self.bins is None:
            assert isinstance(self.scores, list)
            assert isinstance(self.labels, list)
            self.scores.append(scores.detach().clone())
            self.labels.append(coded)
        else:
            positives, negatives = columns.counts(scores.detach(), coded, self.bins)
            self.positive_counts = self.positive_counts + positives
            self.negative_counts = self.negative_counts + negatives

    def compute(self) -> Tensor:
        """Return the value over all batches of all processes, a float64 scalar; several without an average."""
        if self.columns is not None:
            if self.bins is None:
                return self.columns.value(self._joined("scores"), self._joined("labels"), self.region, self._tie)
            found, bound = self.columns.value_of_counts(self.positive_counts, self.negative_counts, self.region)
            self._last_bound = torch.tensor(bound, dtype=torch.float64)
            return found
        if self.bins is None:
            positive_scores, negative_scores = self._joined("positive_scores"), self._joined("negative_scores")
            return mean_over_hard_pairs(positive_scores, negative_scores, self.region, self._tie)
        check_class_counts(int(self.positive_counts.sum()), int(self.negative_counts.sum()), "labels")
        bounds = self.histogram.bounds(**asdict(self.region))
        value = torch.tensor(bounds.estimate, dtype=widest_float(self.device), device=self.device)
        self._last_bound = torch.tensor(bounds.error + abs(value.item() - bounds.estimate), dtype=torch.float64)
        return value

    @property
    def error_bound(self) -> float:
        """How far ``compute()`` can be from the exact value; 0.0 without ``bins``.

        Calls ``compute()`` if the last batch is newer than the last value, so use it in every process or in none.
        """
        if self.bins is None:
            return 0.0
        self.compute()
        return float(self._last_bound)

    @property
    def histogram(self) -> Histogram:
        """The counts of this process as a :class:`tpauc.metrics.histogram.Histogram`; an error without ``bins``."""
        if self.bins is None:
            raise ValueError("the metric keeps scores, not a histogram; give it bins")
        if self.columns is not None:
            raise ValueError("the metric keeps a histogram per column; use one metric per column to read them")
        return Histogram.from_counts(self.positive_counts.cpu().numpy(), self.negative_counts.cpu().numpy())

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Add a batch and return its own value, NaN if the region selects no example of a class in it.

        The parent sets the state aside while it computes the batch value, in O(all examples so far), and loses it if
        the computation raises.
        """
        for name, state in self.metric_state.items():
            # The metrics of a `MetricCollection` share their lists, and each metric is about to add the batch.
            setattr(self, name, list(state) if isinstance(state, list) else state)
        self.update(scores, labels)
        batch = TwoWayPartialAUC(
            **asdict(self.region),
            **({} if self.columns is None else self.columns.arguments()),
            bins=self.bins,
            ties=self.ties,
            sync_on_compute=self.dist_sync_on_step,
            process_group=self.process_group,
            dist_sync_fn=self.dist_sync_fn,
            distributed_available_fn=self.distributed_available_fn,
        )
        batch.to(scores.device).update(scores, labels)
        try:
            value: Tensor = batch.compute()
        except ValueError:
            value = torch.full((), math.nan, dtype=widest_float(scores.device), device=scores.device)
        # Loggers read the batch value from here. mypy: the parent sets None and declares no other type.
        self._forward_cache = value  # type: ignore[assignment]
        return value

    # ------------------------------------------------------------------------- where the parent does not suffice

    @contextmanager
    def sync_context(self, *args: Any, should_unsync: bool = True, **kwargs: Any) -> Iterator[None]:
        """Do as the parent, but restore the local state also when computing raises."""
        self.sync(*args, **kwargs)
        try:
            yield
        finally:
            self.unsync(should_unsync=self._is_synced and should_unsync)

    def _sync_dist(
        self, dist_sync_fn: Callable[..., Any] = gather_all_tensors, process_group: Any | None = None
    ) -> None:
        """Gather one float64 tensor per class from every process.

        The parent sends scores in their own type, and an empty float32 tensor if there are none. Processes whose types
        differ would misread each other's bytes, or abort.
        """
        if self.bins is None:
            for name in self._defaults:
                joined = self._joined(name)
                setattr(self, name, [joined.to(torch.float64) if joined.is_floating_point() else joined])
        super()._sync_dist(dist_sync_fn, process_group=process_group)

    def _joined(self, name: str) -> Tensor:
        state: list[Tensor] | Tensor = getattr(self, name)
        if isinstance(state, Tensor):
            return state
        if state:
            return torch.cat(state)
        device = torch.device("cpu") if self.compute_on_cpu else self.device
        return torch.empty(0, device=device) if self.columns is None else self.columns.empty(name, device)

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = ()) -> TwoWayPartialAUC:
        """Move the state with the metric, but keep its type: rounding would tie scores and falsify counts."""
        computed = self._computed
        super()._apply(fn, exclude_state=[*self._defaults, *exclude_state])
        for name, state in self.metric_state.items():
            moved = [_moved(part, fn) for part in state] if isinstance(state, list) else _moved(state, fn)
            setattr(self, name, moved)
        self._computed = None if computed is None else _moved(computed, fn)
        return self

    def state_dict(  # type: ignore[override]  # as in the parent
        self, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Do as the parent; a state that is saved (``persistent(True)``) says which region it was collected for."""
        state = super().state_dict(destination, prefix, keep_vars)
        if any(prefix + name in state for name in self._defaults):
            state[prefix + _SETTINGS] = self._settings()
        return state

    def _settings(self) -> Tensor:
        """Return what two metrics must share for one to take the state of the other."""
        settings = [self.region.alpha, self.region.beta, self.bins or 0, self._tie]
        minima = [] if self.region.is_corner else [self.region.min_alpha, self.region.min_beta]
        columns = [] if self.columns is None else [TASKS.index(self.columns.task), self.columns.number]
        return torch.tensor([*settings, *minima, *columns], dtype=torch.float64)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        """Do as the parent, refuse the state of other settings, and drop the value of the earlier state."""
        found = state_dict.pop(prefix + _SETTINGS, None)
        if found is not None and not torch.equal(torch.as_tensor(found).cpu(), self._settings()):
            names = ("alpha", "beta", "bins", "credit of ties", "minima", "task", "columns")
            raise ValueError(
                f"state_dict is the state of a metric with other settings ({', '.join(names)}): it has "
                f"{torch.as_tensor(found).tolist()}, this metric {self._settings().tolist()}"
            )
        for name in self._defaults:
            if prefix + name in state_dict:
                if self.columns is None:
                    _check_state(state_dict[prefix + name], name, self.bins)
                else:
                    self.columns.check_state(state_dict[prefix + name], name, self.bins)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        self._computed = None

    def _wrap_compute(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Leave out the parent's warning that ``update`` was not called.

        Without any data ``compute`` raises an error that says so. A process without data, or a loaded state, gives the
        right value.
        """
        wrapped = super()._wrap_compute(compute)

        @functools.wraps(compute)
        def without_warning() -> Any:
            if self.update_called:
                return wrapped()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The ``compute`` method of metric", UserWarning)
                return wrapped()

        return without_warning


# ----------------------------------------------------------------------------------------------------------- scores


def _by_class(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the checked scores of the positives and of the negatives, both new tensors."""
    flat_scores, zero_one = check_logits_and_labels(scores, labels, logits_name="scores")
    check_finite(flat_scores, "scores")
    positive = zero_one > 0
    return flat_scores[positive], flat_scores[~positive]


# ------------------------------------------------------------------------------------------------ types and devices


def _moved(tensor: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a tensor on the device that ``fn`` moves it to, in its own type."""
    return tensor.to(fn(tensor.new_empty(0)).device)


def _check_state(state: Any, name: str, bins: int | None) -> None:
    """Raise if a saved state does not hold counts of ``bins`` bins, or lists of finite scores."""
    if bins is not None:
        counts = isinstance(state, Tensor) and state.shape == (bins,) and state.dtype == torch.int64
        if not counts or bool((state < 0).any()):
            raise ValueError(f"state_dict[{name!r}] must hold the counts of {bins} bins, got {brief(state)}")
        return
    parts = [state] if isinstance(state, Tensor) else state
    if not isinstance(parts, list) or not all(isinstance(part, Tensor) for part in parts):
        raise ValueError(f"state_dict[{name!r}] must be a list of tensors of scores, got {brief(state)}")
    for part in parts:
        if part.ndim != 1 or not part.is_floating_point():
            raise ValueError(f"state_dict[{name!r}] must hold flat tensors of scores, got {brief(part)}")
        check_finite(part, f"state_dict[{name!r}]")


def _check_not_synced(synced: bool) -> None:
    """Raise if a batch would be added to the gathered state of all processes, which is dropped later."""
    if synced:
        raise RuntimeError(
            "the metric holds the state of all processes since sync(); call unsync() before adding a batch"
        )
