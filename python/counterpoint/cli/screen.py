"""Output of the commands: results on standard output, notes and progress on standard error.

Control characters from files, names and arguments are escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from ..system import signals
from ..system.errors import Interrupted
from ..system.units import printable, printable_json
from . import project

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..runs.sweeps import SweepProgress
    from ..verbs.api import Progress

_T = TypeVar("_T")


def output() -> Console:
    """Standard output. Colours only on a terminal, and not with NO_COLOR."""
    from .console import standard_output

    return standard_output()


def columns(*names: str) -> Table:
    """An empty table of a list, whose first column has names."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(names):
        table.add_column(name, no_wrap=index == 0, style="bold" if index == 0 else "")
    return table


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
    """One JSON document on standard output, with what the command has from the project's file."""
    if (taken := project.used()) is not None:
        document = {**document, "project": taken.document()}
    print(printable_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)))


def print_document(text: str) -> None:
    """A document on standard output, in which the one who wrote it has escaped what must be."""
    print(text)


def print_text(text: str) -> None:
    """Lines on standard output, as they are."""
    print(printable(text, keep="\n"))


@contextmanager
def progress(label: str) -> Iterator[Progress | None]:
    """A progress bar on a terminal; None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from .bars import amount

    with amount(label) as show:
        yield show


def kept_of(
    label: str, call: Callable[[Progress | None], _T], kept: Callable[[Interrupted], _T | None]
) -> tuple[_T, bool]:
    """What a call gives, with a bar, or after Ctrl-C what it has kept; and whether it was interrupted.

    Raises:
        Interrupted: it has kept nothing.
    """
    try:
        with progress(label) as told:
            return call(told), False
    except Interrupted as stop:
        found = kept(stop)
        if found is None:
            raise
        return found, True


@contextmanager
def sweep_progress(label: str) -> Iterator[SweepProgress | None]:
    """A bar with the number of failures and the time left, on a terminal; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from .bars import runs

    with runs(label) as show:
        yield show
