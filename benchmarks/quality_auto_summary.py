"""What the runs of the family `auto` say: means, seconds, and whether the requirements are met.

The stack is compared with each other method over the tables, by Wilcoxon's signed-rank test of the means over seeds.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from quality_auto import AUTO, AUTOGLUON, BOOSTER, FAST, FLAML
from quality_summary import Requirement, Results, table_means
from tpauc.region import Region

GAIN_OVER_BOOSTER, MOST_LOSS, GAIN_OVER_FLAML, TIMES_BOOSTER = 0.015, 0.03, 0.03, 3.0


def differences(results: Results, method: str, other: str) -> dict[str, float]:
    """Return the mean difference over the common seeds of each table that both ran on."""
    return {table: found.difference for table, found in results.compared(method, other).items()}


def missing_splits(results: Results, method: str, other: str) -> str:
    """Return in words how many splits a comparison rests on, unless it has all on which ``method`` ran."""
    common = all_splits = 0
    for methods in results.values.values():
        seeds = methods.get(method, {}).keys()
        common, all_splits = common + len(seeds & methods.get(other, {}).keys()), all_splits + len(seeds)
    return "" if common == all_splits else f", on {common} of {all_splits} splits only"


def wilcoxon_p(results: Results, method: str, other: str) -> float:
    """Return the p-value over the tables; 1 if there is no difference at all."""
    values = np.array(list(differences(results, method, other).values()))
    return float(stats.wilcoxon(values).pvalue) if values.any() else 1.0


def seconds(results: Results, method: str) -> float:
    """Return the processor time of a fit, the mean over tables of the means over seeds."""
    return float(np.mean(list(table_means(results.seconds, method).values()) or [np.nan]))


def auto_requirements(results: Results) -> list[Requirement]:
    """Hold the stacks against what was asked of them.

    A comparison without runs is left out, and one without all splits is not reached, whatever it shows.
    """
    found: list[tuple[str, str, bool]] = []
    for other, least in ((BOOSTER, GAIN_OVER_BOOSTER), (FLAML, GAIN_OVER_FLAML), (AUTOGLUON, 0.0)):
        if not (by_table := differences(results, AUTO, other)):
            continue
        gain = float(np.mean(list(by_table.values())))
        least = least if results.region == Region(0.3, 0.3) else 0.0
        partial = missing_splits(results, AUTO, other)
        reached = gain >= least and not partial
        found.append((f"auto above {other} by {least:g}", f"{gain:+.4f}{partial}", reached))
        if other == BOOSTER and results.region == Region(0.3, 0.3):
            p_value = wilcoxon_p(results, AUTO, BOOSTER)
            worst = min(by_table, key=by_table.__getitem__)
            found += [
                ("auto differs from TPAUCBooster over tables, p < .05", f"p = {p_value:.3f}", p_value < 0.05),
                (
                    f"auto below TPAUCBooster on no table by more than {MOST_LOSS:g}",
                    f"{worst} {by_table[worst]:+.4f}",
                    by_table[worst] >= -MOST_LOSS,
                ),
            ]
    if by_table := differences(results, FAST, BOOSTER):
        gain = float(np.mean(list(by_table.values())))
        ratio = seconds(results, FAST) / seconds(results, BOOSTER)
        found += [
            ("auto-fast not below TPAUCBooster", f"{gain:+.4f}", gain >= 0.0),
            (f"auto-fast in {TIMES_BOOSTER:g} times the time of TPAUCBooster", f"{ratio:.1f}x", ratio <= TIMES_BOOSTER),
        ]
    return [Requirement(results.family, *line) for line in found]


def auto_rows(results: Results) -> list[list[str]]:
    """Return a line for each method: mean, mean rank, what the stack has more and its p-value, seconds, tables."""
    ranks = results.ranks()
    rows = []
    for method in [name for name in results.methods if name in ranks]:
        more = differences(results, AUTO, method) if method != AUTO else {}
        rows.append(
            [
                method,
                f"{results.mean(method):.4f}",
                f"{ranks[method]:.1f}",
                f"{np.mean(list(more.values())):+.4f}" if more else "",
                f"{wilcoxon_p(results, AUTO, method):.3f}" if more else "",
                f"{seconds(results, method):.1f}",
                str(len(table_means(results.values, method))),
            ]
        )
    return rows
