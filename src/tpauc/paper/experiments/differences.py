"""Which methods differ: paired comparisons on the test images that all of them have scored.

Intervals of single methods overlap even if one method is clearly better, since images that are hard for one method are
hard for all. The folder of a table keeps the scores of every epoch, so methods can be compared image by image
(`tpauc.compare_tpauc`), each by its best epoch on the validation data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tpauc._validation import BoolArray, FloatArray, check_choice
from tpauc.metrics.comparison import Comparison, compare_tpauc
from tpauc.paper.experiments.cells import Images, check_each, region_text
from tpauc.paper.experiments.epoch_scores import ScoreFolder
from tpauc.paper.experiments.image_data import ImageData
from tpauc.paper.experiments.methods import METHODS
from tpauc.paper.experiments.results import Result, ResultsFile, cell_of
from tpauc.paper.experiments.text_tables import MISSING, Table, by_subset, document, regions_of, title_of
from tpauc.training.data import as_examples

AGAINST = ("CE-RW", "SqAUC", "LogisticAUC")  # cross-entropy, and all pairs in the paper's and in a newer form
NOTE = (
    "TPAUC of a method minus the TPAUC of another one, in percentage points, on the same test images, each by the "
    "epoch with the best TPAUC on the validation data; in brackets a 95 % interval of the paired bootstrap, between ** "
    "if it excludes 0. It allows for the test images, not for the seed of the training."
)


class Difference(NamedTuple):
    """Two trainings by different methods, measured in the same region, and the first minus the second."""

    first: Result
    second: Result
    found: Comparison


def differences(out: Path, data_dir: Path, against: Sequence[str] = AGAINST) -> list[Difference]:
    """Compare the trainings in a folder with the trainings of some methods.

    Parameters
    ----------
    out : Path
        Folder of a table, with its trainings.
    data_dir : Path
        Where the images are.
    against : sequence of str
        Methods to compare with. Two trainings are compared if they have the same data, split, recipe, number of epochs
        and seed. Of two methods in this list the later one is compared with the earlier one.

    Raises
    ------
    ValueError
        If there is nothing to compare, or the trainings were measured on other images.
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
    data = ImageData(data_dir, results)
    labels: dict[Images, BoolArray] = {}
    found = []
    for first, second in pairs:
        if first.images not in labels:
            labels[first.images] = as_examples(data.splits(first.images).test, "test").positive
        scores = _test_scores(out, first), _test_scores(out, second)
        compared = compare_tpauc(
            labels[first.images], *scores, alpha=first.alpha, beta=first.beta, method="bootstrap", random_state=0
        )
        found.append(Difference(first, second, compared))
    return found


def tables_of_differences(found: Sequence[Difference]) -> list[Table]:
    """Return one table for each subset of a data set."""
    return [_table(items) for items in by_subset(found, lambda item: item.first)]


def as_markdown(found: Sequence[Difference]) -> str:
    """Return all differences as a Markdown document."""
    return document("Differences", NOTE, tables_of_differences(found))


def _pairs(results: Sequence[Result], against: Sequence[str]) -> Iterator[tuple[Result, Result]]:
    methods = list(METHODS)
    ordered = sorted(results, key=lambda row: (row.recipe, row.epochs, row.split, row.seed, methods.index(row.method)))
    for first in ordered:
        others = against[: against.index(first.method)] if first.method in against else against
        for second in ordered:
            if second.method in others and _trained_alike(first) == _trained_alike(second):
                yield first, second


def _trained_alike(row: Result) -> dict[str, object]:
    """Return what two comparable results share: all settings but the method, and the region."""
    return {**row.settings(), "method": None, "region": row.region}


def _test_scores(out: Path, row: Result) -> FloatArray:
    """Return the test scores of the epoch of a result."""
    scores = ScoreFolder.of(cell_of(row), out)
    if not scores.file(row.best_epoch).exists():
        raise FileNotFoundError(f"{scores.file(row.best_epoch)} is missing; a row of results.csv is not enough")
    return scores.read(row.best_epoch).test


def _table(found: list[Difference]) -> Table:
    regions = list(map(region_text, regions_of(item.first for item in found)))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for item in found:
        lines.setdefault(_names(item), {})[region_text(item.first.region)] = _text(item.found)
    return Table(
        title_of(found[0].first),
        ["recipe", "epochs", "split", "seed", "method", "minus", *regions],
        [[*names, *(cells.get(region, MISSING) for region in regions)] for names, cells in lines.items()],
    )


def _names(item: Difference) -> tuple[str, ...]:
    row = item.first
    return row.recipe, str(row.epochs), str(row.split), str(row.seed), _name(row), _name(item.second)


def _name(row: Result) -> str:
    return f"{row.method} ({row.parameters})" if row.parameters else row.method


def _text(found: Comparison) -> str:
    text = f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    return text if found.low <= 0.0 <= found.high else f"**{text}**"
