"""Cells of a results table: what is trained, with which parameters, and in which regions it is measured.

A cell is one training. The name of its folder follows from its settings alone, so a request with the same settings, for
another region or in another table, finds the epochs that are trained already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from tpauc._validation import check_choice, check_count, check_number, check_seed, check_share
from tpauc.paper.data.datasets import DATASETS, check_subset
from tpauc.paper.experiments.methods import METHODS, ClassSizes, Place
from tpauc.paper.experiments.published import REGIONS
from tpauc.paper.experiments.recipes import RECIPES
from tpauc.region import Region

ANY_REGION, EACH_REGION = "any region", "each region"


class Images(NamedTuple):
    """Which images are used: a subset of a data set, and the seed of its split."""

    dataset: str
    subset: int
    split: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a table should hold: each combination of method and seed.

    A method whose parameters depend on the region is trained once per region if ``per_region``; otherwise only with the
    parameters of the first region. ``parameters`` has values that replace the paper's.

    Examples
    --------
    >>> request = Request(dataset="cifar10-lt", subset=1, methods=("SqAUC", "TPAUC-Poly"), seeds=(0,), epochs=30)
    >>> for cell in request.cells():
    ...     print(cell.title, "| chosen for", cell.chosen_for)
    SqAUC, seed 0 | chosen for any region
    TPAUC-Poly (exponent=0.1 warmup_epochs=0), seed 0 | chosen for (0.3, 0.3)
    """

    dataset: str
    subset: int
    methods: Sequence[str]
    seeds: Sequence[int]  # of the initial weights and the batches
    epochs: int
    regions: Sequence[Region] = REGIONS  # to measure in
    recipe: str = "paper"
    split: int = 0  # seed of the split into training, validation and test data
    per_region: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice(self.dataset, "dataset", DATASETS)
        check_subset(self.subset, DATASETS[self.dataset].subsets)
        check_each(self.methods, "methods", lambda name, where: check_choice(name, where, METHODS))
        check_each(self.seeds, "seeds", check_seed)
        check_each(self.regions, "regions", lambda region, where: region)
        check_count(self.epochs, "epochs")
        check_choice(self.recipe, "recipe", RECIPES)
        check_seed(self.split, "split")
        self._check_parameters()
        for cell in self.cells():  # a value that no loss takes is found now, not after hours
            METHODS[cell.method].make_loss(dict(cell.parameters), ClassSizes(1, 1))

    def _check_parameters(self) -> None:
        """Raise if no method has a parameter that is set, or if its value cannot be right."""
        known = {name for method in self.methods for name in self._best(method, self.regions[0])}
        if unknown := [name for name in self.parameters if name not in known]:
            have = f"their parameters are {', '.join(sorted(known))}" if known else "they have none"
            raise ValueError(f"none of {', '.join(self.methods)} has a parameter {unknown[0]!r}; {have}")
        for name, value in self.parameters.items():
            if name in ("alpha", "beta"):
                check_share(value, name)
                continue
            check_number(value, name)
            if name.endswith("epochs"):
                if value < 0.0 or value != int(value):
                    raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")
                if value >= self.epochs:  # no epoch would be left for the loss of the method
                    raise ValueError(
                        f"{name} must be less than the {self.epochs} epochs of the training, got {value:g}"
                    )

    @property
    def images(self) -> Images:
        """Which images are asked for."""
        return Images(self.dataset, self.subset, self.split)

    def cells(self) -> list[Cell]:
        """Return the trainings that are needed, each with its regions."""
        return [cell for seed in self.seeds for method in self.methods for cell in self._cells_of(method, seed)]

    def _cells_of(self, method: str, seed: int) -> list[Cell]:
        found: dict[tuple[tuple[str, float], ...], list[Region]] = {}
        for region in self.regions:
            best = self._best(method, region if self.per_region else self.regions[0])
            changed = {name: value for name, value in self.parameters.items() if name in best}
            found.setdefault(tuple({**best, **changed}.items()), []).append(region)
        return [
            Cell(
                dataset=self.dataset,
                subset=self.subset,
                split=self.split,
                recipe=self.recipe,
                epochs=self.epochs,
                method=method,
                seed=seed,
                parameters=parameters,
                regions=tuple(regions),
                chosen_for=self._chosen_for(method),
            )
            for parameters, regions in found.items()
        ]

    def _best(self, method: str, region: Region) -> dict[str, float]:
        return METHODS[method].parameters(Place(self.dataset, self.subset, region, self.epochs))

    def _chosen_for(self, method: str) -> str:
        best = self._best(method, self.regions[0])
        if not best:
            return ANY_REGION
        chosen = EACH_REGION if self.per_region else region_text(self.regions[0])
        if by_hand := {name: value for name, value in self.parameters.items() if name in best}:
            chosen += f", but {parameters_text(tuple(by_hand.items()))}"
        return chosen


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of one training, without the parameters of its method; as in `Request`."""

    dataset: str
    subset: int
    split: int
    recipe: str
    epochs: int
    method: str
    seed: int

    @property
    def images(self) -> Images:
        """Which images it is trained on."""
        return Images(self.dataset, self.subset, self.split)

    def settings(self) -> dict[str, Any]:
        """Return these settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(Training)}


