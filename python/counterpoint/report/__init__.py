"""Results as files: a self-contained page, a picture, a JSON document. Each appears whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .files import prepare_folder, write_json, write_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["prepare_folder", "write_json", "write_report"]


def write_report(frame: pl.DataFrame, folder: str | os.PathLike[str], *, command: str | None = None) -> Path:
    """Writes `report.html`, and its first charts as `compare.svg`, into a folder; returns the path of the page.

    Args:
        frame: what `compare` or `frame` gave, with at least one row.
        folder: made where it is missing.
        command: the command line that reproduces it, shown in the page.

    Raises:
        InputError: the folder cannot be written to.
    """
    # The charting libraries take longer to load than most commands to run.
    from . import page, picture

    path = prepare_folder(folder)
    write_text(path / "compare.svg", picture.draw(frame))
    return write_text(path / "report.html", page.render(frame, command))
