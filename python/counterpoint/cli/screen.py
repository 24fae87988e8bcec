"""Output of the commands: results on standard output, notes and progress on standard error.

Control characters from files, names and arguments are escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from .. import api
from ..sweeps import SweepProgress
from ..units import printable, printable_json
from . import signals

_WIDTH_WITHOUT_TERMINAL = 160
"""Columns for a pipe or a file, where lines need not be broken."""


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes before widths are measured."""
        return super().render_str(printable(text, keep="\n"), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Escapes text that was not passed as a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, keep="\n"))


def output() -> Console:
    """Standard output. Colours only on a terminal, and not with NO_COLOR."""
    return _Console(
        width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL,
        highlight=False,
        markup=False,
        emoji=False,
    )


def note(sentence: str) -> None:
    """Prints a sentence on standard error."""
    print(printable(sentence), file=sys.stderr)


def stop_interrupted(finished: str) -> NoReturn:
    """Reports what was finished before Ctrl-C or a signal with the same effect, and ends the command.

    Raises:
        Exit: always, with the exit code of that signal.
    """
    note(f"interrupted; {finished}")
    raise typer.Exit(signals.exit_code())


def print_json(document: dict[str, Any]) -> None:
    """One JSON document on standard output."""
    print(printable_json(json.dumps(document, indent=2, ensure_ascii=False)))


def print_text(text: str) -> None:
    """Lines on standard output, as they are."""
    print(printable(text, keep="\n"))


@contextmanager
def progress(label: str) -> Iterator[api.Progress | None]:
    """A progress bar on a terminal; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(label), total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None)

        yield show


@contextmanager
def sweep_progress(label: str) -> Iterator[SweepProgress | None]:
    """A bar with the number of failures and the time left, on a terminal; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, failed="")

        def show(done: int, total: int, failed: int) -> None:
            bar.update(task, completed=done, total=total, failed=f"{failed} failed" if failed else "")

        yield show
