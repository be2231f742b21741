"""`tpauc demo`: the whole path on data that come with scikit-learn, from a table to a threshold with a guarantee.

One digit against the rest; a detector has to find at least 90 % of the eights with at most 5 % false alarms. Two fifths
of the rows train three models: logistic regression, LightGBM with its defaults, and `TPAUCClassifier("auto-fast")`. One
fifth picks the threshold. The last two fifths, which no model and no threshold has seen, judge everything.

The digit is the one of the first demo of this package, and the region is the example of its documentation: neither was
chosen by how the three models compare. What is printed claims no more than the intervals, whoever is better.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tpauc._validation import BoolArray, FloatArray, import_extra
from tpauc.cli._text import Document, aligned, difference_line, percent, region_line, show, with_interval
from tpauc.cli.errors import progress
from tpauc.cli.fit import threads_for
from tpauc.cli.options import AsJson, Debug, Overwrite
from tpauc.cli.report import check_new_page
from tpauc.cli.runs import REPORT
from tpauc.metrics.comparison import compare_in_region
from tpauc.metrics.intervals import Interval, IntervalOptions
from tpauc.metrics.operating_points import OperatingPoint, evaluate_threshold, operating_point
from tpauc.metrics.summary import summarise
from tpauc.region import Region

DIGIT = 8
REGION = Region(alpha=0.1, beta=0.05)
GUARANTEE = 0.95
SEED = 0
LOGISTIC, LIGHTGBM, OURS = "logistic regression", "LightGBM defaults", "tpauc auto-fast"
THRESHOLD_SHARE, TEST_SHARE = 0.2, 0.4  # of all rows; the others train
_OPTIONS = IntervalOptions(random_state=SEED)


def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the report.")] = Path("tpauc-demo"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find eights among handwritten digits, in a minute.

    Three models, a threshold with a guarantee, a report. The digits come with scikit-learn. Every figure is taken from
    rows that neither trained a model nor picked the threshold.
    """
    for module, extra in (("sklearn", "cli"), ("lightgbm", "lightgbm"), ("jinja2", "report"), ("matplotlib", "report")):
        import_extra(module, extra)
    from tpauc.reporting import report
    from tpauc.reporting.wording import share_text

    page = check_new_page(out / REPORT, overwrite=overwrite)
    start = time.perf_counter()
    progress(f"{DIGIT} against the other digits: reading the table")
    training, picking, test = three_parts()
    scores: dict[str, FloatArray] = {}
    for name, trained in models_by_name().items():
        progress(f"training {name} on {training[1].size} rows, {time.perf_counter() - start:.0f} s so far")
        with threads_for(training[0].size):
            score_rows = trained(*training)
            scores[name] = score_rows(test[0])
    progress(f"picking the threshold on {picking[1].size} other rows, judging on {test[1].size} more")
    picked = operating_point(
        picking[1], score_rows(picking[0]), alpha=REGION.alpha, beta=REGION.beta, guarantee=GUARANTEE
    )
    deployed = evaluate_threshold(test[1], scores[OURS], picked.threshold, alpha=REGION.alpha, beta=REGION.beta)
    deployed = dataclasses.replace(deployed, rule=picked.rule, guarantee=picked.guarantee)
    document = demo_document((training[1], picking[1], test[1]), training[0].shape[1], scores, deployed)
    report(
        test[1],
        {name: scores[name] for name in reversed(scores)},  # the first model is the one that is deployed
        alpha=REGION.alpha,
        beta=REGION.beta,
        out=page,
        title=f"Finding eights: 3 models, at least {share_text(1.0 - REGION.alpha)} found, at most "
        f"{share_text(REGION.beta)} false alarms",
        command="tpauc demo",
        operating_points={OURS: deployed},
    )
    document |= {"seconds": round(time.perf_counter() - start, 1), "report": str(page)}
    show(document, demo_lines(document), as_json=as_json)


# ------------------------------------------------------------------------------------------------------- table, models


