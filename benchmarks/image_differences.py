"""Which methods differ on images: paired comparisons on the test images that all of them have scored.

    python benchmarks/image_differences.py --out FOLDER --data-dir FOLDER

Intervals of single methods (`results.md`) overlap even where one is clearly better, since images that are hard for one
are hard for all. Of the trainings that `tpauc reproduce table` left in ``--out``, each is compared with cross-entropy
and with all pairs, of the same subset, recipe, number of epochs and seed, by `tpauc.compare_tpauc`. The table is
printed, and written to ``differences.md`` beside ``results.csv``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tpauc.paper.cells import Cell, region_text
from tpauc.paper.datasets import load_splits
from tpauc.paper.results import Result, ResultsFile
from tpauc.paper.running import ScoreFolder
from tpauc.region import Region
from tpauc.training.data import as_examples
from tpauc.uncertainty import compare_tpauc
from tpauc.validation import BoolArray, FloatArray

CROSS_ENTROPY, ALL_PAIRS = "CE-RW", ("SqAUC", "LogisticAUC")  # the pairs of either recipe
INTRODUCTION = """# Differences in TPAUC on CIFAR-10-LT, in points of percent

A row is a method minus another one, on the same test images, by the epoch that is best for each on the validation
data; in brackets a 95 % interval of the paired bootstrap, bold where it leaves out 0. One training each: the interval
allows for the test images, not for the seed. Made by `benchmarks/image_differences.py`.
"""


def test_scores(out: Path, result: Result) -> FloatArray:
    """Return the scores of the test images by the epoch that a result was measured in."""
    parameters = tuple((name, float(value)) for name, value in (item.split("=") for item in result.parameters.split()))
    cell = Cell(
        dataset=result.dataset,
        subset=result.subset,
        split=result.split,
        recipe=result.recipe,
        epochs=result.epochs,
        method=result.method,
        seed=result.seed,
        parameters=parameters,
        regions=(),
        chosen_for=result.chosen_for,
    )
    return ScoreFolder(cell.folder(out) / "scores").read(result.best_epoch).test


def difference_text(labels: BoolArray, first: FloatArray, second: FloatArray, region: Region) -> str:
    found = compare_tpauc(labels, first, second, alpha=region.alpha, beta=region.beta, random_state=0)
    text = f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    return text if found.low <= 0.0 <= found.high else f"**{text}**"


def rows(out: Path, labels: BoolArray, results: Sequence[Result]) -> Iterator[list[str]]:
    """Compare the trainings of a group, which differ in the method alone: a row for a pair, a cell for a region."""
    by_training: dict[tuple[str, str], dict[Region, Result]] = defaultdict(dict)
    for result in results:
        by_training[result.method, result.parameters][Region(result.alpha, result.beta)] = result
    for (method, parameters), measured in by_training.items():
        for (other, _), against in by_training.items():
            if method in (other, CROSS_ENTROPY) or other not in (CROSS_ENTROPY, *ALL_PAIRS):
                continue
            cells = [
                difference_text(labels, test_scores(out, measured[region]), test_scores(out, against[region]), region)
                for region in measured
            ]
            some = next(iter(measured.values()))
            name = f"{method} ({parameters})" if parameters else method
            yield [str(some.subset), f"{some.recipe}, {some.epochs} epochs", name, other, *cells]


def main() -> None:
    parser = argparse.ArgumentParser(description="Paired comparisons of trainings on images.")
    parser.add_argument("--out", type=Path, required=True, help="folder of tpauc reproduce table")
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args()
    groups: dict[tuple[str, int, int, str, int, int], list[Result]] = defaultdict(list)
    for result in ResultsFile(options.out / "results.csv").read():
        key = (result.dataset, result.subset, result.split, result.recipe, result.epochs, result.seed)
        groups[key].append(result)
    regions = list(dict.fromkeys(Region(result.alpha, result.beta) for group in groups.values() for result in group))
    lines = ["| subset | recipe | method | minus | " + " | ".join(map(region_text, regions)) + " |"]
    lines += ["| --- " * (4 + len(regions)) + "|"]
    labels: dict[tuple[str, int, int], BoolArray] = {}
    for (dataset, subset, split, *_), group in sorted(groups.items()):
        if (dataset, subset, split) not in labels:
            splits = load_splits(dataset, subset=subset, data_dir=options.data_dir, seed=split)
            labels[dataset, subset, split] = as_examples(splits.test, "test").positive
        lines += ["| " + " | ".join(row) + " |" for row in rows(options.out, labels[dataset, subset, split], group)]
    page = INTRODUCTION + "\n" + "\n".join(lines) + "\n"
    (options.out / "differences.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
