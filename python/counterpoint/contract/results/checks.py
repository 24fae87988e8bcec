# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What a check of a recorded program says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import behaviour


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Something that a check does not look at.

    Attributes:
        what: what it is, in a sentence.
        command: the command line that checks it, with COMMAND for that of the program's recovery; None without one.
    """

    what: str
    command: str | None


@dataclass(frozen=True, slots=True)
class CutOff:
    """How far a recording without its end is valid.

    Attributes:
        records: number of complete records.
        bytes: number of bytes of (decompressed) recording up to the end of the last complete record.
    """

    records: int
    bytes: int


FindingKind: TypeAlias = Literal[
    "never-flushed",
    "stored-after-flush",
    "never-fenced",
    "non-temporal-not-fenced",
    "not-ordered",
    "flushed-twice",
    "clean-flush",
    "volatile-flush",
    "idle-fence",
]
"""A kind of finding."""


FindingClass: TypeAlias = Literal["correctness", "performance"]
"""Whether a finding is about what a power failure may lose, or about time."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the program, as shown to users.

    Attributes:
        place: the place as text: `file:line`, otherwise `symbol+0x..`, otherwise `object+0x..`, otherwise an address,
            or `unknown`.
        source: `file:line` with the whole path; None if debug information does not have it.
        function: function or symbol; None if neither is known.
        object: path of the object file; None if none was mapped.
    """

    place: str
    source: str | None
    function: str | None
    object: str | None


@dataclass(frozen=True, slots=True)
class Example:
    """An operation of the trace.

    Attributes:
        record: number of its record, counting from 1.
        thread: thread, counting from 0.
        address: address in the program; None for a fence.
        file: the file that is mapped there; None for a fence and for memory that is not persistent.
        offset: its offset in the file; None likewise.
        called_at: `file:line` of the call of the function that the place is in; None if the trace or debug information
            does not have it.
    """

    record: int
    thread: int
    address: int | None
    file: str | None
    offset: int | None
    called_at: str | None


@dataclass(frozen=True, slots=True)
class Finding(behaviour.Finding):
    """All findings of a kind at a source line.

    Attributes:
        kind: what it is.
        class_: whether it is about what a power failure may lose, or about time.
        place: the place as text: `file:line`, otherwise `symbol+0x..`, otherwise `object+0x..`, otherwise an address,
            or `unknown`.
        source: `file:line` with the whole path; None if debug information does not have it.
        function: function or symbol; None if neither is known.
        object: path of the object file; None if none was mapped.
        later: the place of the later store that overtakes this one; None for other kinds.
        fenced_by: the place of the locked instruction that fences the first of the stores by chance, if nothing else
            does.
        count: how many operations.
        example: the first of them.
        sentence: what the trace shows, in sentences.
        detail: the last of these, if it is about this finding alone and not about its kind.
        cost_ns: how much less time the program takes on the design without these operations, in ns; None if it was not
            measured.
    """

    kind: FindingKind
    class_: FindingClass
    place: str
    source: str | None
    function: str | None
    object: str | None
    later: Place | None
    fenced_by: Place | None
    count: int
    example: Example
    sentence: str
    detail: str | None
    cost_ns: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What useless operations cost on a design: the time of a replay less the time of a replay without them.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        machine: the machine's name.
        seed: seed of every random stream.
        simulated_ns: time of the whole program on the design, in ns.
        all_ns: how much less time it takes without any of the useless operations.
    """

    design: str
    variant: str
    machine: str
    seed: int
    simulated_ns: float
    all_ns: float


@dataclass(frozen=True, slots=True)
class Check(behaviour.Document):
    """The verdict on a recorded program.

    Attributes:
        trace: path of the trace.
        holds: whether no finding is about correctness.
        checked: what was checked, and what came of it, in a sentence.
        not_checked: what was not.
        lacks: what the trace lacks of what the program did, in sentences.
        records: number of records of the trace.
        stores: stores; one that crosses the end of a line counts once for each line.
        flushes: lines of persistent memory flushed.
        fences: fences, those of locked operations on persistent memory included.
        marks: marks at which everything had to be durable.
        cut_off: how far the trace is valid, if its end is missing.
        findings: correctness first, then the most frequent first.
        cost: what the useless operations cost on a design, if the request names one.
        document: the document it was made from.
    """

    trace: str
    holds: bool
    checked: str
    not_checked: tuple[NotChecked, ...]
    lacks: tuple[str, ...]
    records: int
    stores: int
    flushes: int
    fences: int
    marks: int
    cut_off: CutOff | None
    findings: tuple[Finding, ...]
    cost: Cost | None
    document: Mapping[str, Any] = field(repr=False, compare=False)
