"""`check`: what the trace of a program shows without its recovery."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from ..contract.options import CheckOptions
from ..verbs import api
from . import options, screen
from .crash import VIOLATED


@options.takes(CheckOptions)
def check(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A recording of a program, plain or compressed.")],
    design: Annotated[
        str | None,
        typer.Option("-d", "--design", metavar="NAME|FILE.toml", help="Measure what findings cost on this design."),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            "--top",
            metavar="N",
            parser=options.lines_shown,
            help="Findings to show of each class, and to measure, at least 1.",
        ),
    ] = options.TOP,
    as_json: options.Json = False,
    **given: Unpack[CheckOptions],
) -> None:
    """Find stores that are never made durable, and useless flushes and fences, without a recovery."""
    with screen.progress(f"checking {trace}") as progress:
        found = api.check(trace, design=design, top=top, progress=progress, **given)
    if as_json:
        screen.print_json(found.to_dict())
    else:
        from .check_table import check_table

        screen.output().print(check_table(found, top), crop=False)
    if not found.holds:
        raise typer.Exit(VIOLATED)