@dataclass(frozen=True, kw_only=True)
class Cell(Training):
    """One training, with the parameters of its method, and the regions to measure it in."""

    parameters: tuple[tuple[str, float], ...]
    regions: tuple[Region, ...]
    chosen_for: str  # the region of the parameters: "any region", "each region", or one such as "(0.3, 0.3)"

    @property
    def title(self) -> str:
        """The name in progress lines."""
        parameters = f" ({text})" if (text := parameters_text(self.parameters)) else ""
        return f"{self.method}{parameters}, seed {self.seed}"

    @property
    def trained_region(self) -> Region:
        """The region of the training: that in the parameters of the method, or the first region of the paper."""
        values = dict(self.parameters)
        return Region(values.get("alpha", REGIONS[0].alpha), values.get("beta", REGIONS[0].beta))

    def folder(self, out: Path) -> Path:
        """Return the folder of the training.

        Examples
        --------
        >>> request = Request(
        ...     dataset="cifar10-lt", subset=1, methods=("TPAUC-Poly",), seeds=(0,), epochs=30, recipe="strong"
        ... )
        >>> request.cells()[0].folder(Path("out")).as_posix()
        'out/runs/cifar10-lt-1/TPAUC-Poly/strong-30-epochs-split-0-seed-0-exponent-0.1-warmup_epochs-0'
        """
        length = f"-{self.epochs}-epochs" if RECIPES[self.recipe].depends_on_epochs else ""
        parts = [f"{self.recipe}{length}-split-{self.split}-seed-{self.seed}"]
        parts += [f"{name}-{number_text(value)}" for name, value in self.parameters]
        return out / "runs" / f"{self.dataset}-{self.subset}" / self.method / "-".join(parts)


def number_text(value: float) -> str:
    """Return a number as short as possible, but so that different numbers have different texts.

    >>> number_text(25.0), number_text(0.1), number_text(0.1234567)
    ('25', '0.1', '0.1234567')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def region_text(region: Region) -> str:
    """Return a region as tables show it.

    >>> region_text(Region(0.3, 0.3))
    '(0.3, 0.3)'
    """
    return f"({number_text(region.alpha)}, {number_text(region.beta)})"


def chosen_region(chosen_for: str, measured: Region) -> Region:
    """Return the region that the parameters of a result were chosen for, if the result is measured in ``measured``.

    >>> chosen_region("(0.3, 0.4), but exponent=1", Region(0.5, 0.5)), chosen_region(EACH_REGION, Region(0.5, 0.5))
    (Region(alpha=0.3, beta=0.4), Region(alpha=0.5, beta=0.5))
    """
    if not chosen_for.startswith("("):
        return measured
    alpha, beta = chosen_for[1 : chosen_for.index(")")].split(", ")
    return Region(float(alpha), float(beta))


def parameters_text(parameters: Sequence[tuple[str, float]]) -> str:
    """Return parameters on one line.

    >>> parameters_text((("exponent", 0.1), ("warmup_epochs", 0)))
    'exponent=0.1 warmup_epochs=0'
    """
    return " ".join(f"{name}={number_text(value)}" for name, value in parameters)


def parameters_of(text: str) -> tuple[tuple[str, float], ...]:
    """Return the parameters in a text of `parameters_text`.

    >>> parameters_of("exponent=0.1 warmup_epochs=0")
    (('exponent', 0.1), ('warmup_epochs', 0.0))
    """
    return tuple((name, float(value)) for name, value in (item.split("=") for item in text.split()))


def check_each(values: Sequence[Any], name: str, check: Callable[[Any, str], Any]) -> None:
    """Raise unless ``values`` is a non-empty list without repetitions whose values all pass ``check``."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list, got {values!r}")
    if not values:
        raise ValueError(f"{name} must hold at least one value, got none")
    for value in values:
        check(value, f"each of {name}")
    if twice := [value for place, value in enumerate(values) if value in values[:place]]:
        raise ValueError(f"{name} must hold each value once, got {twice[0]!r} twice")
