"""`tpauc advise`: whether training for the region helps on a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from tpauc._validation import import_extra
from tpauc.classifiers.training_methods import AUTO
from tpauc.cli._text import Document, aligned, region_line, show, with_interval
from tpauc.cli.errors import progress
from tpauc.cli.features import read_examples
from tpauc.cli.fit import threads_for
from tpauc.cli.heartbeat import training_heartbeat
from tpauc.cli.model_choice import check_model
from tpauc.cli.options import (
    Alpha,
    AsJson,
    Beta,
    Debug,
    Drop,
    Groups,
    Model,
    Positive,
    Seed,
    Target,
    TimeLimit,
    TrainingTable,
)


def advise(
    data: TrainingTable,
    target: Target,
    alpha: Alpha,
    beta: Beta,
    positive: Positive = None,
    model: Annotated[Model, typer.Option(help="What to train.")] = "linear",
    time_limit: TimeLimit = None,
    drop: Drop = None,
    groups: Groups = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How often it is done, with new folds.")] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Tell whether training for the region helps on a table.

    Models are trained on plain and on balanced cross-entropy and for the region, by repeated cross-validation, and
    compared on the rows held out. The stacks, --model auto and auto-fast, are compared with LightGBM on both
    cross-entropies. Copies of a row share a fold. Nothing is written.
    """
    import_extra("sklearn", "cli")
    check_model(model, time_limit=time_limit)
    from tpauc.classifiers import advice

    columns, examples = read_examples(data, target, positive, drop or (), groups)
    with threads_for(examples.frame.size), training_heartbeat("cross-validation"):
        found = advice.advise(
            examples.frame,
            examples.labels.positive,
            alpha=alpha,
            beta=beta,
            model=model,
            n_folds=folds,
            n_repeats=repeats,
            groups=examples.groups,
            preprocessing=columns.preprocessing(),
            time_limit=time_limit,
            random_state=seed,
            progress=progress,
        )
    document = {"data": str(data)} | asdict(found)
    show(document, _lines(document), as_json=as_json)


def _lines(document: Document) -> list[str]:
    stacked = document["model"] in AUTO
    ours, others = ("stack", "LightGBM, ") if stacked else ("region", "")
    rows = [["trained", "TPAUC [95 % interval]", f"{ours} minus it [95 % interval]", "p"]]
    for name in ("plain", "balanced"):
        over = document[f"over_{name}"]
        change = f"{over['difference']:+.4f} [{over['low']:+.4f}, {over['high']:+.4f}]"
        rows.append([f"{others}{name} cross-entropy", with_interval(document[name]), change, f"{over['p_value']:.3g}"])
    rows.append(["stack" if stacked else "for the region", with_interval(document["region"]), "", ""])
    folds = f"{document['n_folds']} folds, {document['n_repeats']} times; intervals allow for rows that folds share."
    return [
        region_line(document),
        f"Cross-validation of {document['model']} models in {folds}",
        "",
        aligned(rows),
        "",
        document["verdict"],
    ]
