"""Which methods differ: paired comparisons on the test images that all of them have scored.

Intervals of single methods overlap even where one is clearly better, since images that are hard for one method are hard
for all. What a training left in the folder of a table has the scores of every epoch, so methods can be compared image
by image (`tpauc.compare_tpauc`), each by the epoch that is best for it on the validation data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tpauc._validation import FloatArray, check_choice
from tpauc.metrics.comparison import Comparison, compare_tpauc
from tpauc.paper.data.datasets import load_splits
from tpauc.paper.experiments.cells import check_each, region_text
from tpauc.paper.experiments.measured_data import check_measured_on
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.rendering import Table, places_of, title_of
from tpauc.paper.experiments.results import Result, ResultsFile, cell_of
from tpauc.paper.experiments.running import ScoreFolder
from tpauc.training.data import as_examples

AGAINST = ("CE-RW", "SqAUC", "LogisticAUC")  # cross-entropy, and all pairs in the paper's and in a newer form
NOTE = (
    "TPAUC of a method minus that of another one, in points of percent, on the same test images, each by the epoch "
    "with the best TPAUC on the validation data; in brackets a 95 % interval of the paired bootstrap, between ** where "
    "it leaves out 0. It allows for the test images, not for the seed of the training."
)


class Difference(NamedTuple):
    """Two trainings that differ in the method, measured in the same region, and the first minus the second."""

    first: Result
    second: Result
    found: Comparison


def differences(out: Path, data_dir: Path, against: Sequence[str] = AGAINST) -> list[Difference]:
    """Compare the trainings in a folder with those of some methods.

    Parameters
    ----------
    out : Path
        Folder of a table, with its trainings.
    data_dir : Path
        Where the images are.
    against : sequence of str
        Methods to compare with. A training is compared with those of the same data, split, recipe, number of epochs
        and seed; of two methods in this list the later one with the earlier.

    Raises
    ------
    ValueError
        If there is nothing to compare, or the images are not those that the trainings were measured on.
    FileNotFoundError
        If the images, or the scores of a training, are missing.

    Examples
    --------
    >>> differences(Path("nowhere"), Path("data"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: nowhere has no two trainings to compare: alike but for the method, and one of them by CE-RW, SqAUC, ...
    """
    check_each(against, "against", lambda name, where: check_choice(name, where, METHODS))
    results = ResultsFile(out / "results.csv")
    pairs = list(_pairs(results.read(), against))
    if not pairs:
        raise ValueError(
            f"{out} has no two trainings to compare: alike but for the method, and one of them by {', '.join(against)}"
        )
    labels = {}
    found = []
    for first, second in pairs:
        place = (first.dataset, first.subset, first.split)
        if place not in labels:
            splits = load_splits(first.dataset, subset=first.subset, data_dir=data_dir, seed=first.split)
            check_measured_on(results, cell_of(first), splits.test, data_dir)
            labels[place] = as_examples(splits.test, "test").positive
        alpha, beta = first.alpha, first.beta
        scores = _test_scores(out, first), _test_scores(out, second)
        compared = compare_tpauc(labels[place], *scores, alpha=alpha, beta=beta, method="bootstrap", random_state=0)
        found.append(Difference(first, second, compared))
    return found


def tables_of_differences(found: Sequence[Difference]) -> list[Table]:
    """Return a table for each subset of a data set."""
    places = places_of([item.first for item in found])
    return [_table([item for item in found if (item.first.dataset, item.first.subset) == place]) for place in places]


def as_markdown(found: Sequence[Difference]) -> str:
    """Return all differences as a Markdown document."""
    tables = (table.markdown() for table in tables_of_differences(found))
    return "\n\n".join(["# Differences", NOTE, *tables]) + "\n"


def _pairs(results: Sequence[Result], against: Sequence[str]) -> Iterator[tuple[Result, Result]]:
    methods = list(METHODS)
    ordered = sorted(results, key=lambda row: (row.recipe, row.epochs, row.split, row.seed, methods.index(row.method)))
    for first in ordered:
        others = against[: against.index(first.method)] if first.method in against else against
        for second in ordered:
            if second.method in others and _trained_alike(first) == _trained_alike(second):
                yield first, second


def _trained_alike(row: Result) -> tuple[object, ...]:
    """Return all that two trainings must share to differ in the method alone, and the region."""
    return row.dataset, row.subset, row.split, row.recipe, row.epochs, row.seed, row.region


def _test_scores(out: Path, row: Result) -> FloatArray:
    """Return the scores of the test images by the epoch that a result was measured in."""
    scores = ScoreFolder.of(cell_of(row), out)
    if not scores.file(row.best_epoch).exists():
        raise FileNotFoundError(f"{scores.file(row.best_epoch)} is missing; a row of results.csv is not enough")
    return scores.read(row.best_epoch).test


def _table(found: list[Difference]) -> Table:
    regions = sorted({item.first.region for item in found}, key=lambda region: (region.alpha, region.beta))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for item in found:
        lines.setdefault(_names(item), {})[region_text(item.first.region)] = _text(item.found)
    texts = list(map(region_text, regions))
    return Table(
        title_of(found[0].first),
        ["recipe", "epochs", "split", "seed", "method", "minus", *texts],
        [[*names, *(cells.get(text, "-") for text in texts)] for names, cells in lines.items()],
    )


def _names(item: Difference) -> tuple[str, ...]:
    row = item.first
    return row.recipe, str(row.epochs), str(row.split), str(row.seed), _name(row), _name(item.second)


def _name(row: Result) -> str:
    return f"{row.method} ({row.parameters})" if row.parameters else row.method


def _text(found: Comparison) -> str:
    text = f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    return text if found.low <= 0.0 <= found.high else f"**{text}**"
