"""What the recovery of a design costs. Times are in ns and sizes in bytes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .documents import build


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines by kind: data, counter blocks, lines of MACs, nodes of the tree, lines of the shadow table."""

    data: int
    counter: int
    mac: int
    tree: int
    table: int

    @property
    def total(self) -> int:
        """Lines of all kinds."""
        return self.data + self.counter + self.mac + self.tree + self.table


@dataclass(frozen=True, slots=True)
class Work:
    """What a boot does, or a battery.

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
class StepCost:
    """What a step of a boot costs.

    Attributes:
        step: its name in design files; `registers` for what comes before the first.
        time_ns: time on the machine's device and circuits.
        papers_ns: time by the papers' arithmetic.
    """

    step: str
    work: Work
    time_ns: float
    papers_ns: float


@dataclass(frozen=True, slots=True)
class Boot:
    """What a boot costs after the worst power failure at which no page is being re-encrypted.

    Attributes:
        interrupted_page: what is added if a page re-encryption has just begun; None if the boot resumes none.
    """

    steps: tuple[StepCost, ...]
    work: Work
    time_ns: float
    papers_ns: float
    interrupted_page: StepCost | None


@dataclass(frozen=True, slots=True)
class OnChip:
    """Something on the chip that survives a power failure; it is kept by `adr`, `non-volatile` cells or a `battery`."""

    item: str
    kept: str
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryCost:
    """The cost of the recovery of one memory.

    Attributes:
        memory_bytes: capacity of the device.
        data_bytes: what of it holds data.
        counter_cache_bytes: capacity of the counter cache.
        metadata_cache_bytes: capacity of the cache of MACs and nodes.
        recovery: the boot; None for a design that promises nothing after a power failure.
        battery: what the battery does at the worst power failure; None for a design without caches that it drains.
        on_chip: what on the chip it relies on.
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
class SmallBoot:
    """A small memory that was really recovered.

    Attributes:
        counted: what its boot did.
        model: what the model says that it does.
        alarm: the check that stopped it; None if none did.
    """

    memory_bytes: int
    cache_bytes: tuple[int, ...]
    counted: Work
    model: Work
    alarm: str | None


@dataclass(frozen=True, slots=True)
class RecoveryCost:
    """What the recovery of a design costs, by size.

    Attributes:
        why_not: why no recovery is promised; None if one is.
        papers_ns_per_line: time per line read in the papers' arithmetic.
        small: a small memory that was really recovered; None if none was.
        costs: for each size of memory, and for each of the caches.
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

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> RecoveryCost:
        """The cost that a document of the engine describes."""
        return build(cls, {**document, "document": document})

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))
