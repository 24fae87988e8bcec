# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What the recovery of a design costs. Times are in ns and sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import behaviour


@dataclass(frozen=True, slots=True)
class RingLeft:
    """What the ring of partial updates speaks of.

    Attributes:
        blocks: counter blocks.
        newer_blocks: those that it has newer counters of than memory.
        macs: lines of MACs with updates that are not older than memory.
        newer_macs: those that it has other MACs of than memory.
    """

    blocks: int
    newer_blocks: int
    macs: int
    newer_macs: int


@dataclass(frozen=True, slots=True)
class Left:
    """What a power failure has left, as far as the cost of a boot depends on it.

    Attributes:
        behind: counter blocks of which every counter is as far behind its line as can be.
        listed_blocks: counter blocks that the shadow table or the bits list, those that are behind among them.
        listed_nodes: nodes that the shadow table or the bits list, by level from the first; all of them are behind.
        page_lines: lines of the page under re-encryption that are left to do; none if there is no such page.
        bit_lines: lines of bits that are not zero.
        ring: what the ring of partial updates speaks of.
    """

    behind: int
    listed_blocks: int
    listed_nodes: tuple[int, ...]
    page_lines: int
    bit_lines: int
    ring: RingLeft


@dataclass(frozen=True, slots=True)
class Lines(behaviour.Lines):
    """Lines by kind.

    Attributes:
        data: data lines.
        counter: counter blocks.
        mac: lines of MACs. A MAC beside its line moves with it and is none.
        tree: nodes of the integrity tree.
        table: lines of the shadow table.
    """

    data: int
    counter: int
    mac: int
    tree: int
    table: int


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a boot, or of a step of it.

    Attributes:
        reads: lines read.
        writes: lines written.
        macs: MACs of data lines computed.
        trials: how many of them were computed to try a counter.
        hashes: hashes of tree nodes and counter blocks computed.
        pads: pads made, to decrypt a line or to encrypt it.
    """

    reads: Lines
    writes: Lines
    macs: int
    trials: int
    hashes: int
    pads: int


@dataclass(frozen=True, slots=True)
class SmallBoot:
    """A small memory: what its boot really did, and what the model says of it.

    Attributes:
        memory_bytes: bytes of the device.
        cache_bytes: capacity of the counter cache, and of that of MACs and nodes.
        left: what the power failure had left.
        counted: what the boot did.
        model: what the model says.
        alarm: the check that stopped the boot, if one did.
    """

    memory_bytes: int
    cache_bytes: tuple[int, ...]
    left: Left
    counted: Work
    model: Work
    alarm: str | None


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step of a boot costs.

    Attributes:
        step: the step's name in design files; `registers` for what comes before the first.
        work: what it does.
        time_ns: time on the machine's device and circuits, in ns.
        papers_ns: time by the papers' arithmetic, in ns.
    """

    step: str
    work: Work
    time_ns: float
    papers_ns: float


@dataclass(frozen=True, slots=True)
class Boot:
    """What a boot does after the worst power failure at which no page is being re-encrypted.

    Attributes:
        steps: its steps.
        work: what all of them do.
        time_ns: time of all of them, in ns.
        papers_ns: time of all of them by the papers' arithmetic, in ns.
        interrupted_page: what is added if power has failed at the beginning of a page re-encryption; None if the boot
            resumes none.
    """

    steps: tuple[StepCost, ...]
    work: Work
    time_ns: float
    papers_ns: float
    interrupted_page: StepCost | None


KeptBy: TypeAlias = Literal["adr", "non-volatile", "battery"]
"""What keeps something on the chip over a power failure. `adr`: the ADR domain drains it to the device; `non-volatile`:
it is in non-volatile cells; `battery`: a battery drains the caches."""


@dataclass(frozen=True, slots=True)
class OnChip:
    """Something on the chip that survives a power failure.

    Attributes:
        item: what it is.
        kept: what keeps it.
        bytes: its bytes.
    """

    item: str
    kept: KeptBy
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryCost:
    """What the boot of a memory costs.

    Attributes:
        memory_bytes: bytes of the device.
        data_bytes: bytes of data in it.
        counter_cache_bytes: capacity of the counter cache.
        metadata_cache_bytes: capacity of the cache of MACs and nodes.
        recovery: the boot; None for a design that promises nothing after a power failure.
        battery: what the battery does at the worst power failure; None for a design without caches that it drains.
        on_chip: what survives on the chip.
        on_chip_bytes: bytes of all of that.
    """

    memory_bytes: int
    data_bytes: int
    counter_cache_bytes: int
    metadata_cache_bytes: int
    recovery: Boot | None
    battery: Work | None
    on_chip: tuple[OnChip, ...]
    on_chip_bytes: int


@dataclass(frozen=True, slots=True)
class RecoveryCost(behaviour.Document):
    """What the recovery of a design costs, by size: `recovery --json`.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        machine: the machine's name.
        cores: number of cores.
        why_not: why no recovery is promised; None if one is.
        papers_ns_per_line: time per line read in the papers' arithmetic.
        small: a small memory that was really recovered; None if none was.
        costs: for each size of memory, and for each of the caches.
        set_by_design: the values of the machine that come from the design, as in `integrity.stop_loss = 8`.
        document: the document it was made from.
    """

    design: str
    variant: str
    machine: str
    cores: int
    why_not: str | None
    papers_ns_per_line: float
    small: SmallBoot | None
    costs: tuple[MemoryCost, ...]
    document: Mapping[str, Any] = field(repr=False, compare=False)
    set_by_design: str | None = None
