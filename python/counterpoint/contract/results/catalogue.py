# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What there is: designs, workloads, machines, and mechanisms that can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

ProgramForm: TypeAlias = Literal["plain", "annotated", "hardware-logged", "flush-free"]
"""Which form of a workload a design runs. `plain`: stores, flushes and fences as on unencrypted memory; `annotated`:
like plain, with `CounterAtomic` variables and `counter_cache_writeback`; `hardware-logged`: stores in place between
`tx_begin` and `tx_end`, and `flush_data` of the changed data. Hardware keeps the log; `flush-free`: without flushes but
with fences: for caches in the persistence domain ("we remove the CLWB, CLFLUSHOPT, and CLFLUSH instructions")."""


Variant: TypeAlias = Literal["published", "hardened"]
"""Which reading of a paper is built if its text, read literally, is unsafe. `published`: the text as printed;
`hardened`: the text, changed so that it is safe; the default of `run` and `crash`."""


@dataclass(frozen=True, slots=True)
class Design:
    """A design that exists.

    Attributes:
        name: its name.
        summary: what it is, in a line.
        paper: the paper and section that it comes from.
        machine: the preset used when none is named.
        form: the form of the program that it runs.
        variants: readings that are built.
        crash_consistent: `crash` accepts it.
        encrypted: it encrypts at all.
    """

    name: str
    summary: str
    paper: str
    machine: str
    form: ProgramForm
    variants: tuple[Variant, ...]
    crash_consistent: bool
    encrypted: bool


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that exists.

    Attributes:
        name: its name.
        summary: what it does, in a line.
        has_log: whether it writes an undo log.
    """

    name: str
    summary: str
    has_log: bool


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe that exists.

    Attributes:
        name: its name.
        summary: what it does, in a line.
    """

    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine preset.

    Attributes:
        name: its name.
        source: the paper and table that it comes from.
        values: every value.
    """

    name: str
    source: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """A mechanism that `crash` can switch off.

    Attributes:
        name: its name.
        summary: what is switched off, in a sentence.
        designs: the designs that have the mechanism, in one reading at least.
    """

    name: str
    summary: str
    designs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartValue:
    """A value of a part.

    Attributes:
        name: the value as written in the file.
        meaning: what the value means, in sentences.
        paper: paper and section, "seeded fault", or an empty string.
    """

    name: str
    meaning: str
    paper: str


@dataclass(frozen=True, slots=True)
class DesignPart:
    """A key of a design file, as lists show it.

    Attributes:
        key: the key as written in the file, and after `--set design.`.
        meaning: what the part decides.
        values: the allowed values.
    """

    key: str
    meaning: str
    values: tuple[PartValue, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What there is.

    Attributes:
        engine_version: the version of the engine.
        engine_build: a digest of the engine's sources: what computes the same has the same.
        designs: the built-in designs.
        workloads: the workloads.
        probes: the probes, which measure memory and keep nothing.
        machines: the machine presets.
        faults: the mechanisms that `crash` can switch off.
        parts: the parts that a design file can name.
    """

    engine_version: str
    engine_build: str
    designs: tuple[Design, ...]
    workloads: tuple[Workload, ...]
    probes: tuple[Probe, ...]
    machines: tuple[Machine, ...]
    faults: tuple[Fault, ...]
    parts: tuple[DesignPart, ...]
