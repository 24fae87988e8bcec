"""The findings of a check of a recorded program."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .documents import build


@dataclass(frozen=True, slots=True)
class Example:
    """The first operation of a finding.

    Attributes:
        record: number of its record in the trace, counting from 1.
        thread: thread, counting from 0.
        address: address in the program; None for a fence.
        file: the file that is mapped there; None for a fence, and for memory that is not persistent.
        offset: the offset in that file.
    """

    record: int
    thread: int
    address: int | None
    file: str | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a program.

    Attributes:
        place: `file:line`, else `symbol+0x..`, else `object+0x..`, else an address, or `unknown`.
        source: `file:line` with the whole path; None where the debug information does not say.
        function: function or symbol; None where neither is known.
        object: path of the object file; None where no file was mapped.
    """

    place: str
    source: str | None
    function: str | None
    object: str | None


@dataclass(frozen=True, slots=True)
class Finding(Place):
    """All operations of one kind that are shown at one place.

    Attributes:
        kind: `never-flushed`, `stored-after-flush`, `never-fenced`, `non-temporal-not-fenced`, `not-ordered`,
            `flushed-twice`, `clean-flush`, `volatile-flush` or `idle-fence`.
        correctness: the finding is about what a power failure may lose, and not about time.
        later: the place of the later store; None for kinds other than `not-ordered`.
        fenced_by: the locked instruction that alone fences the first of the stores, for another purpose; None where
            there is none.
        count: how many operations.
        example: the first of them.
        sentence: what the trace shows, in sentences.
        detail: the last of these, if it is about this finding alone and not about its kind; else None.
        cost_ns: how much less time the program takes on the design without these operations; None where that was not
            measured.
    """

    kind: str
    correctness: bool
    later: Place | None
    fenced_by: Place | None
    count: int
    example: Example
    sentence: str
    detail: str | None
    cost_ns: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What the useless operations of a program cost on a design.

    Attributes:
        simulated_ns: time of the whole program.
        all_ns: how much less it takes without any of the useless operations.
    """

    design: str
    variant: str
    machine: str
    seed: int
    simulated_ns: float
    all_ns: float


@dataclass(frozen=True, slots=True)
class NotChecked:
    """Something that a check does not look at.

    Attributes:
        what: what it is.
        command: the command line that checks it, with COMMAND for that of the program's recovery; None where there is
            none.
    """

    what: str
    command: str | None


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on a recorded program.

    Attributes:
        trace: path of the trace.
        holds: no finding is about correctness.
        checked: what was checked, and what came of it.
        not_checked: what was not.
        lacks: what the trace lacks of what the program did, in sentences.
        records: records of the trace.
        stores: stores; one that crosses the end of a line counts once for each line.
        flushes: lines of persistent memory flushed.
        fences: fences, those of locked operations on persistent memory included.
        marks: marks at which everything had to be durable.
        findings: correctness first, then the most frequent first.
        cost: what the useless operations cost; None where no design was named.
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
    findings: tuple[Finding, ...]
    cost: Cost | None
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Check:
        """The verdict that a document of `check --json` describes."""
        findings = [{**found, "correctness": found["class"] == "correctness"} for found in document["findings"]]
        return build(cls, {**document, "findings": findings, "document": document})

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))
