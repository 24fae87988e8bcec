"""Writes the tables of verdicts in docs/designs/: what the crash verifier says of each design, by machine and workload.

Each row of a table names a machine and a reading, each column a workload; a cell is one run. Pages where `default` has
1,000 evenly spaced crash points say so below their table.

``python tests/verdict_tables.py [--failing] [DESIGN...]`` puts what is measured into the pages: all rows, or those of
which a cell fails. The campaign and the conformance suite hold the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import counterpoint as cp
from counterpoint.contract.results import Crash
from counterpoint.verbs import catalogue

FOLDER = Path(__file__).parents[1] / "docs" / "designs"
_HEADER = re.compile(r"^\| machine \| variant \|(?P<workloads>.*)\|$", re.MULTILINE)
_ROW = re.compile(r"^\| (?P<machine>default|`small`)(?P<nested>, nested)? \| (?P<variant>hardened|published) \|.*\|$")
_SUMMARY = re.compile(r"^\| \[[a-z-]+\]\(([a-z-]+)\.md\) \|")
_SPACED = "1,000 evenly"
_PLAIN: Mapping[str, Any] = {"shrink": False, "blame": False}


@dataclass(frozen=True)
class Row:
    """A row of a table: a line of its page, and the options of its runs."""

    line: int
    head: str
    options: Mapping[str, Any]


def rows(page: str) -> tuple[list[str], list[Row]]:
    """The workloads of a page's table, and its rows."""
    header = _HEADER.search(page)
    if header is None:
        return [], []
    workloads = [name.strip(" `") for name in header["workloads"].split("|")]
    return workloads, list(_rows(page))


def _rows(page: str) -> Iterator[Row]:
    for number, line in enumerate(page.splitlines()):
        found = _ROW.match(line)
        if found is None:
            continue
        options: dict[str, Any] = {**_PLAIN, "variant": found["variant"]}
        if found["machine"] != "default":
            options["machine"] = "small"
        elif _SPACED in " ".join(page.split()):
            options["points"] = 1000
        if found["nested"]:
            options |= {"nested": True, "transactions": 4}
        yield Row(number, "|".join(line.split("|")[:3]).rstrip(), options)


def cell(verdict: Crash) -> str:
    """What a table says of a verdict."""
    if verdict.holds:
        return "holds"
    tried = verdict.crash_points + verdict.nested_points
    share = 100 * (tried - verdict.recovered) / tried
    return f"{verdict.violation_count:,} ({f'{share:.1f}' if share >= 0.05 else '<0.1'} %)"


def written(design: str, page: str, failing: bool = False) -> str:
    """A page with its table as measured; or with those of its rows of which a cell fails."""
    workloads, found = rows(page)
    found = [row for row in found if not failing or "%" in page.splitlines()[row.line]]
    calls = [(row, workload) for row in found for workload in workloads]
    modules = catalogue.MODULES if catalogue.needs_modules(design) else ()

    def judged(row: Row, workload: str) -> str:
        added = modules if "machine" in row.options else ()
        return cell(cp.crash(design, workload, **row.options, set=added))

    with ThreadPoolExecutor() as pool:
        cells = list(pool.map(lambda call: judged(*call), calls))
    lines = page.splitlines()
    for place, row in enumerate(found):
        measured = cells[place * len(workloads) : (place + 1) * len(workloads)]
        lines[row.line] = " | ".join([row.head, *measured]) + " |"
    return "\n".join(lines) + "\n"


def summed_up(index: str, pages: Mapping[str, str]) -> str:
    """The index of the designs with what their pages say: on how many workloads of a row a rule was broken."""
    lines = index.splitlines()
    for number, line in enumerate(lines):
        named = _SUMMARY.match(line)
        found = rows(pages[named[1]])[1] if named else []
        if named is None or not found:
            continue
        page = pages[named[1]].splitlines()
        shown = [row for row in found if "nested" not in row.options]
        cells = [summary(page[row.line].strip("|").split("|")[2:]) for row in shown]
        kept = line.strip("|").split("|")[: -len(cells)]
        lines[number] = f"|{'|'.join(kept)}| {' | '.join(cells)} |"
    return "\n".join(lines) + "\n"


def summary(cells: list[str]) -> str:
    """What the index says of a row."""
    failed = sum(one.strip() != "holds" for one in cells)
    return f"{failed} of {len(cells)} fail" if failed else "holds"


def main(arguments: list[str]) -> None:
    """Writes the pages of some designs, by default all, and the index."""
    failing = "--failing" in arguments
    designs = [one for one in arguments if one != "--failing"]
    for path in sorted(FOLDER.glob("*.md")):
        page = path.read_text()
        if (not designs or path.stem in designs) and rows(page)[1]:
            path.write_text(written(path.stem, page, failing))
            print(path.stem, flush=True)
    index = FOLDER / "index.md"
    index.write_text(summed_up(index.read_text(), {path.stem: path.read_text() for path in FOLDER.glob("*.md")}))


if __name__ == "__main__":
    main(sys.argv[1:])
