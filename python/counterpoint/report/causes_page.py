"""`crash.html` of the legal states of a recorded program: why memories fail, in the program's own source lines.

A cause is a listing of the lines that bear on it, each marked with what happened there. Source files that are not there
any more leave the names of the places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..contract.results import Cause, Crash, Place
from ..system import units
from ..system.paths import file_and_line
from ..verbs import catalogue
from . import colours, headline
from .crash_page import outcome
from .templates import template

SHOWN = 50
"""Causes on the page; `crash.json` has all."""

_AROUND, _GAP = 2, 3
"""Lines of source shown before and after a marked one; where fewer are between two such parts, they are shown, too."""

_SOURCE_MAX = 4 << 20
"""The largest source file that is read, in bytes."""

_NEEDED: Mapping[str, str] = {
    "missing-flush": "a flush",
    "stored-after-flush": "a flush",
    "counter-not-durable": "a write-back of the counter",
    "counter-ahead": "the lost data",
    "order-between-lines": "a flush with its fence",
}
"""What comes too late for the kept store, by kind; for all others it is a fence."""

_KINDS: Mapping[str, str] = {
    "missing-flush": "A store is never flushed",
    "stored-after-flush": "A store comes after the flush of its line",
    "missing-fence": "A flush is not completed in time",
    "non-temporal-not-fenced": "A store past the caches is not completed in time",
    "counter-not-durable": "Data is durable without its counter",
    "counter-ahead": "A counter is durable without its data",
    "order-within-line": "Two stores to one line come in the wrong order",
    "order-between-lines": "Two lines become durable in the wrong order",
    "torn-store": "A store is durable in part",
    "not-atomic": "An update is not atomic, or the recovery does not mend it",
    "wrong-recovery": "The program does not recover, with nothing lost",
}


@dataclass(frozen=True)
class Mark:
    """What happened at a source line: one of `lost`, `flushed`, `kept` and `power`, and in words."""

    kind: str
    text: str


@dataclass(frozen=True)
class Line:
    """A line of a listing; without a number it stands for lines that are left out."""

    number: int | None
    text: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Listing:
    """Lines of one source file; no lines where the file cannot be read or the debug information does not say."""

    name: str
    lines: tuple[Line, ...]
    places: tuple[tuple[str, Mark], ...]


def render(verdict: Crash) -> str:
    """The page of a verdict that has causes."""
    causes = [(cause, _KINDS[cause.kind]) for cause in verdict.causes or ()]
    causes += [(one.cause, f"In the recovery: {_KINDS[one.cause.kind]}") for one in verdict.recovery_causes]
    return template("causes.html").render(
        verdict=verdict,
        outcome=outcome(verdict),
        said=headline.of_causes(verdict, [title for _, title in causes]),
        facts=_facts(verdict),
        causes=[(cause, title, tuple(listings(cause)), _lost(cause)) for cause, title in causes[:SHOWN]],
        number=units.number,
        total=len(causes),
        reproduce=[violation.reproduce for violation in verdict.violations[:1]],
        engine=catalogue.engine_version(),
        colours=colours,
        dark_rules="",
    )


def listings(cause: Cause) -> Iterator[Listing]:
    """The source lines of a cause, file by file in the order of what happened."""
    by_file: dict[str, dict[int, list[Mark]]] = {}
    unknown: list[tuple[str, Mark]] = []
    for place, mark in _marked(cause):
        file, line = file_and_line(place.source or "")
        if not file or line is None:
            unknown.append((place.place, mark))
            continue
        marks = by_file.setdefault(file, {}).setdefault(line, [])
        if mark not in marks:
            marks.append(mark)
    for file, marked in by_file.items():
        source = _source(file)
        if source is None or max(marked) > len(source):
            places = [(f"{file}:{number}", mark) for number, marks in sorted(marked.items()) for mark in marks]
            yield Listing(file, (), tuple(places))
        else:
            yield Listing(file, tuple(_lines(source, marked)), ())
    if unknown:
        yield Listing("", (), tuple(dict.fromkeys(unknown)))


def _lost(cause: Cause) -> list[tuple[str, ...]]:
    """The lines that are lost, as cells."""
    return [(line.file, f"{line.offset:#x}", str(line.thread), line.missing) for line in cause.lost]


def _marked(cause: Cause) -> Iterator[tuple[Place, Mark]]:
    if cause.begins_at is not None:
        yield cause.begins_at, Mark("lost", "fails from here on, with nothing lost")
    if cause.ends_at is not None:
        yield cause.ends_at, Mark("kept", "this store mends it")
    for line in cause.lost:
        yield line.stored, Mark("lost", "stored here, and lost")
        if line.called_at is not None:
            yield (
                Place(line.called_at, line.called_at, None, None),
                Mark("lost", "the function that stores it is called here"),
            )
        if line.flushed is not None:
            yield line.flushed, Mark("flushed", "flushed here")
        if line.fenced_by is not None:
            yield line.fenced_by, Mark("kept", "fenced only by chance, by a locked instruction here")
        if line.needed_before is not None:
            what = _NEEDED.get(line.missing, "a fence")
            yield line.needed_before, Mark("kept", f"{what} is needed before this store, which is kept")
    told = {line.needed_before for line in cause.lost}
    for kept in cause.kept if cause.lost else ():
        if kept.stored not in told:
            yield kept.stored, Mark("kept", "stored here, and kept")
    if cause.before is not None:
        yield cause.before, Mark("power", "power fails just before this")


def _source(file: str) -> Sequence[str] | None:
    """The lines of a source file; None if it cannot be read."""
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > _SOURCE_MAX:
            return None
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return None


def _lines(source: Sequence[str], marked: Mapping[int, Iterable[Mark]]) -> Iterator[Line]:
    """The marked lines with some around each."""
    shown = sorted(
        {
            near
            for number in marked
            for near in range(number - _AROUND, number + _AROUND + 1)
            if 1 <= near <= len(source)
        }
    )
    before = shown[0] - 1 if shown else 0
    for number in shown:
        between = range(before + 1, number)
        if len(between) > _GAP:
            yield Line(None, "", ())
        elif between:
            yield from (Line(one, source[one - 1], ()) for one in between)
        yield Line(number, source[number - 1], tuple(marked.get(number, ())))
        before = number


def _facts(verdict: Crash) -> dict[str, str]:
    facts = {
        "trace": verdict.workload,
        "design": f"{verdict.design} ({verdict.variant})",
        "places where power failed": units.number(verdict.crash_points),
        "different memories": units.number(verdict.distinct_states),
    }
    if verdict.recoveries is not None:
        facts |= {"command": verdict.recoveries.command, "memories that fail": units.number(verdict.recoveries.failed)}
        if (again := verdict.recoveries.nested) is not None:
            failed = units.number(again.failed + again.timed_out)
            facts |= {"memories that fail when power fails in the recovery": failed}
    rests_on = {"rests on": " ".join(verdict.provisos)} if verdict.provisos else {}
    return facts | {"covered": verdict.coverage} | rests_on
