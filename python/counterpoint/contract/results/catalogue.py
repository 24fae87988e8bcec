"""The catalogue: designs, workloads, machines, and mechanisms that can be switched off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Design:
    """A design that exists.

    Attributes:
        paper: the paper and section that it comes from.
        machine: the preset used when none is named.
        form: the form of the program that it runs: `plain`, `annotated`, `hardware-logged` or `flush-free`.
        variants: readings that are built.
        crash_consistent: `crash` accepts it.
        encrypted: it encrypts at all.
    """

    name: str
    summary: str
    paper: str
    machine: str | None
    form: str
    variants: tuple[str, ...]
    crash_consistent: bool
    encrypted: bool


@dataclass(frozen=True, slots=True)
class PartValue:
    """A value of a part: what it means, and paper and section, "seeded fault", or nothing."""

    name: str
    meaning: str
    paper: str


@dataclass(frozen=True, slots=True)
class DesignPart:
    """A part that a design file can name.

    Attributes:
        key: as the file, and `set` with `design.` before it, has it.
        meaning: what it decides.
        values: what it may be; a design that does not state it has the first.
    """

    key: str
    meaning: str
    values: tuple[PartValue, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that exists; `has_log` is whether it writes an undo log."""

    name: str
    summary: str
    has_log: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """A mechanism that `crash` can switch off.

    Attributes:
        summary: what is switched off, in a sentence.
        designs: the designs that have the mechanism, in one reading at least.
    """

    name: str
    summary: str
    designs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine preset: the paper table it comes from, and every value."""

    name: str
    source: str
    values: dict[str, Any]
