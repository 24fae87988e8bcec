"""Figures of runs as other memory simulators print theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..contract.results import LineRun, Run
from ..verbs.peer_stats import PeerStatistics, Section, Tool, peer_statistics

_WIDTH = 43
"""Of DRAMsim3's rules."""


def peer_text(runs: Iterable[Run | LineRun], tool: Tool) -> str:
    """The statistics of each run in the layout of that simulator, and at the end the names that have no figure."""
    found = [peer_statistics(run, tool) for run in runs]
    lines = [line for one in found for line in (f"design: {one.design}", *_LAYOUTS[tool](one), "")]
    for names in dict.fromkeys(one.without for one in found):
        lines.append(f"No figure means the same as these, so they are left out: {', '.join(names)}")
    return "\n".join(lines)


def _value(value: float | str | None) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _dramsim3(one: PeerStatistics) -> Iterator[str]:
    for part in one.sections:
        yield from ("#" * _WIDTH, f"## Statistics of {part.title}", "#" * _WIDTH)
        for row in part.known:
            yield f"{row.name:<30} = {_value(row.value):>12}   # {row.told}"


def _ramulator(one: PeerStatistics) -> Iterator[str]:
    for part in one.sections:
        title, _, place = part.title.partition(": ")
        indent = "  " if place else ""
        yield f"{indent}{title}:"
        if place:
            yield f"{indent}  id: {place}"
        for row in part.known:
            yield f"{indent}  {row.name}: {_value(row.value)}"


def _champsim(one: PeerStatistics) -> Iterator[str]:
    for part in one.sections:
        if part.title.startswith("Channel"):
            yield from _channel(part)
        else:
            yield from (part.title, "")
            yield from (f"{row.name}: {_value(row.value)}" for row in part.known)
            yield from ("", "DRAM Statistics")


def _channel(part: Section) -> Iterator[str]:
    yield ""
    for row in part.known:
        name = row.name if row.name.startswith(" ") else f"{part.title} {row.name}"
        yield f"{name.rstrip()}: {_value(row.value):>10}"


_LAYOUTS = {"dramsim3": _dramsim3, "ramulator": _ramulator, "champsim": _champsim}
