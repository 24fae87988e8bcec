"""SIGTERM and SIGHUP stop a command like Ctrl-C: children are ended, temporary folders removed, results kept."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from .handlers import handled

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C."""

EXIT_CODES = (INTERRUPTED, 128 + signal.SIGTERM, 128 + signal.SIGHUP)
"""Exit codes after Ctrl-C, SIGTERM and SIGHUP: 128 plus the number of the signal."""

_AGAIN_SECONDS = 0.02
_TEMPORARY_FILES = tempfile.gettempdir.__code__.co_filename
_OTHERS = (signal.SIGTERM, signal.SIGHUP)
_received: signal.Signals | None = None


class Stopped(KeyboardInterrupt):
    """A signal asks the command to stop."""


@contextmanager
def listening() -> Iterator[None]:
    """Makes these signals raise as Ctrl-C does. A signal that is ignored, as under `nohup`, stays ignored."""
    global _received
    _received = None
    defaults: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        **dict.fromkeys(_OTHERS, signal.SIG_DFL),
    }
    with (
        handled(defaults, _stop, instead_of=lambda number, handler: handler is defaults[number]),
        _heard_in_finalizers(),
    ):
        try:
            yield
        finally:
            _no_more()


@contextmanager
def _heard_in_finalizers() -> Iterator[None]:
    """Raises again what Python drops because it was raised in a finalizer or a callback of the garbage collector."""
    before = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if isinstance(dropped.exc_value, Stopped):
            _again()
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def exit_code() -> int:
    """The exit code of a command that was stopped: 128 plus the number of the signal."""
    return INTERRUPTED if _received is None else 128 + _received


def _stop(number: int, frame: FrameType | None) -> None:
    global _received
    if number != signal.SIGALRM:
        _received = signal.Signals(number)
    assert _received is not None
    if _must_finish(frame):
        _again()
        return
    # These signals often come more than once and must not disturb the clean-up; a second Ctrl-C is intended.
    for other in _OTHERS:
        if signal.getsignal(other) is _stop:
            signal.signal(other, signal.SIG_IGN)
    raise Stopped(f"stopped by {_received.name}")


def _again() -> None:
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)


def _no_more() -> None:
    """What was to be raised again has come too late: the alarm would end the process on its way out."""
    if signal.getsignal(signal.SIGALRM) is _stop:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _must_finish(frame: FrameType | None) -> bool:
    """Whether an exception must not come here. A library that is being imported may catch it as one of its own, and
    continue incompletely loaded; temporary files that are being created or removed would be left."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib") or name == _TEMPORARY_FILES:
            return True
        frame = frame.f_back
    return False