def three_parts() -> list[tuple[FloatArray, BoolArray]]:
    """Return features and labels of the rows that train, that pick the threshold, and that judge."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    images, digits = load_digits(return_X_y=True)
    labels = digits == DIGIT
    X, X_test, y, y_test = train_test_split(images, labels, test_size=TEST_SHARE, stratify=labels, random_state=SEED)
    share = THRESHOLD_SHARE / (1.0 - TEST_SHARE)
    X, X_pick, y, y_pick = train_test_split(X, y, test_size=share, stratify=y, random_state=SEED)
    return [(X, y), (X_pick, y_pick), (X_test, y_test)]


def models_by_name() -> Mapping[str, Callable[[FloatArray, BoolArray], Callable[[FloatArray], FloatArray]]]:
    """Return for each model a function that trains it and returns the function that scores rows; ours is the last."""
    return {LOGISTIC: _logistic, LIGHTGBM: _lightgbm, OURS: _ours}


def _logistic(X: FloatArray, y: BoolArray) -> Callable[[FloatArray], FloatArray]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    return model.decision_function  # type: ignore[no-any-return]


def _lightgbm(X: FloatArray, y: BoolArray) -> Callable[[FloatArray], FloatArray]:
    from lightgbm import LGBMClassifier

    # Threads and silence change neither the model nor its scores.
    model: Any = LGBMClassifier(n_jobs=1, verbose=-1, random_state=SEED).fit(X, y)
    return lambda rows: np.asarray(model.predict_proba(rows, raw_score=True))


def _ours(X: FloatArray, y: BoolArray) -> Callable[[FloatArray], FloatArray]:
    from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

    model = TPAUCClassifier("auto-fast", alpha=REGION.alpha, beta=REGION.beta, random_state=SEED).fit(X, y)
    return model.decision_function


# ------------------------------------------------------------------------------------------------------------- figures


def demo_document(
    labels: tuple[BoolArray, BoolArray, BoolArray],
    n_columns: int,
    scores: Mapping[str, FloatArray],
    deployed: OperatingPoint,
) -> Document:
    """Return every figure of the demo; ``labels`` of the rows that train, pick and judge, ``scores`` of the last."""
    judged = labels[2]
    models = []
    for name, values in scores.items():
        areas = summarise(judged, values, REGION, _OPTIONS)
        models.append({"name": name, "auc": _ends(areas.auc), "tpauc": _ends(areas.tpauc)})
    differences = []
    for name in scores:
        if name != OURS:
            # In the order of the report, so that both show the same interval; resampling depends on it a little.
            found = compare_in_region(judged, scores[name], scores[OURS], REGION, _OPTIONS)
            ends = {"difference": -found.difference, "low": -found.high, "high": -found.low}
            differences.append({"minus": name, **ends, "p_value": found.p_value, "interval": found.method})
    return {
        "digit": DIGIT,
        "alpha": REGION.alpha,
        "beta": REGION.beta,
        "confidence": _OPTIONS.confidence,
        "columns": n_columns,
        "rows": {name: part.size for name, part in zip(("training", "threshold", "test"), labels, strict=True)},
        "positives": int(sum(part.sum() for part in labels)),
        "models": models,
        "differences": differences,
        "threshold": {
            "value": deployed.threshold,
            "guarantee": GUARANTEE,
            "tpr": _ends(deployed.intervals["tpr"]),
            "fpr": _ends(deployed.intervals["fpr"]),
            "precision": _ends(deployed.intervals["precision"]),
            "found": int(deployed.true_positives),
            "missed": int(deployed.false_negatives),
            "false_alarms": int(deployed.false_positives),
            "feasible": bool(deployed.feasible),
        },
    }


def _ends(interval: Interval) -> Document:
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}


def demo_lines(document: Document) -> list[str]:
    """Return what `tpauc demo` prints at its end."""
    rows, level = document["rows"], document["confidence"]
    total = sum(rows.values())
    table = [["model", "AUC", f"TPAUC [{percent(level)} interval]"]]
    table += [
        [model["name"], f"{model['auc']['estimate']:.4f}", with_interval(model["tpauc"])]
        for model in document["models"]
    ]
    return [
        f"The table: {total:,} handwritten digits, {document['columns']} columns; {document['positives']:,} "
        f"({percent(document['positives'] / total)}) are an {document['digit']}.",
        region_line(document),
        f"{rows['training']:,} rows train, {rows['threshold']:,} pick the threshold, {rows['test']:,} judge:",
        "",
        aligned(table),
        "",
        *(difference_line(OURS, found["minus"], found, level) for found in document["differences"]),
        verdict(document["differences"]),
        "",
        *_threshold_lines(document["threshold"], document),
        "",
        f"The report: {document['report']} (open it in a browser)",
    ]


def verdict(differences: list[Document]) -> str:
    """Return what the intervals of the differences say about ours, and no more."""
    better = [found["minus"] for found in differences if found["low"] > 0]
    worse = [found["minus"] for found in differences if found["high"] < 0]
    open_ = [found["minus"] for found in differences if found["low"] <= 0 <= found["high"]]
    parts = [
        f"{OURS} {what} {' and '.join(names)}"
        for what, names in (
            ("is better in the corner than", better),
            ("is WORSE in the corner than", worse),
            ("is not shown to differ from", open_),
        )
        if names
    ]
    return f"So {'; '.join(parts)}."


def _threshold_lines(threshold: Document, document: Document) -> list[str]:
    tpr, fpr = threshold["tpr"], threshold["fpr"]
    positives = threshold["found"] + threshold["missed"]
    allowed, level = percent(document["beta"]), percent(document["confidence"])
    return [
        f"The threshold of {OURS}: alarm at score >= {threshold['value']:.4g}.",
        f"It promises at most {allowed} false alarms on new rows, with probability {percent(threshold['guarantee'])}.",
        f"On the {document['rows']['test']:,} rows that judge it finds {threshold['found']} of {positives} positives "
        f"with {threshold['false_alarms']} false alarms:",
        f"TPR {_rate(tpr)}, FPR {_rate(fpr)}, precision {_rate(threshold['precision'])} ({level} intervals).",
        "These rates lie in the region." if threshold["feasible"] else "These rates do NOT lie in the region.",
    ]


def _rate(rate: Document) -> str:
    return f"{percent(rate['estimate'])} [{percent(rate['low'])}, {percent(rate['high'])}]"
