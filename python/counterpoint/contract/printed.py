"""Documents that commands print as JSON, and that the front makes of documents of the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from .results import LineRun, RecoveryCost, Run
from .results.behaviour import Document


def document(value: Any) -> dict[str, Any]:
    """What a command prints of a dataclass with `--json`."""
    return {"schema": 1, **_plain(value)}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Document):
        return value.to_dict()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


class Printed:
    """A document of results."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The document, as `--json` prints it; what is None is absent."""
        return {key: value for key, value in document(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Host:
    """What this computer needed.

    Attributes:
        seconds: of its time.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a design guarantees, as one small exploration shows it.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        secrecy: `none` where memory holds plaintext, `leaks` where a rule of secrecy is broken, `at-rest` where only
            what is stored is encrypted and lines cross the bus in the clear, `repeats` where equal plaintext at an
            address is equal ciphertext; else `holds`. Null where nothing was explored.
        replay: what comes of old memory that is put back: `accepted`, `late` if it is found out after it was used, or
            `detected`. Null where none was put back.
        crash: whether a power failure loses, tears or refuses data: `holds` or `breaks`. Null where nothing was
            explored.
        crash_points: number of judged power failures.
        why_not: why nothing was explored, in a sentence; null otherwise.
    """

    design: str
    variant: str
    secrecy: Literal["none", "leaks", "at-rest", "repeats", "holds"] | None
    replay: Literal["accepted", "late", "detected"] | None
    crash: Literal["holds", "breaks"] | None
    crash_points: int
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Runs(Printed):
    """What `compare` and `replay` print.

    Attributes:
        runs: the runs, as `run` prints them.
        recoveries: what recovery costs, as `recovery` prints it; `replay` has none.
        guarantees: what each design guarantees, in the order of the designs; `replay` has none.
    """

    runs: tuple[Run, ...]
    recoveries: tuple[RecoveryCost, ...] | None = None
    guarantees: tuple[Guarantee, ...] | None = None


@dataclass(frozen=True, slots=True)
class LineRuns(Printed):
    """What `replay` prints of a trace of memory lines.

    Attributes:
        kind: says that it is one.
        runs: the replays.
    """

    kind: Literal["lines"]
    runs: tuple[LineRun, ...]


@dataclass(frozen=True, slots=True)
class Recoveries(Printed):
    """What `recovery` prints.

    Attributes:
        recoveries: what the recovery of each design costs.
    """

    recoveries: tuple[RecoveryCost, ...]
