"""Who computes the runs of a sweep and the crash runs of a search: processes of this computer, or a Dask cluster.

`drive` submits tasks as long as there is room and takes outcomes as they come, in any order. The outcome of a task does
not depend on the executor, except for the name of the worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["run", "crash", "recovery"]
"""What the engine is asked for: the figures of a run, the verdict on its crashes, or what recovery costs."""


@dataclass(frozen=True)
class Task:
    """One thing to compute.

    Attributes:
        key: digest of its configuration, see `keys`; the worker must get the same one.
        request: the engine's request.
        build: the build of the engine that must compute it.
        kind: what the engine is asked for.
    """

    key: str
    request: dict[str, Any]
    build: str
    kind: Kind = "run"


@dataclass(frozen=True)
class Finished:
    """Something that was computed.

    Attributes:
        configuration: of a run: the complete configuration, with every value of the machine; else the request.
        document: what `--json` prints of it.
        worker: the name of the worker that computed it.
        seconds: time on the host, from the request to the answer.
    """

    key: str
    configuration: dict[str, Any]
    document: dict[str, Any]
    worker: str
    seconds: float


@dataclass(frozen=True)
class Refused:
    """A run that cannot be computed, and why, in a sentence; `bad_input`: whether the request is wrong."""

    key: str
    sentence: str
    bad_input: bool


@dataclass(frozen=True)
class Lost:
    """A run whose worker ended. `attempts` is the number of workers that it was given to, or of submissions if that is
    not known; `final` is whether the run is given up."""

    key: str
    sentence: str
    attempts: int = 1
    final: bool = False


@dataclass(frozen=True)
class Mismatch:
    """A worker with another engine, and a sentence that names it."""

    key: str
    sentence: str


Outcome = Finished | Refused | Lost | Mismatch


class Executor(Protocol):
    """Computes runs."""

    def room(self) -> int:
        """How many tasks it can take now."""
        ...

    def submit(self, task: Task) -> None:
        """Takes a task; there is room for it."""
        ...

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """The outcomes since the last call; waits up to `seconds` for the first."""
        ...

    def close(self) -> None:
        """Cancels what is not finished, and ends the workers that it started."""
        ...
