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
        A key of `tpauc.paper.experiments.methods.METHODS`.
    value : float or None
        Exponent of a polynomial, gamma of an exponential weighting; None for the usual one.
    warmup : float or None
        Share of the training that is ordinary AUC optimisation, nothing to a method without a warm-up; None for the
        usual one.
    negative_value : float or None
        For the negatives, where a method takes one value for each class: ``value`` is then that of the positives.

    Examples
    --------
    >>> Trial("TPAUC-Exp", 5.0).replacing({"gamma": 15.0, "warmup_epochs": 10}, epochs=50)
    {'gamma': 5.0}
    >>> Trial("TPAUC-Exp", warmup=0.3).replacing({"gamma": 15.0, "warmup_epochs": 10}, epochs=50)
    {'warmup_epochs': 15}
    >>> both = {"positive_gamma": 1.0, "negative_gamma": 1.0}
    >>> Trial("TPAUC-Exp-two-sided", 5.0, negative_value=9.0).replacing(both, epochs=50)
    {'positive_gamma': 5.0, 'negative_gamma': 9.0}
    """

    method: str
    value: float | None = None
    warmup: float | None = None
    negative_value: float | None = None

    def replacing(self, parameters: Mapping[str, float], epochs: int) -> dict[str, float]:
        """Return what this trial replaces among the parameters of its method, in a training of so many epochs."""
        found: dict[str, float] = {}
        if self.warmup is not None:
            found["warmup_epochs"] = round(self.warmup * epochs)
        if self.value is not None:
            name = "exponent" if any(known.endswith("exponent") for known in parameters) else "gamma"
            if self.negative_value is None:
                found[name] = self.value
            else:
                found |= {f"positive_{name}": self.value, f"negative_{name}": self.negative_value}
        return {name: value for name, value in found.items() if name in parameters}

    def row(self, *, data: str, seed: int, region: Region, tpauc: float, limit: float | str) -> dict[str, Any]:
        """Return the row of a figure that says what came of it; ``limit`` is empty where it is not known."""
        return {
            "data": data,
            "method": self.method,
            "value": "" if self.value is None else self.value,
            "negative_value": "" if self.negative_value is None else self.negative_value,
            "warmup": "" if self.warmup is None else self.warmup,
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
        A loss that is made for a region is trained once for each.
    by_opauc : bool
        Measure what is made for a region ``(alpha, beta)`` by OPAUC over ``FPR <= beta`` as well.
    dataset : str
        The image set on which the paper has the figure, a key of `tpauc.paper.data.datasets.DATASETS`.

    Examples
    --------
    >>> Experiment([Trial("SqAUC")], [Region(0.3, 0.3)]).dataset
    'cifar10-lt'
    """

    trials: Sequence[Trial]
    regions: Sequence[Region]
    by_opauc: bool = False
    dataset: str = "cifar10-lt"

    def measured_in(self, region: Region) -> tuple[Region, ...]:
        """Return where to measure what is made for a region.

        Examples
        --------
        >>> Experiment([Trial("SqAUC")], [Region(0.3, 0.3)], by_opauc=True).measured_in(Region(0.3, 0.3))
        (Region(alpha=0.3, beta=0.3), Region(alpha=1.0, beta=0.3))
        """
        return (region, Region(1.0, region.beta)) if self.by_opauc else (region,)
