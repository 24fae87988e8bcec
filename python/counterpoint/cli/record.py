"""`record`: what a program does to persistent memory, as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import screen


def record(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM ARGS", help="The program, best after `--`.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The trace; default PROGRAM's name with .cptrace.")
    ] = None,
    pmem: Annotated[
        list[str] | None,
        typer.Option(
            "--pmem",
            metavar="PATTERN",
            help="Record only mappings of files whose whole path matches (* and ?); repeat for several.",
        ),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--files",
            metavar="PATTERN",
            help="Record also files opened for writing, mapped or not, whose whole path matches; repeatable.",
        ),
    ] = None,
    mark_stderr: Annotated[
        str | None,
        typer.Option(
            "--mark-stderr", metavar="TEXT", help="Each line on standard error that begins with TEXT is a mark."
        ),
    ] = None,
) -> None:
    """Run a program and record what it does to persistent memory; its exit code is passed on."""
    from ..verbs import recorder

    if few := recorder.few_files():
        screen.note(f"warning: {few}")
    recording = recorder.record(program, out, pmem=pmem or (), files=files or (), mark_stderr=mark_stderr)
    summary = recording.summary
    for sentence in summary.lacks:
        screen.note(f"warning: the trace lacks something, and every verdict on it will say so: {sentence}")
    if not summary.paths:
        screen.note(
            "the program mapped no file as shared and writable: the trace holds no operation; "
            "--files PATTERN records what it writes to files that it opens"
        )
    counts = ", ".join(
        f"{getattr(summary, what):,} {what}" for what in ("instructions", "loads", "stores", "flushes", "fences")
    )
    screen.note(f"{recording.path}: {counts}")
    raise typer.Exit(recording.status)
