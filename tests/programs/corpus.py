"""Reads corpus.toml, the table of the programs of this folder, and the marks in their sources.

Usage: corpus.py. Prints the tables of docs/bugs.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MARK = "/* BUG: "
TOOLS = ("pmemcheck", "pmreorder", "xfdetector", "witcher", "jaaru")


@dataclass(frozen=True)
class Program:
    """One row: corpus.toml says what the keys mean."""

    name: str
    pattern: str
    kind: str
    description: str
    line: int
    marks: str
    threads: int
    seen_by: list[str]
    check: str
    sources: list[str]
    pmemcheck: str
    pmreorder: str
    xfdetector: str
    witcher: str
    jaaru: str

    @property
    def path(self) -> Path:
        """Its source."""
        return HERE / f"{self.name}.c"

    def marked(self) -> list[int]:
        """The lines that its source marks."""
        return [number for number, line in enumerate(self.path.read_text().splitlines(), 1) if MARK in line]


@cache
def table() -> dict[str, Any]:
    """The whole file."""
    return tomllib.loads((HERE / "corpus.toml").read_text())


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
        row([f"`{one.name}`", *(", ".join(one.seen_by), one.check or "-", *(getattr(one, tool) for tool in TOOLS))])
        for one in found
    ]
    return [*patterns, *tools]


if __name__ == "__main__":
    print("\n".join(tables()))
