"""What recovery costs, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import MemoryCost, RecoveryCost, SmallBoot, Work
from ..system import units
from ..verbs.frames import rests_on

_KEPT = {"adr": "ADR", "non-volatile": "non-volatile", "battery": "battery"}
"""What keeps something on the chip, in words."""

_WORK = ("lines read", "lines written", "MACs", "hashes")
"""The columns of what a boot does."""


def recovery_table(found: Sequence[RecoveryCost]) -> RenderableType:
    """The cost by size, the steps of the largest memory, small memories that were recovered, what is on the chip, and
    what a battery does."""
    first = found[0]
    parts: list[RenderableType] = [
        Text(f"machine {units.name_of(first.machine)}, {first.variant}", style="bold"),
        Text("Recovery after the worst power failure"),
        _by_size(found),
    ]
    if any(len(cost.costs[-1].recovery.steps) > 1 for cost in found if cost.costs[-1].recovery):
        parts += [Text(f"Steps, {_sizes(first.costs[-1])}"), _steps(found)]
    small = [(cost.design, cost.small) for cost in found if cost.small is not None]
    if small:
        parts += [Text(f"A memory of {units.size(small[0][1].memory_bytes)}: counted in its boot, and by the model")]
        parts += [_small(small)]
    parts += [
        Text(f"Bytes on the chip that survive a power failure, {units.size(first.costs[-1].memory_bytes)} of memory"),
        _on_chip(found),
    ]
    drained = [(cost.design, cost.costs[-1].battery) for cost in found]
    if any(work is not None for _, work in drained):
        parts += [
            Text("What the battery does at the worst power failure, besides draining the queue"),
            _battery(drained),
        ]
    parts += map(Text, rests_on([cost.document for cost in found]))
    parts += [Text(f"{cost.design} promises no recovery: {cost.why_not}") for cost in found if cost.why_not]
    return Group(*parts)


def summary(found: Sequence[RecoveryCost]) -> Iterable[RenderableType]:
    """A row for each design, of a comparison: the cost of recovery, and the bytes on the chip that it relies on."""
    if not found:
        return
    yield Text(f"Recovery after the worst power failure, {_sizes(found[0].costs[0])}")
    table = _table("", *_WORK, "time", _one_by_one(found[0]), "bytes on chip")
    for cost in found:
        (only,) = cost.costs
        table.add_row(cost.design, *_boot(only), units.number(only.on_chip_bytes))
    table.add_row("")
    yield table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", header_style="dim", no_wrap=True)
    return table


def _one_by_one(cost: RecoveryCost) -> str:
    return f"at {cost.papers_ns_per_line:.0f} ns a line"


def _sizes(cost: MemoryCost) -> str:
    caches = [units.size(bytes_) for bytes_ in (cost.counter_cache_bytes, cost.metadata_cache_bytes)]
    return f"{units.size(cost.memory_bytes)} of memory, caches of {caches[0]} for counters and {caches[1]} for nodes"


def _work(work: Work) -> list[str]:
    return [units.number(count) for count in (work.reads.total, work.writes.total, work.macs, work.hashes)]


def _boot(cost: MemoryCost) -> list[str]:
    boot = cost.recovery
    if boot is None:
        return ["-"] * (len(_WORK) + 2)
    return [*_work(boot.work), units.duration(boot.time_ns), units.duration(boot.papers_ns)]


def _by_size(found: Sequence[RecoveryCost]) -> Table:
    table = _table("", "memory", "caches", *_WORK, "time", _one_by_one(found[0]))
    for cost in found:
        for place, of_size in enumerate(cost.costs):
            caches = [units.size(bytes_) for bytes_ in (of_size.counter_cache_bytes, of_size.metadata_cache_bytes)]
            name = cost.design if place == 0 else ""
            table.add_row(name, units.size(of_size.memory_bytes), " + ".join(dict.fromkeys(caches)), *_boot(of_size))
    table.add_row("")
    return table


def _steps(found: Sequence[RecoveryCost]) -> Table:
    table = _table("", "step", *_WORK, "time", _one_by_one(found[0]))
    table.columns[1].justify = "left"
    for cost in found:
        boot = cost.costs[-1].recovery
        if boot is None:
            continue
        steps = [(step.step, step) for step in boot.steps]
        if boot.interrupted_page is not None:
            steps.append(("a page re-encryption that has just begun", boot.interrupted_page))
        for place, (name, step) in enumerate(steps):
            times = (units.duration(step.time_ns), units.duration(step.papers_ns))
            table.add_row("" if place else cost.design, name, *_work(step.work), *times)
    table.add_row("")
    return table


def _small(small: Sequence[tuple[str, SmallBoot]]) -> Table:
    table = _table("", "", *_WORK)
    table.columns[1].justify = "left"
    for design, boot in small:
        agree = boot.counted == boot.model and boot.alarm is None
        table.add_row(design, "counted", *_work(boot.counted))
        table.add_row("", "model", *_work(boot.model), style="dim" if agree else "")
        if boot.alarm is not None:
            table.add_row("", f"the boot stopped: {boot.alarm}", style="red")
    table.add_row("")
    return table


def _on_chip(found: Sequence[RecoveryCost]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "item", "kept by"):
        table.add_column(name, header_style="dim", no_wrap=True)
    table.add_column("bytes", justify="right", header_style="dim")
    for cost in found:
        of_size = cost.costs[-1]
        for place, item in enumerate(of_size.on_chip):
            name = cost.design if place == 0 else ""
            table.add_row(name, item.item, _KEPT.get(item.kept, item.kept), units.number(item.bytes))
        table.add_row("", "all", "", units.number(of_size.on_chip_bytes))
    table.add_row("")
    return table


def _battery(drained: Sequence[tuple[str, Work | None]]) -> Table:
    table = _table("", *_WORK, "pads")
    for design, work in drained:
        if work is not None:
            table.add_row(design, *_work(work), units.number(work.pads))
    table.add_row("")
    return table
