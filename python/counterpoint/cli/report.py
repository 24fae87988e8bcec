"""`report`: draws a sweep of a store."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..system.files import prepare_folder
from . import options, screen
from .written import note_figures


def report(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The file that `sweep` keeps its results in.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the page.")] = Path(),
    sweep: Annotated[
        str | None, typer.Option("--sweep", metavar="NAME", help="Which sweep; default the one that ran last.")
    ] = None,
    figures: options.Figures = None,
) -> None:
    """Draw the results of a sweep as a page, sweep.html."""
    from ..report import write_figures, write_sweep_page
    from ..runs.store import Store

    folder = None if figures is None else prepare_folder(figures)
    command = shlex.join(["counterpoint", *sys.argv[1:]])
    screen.note(f"report: {write_sweep_page(store, out, sweep=sweep, command=command)}")
    if folder is not None:
        with Store(store, read_only=True) as opened:
            note_figures(write_figures(opened, folder, sweep=sweep), folder)
