"""`reproduce`: the papers' figures and tables again, and their claims held against what is measured."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from ..papers.model import Reproduction
from ..papers.reproduce import ALL, names_of
from ..papers.reproduce import reproduce as measure
from ..report import prepare_folder, write_reproduction
from . import options, screen, tables

CLAIM_MISSED = 1


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="[PAPER|all]", help="A paper, which goes by the name of its machine; default all.")
    ] = ALL,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small footprints and few transactions: whether it works, not what is true.")
    ] = False,
    workers: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Reproduce the figures, tables and claims of the papers: a scorecard here, charts as report.html in DIR."""
    names_of(paper)
    if out is not None:
        prepare_folder(out)
    command = shlex.join(["counterpoint", *sys.argv[1:]])
    with screen.progress("simulating") as progress:
        found = measure(paper, quick=quick, workers=workers, progress=progress, command=command)
    show(found, as_json)
    if out is not None:
        screen.note(f"report: {write_reproduction(found, out)}")
    if found.held < len(found.claims):
        raise typer.Exit(CLAIM_MISSED)


def show(found: Reproduction, as_json: bool) -> None:
    """The scorecard for eyes, or everything as one JSON document."""
    if as_json:
        screen.print_json(found.to_dict())
    else:
        screen.output().print(tables.scorecard(found))
