"""Documents that commands print as JSON, and that the front makes of documents of the engine."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from .results import LineRun, RecoveryCost, Run


class Printed:
    """A document of results."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The document, as `--json` prints it; what is None is absent."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {"schema": 1, **{name: _plain(value) for name, value in values.items() if value is not None}}


def _plain(value: Any) -> Any:
    return [one.to_dict() for one in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True)
class Host:
    """What this computer needed.

    Attributes:
        seconds: of its time.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Runs(Printed):
    """What `compare` and `replay` print.

    Attributes:
        runs: the runs, as `run` prints them.
        recoveries: what recovery costs, as `recovery` prints it; `replay` has none.
    """

    runs: tuple[Run, ...]
    recoveries: tuple[RecoveryCost, ...] | None = None


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
