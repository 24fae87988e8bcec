"""What the papers' measurements share: claims held against measured values, tables, files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import counterpoint as cp

FIVE = ("array", "queue", "hash", "btree", "rbtree")
"""The workloads of the SecPM and counter-atomicity papers."""

Claims: TypeAlias = dict[str, dict[str, Any]]
"""The entries of `claims.toml` by their id."""


@dataclass(frozen=True)
class Row:
    """One claim, or one size of it."""

    claim: str
    at: str
    published: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Measured:
    """What came of one paper, or of one family of papers.

    Attributes:
        name: of its files.
        rows: the claims.
        page: for people.
        runs: every run behind it, as JSON text.
    """

    name: str
    rows: list[Row]
    page: str
    runs: str

    def write(self, folder: Path) -> None:
        """Writes both files. Each appears whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in ((".md", self.page), (".json", self.runs)):
            part = folder / f"{self.name}{suffix}.part"
            part.write_text(text)
            part.replace(folder / f"{self.name}{suffix}")


def span(values: Iterable[float], digits: int) -> str:
    """Least and greatest, in words."""
    values = list(values)
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def band(claim: dict[str, Any], at: str, values: dict[str, float], low: float, high: float, digits: int) -> Row:
    """A claim that every value lies between `low` and `high`, give or take its tolerance."""
    tolerance = claim["tol"]
    holds = all(low - tolerance <= value <= high + tolerance for value in values.values())
    outside = [name for name, value in values.items() if not low - tolerance <= value <= high + tolerance]
    measured = span(values.values(), digits) + (f" (outside: {', '.join(outside)})" if outside else "")
    return Row(claim["id"], at, f"{low:g} to {high:g} ± {tolerance:g}", measured, holds)


def average(claim: dict[str, Any], at: str, values: Iterable[float], published: float) -> Row:
    """A claim about the mean of the values."""
    measured = mean(values)
    holds = abs(measured - published) <= claim["tol"]
    return Row(claim["id"], at, f"{published:g} ± {claim['tol']:g}", f"{measured:.1f}", holds)


def at_most(claim: dict[str, Any], at: str, values: dict[str, float], digits: int) -> Row:
    """A claim that no value exceeds its bound."""
    worst = max(values, key=lambda name: values[name])
    measured = f"{values[worst]:.{digits}f} ({worst})"
    return Row(claim["id"], at, f"at most {claim['bound']:g}", measured, values[worst] <= claim["bound"])


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean."""
    values = list(values)
    return sum(values) / len(values)


def document(run: cp.Run) -> dict[str, Any]:
    """A run as it is kept: without the figures of the computer it ran on."""
    kept = run.to_dict()
    del kept["host"]
    return kept


def as_lines(documents: Sequence[dict[str, Any]]) -> str:
    """A JSON array with a line per document."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in documents) + "\n]\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]


def claims_table(rows: Iterable[Row]) -> list[str]:
    """The claims in Markdown."""
    header = ("claim", "at", "published", "measured", "holds")
    return table(header, [(r.claim, r.at, r.published, r.measured, "yes" if r.holds else "**no**") for r in rows])
