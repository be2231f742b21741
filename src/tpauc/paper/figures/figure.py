"""What a figure of the paper is here: rows of numbers, and a drawing that is made from these rows alone.

The rows are written as a CSV file beside the PNG, so every line in a picture can be read, checked and drawn again
without running anything.

Some figures need trainings. An `Experiment` lists them: trials, and the regions in which they are measured. The same
trials can be small nets on the plane, which takes seconds, or networks on the paper's images, which takes
hours to days (`trials`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tpauc.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]  # column name -> text or number; all rows of a figure have the same columns


class Trial(NamedTuple):
    """One way of training by a method of `tpauc.paper.experiments.methods`; None stands for the usual value.

    A method without a warm-up ignores ``warmup``. If the method takes one value per class, ``value`` is for the
    positives.

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
    value: float | None = None  # exponent of a polynomial or gamma of an exponential weighting
    warmup: float | None = None  # share of the training that optimises ordinary AUC
    negative_value: float | None = None

    def replacing(self, parameters: Mapping[str, float], epochs: int) -> dict[str, float]:
        """Return the parameters of the method that this trial replaces, for a training of ``epochs`` epochs."""
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

    def row(self, *, data: str, seed: int, region: Region, tpauc: float, limit: float | str) -> Row:
        """Return the row of the result; ``limit`` is empty if it is not known."""
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

    A loss that depends on the region is trained once per region.
    """

    trials: Sequence[Trial]
    regions: Sequence[Region]
    by_opauc: bool = False  # measure the training for a region (alpha, beta) also by OPAUC over FPR <= beta
    dataset: str = "cifar10-lt"  # of the paper's figure

    def measured_in(self, region: Region) -> tuple[Region, ...]:
        """Return the regions in which a training for ``region`` is measured.

        Examples
        --------
        >>> Experiment([Trial("SqAUC")], [Region(0.3, 0.3)], by_opauc=True).measured_in(Region(0.3, 0.3))
        (Region(alpha=0.3, beta=0.3), Region(alpha=1.0, beta=0.3))
        """
        return (region, Region(1.0, region.beta)) if self.by_opauc else (region,)


@dataclass(frozen=True)
class PaperFigure:
    """A figure that can be made: what it shows, its numbers, its drawing.

    ``rows(full)`` takes seconds if ``full`` is False, perhaps minutes if True. All random numbers come from fixed
    seeds, so the rows repeat exactly. ``draw(rows)`` draws the rows and nothing else. With ``--full`` what the paper
    trains for the figure is trained on images, which takes hours to days, and ``rows`` is not called.
    """

    shows: str  # one line for the list of figures
    place: str  # where the paper has it or claims it: "Figure 1", "Theorem 1"
    rows: Callable[[bool], list[Row]]
    draw: Callable[[Sequence[Row]], Figure]
    on_images: Experiment | None = None
