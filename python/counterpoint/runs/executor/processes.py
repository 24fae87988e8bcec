"""Runs on processes of this computer.

Each worker has its own pipes and shares no lock with another, so if one is killed, only its current run is lost.
Workers are started as commands and not by `multiprocessing`, which would run the caller's script again in each.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ... import _engine
from . import Lost, Outcome, Task
from .worker import decode

_AHEAD = 2
"""Tasks that a worker has at a time: one to compute, and the next so that it need not wait."""

_COMMAND = ("-P", "-c", "from counterpoint.runs.executor.worker import serve; serve()")


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    tasks: deque[Task] = field(default_factory=deque)
    rest: bytes = b""


class Processes:
    """An executor of processes."""

    def __init__(self, workers: int) -> None:
        """Starts this number of workers, at most one per processor; 0 is one per processor."""
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []
        self._again: deque[Task] = deque()
        for _ in range(workers_of(workers)):
            self._start()

    def room(self) -> int:
        """How many tasks it can take now."""
        held = sum(len(worker.tasks) for worker in self._workers) + len(self._again)
        return _AHEAD * len(self._workers) - held

    def submit(self, task: Task) -> None:
        """Takes a task; there is room for it."""
        self._again.append(task)
        self._hand_out()

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """The outcomes since the last call; waits up to `seconds` for the first."""
        outcomes: list[Outcome] = []
        for key, _ in self._selector.select(seconds):
            worker: _Worker = key.data
            assert worker.process.stdout
            read = os.read(worker.process.stdout.fileno(), 1 << 20)
            if not read:
                outcomes += self._replace(worker)
                continue
            *lines, worker.rest = (worker.rest + read).split(b"\n")
            for line in lines:
                worker.tasks.popleft()
                outcomes.append(decode(line))
        self._hand_out()
        return outcomes

    def close(self) -> None:
        """Cancels what is not finished, and ends the workers."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            self._bury(worker)
        self._workers = []
        self._selector.close()

    def _start(self) -> None:
        package = str(Path(__file__).parents[3])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        process = subprocess.Popen(
            [sys.executable, *_COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        worker = _Worker(process)
        self._workers.append(worker)
        assert process.stdout
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)

    def _hand_out(self) -> None:
        while self._again:
            worker = min(self._workers, key=lambda worker: len(worker.tasks))
            if len(worker.tasks) >= _AHEAD:
                return
            task = self._again.popleft()
            worker.tasks.append(task)
            assert worker.process.stdin
            try:
                worker.process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
                worker.process.stdin.flush()
            except BrokenPipeError:
                # The worker has ended; `wait` will see the end of its output and recover its tasks.
                return

    def _replace(self, worker: _Worker) -> list[Outcome]:
        """Replaces a worker that has ended; tasks that it had not begun are given to others."""
        assert worker.process.stdout
        self._selector.unregister(worker.process.stdout)
        self._workers.remove(worker)
        code = self._bury(worker)
        self._start()
        if not worker.tasks:
            return []
        lost = worker.tasks.popleft()
        self._again.extend(worker.tasks)
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return [Lost(lost.key, f"the worker process that computed it {how}")]

    def _bury(self, worker: _Worker) -> int:
        for pipe in (worker.process.stdin, worker.process.stdout):
            assert pipe
            try:
                pipe.close()
            except BrokenPipeError:
                # The reader of what is still buffered has ended.
                continue
        return worker.process.wait()


def workers_of(asked: int) -> int:
    """How many workers to start: `workers`, but at most one per processor; 0 is one per processor."""
    return min(asked or _engine.processors(), _engine.processors())
