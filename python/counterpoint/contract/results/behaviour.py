"""What results can do beyond having their figures: a class for each type that can, of the same name.

The types themselves are written by `make contract`, each on top of its class here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from ...system import units
from ...system.shown import Shown, drawer
from .documents import build, fits
from .provisos import RestsOn

if TYPE_CHECKING:
    import polars as pl

    from .verdicts import Violation


class Document:
    """A result that is a whole document of the engine."""

    __slots__ = ()

    document: Mapping[str, Any]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The result that a document of `--json` describes."""
        return build(cls, cls._laid_out(document))

    @classmethod
    def is_in(cls, document: Mapping[str, Any]) -> bool:
        """Whether `from_dict` accepts a document, for example one from a file."""
        return fits(cls, cls._laid_out(document))

    @staticmethod
    def _laid_out(document: Mapping[str, Any]) -> dict[str, Any]:
        return {**document, "document": document}

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))


class Run(Document, Shown):
    """One simulation."""

    __slots__ = ()

    design: str
    workload: str
    machine: str
    stats: Any

    def __repr__(self) -> str:
        """What it is about, and its two main figures."""
        latency = self.stats.transaction_latency_ns.mean
        shown = "" if latency is None else f"latency {units.time(latency)}, "
        writes = units.count_of(self.stats.nvm.writes, "line write")
        return f"<Run of {self.design} on {units.name_of(self.workload)}, machine {self.machine}: {shown}{writes}>"

    def frame(self) -> pl.DataFrame:
        """One row with its figures, as `cp.frame` gives it."""
        frame: pl.DataFrame = drawer().frame(self)
        return frame

    @staticmethod
    def _laid_out(document: Mapping[str, Any]) -> dict[str, Any]:
        return {**document, "stats": document, "document": document}


class Recorded(RestsOn):
    """What a recorded program did."""

    __slots__ = ()


class LineCost:
    """What a source line cost."""

    __slots__ = ()

    waited_for_ns: float
    load_stall_ns: float

    @property
    def waited_ns(self) -> float:
        """How long commit waited for it, by fences and loads."""
        return self.waited_for_ns + self.load_stall_ns


class Finding:
    """A finding of a check."""

    __slots__ = ()

    class_: str

    @property
    def correctness(self) -> bool:
        """It is about what a power failure may lose, and not about time."""
        return self.class_ == "correctness"


class Crash(Document, RestsOn, Shown):
    """The auditors' verdict."""

    __slots__ = ()

    design: str
    workload: str
    holds: bool | None
    crash_points: int
    recovered: int
    violation_count: int
    violations: tuple[Any, ...]

    def __repr__(self) -> str:
        """What it is about, and the verdict."""
        said = {True: "holds", False: "does not hold", None: "no verdict"}[self.holds]
        crashes = units.count_of(self.crash_points, "crash", "es")
        broken = "" if self.holds is not False else f", {units.count_of(self.violation_count, 'violation')}"
        return f"<Crash of {self.design} on {units.name_of(self.workload)}: {said} in {crashes}{broken}>"

    @property
    def examples(self) -> tuple[Violation, ...]:
        """One violation of each rule that was broken: the first ones of `violations`."""
        first = {violation.rule: violation for violation in reversed(self.violations)}
        return tuple(violation for violation in self.violations if first[violation.rule] is violation)


class Proof(Document, Shown):
    """The verdict over all small programs."""

    __slots__ = ()

    design: str
    holds: bool | None
    operations: int
    programs: int
    failing: int

    def __repr__(self) -> str:
        """What it is about, and the verdict."""
        said = {True: "holds", False: "does not hold", None: "no verdict"}[self.holds]
        programs = units.count_of(self.programs, "program")
        broken = f", {units.number(self.failing)} fail" if self.failing else ""
        return f"<Proof of {self.design} over {programs} of up to {self.operations} operations: {said}{broken}>"


class Distinction(Document, Shown):
    """Where two designs differ on small programs."""

    __slots__ = ()

    design: Any
    other: Any
    differ: bool | None
    operations: int
    programs: int
    differences: tuple[Any, ...]

    def __repr__(self) -> str:
        """What it is about, and in what they differ."""
        found = ", ".join(one.differs for one in self.differences)
        said = {True: f"they differ in {found}", False: "no difference", None: "no difference so far"}[self.differ]
        programs = units.count_of(self.programs, "program")
        both = f"{self.design.design} and {self.other.design}"
        return f"<Distinction of {both} over {programs} of up to {self.operations} operations: {said}>"


class Part:
    """The lines of a transaction's log entry, or those that it writes in place."""

    __slots__ = ()

    pending: int
    content_lost: int
    counter_lost: int | None

    @property
    def content(self) -> str:
        """State of the content (secpm Table 1): `wrong` while it is written, `unknown` if lost, else `correct`."""
        return self._cell(self.content_lost)

    @property
    def counter(self) -> str | None:
        """State of the counters, as in Table 1 of secpm; None without encryption."""
        return None if self.counter_lost is None else self._cell(self.counter_lost)

    def _cell(self, lost: int) -> str:
        return "wrong" if self.pending else "unknown" if lost else "correct"


class StageTally:
    """The crashes while a transaction was in one stage."""

    __slots__ = ()

    unrecoverable: int

    @property
    def recoverable(self) -> bool:
        """The program recovers from all of them."""
        return self.unrecoverable == 0


class Lines:
    """Lines by kind."""

    __slots__ = ()

    data: int
    counter: int
    mac: int
    tree: int
    table: int

    @property
    def total(self) -> int:
        """Lines of all kinds."""
        return self.data + self.counter + self.mac + self.tree + self.table
