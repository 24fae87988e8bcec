"""`check`: what the trace of a program shows without its recovery."""

from __future__ import annotations

from typing import Annotated, Literal, Unpack

import typer

from ..contract.options import CheckOptions
from ..verbs import api
from ..verbs.review import load_baseline, review
from ..verbs.suppressions import load
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
    suppressions: Annotated[
        list[str] | None,
        typer.Option("--suppressions", metavar="FILE.toml", help="Leave out the findings that it says; repeatable."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE.json", help="Leave out what an earlier check --json found."),
    ] = None,
    only: Annotated[
        Literal["correctness", "performance"] | None,
        typer.Option("--only", help="Only findings of this class are shown, and decide the exit code."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show findings inside PMDK's libraries one by one, too.")
    ] = False,
    as_json: options.Json = False,
    output_format: options.OutputFormat = None,
    **given: Unpack[CheckOptions],
) -> None:
    """Find stores that are never made durable, and useless flushes and fences, without a recovery."""
    shown = options.format_of(output_format, as_json)
    files = [load(path) for path in suppressions or ()]
    earlier = None if baseline is None else load_baseline(baseline)
    with screen.progress(f"checking {trace}") as progress:
        found = api.check(trace, design=design, top=top, progress=progress, **given)
    reviewed = review(found, suppressions=files, baseline=earlier, only=only)
    if shown == "json":
        screen.print_json(reviewed.found.to_dict())
    elif shown == "text":
        from .check_table import check_table

        screen.output().print(check_table(reviewed, top, fold=not show_all), crop=False)
    else:
        from ..report import ci

        screen.print_document(ci.WRITTEN[shown](ci.of_check(reviewed)))
    if not reviewed.found.holds:
        raise typer.Exit(VIOLATED)
