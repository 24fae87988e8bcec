"""A process and all that it has started, which hear a signal together, as the processes of a terminal hear Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path


def tell_all(ancestor: int, number: signal.Signals | int) -> None:
    """Sends a signal to a process that has not been waited for, and to every process below it.

    Parents hear it before their children, and what is started meanwhile hears it, too.
    """
    told: set[int] = set()
    while new := [process for process in family(ancestor) if process not in told]:
        for process in new:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        told.update(new)


def family(ancestor: int) -> list[int]:
    """A process, its children, their children, and so on; `ancestor` alone where the system does not tell."""
    children = _children()
    found = [ancestor]
    for process in found:
        found += children[process]
    return found


def _children() -> defaultdict[int, list[int]]:
    """The children of each process."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name, in parentheses, may contain anything.
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
        except (OSError, IndexError):
            continue
        children[int(parent)].append(int(folder.name))
    return children
