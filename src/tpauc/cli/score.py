"""`tpauc score`: from a run to scores, alarms and probabilities of new rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tpauc._validation import import_extra
from tpauc.cli._text import Document, show
from tpauc.cli.errors import check_distinct_options
from tpauc.cli.features import FeatureColumns, read_features
from tpauc.cli.fit import check_other_file, logits
from tpauc.cli.options import AsJson, Debug, Overwrite
from tpauc.cli.runs import CARD, deployed_threshold, load_run
from tpauc.cli.table_io import check_table_path, write_table

PROBABILITY = "calibrated_probability"


def score(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that fit made.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table with the columns that the model was trained on.")],
    out: Annotated[Path, typer.Option(metavar="SCORES", help="CSV, TSV or Parquet file to write.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of DATA to copy, such as an id; may be repeated."),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help=f"Write a column {PROBABILITY} too: the probability of the positive class, a logistic function of the "
            "score fitted to out-of-fold scores of the training rows (Platt), at their share of positives.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Write the scores of a run for the rows of a table.

    A score is a logit, higher for the positive class; "alarm" is true where it is at least the threshold of the run,
    which "tpauc threshold" shows and changes. Columns that the model does not know are ignored.
    """
    pyarrow = import_extra("pyarrow", "cli")
    check_other_file(out, data, "--out must be another file than DATA")
    check_table_path(out, overwrite=overwrite)
    keep = keep or []
    check_distinct_options([*keep, "score", "alarm", *([PROBABILITY] if proba else [])], "--keep")
    pipeline, card = load_run(run)
    columns = FeatureColumns(**_check_column_lists(card["columns"], [field.name for field in fields(FeatureColumns)]))
    table = read_features(data, columns, keep=keep)
    frame = columns.frame(table)
    scores, threshold = logits(pipeline, frame), deployed_threshold(card, run / CARD)
    found = {"score": scores, "alarm": scores >= threshold}
    if proba:
        found[PROBABILITY] = np.asarray(pipeline.predict_proba(frame)[:, 1], dtype=np.float64)
    write_table(out, pyarrow.table({name: table[name] for name in keep} | found))
    rows, alarms = int(scores.size), int(np.count_nonzero(found["alarm"]))
    document: Document = {"run": str(run), "data": str(data), "out": str(out)}
    document |= {"rows": rows, "alarms": alarms, "threshold": threshold}
    line = f"{rows:,} rows scored, {alarms:,} alarms at scores of at least {threshold:.6g}: {out}"
    show(document, [line], as_json=as_json)


def _check_column_lists(columns: Mapping[str, Any], kinds: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a model by kind, as its card lists them."""
    lists = {kind: columns.get(kind) for kind in kinds}
    for kind, names in lists.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"the card of the run is damaged: columns[{kind!r}] must be a list of names, got {names!r}"
            )
    return {kind: tuple(names) for kind, names in lists.items() if names is not None}
