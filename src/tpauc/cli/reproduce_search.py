"""`tpauc reproduce search`: the parameters of a method with the best validation TPAUC."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tpauc._validation import import_extra
from tpauc.cli._checks import UsageError
from tpauc.cli.experiments import (
    DatasetName,
    Epochs,
    Parameters,
    Recipe,
    Split,
    Subset,
    Threads,
    assignments,
    checked_request,
    listed,
    region_of,
    use_threads,
)
from tpauc.cli.options import AsJson, DataDir, Debug, Seed
from tpauc.cli.program import progress


def search(
    dataset: DatasetName,
    method: Annotated[str, typer.Option(metavar="NAME", help="Whose parameters to search.")],
    subset: Subset = 1,
    region: Annotated[
        str, typer.Option(metavar="SHARES", help="Region to search for, such as 0.3, or 0.3:0.5 for alpha:beta.")
    ] = "0.3",
    trials: Annotated[
        int, typer.Option(min=1, help="Finished trials that the study shall have, of all machines.")
    ] = 20,
    epochs: Epochs = 50,
    recipe: Recipe = "paper",
    parameters: Parameters = None,
    seed: Seed = 0,
    split: Split = 0,
    storage: Annotated[
        str | None, typer.Option(metavar="URL", help="Optuna's storage, to share a study; search.db in OUT by default.")
    ] = None,
    data_dir: DataDir = Path("data"),
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of a table, keeps the trainings.")] = Path(
        "table"
    ),
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Search the paper's grids for the parameters with the best validation TPAUC.

    Test data are not looked at: "tpauc reproduce table --set NAME=VALUE" with what was found measures on them, and
    finds the training done. Every process that is given the same --storage takes part in the same study.
    """
    from tpauc.paper.experiments.search import Search, StorageError

    request = checked_request(
        dataset=dataset,
        subset=subset,
        methods=[method],
        seeds=[seed],
        epochs=epochs,
        regions=listed([region], region_of, "--region"),
        recipe=recipe,
        split=split,
        parameters=assignments(parameters),
    )
    logging = import_extra("optuna", "paper").logging
    logging.set_verbosity(logging.WARNING)  # progress lines say the same
    use_threads(threads)
    try:
        study = Search(request, out, data_dir, storage=storage)
    except StorageError as error:
        raise UsageError(f"--{error}") from error
    except ValueError as error:
        raise UsageError(str(error)) from error
    found = study.run(trials, say=progress)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2, ensure_ascii=False))
        return
    chosen = f"--regions {region} " + " ".join(f"--set {name}={value:g}" for name, value in found.parameters.items())
    typer.echo(
        f"{found.study}: validation TPAUC {found.validation_tpauc:.4f}, the best of {found.trials}, with {chosen}"
    )
