"""Reads corpus.toml, the table of the programs in bugs/, and the marks in their sources.

Usage: corpus.py. Prints the tables of docs/bugs.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from counterpoint.verbs.bugs import FOLDER, MARK, table

TOOLS = ("pmemcheck", "pmreorder", "xfdetector", "witcher", "jaaru")


@dataclass(frozen=True)
class Program:
    """One row: corpus.toml says what the keys mean."""

    name: str
    pattern: str
    kind: str
    description: str
    sources: list[str]
    tools: dict[str, str]
    marks: str = "lost"
    threads: int = 1
    check: str = ""

    @property
    def path(self) -> Path:
        """Its source."""
        return FOLDER / f"{self.name}.c"

    @property
    def line(self) -> int:
        """The one line that its source marks."""
        (marked,) = (number for number, line in enumerate(self.path.read_text().splitlines(), 1) if MARK in line)
        return marked

    @property
    def seen_by(self) -> list[str]:
        """`explore`, and `check` if something that the marked line stored, and nothing else, is covered by no flush and
        fence when the program ends, which the trace alone shows. What is only overtaken need not be uncovered."""
        return [*(["check"] if self.check and self.check != "not-ordered" else []), "explore"]


def programs() -> list[Program]:
    """All rows, in their order."""
    return [Program(**row) for row in table()["program"]]


def row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def tables() -> list[str]:
    """The lines of the tables of docs/bugs.md, without their heads."""
    found = programs()
    patterns = [row([f"`{one.name}`", one.pattern, one.kind, "; ".join(one.sources) or "-"]) for one in found]
    tools = [
        row([f"`{one.name}`", *(", ".join(one.seen_by), one.check or "-", *(one.tools[tool] for tool in TOOLS))])
        for one in found
    ]
    return [*patterns, *tools]


if __name__ == "__main__":
    print("\n".join(tables()))
