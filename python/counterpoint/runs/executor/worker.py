"""What a worker does, in a process of this computer or in one of a cluster: one call of the engine for each task.

As a process of this computer, it reads tasks as lines of JSON and writes outcomes the same way. It ends when its
parent does, since its input ends then, and leaves Ctrl-C to the parent.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from ... import _engine
from ...contract.commands import with_commands
from ...system.descriptors import fill_closed
from ...verbs import api, catalogue
from .. import keys
from . import Finished, Kind, Mismatch, Outcome, Refused, Task

_KEPT_BYTES = 3 << 30
"""Bytes of populated memory that a worker keeps: the largest footprint in the papers, 2 GiB, and its logs."""

_OUTCOMES = {kind.__name__: kind for kind in (Finished, Mismatch, Refused)}


def work(task: Task) -> Outcome:
    """Computes one task."""
    started = time.monotonic()
    build = catalogue.engine_build()
    if build != task.build:
        return Mismatch(
            task.key,
            f"worker {_name()} has the engine {catalogue.engine_version()} ({build[:12]}), and this sweep is of "
            f"{task.build[:12]}; install the same one on both",
        )
    try:
        resolved, key = _resolved(task)
        if key != task.key:
            return Refused(task.key, f"worker {_name()} reads another machine file or trace than this computer", True)
        document = _CALLS[task.kind](task.request)
    except _engine.InputError as error:
        return Refused(task.key, str(error), True)
    except (_engine.EngineError, OSError) as error:
        return Refused(task.key, f"{type(error).__name__}: {error}", False)
    return Finished(task.key, resolved, document, _name(), time.monotonic() - started)


def _resolved(task: Task) -> tuple[dict[str, Any], str]:
    """The configuration of a task and its key, as this computer has them."""
    if task.kind == "run":
        resolved = api.resolve_request(task.request)
        return resolved, keys.key(resolved, task.build)
    return task.request, keys.answer_key(task.kind, task.request, task.build)


def _simulate(request: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run."""
    return api.document(request, session=_session())


def _crash(request: dict[str, Any]) -> dict[str, Any]:
    """The verdict on the crashes of a run, without what depends on the computer."""
    document = with_commands(json.loads(_engine.crash(json.dumps(request))))
    document.pop("host", None)
    return document


def _recovery(request: dict[str, Any]) -> dict[str, Any]:
    """What recovery costs."""
    document: dict[str, Any] = json.loads(_engine.recovery(json.dumps(request)))
    return document


_CALLS: dict[Kind, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "run": _simulate,
    "crash": _crash,
    "recovery": _recovery,
}


@cache
def _session() -> _engine.Session:
    """Keeps populated memory for the runs that follow, which come in an order that has use for it."""
    return _engine.Session(bytes_max=_KEPT_BYTES)


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def serve() -> None:
    """Computes the tasks from standard input until it ends: the main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fill_closed()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(lines,), daemon=True).start()
    while True:
        outcome = work(Task(**json.loads(lines.get())))
        out.write(encode(outcome))
        out.flush()


def encode(outcome: Outcome) -> str:
    """An outcome as a line."""
    return json.dumps([type(outcome).__name__, vars(outcome)]) + "\n"


def decode(line: str | bytes) -> Outcome:
    """The outcome of a line."""
    kind, values = json.loads(line)
    outcome: Outcome = _OUTCOMES[kind](**values)
    return outcome


def _read(lines: queue.SimpleQueue[str]) -> None:
    """Passes tasks on; at the end of the input, ends the process, because nobody waits for its results any more."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)
