"""What is trained for a figure: trials, and the regions that they are measured in.

The same trials may be small nets on the plane (`tpauc.paper.figures.plane_trials`), which takes seconds, or networks on
the paper's images (`tpauc.paper.figures.image_trials`), which takes hours to days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tpauc.region import Region


class Trial(NamedTuple):
    """One way of training.

    Attributes
    ----------
    method : str
        A key of `tpauc.paper.methods.METHODS`.
    value : float or None
        Exponent of a polynomial, gamma of an exponential weighting; None for the usual one.
    warmup : float
        Share of the training that is ordinary AUC optimisation; nothing to a method without a warm-up.
    negative_value : float or None
        For the negatives, where a method takes one value for each class: ``value`` is then that of the positives.

    Examples
    --------
    >>> Trial("TPAUC-Exp", 5.0).replacing({"gamma": 15.0, "warmup_epochs": 10})
    {'gamma': 5.0}
    >>> Trial("TPAUC-Exp-two-sided", 5.0, negative_value=9.0).replacing({"positive_gamma": 1.0, "negative_gamma": 1.0})
    {'positive_gamma': 5.0, 'negative_gamma': 9.0}
    """

    method: str
    value: float | None = None
    warmup: float = 0.3
    negative_value: float | None = None

    def replacing(self, parameters: Mapping[str, float]) -> dict[str, float]:
        """Return what the value of this trial replaces among the parameters of its method."""
        if self.value is None:
            return {}
        name = "exponent" if any(known.endswith("exponent") for known in parameters) else "gamma"
        if self.negative_value is None:
            return {name: self.value}
        return {f"positive_{name}": self.value, f"negative_{name}": self.negative_value}

    def row(self, *, data: str, seed: int, region: Region, tpauc: float, limit: float | str) -> dict[str, Any]:
        """Return the row of a figure that says what came of it; ``limit`` is empty where it is not known."""
        return {
            "data": data,
            "method": self.method,
            "value": "" if self.value is None else self.value,
            "negative_value": "" if self.negative_value is None else self.negative_value,
            "warmup": self.warmup,
            "seed": seed,
            "alpha": region.alpha,
            "beta": region.beta,
            "tpauc": tpauc,
            "limit": limit,
        }


@dataclass(frozen=True)
class Experiment:
    """The trials of a figure, and the regions in which they are measured.

    Attributes
    ----------
    trials : sequence of Trial
    regions : sequence of Region
        A loss that is made for a region is trained once for each, unless ``made_for`` is given.
    made_for : Region, optional
        The region that such losses are made for, whatever they are measured in.
    dataset : str
        The image set on which the paper has the figure, a key of `tpauc.paper.datasets.DATASETS`.

    Examples
    --------
    >>> Experiment([Trial("SqAUC")], [Region(0.3, 0.3)]).dataset
    'cifar10-lt'
    """

    trials: Sequence[Trial]
    regions: Sequence[Region]
    made_for: Region | None = None
    dataset: str = "cifar10-lt"
