"""Has an executor compute tasks: as many at a time as it has room for, and those again whose worker ended."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..._engine import InputError
from . import Executor, Finished, Lost, Mismatch, Outcome, Refused, Task

ATTEMPTS_MAX = 3
"""A task is given up after this number of workers ended while they computed it."""

_WAIT_SECONDS = 0.2
"""How long an executor may wait, so that Ctrl-C has an effect."""


@dataclass(frozen=True)
class Failed:
    """A task that could not be computed.

    Attributes:
        sentence: why not.
        bad_input: the request is wrong, not the engine or the worker.
        attempts: how many workers tried.
    """

    task: Task
    sentence: str
    bad_input: bool
    attempts: int


Keep = Callable[[Sequence[Finished], Sequence[Failed]], object]
"""Takes what was finished, and what failed, since the last call."""


def drive(tasks: Iterable[Task], executor: Executor, keep: Keep) -> None:
    """Has an executor compute tasks, and hands over what comes of them as it comes.

    Raises:
        InputError: a worker has another engine.
    """
    waiting = deque(tasks)
    running: dict[str, Task] = {}
    lost: Counter[str] = Counter()
    while waiting or running:
        for _ in range(min(executor.room(), len(waiting))):
            task = waiting.popleft()
            running[task.key] = task
            executor.submit(task)
        outcomes = executor.wait(_WAIT_SECONDS)
        failed = []
        for outcome in outcomes:
            task = running.pop(outcome.key)
            if isinstance(outcome, Lost):
                lost[task.key] += outcome.attempts
                if not outcome.final and lost[task.key] < ATTEMPTS_MAX:
                    waiting.append(task)
                    continue
            if isinstance(outcome, Lost | Refused):
                failed.append(_failed(task, outcome, lost[task.key]))
        if outcomes:
            keep([one for one in outcomes if isinstance(one, Finished)], failed)
        _check_engines(outcomes)


def _failed(task: Task, outcome: Lost | Refused, lost: int) -> Failed:
    refused = isinstance(outcome, Refused)
    return Failed(task, outcome.sentence, isinstance(outcome, Refused) and outcome.bad_input, lost + refused)


def _check_engines(outcomes: Iterable[Outcome]) -> None:
    wrong = next((one.sentence for one in outcomes if isinstance(one, Mismatch)), None)
    if wrong is not None:
        raise InputError(wrong)
