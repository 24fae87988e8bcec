"""What the papers' measurements share: claims held against measured values, tables, files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import counterpoint as cp

FIVE = ("array", "queue", "hash", "btree", "rbtree")
"""The workloads of the SecPM and counter-atomicity papers."""

Runs: TypeAlias = Mapping[tuple[str, str], cp.Run]
"""By design and workload."""

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


@dataclass
class Bench:
    """Runs the simulations of one paper and keeps every one for the record.

    Attributes:
        machine: the paper's preset, whose name the paper goes by.
        workloads: the paper's.
        transactions: measured per core.
        footprint: where a figure does not vary it; None for the preset's.
        tx_size: where a figure does not vary it.
        record: every run so far, as a document.
    """

    machine: str
    workloads: tuple[str, ...]
    transactions: int
    footprint: str | None
    tx_size: int
    record: list[dict[str, Any]] = field(default_factory=list)

    def runs(
        self,
        figure: str,
        designs: Iterable[str],
        *,
        cores: int = 1,
        tx_size: int | None = None,
        footprint: str | None = None,
        warmup: int | None = None,
        set_: Iterable[str] = (),
    ) -> Runs:
        """Every design on every workload at one point of a figure, variant `published`."""
        changed = list(set_)
        size = tx_size or self.tx_size
        found = cp.run_matrix(
            designs,
            self.workloads,
            machine=self.machine,
            variant="published",
            tx_size=size,
            cores=cores,
            transactions=self.transactions,
            warmup=warmup,
            footprint=footprint or self.footprint,
            set=changed,
        )
        self.record += [{"figure": figure, "set": changed, **document(run)} for run in found]
        words = [counted(cores), f"{size} B", footprint or "", *changed]
        print(f"{self.machine}: figure {figure}, {', '.join(word for word in words if word)}", file=sys.stderr)
        return {(run.design, run.workload): run for run in found}


def throughput(run: cp.Run) -> float:
    """Transactions per simulated second."""
    return run.stats.throughput_tps


def over(runs: Runs, figure: Callable[[cp.Run], float], above: str, below: str) -> list[float]:
    """A figure of one design over that of another, by workload."""
    return [figure(runs[above, work]) / figure(runs[below, work]) for design, work in runs if design == above]


def percent_more(ratios: Iterable[float]) -> list[float]:
    """Ratios as percent above 1."""
    return [100 * (ratio - 1) for ratio in ratios]


def counted(cores: int) -> str:
    """A number of cores in words."""
    return f"{cores} core{'' if cores == 1 else 's'}"


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


def by_workload(
    title: str, note: str, corner: str, workloads: Sequence[str], rows: Mapping[str, Sequence[float]], digits: int = 2
) -> list[str]:
    """A table of figures with workloads, and their mean, across."""
    cells = [(name, *with_mean(values, digits)) for name, values in rows.items()]
    return ["", f"### {title}", "", note, "", *table((corner, *workloads, "mean"), cells)]


def with_mean(values: Sequence[float], digits: int = 2) -> list[str]:
    """Figures by workload, and their mean, as cells."""
    return [f"{value:.{digits}f}" for value in (*values, mean(values))]


def claims_table(rows: Iterable[Row]) -> list[str]:
    """The claims in Markdown."""
    header = ("claim", "at", "published", "measured", "holds")
    return table(header, [(r.claim, r.at, r.published, r.measured, "yes" if r.holds else "**no**") for r in rows])


def opening(paper: str, setting: str, rows: Sequence[Row]) -> list[str]:
    """How a paper's page begins: what was run, and the table of its claims."""
    held = sum(row.holds for row in rows)
    return [
        f"# Measured claims of the {paper} paper",
        "",
        f"Engine {cp.engine_version()}, variant `published`, seed 1, {setting}.",
        f"Written by `make validate PAPER={paper}`. {held} of {len(rows)} rows hold; "
        "[DEVIATIONS.md](DEVIATIONS.md) explains the",
        "others. Averages are over the five workloads.",
        "",
        *claims_table(rows),
    ]
