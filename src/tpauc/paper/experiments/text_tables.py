"""Results as text tables: one line per way of training, for each region our TPAUC and the paper's beside it.

TPAUC is in percent. A cell shows the mean over seeds, in brackets the 95 % interval over the test set (the mean of its
limits over seeds), and with several seeds the standard deviation between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple, TypeVar

from tpauc.paper.data.datasets import DATASETS
from tpauc.paper.experiments.cells import EACH_REGION, chosen_region, region_text
from tpauc.paper.experiments.methods import METHODS, Place, full_warmup
from tpauc.paper.experiments.published import published
from tpauc.paper.experiments.results import Result
from tpauc.region import Region

NOTE = (
    "TPAUC in percent on the test data, by the epoch with the best TPAUC on the validation data; "
    'in brackets a 95 % interval over the test set. "Best" is that epoch, or the first and the last such epoch over '
    'all regions and seeds. "Paper" is the value that the paper prints. "Chosen for" says for which region the '
    "parameters were chosen: for each region, or for one region and used in all. A warm-up that is not shorter than "
    "the whole training is cut to half of it, and the table says from which length."
)
MISSING = "-"

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

    def plain(self) -> str:
        """Return the table for a terminal.

        Examples
        --------
        >>> print(Table("T", ["a", "bb"], [["x", "1"]]).plain())
        T
        a  bb
        x  1
        """
        rows = [self.columns, *self.lines]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        text = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join([self.title, *(line.rstrip() for line in text)])


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


def as_markdown(results: Sequence[Result]) -> str:
    """Return all results as a Markdown document."""
    return document("Results", NOTE, tables_of(results))


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
