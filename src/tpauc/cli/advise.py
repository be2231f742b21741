"""`tpauc advise`: from a table to an answer whether training for the region helps on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tpauc._validation import import_extra
from tpauc.cli._checks import check_columns, check_named_columns
from tpauc.cli.features import FeatureColumns
from tpauc.cli.judging import Document
from tpauc.cli.labels import labels_of
from tpauc.cli.table_io import read_table
from tpauc.cli.threads import threads_for
from tpauc.region import Region


@dataclass(frozen=True)
class AdviceSettings:
    """What `tpauc advise` was asked for, besides the file and the region."""

    target: str
    positive: str | None
    model: str
    drop: tuple[str, ...]
    folds: int
    repeats: int
    seed: int


def advise_on_table(
    data: Path, region: Region, settings: AdviceSettings, *, progress: Callable[[str], None] = print
) -> Document:
    """Cross-validate on a table, and return the advice with the name of the file.

    Parameters
    ----------
    data : Path
        The table.
    region : Region
    settings : AdviceSettings
    progress : callable
        Called with lines of text that say how far it is.
    """
    for module in ("sklearn", "pandas", *(["lightgbm"] if settings.model == "lightgbm" else [])):
        import_extra(module, "lightgbm" if module == "lightgbm" else "cli")
    from tpauc.classifiers.advice import advise

    table = read_table(data)
    check_named_columns(table.column_names, settings.drop, data)
    check_columns([settings.target, *settings.drop], table.column_names, data)
    columns = FeatureColumns.of(table, leave_out=[settings.target, *settings.drop])
    labels = labels_of(table[settings.target], f"column {settings.target!r}", positive=settings.positive)
    frame = columns.frame(table)
    with threads_for(frame.size):
        advice = advise(
            frame,
            labels.positive,
            alpha=region.alpha,
            beta=region.beta,
            model=settings.model,
            n_folds=settings.folds,
            n_repeats=settings.repeats,
            preprocessing=columns.preprocessing(),
            random_state=settings.seed,
            progress=progress,
        )
    return {"data": str(data)} | asdict(advice)
