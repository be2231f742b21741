"""Ours minus the best cross-entropy with hindsight, table by table, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quality_markdown import FAMILY_NAMES
from quality_methods import OURS
from quality_summary import HINDSIGHT, Results

COLOURS = {1: "#1b7837", 0: "#777777", -1: "#b2182b"}
MEANINGS = {1: "better, p < 0.05", 0: "no difference found", -1: "worse, p < 0.05"}


def draw(all_results: Sequence[Results], path: Path) -> None:
    """Draw a panel for each family: the mean difference over the seeds on each table, with its 95 % interval."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = [results for results in all_results if results.compared(OURS, HINDSIGHT)]
    if not panels:
        raise ValueError("no runs of ours and of both cross-entropies in this region: there is nothing to draw")
    tables = max((results.tables for results in panels), key=len)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(2.2 + 2.9 * len(panels), 1.4 + 0.3 * len(tables)), sharey=True, squeeze=False
    )
    for axis, results in zip(axes[0], panels, strict=True):
        _panel(axis, results, tables)
    positives = {table: count for results in panels for table, count in results.positives.items()}
    axes[0, 0].set_yticks(range(len(tables)), [f"{table} ({positives[table]:,})" for table in tables])
    axes[0, 0].set_ylim(-0.7, len(tables) - 0.3)
    region = panels[0].region
    figure.suptitle(
        f"TPAUC({region.alpha:g}, {region.beta:g}) on test rows: ours minus the better cross-entropy with hindsight",
        fontsize=10,
    )
    handles = [plt.Line2D([], [], marker="o", linestyle="", color=COLOURS[sign]) for sign in COLOURS]
    figure.legend(handles, list(MEANINGS.values()), loc="lower center", ncols=3, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(axis: object, results: Results, tables: Sequence[str]) -> None:
    compared = results.compared(OURS, HINDSIGHT)
    for height, table in enumerate(tables):
        if table in compared:
            found = compared[table]
            axis.plot([found.low, found.high], [height, height], color=COLOURS[found.sign], linewidth=1.5)
            axis.plot(found.difference, height, "o", color=COLOURS[found.sign], markersize=5)
    axis.axvline(0.0, color="black", linewidth=0.8)
    # One wide interval must not make all others unreadable.
    most = max(abs(found.difference) for found in compared.values())
    axis.set_xlim(-max(1.6 * most, 0.02), max(1.6 * most, 0.02))
    axis.set_title(FAMILY_NAMES[results.family], fontsize=9)
    axis.grid(axis="x", linewidth=0.3)
    axis.tick_params(labelsize=8)
    axis.locator_params(axis="x", nbins=5)
