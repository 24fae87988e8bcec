"""Who computes the runs of a sweep: processes of this computer, or a Dask cluster.

A sweep gives tasks as long as there is room and takes outcomes as they come, in any order. What an executor computes
with does not show in the outcome of a run, except in who computed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Task:
    """One run to compute.

    Attributes:
        key: of its configuration, which the worker must come to as well.
        request: what the engine is asked.
        build: of the engine that must compute it.
    """

    key: str
    request: dict[str, Any]
    build: str


@dataclass(frozen=True)
class Finished:
    """A run that was computed.

    Attributes:
        configuration: complete, every value of the machine included.
        document: what `run --json` prints.
        worker: who computed it.
        seconds: of the host, from the worker's being asked to its answer.
    """

    key: str
    configuration: dict[str, Any]
    document: dict[str, Any]
    worker: str
    seconds: float


@dataclass(frozen=True)
class Refused:
    """A run that cannot be computed, and why, in a sentence; `bad_input` is whether what was asked is to blame."""

    key: str
    sentence: str
    bad_input: bool


@dataclass(frozen=True)
class Lost:
    """A run whose worker ended; `attempts` is how many workers it was given to, one for each time it was submitted
    where that is not known better, and `final` whether it is to be given up."""

    key: str
    sentence: str
    attempts: int = 1
    final: bool = False


@dataclass(frozen=True)
class Mismatch:
    """A worker with another engine, and which, in a sentence."""

    key: str
    sentence: str


Outcome = Finished | Refused | Lost | Mismatch


class Executor(Protocol):
    """Computes runs."""

    def room(self) -> int:
        """How many tasks it takes now."""
        ...

    def submit(self, task: Task) -> None:
        """Takes a task; there is room for it."""
        ...

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """What has ended since, waiting up to so many seconds for the first."""
        ...

    def close(self) -> None:
        """Gives up what is not finished, and ends the workers that it started."""
        ...
