"""`tpauc demo`: does training for the corner pay? A comparison of losses on data that come with scikit-learn.

One digit against the rest, and a linear model, which cannot represent the probability of an eight: the loss can matter
only where a model cannot represent it. Every method starts from cross-entropy (its warm-up), chooses its length by
cross-validation inside the training rows, and is evaluated on the other half. Digit and region were chosen by the TPAUC
of cross-entropy alone, well away from 0 and from 1, before any method was compared with it. What is printed claims no
more than the intervals.

The splits share rows, so the intervals over splits are those of `tpauc.classifiers.cross_validation`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from tpauc._validation import BoolArray, FloatArray, import_extra
from tpauc.cli._text import Document, aligned, region_line, show
from tpauc.cli.errors import progress
from tpauc.cli.fit import threads_for
from tpauc.cli.options import AsJson, Debug, Overwrite
from tpauc.cli.report import check_new_page
from tpauc.cli.runs import REPORT
from tpauc.metrics.area import area_in_region
from tpauc.region import Region

METHODS = ("cross_entropy", "square_auc", "polynomial", "minimax", "region")
DIGIT = 8
REGION = Region(alpha=0.3, beta=0.3)
TEST_SIZE = 0.5


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the report.")] = Path("tpauc-demo"),
    seeds: Annotated[int, typer.Option(min=2, help="Splits of the data into training and test rows.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Two splits and a short training: does it run?")] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Compare losses on handwritten digits, in a minute.

    The digits come with scikit-learn. One digit against the rest, a linear model, the same splits for all methods; the
    report shows the first split.
    """
    import_extra("sklearn", "cli")
    import_extra("torch", "torch")
    import_extra("jinja2", "report")
    import_extra("matplotlib", "report")
    from tpauc.classifiers.cross_validation import CONFIDENCE
    from tpauc.reporting import report

    n_splits = 2 if quick else seeds
    page = check_new_page(out / REPORT, overwrite=overwrite)
    start = time.perf_counter()
    splits = []
    for seed in range(n_splits):
        progress(f"split {seed + 1} of {n_splits}, {time.perf_counter() - start:.0f} s so far")
        splits.append(_split(seed, max_steps=2 if quick else 32))
    region: Document = {"alpha": REGION.alpha, "beta": REGION.beta}
    values = {method: [area_in_region(y, s[method], REGION) for y, s in splits] for method in METHODS}
    title = f"Digit {DIGIT} against the rest, linear model, one of {n_splits} splits"
    # On the page the shaded corner is the region; a model must not have the same name.
    shown = {"for the region" if name == "region" else name: values for name, values in splits[0].scores.items()}
    report(splits[0].labels, shown, out=page, title=title, **region)
    document = {
        "digit": DIGIT,
        **region,
        "confidence": CONFIDENCE,
        "splits": n_splits,
        "methods": [_result(method, values) for method in METHODS],
        "seconds": round(time.perf_counter() - start, 1),
        "report": str(page),
    }
    show(document, demo_lines(document), as_json=as_json)


class _Split(NamedTuple):
    """Labels of the test rows, and the scores of each method on them."""

    labels: BoolArray
    scores: dict[str, FloatArray]


def _split(seed: int, *, max_steps: int) -> _Split:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier
    from tpauc.classifiers.training_methods import LOSSES

    images, digits = load_digits(return_X_y=True)
    labels = digits == DIGIT
    X, X_test, y, y_test = train_test_split(images, labels, test_size=TEST_SIZE, stratify=labels, random_state=seed)
    scores = {}
    with threads_for(X.size):
        for method in METHODS:
            steps = max_steps if method in LOSSES else None
            classifier = TPAUCClassifier(
                "linear", alpha=REGION.alpha, beta=REGION.beta, method=method, max_steps=steps, random_state=seed
            )
            scores[method] = classifier.fit(X, y).decision_function(X_test)
    return _Split(y_test, scores)


def _result(method: str, values: Mapping[str, Sequence[float]]) -> Document:
    result: Document = {"name": method, "tpauc": float(np.mean(values[method])), "values": list(values[method])}
    if method == METHODS[0]:
        return result | {"difference": None}
    from tpauc.classifiers.cross_validation import corrected_comparison

    differences = np.subtract(values[method], values[METHODS[0]])
    found = corrected_comparison(differences, TEST_SIZE / (1 - TEST_SIZE))
    return result | {"difference": {"estimate": found.difference, "low": found.low, "high": found.high}}


def demo_lines(document: Document) -> list[str]:
    """Return what `tpauc demo` prints at its end."""
    rows = [["method", "TPAUC", "minus cross-entropy", f"{100 * document['confidence']:g} % interval"]]
    for result in document["methods"]:
        difference: dict[str, Any] | None = result["difference"]
        compared = ["", ""]
        if difference is not None:
            compared = [f"{difference['estimate']:+.4f}", f"[{difference['low']:+.4f}, {difference['high']:+.4f}]"]
        rows.append([result["name"], f"{result['tpauc']:.4f}", *compared])
    return [
        f"Digit {document['digit']} against the rest, linear model, mean over {document['splits']} splits.",
        region_line(document),
        "",
        aligned(rows),
        "",
        _verdict(document["methods"]),
        f"The report on the first split is {document['report']}",
    ]


def _verdict(results: Sequence[Document]) -> str:
    compared = [result for result in results if result["difference"] is not None]
    better = [result["name"] for result in compared if result["difference"]["low"] > 0]
    if better:
        return f"Better than cross-entropy beyond chance: {', '.join(better)}."
    ahead = [result["name"] for result in compared if result["difference"]["estimate"] > 0]
    if ahead:
        return f"Ahead of cross-entropy on average, but within chance: {', '.join(ahead)}."
    return "No method beats cross-entropy here."
