"""`tpauc data fetch`: the image sets of the paper, from their official addresses."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from tpauc.cli._text import show
from tpauc.cli.errors import progress
from tpauc.cli.options import AsJson, DataDir, Debug, Overwrite


def fetch(
    name: Annotated[
        Literal["cifar10", "cifar100", "tiny-imagenet"], typer.Argument(metavar="NAME", help="Which image set.")
    ],
    data_dir: DataDir,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Download an image set: cifar10, cifar100 or tiny-imagenet.

    From its official address. An interrupted download is resumed; the archive is checked against its SHA-256 sum,
    unpacked into the folder and removed. An image set that is there already is left as it is.
    """
    from tpauc.paper.data import archives

    archive = archives.ARCHIVES[name]
    bar = DownloadBar(name, archive.remote.size)
    try:
        fetched = archives.fetch(name, data_dir, overwrite=overwrite, progress=bar.show, say=bar.end)
    finally:
        bar.end()
    folder = data_dir / archive.folder
    line = f"{name} is in {folder}" if fetched else f"{name} is there already: {folder}"
    show({"name": name, "folder": str(folder), "fetched": fetched}, [line], as_json=as_json)


class DownloadBar:
    """A progress bar on stderr for ``size`` bytes, from the first byte on; without a terminal, the name only."""

    def __init__(self, name: str, size: int) -> None:
        self._bar = typer.progressbar(length=size, label=f"tpauc: {name}", file=sys.stderr)
        self._shown = False

    def show(self, arrived: int) -> None:
        """Draw how much has arrived."""
        if not self._shown:
            self._bar.__enter__()
            self._shown = True
        self._bar.update(arrived - self._bar.pos)

    def end(self, line: str | None = None) -> None:
        """Leave the bar as it is, and print a line below it."""
        if self._shown:
            self._bar.render_finish()
            self._shown = False
        if line is not None:
            progress(line)
