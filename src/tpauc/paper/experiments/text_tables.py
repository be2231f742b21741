"""Text tables: results, one line per way of training, and which methods differ on the same test images.

**Results.** For each region our TPAUC in percent, and the paper's beside it. A cell shows the mean over seeds, in
brackets the 95 % interval over the test set (the mean of its limits over seeds), and with several seeds the standard
deviation between them.

**Differences.** Intervals of single methods overlap even if one method is clearly better, since images that are hard
for one method are hard for all. The folder of a table keeps the scores of every epoch, so methods can be compared image
by image (`tpauc.compare_tpauc`), each by its best epoch on the validation data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple, TypeVar

from tpauc._validation import BoolArray, FloatArray, check_choice
from tpauc.metrics.comparison import Comparison, compare_tpauc
from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.cells import EACH_REGION, Images, check_each, chosen_region, region_text
from tpauc.paper.experiments.image_data import ImageData
from tpauc.paper.experiments.methods import METHODS, Place, full_warmup
from tpauc.paper.experiments.published import published
from tpauc.paper.experiments.results import Result, ResultsFile, ScoreFolder, cell_of
from tpauc.region import Region
from tpauc.training.data import as_examples

RESULTS_NOTE = (
    "TPAUC in percent on the test data, by the epoch with the best TPAUC on the validation data; "
    'in brackets a 95 % interval over the test set. "Best" is that epoch, or the first and the last such epoch over '
    'all regions and seeds. "Paper" is the value that the paper prints. "Chosen for" says for which region the '
    "parameters were chosen: for each region, or for one region and used in all. A warm-up that is not shorter than "
    "the whole training is cut to half of it, and the table says from which length."
)
DIFFERENCES_NOTE = (
    "TPAUC of a method minus the TPAUC of another one, in percentage points, on the same test images, each by the "
    "epoch with the best TPAUC on the validation data; in brackets a 95 % interval of the paired bootstrap, between ** "
    "if it excludes 0. It allows for the test images, not for the seed of the training."
)
MISSING = "-"
AGAINST = ("CE-RW", "SqAUC", "LogisticAUC")  # cross-entropy, and all pairs in the paper's and in a newer form

Item = TypeVar("Item")


class Table(NamedTuple):
    """A title, the names of the columns, and lines of text."""

    title: str
    columns: list[str]
    lines: list[list[str]]

    def markdown(self) -> str:
        """Return the table as Markdown.

        Examples
        --------
        >>> print(Table("T", ["a", "b"], [["x", "1"]]).markdown())
        ## T
        <BLANKLINE>
        | a | b |
        | --- | --- |
        | x | 1 |
        """
        rows = [self.columns, ["---"] * len(self.columns), *self.lines]
        return "\n".join([f"## {self.title}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def document(title: str, note: str, tables: Sequence[Table]) -> str:
    """Return a Markdown document of tables."""
    return "\n\n".join([f"# {title}", note, *(table.markdown() for table in tables)]) + "\n"


def by_subset(items: Iterable[Item], row_of: Callable[[Item], Result]) -> list[list[Item]]:
    """Group items by data set and subset, in the order of the paper; ``row_of`` returns the result of an item."""
    groups: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        row = row_of(item)
        groups.setdefault((list(DATASETS).index(row.dataset), row.subset), []).append(item)
    return [groups[place] for place in sorted(groups)]


def title_of(row: Result) -> str:
    """Return the title of the table of a result."""
    image_set = DATASETS[row.dataset]
    return f"{image_set.title}, subset {row.subset}: {image_set.subsets[row.subset].positive_name}"


def regions_of(rows: Iterable[Result]) -> list[Region]:
    """Return the regions of results, in ascending order."""
    return sorted({row.region for row in rows}, key=lambda region: (region.alpha, region.beta))


# ------------------------------------------------------------------------------------------------ tables of results


class _Line(NamedTuple):
    """What the cells of a line of the table have in common."""

    recipe: str
    epochs: int
    split: int
    method: str
    chosen_for: str
    parameters: str  # empty if they differ between regions

    @classmethod
    def of(cls, row: Result) -> _Line:
        parameters = "" if row.chosen_for.startswith(EACH_REGION) else row.parameters
        return cls(row.recipe, row.epochs, row.split, row.method, row.chosen_for, parameters)


def tables_of(results: Sequence[Result]) -> list[Table]:
    """Return one table for each subset of a data set that has results."""
    return [_table(rows) for rows in by_subset(results, lambda row: row)]


def results_markdown(results: Sequence[Result]) -> str:
    """Return all results as a Markdown document."""
    return document("Results", RESULTS_NOTE, tables_of(results))


def _table(results: list[Result]) -> Table:
    regions = regions_of(results)
    lines: dict[_Line, list[Result]] = {}
    for row in results:
        lines.setdefault(_Line.of(row), []).append(row)
    order = sorted(lines, key=lambda line: (line[:3], list(METHODS).index(line.method), line[4:]))
    columns = ["method", "recipe", "epochs", "best", "split", "seeds", "chosen for"]
    for region in regions:
        columns += [region_text(region), "paper"]
    return Table(title_of(results[0]), columns, [_text_of(line, lines[line], regions) for line in order])


def _text_of(line: _Line, rows: list[Result], regions: list[Region]) -> list[str]:
    seeds = sorted({row.seed for row in rows})
    chosen = f"{line.chosen_for.partition(', but')[0]}: {line.parameters}" if line.parameters else line.chosen_for
    if cut := sorted({warmup for row in rows if (warmup := _cut_warmup(row)) is not None}):
        chosen += f"; warm-up cut from {' or '.join(map(str, cut))}"
    first, last = (choose(row.best_epoch for row in rows) for choose in (min, max))
    best = str(first) if first == last else f"{first}-{last}"
    cells = [line.method, line.recipe, str(line.epochs), best, str(line.split), ", ".join(map(str, seeds)), chosen]
    for region in regions:
        printed = published(rows[0].dataset, rows[0].subset, line.method, region)
        ours = _value([row for row in rows if row.region == region])
        cells += [ours, MISSING if printed is None else f"{printed:.2f}"]
    return cells


def _cut_warmup(row: Result) -> int | None:
    """Return the length of a warm-up that was cut because the training was too short, None if it was not cut."""
    name = "warmup_epochs="
    if name not in row.parameters or name in row.chosen_for:
        return None
    region = chosen_region(row.chosen_for, row.region)
    whole = full_warmup(row.method, Place(row.dataset, row.subset, region, row.epochs))
    return None if f"{name}{whole}" in row.parameters.split() else whole


def _value(rows: list[Result]) -> str:
    if not rows:
        return MISSING
    mean, low, high = (100.0 * fmean(values) for values in zip(*((r.tpauc, r.low, r.high) for r in rows), strict=True))
    spread = f" ± {100.0 * stdev([row.tpauc for row in rows]):.2f}" if len(rows) > 1 else ""
    return f"{mean:.2f}{spread} [{low:.1f}, {high:.1f}]"


# ---------------------------------------------------------------------------------------------------------- differences


class Difference(NamedTuple):
    """Two trainings by different methods, measured in the same region, and the first minus the second."""

    first: Result
    second: Result
    found: Comparison


def differences(out: Path, data_dir: Path, against: Sequence[str] = AGAINST) -> list[Difference]:
    """Compare the trainings in table ``out`` with the trainings of the methods ``against``.

    Two trainings are compared if they have the same data, split, recipe, number of epochs and seed. Of two methods in
    ``against`` the later one is compared with the earlier one. It is a ``ValueError`` if there is nothing to compare,
    or if the trainings were measured on other images.

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
    return [_differences_table(items) for items in by_subset(found, lambda item: item.first)]


def differences_markdown(found: Sequence[Difference]) -> str:
    """Return all differences as a Markdown document."""
    return document("Differences", DIFFERENCES_NOTE, tables_of_differences(found))


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


def _differences_table(found: list[Difference]) -> Table:
    regions = list(map(region_text, regions_of(item.first for item in found)))
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for item in found:
        lines.setdefault(_names(item), {})[region_text(item.first.region)] = _difference_text(item.found)
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


def _difference_text(found: Comparison) -> str:
    text = f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    return text if found.low <= 0.0 <= found.high else f"**{text}**"
