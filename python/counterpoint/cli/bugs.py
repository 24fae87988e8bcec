"""`bugs`: the corpus of bugs of programs on persistent memory, which comes with the package."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from ..verbs import bugs as corpus
from . import options, screen


def bugs(
    bug: Annotated[str | None, typer.Argument(metavar="BUG", help="One program, by name: its source.")] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """List programs with known bugs of persistent memory, print the source of one, or write all with --out."""
    if bug is not None:
        if as_json or out is not None:
            raise typer.BadParameter("one program is printed as its source: leave out --json and --out, or the name")
        screen.print_text(corpus.source(bug).rstrip("\n"))
        return
    if out is not None:
        screen.note(f"programs: {corpus.copy(out)}")
    found = corpus.bugs()
    if as_json:
        screen.print_json({"schema": 1, "bugs": [dataclasses.asdict(one) for one in found]})
    elif out is None:
        table = screen.columns("bug", "kind", "what is wrong", "counterpoint check")
        for one in found:
            table.add_row(one.name, one.kind, one.description, one.check or "-")
        screen.output().print(table)
