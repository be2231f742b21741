"""The results as a page of Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from quality_auto_summary import auto_requirements, auto_rows
from quality_methods import BALANCED, OURS, PLAIN
from quality_runs import Run
from quality_summary import HINDSIGHT, MANY_POSITIVES, Results, requirements
from tpauc.region import Region

FAMILY_NAMES = {
    "linear": "Linear models",
    "mlp": "Networks (two layers of 32)",
    "lightgbm": "LightGBM",
    "auto": "Everything",
}
ABOUT = """\
Repeated stratified splits, 70 % to train and 30 % to test, exact copies of a row on one side. All choices are made
inside the 70 %. Wins - losses - ties count tables where a paired t-test over the seeds has p < 0.05, or not; splits
of one table share rows, so the test is generous. *Hindsight* is, for each table, the better of the two cross-entropies
on the test rows, which nobody can know beforehand. Ranks are among the methods without it. Time is processor time of
the training with all its choices, in multiples of plain cross-entropy, summed over the tables.

The losses between cross-entropy and ours go on from the balanced cross-entropy solution, for up to 16 epochs of at most
32 steps; how long is chosen by cross-validation, 0 included. Their learning rates were set once and not tuned, so a
longer or better tuned training may do more for them. XCurve's unbiased loss diverges unless its variables are kept in
boxes, which is done here; LibAUC's KL loss is trained by Adam instead of its own optimiser.
"""


def page(runs: Iterable[Run]) -> str:
    """Return the page for all families and regions that there are runs of."""
    runs = list(runs)
    regions = sorted({Region(run.alpha, run.beta) for run in runs}, key=lambda r: (r != Region(0.3, 0.3), -r.alpha))
    families = [family for family in FAMILY_NAMES if any(run.family == family for run in runs)]
    parts = ["# Quality: TPAUC on test rows", ABOUT]
    for region in regions:
        all_results = [Results(runs, family, region) for family in families]
        parts.append(f"## Region alpha = {region.alpha:g}, beta = {region.beta:g}")
        of_region = all_results if region == Region(0.3, 0.3) else [r for r in all_results if r.family == "auto"]
        parts += requirement_part(of_region)
        for results in all_results:
            parts += family_part(results)
    commits = ", ".join(dict.fromkeys(run.commit for run in runs))
    versions = "; ".join(dict.fromkeys(run.versions for run in runs))
    return "\n\n".join([*(part.strip() for part in parts), f"Commit {commits}. {versions}."]) + "\n"


def requirement_part(all_results: Sequence[Results]) -> list[str]:
    """Return what was required and what was reached."""
    rows = [
        [required.family, required.text, required.found, "yes" if required.reached else "**no**"]
        for results in all_results
        for required in (auto_requirements if results.family == "auto" else requirements)(results)
    ]
    return [table(["family", "ours must be", "found", "reached"], rows)] if rows else []


def family_part(results: Results) -> list[str]:
    """Return the tables of a family in a region."""
    if not results.tables:
        return []
    seeds = ", ".join(map(str, results.seeds))
    if results.family == "auto":
        header = ["method", "mean TPAUC", "mean rank", "auto - it", "p", "seconds", "tables"]
        heading = f"### Stacks and their peers: {len(results.tables)} tables, seeds {seeds}"
        return [heading, table(header, auto_rows(results)), *_notes(results)]
    heading = f"### {FAMILY_NAMES[results.family]}: {len(results.tables)} tables, seeds {seeds}"
    parts = [heading, _method_table(results), *_notes(results)]
    if any(OURS in methods and HINDSIGHT in methods for methods in results.values.values()):
        parts.append(_table_of_tables(results))
    return parts


def _method_table(results: Results) -> str:
    header = ["method", "mean TPAUC", f"{MANY_POSITIVES}+ positives", "mean rank", "to plain", "to balanced"]
    rows = []
    for line in results.lines():
        name = f"*{line.method}*" if line.method == HINDSIGHT else line.method
        record = [_record(line.against.get(other)) for other in (PLAIN, BALANCED, HINDSIGHT)]
        cells = [name, number(line.mean), number(line.mean_many_positives), number(line.rank, 1), *record]
        rows.append([*cells, _times(line.time_ratio), str(line.n_tables)])
    return table([*header, "to hindsight", "time", "tables"], [_bold(row) if row[0] == OURS else row for row in rows])


def _notes(results: Results) -> list[str]:
    lines = [f"- {line.method}: {note}" for line in results.lines() for note in line.notes]
    return ["\n".join(lines)] if lines else []


def _table_of_tables(results: Results) -> str:
    compared = results.compared(OURS, HINDSIGHT)
    rows = []
    for name in (name for name in results.tables if name in compared):
        methods, result = results.values[name], compared[name]
        means = [
            number(sum(found.values()) / len(found))
            for found in (methods[m] for m in (PLAIN, BALANCED, HINDSIGHT, OURS))
        ]
        if result.sign:
            means[-1] = f"**{means[-1]}**" if result.sign > 0 else f"{means[-1]} (worse)"
        interval = f"{result.difference:+.3f}"
        if math.isfinite(result.low):  # there is none for a single seed
            interval += f" [{result.low:+.3f}, {result.high:+.3f}]"
        time = _times(results.time_ratio(OURS, name))
        rows.append([name, f"{results.positives[name]:,}", *means, interval, f"{result.p_value:.3f}", time])
    header = ["table", "positives", "plain", "balanced", "hindsight", "ours", "ours - hindsight [95 %]", "p", "time"]
    return table(header, rows)


# ------------------------------------------------------------------------------------------------------------- cells


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def number(value: float, digits: int = 4) -> str:
    """Return a number with so many digits after the point, a dash for none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def _times(ratio: float) -> str:
    return "-" if math.isnan(ratio) else f"{ratio:.1f}x"


def _record(found: tuple[int, int, int] | None) -> str:
    return "" if found is None or not any(found) else " - ".join(map(str, found))


def _bold(row: Sequence[str]) -> list[str]:
    return [f"**{cell}**" if cell else cell for cell in row]
