"""SIGTERM and SIGHUP stop a command as Ctrl-C does: children end, temporary folders go, what is finished is kept."""

from __future__ import annotations

import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""What stops a command beside Ctrl-C, as from `kill`, a batch system, or a terminal that is closed."""

INTERRUPTED = 128 + signal.SIGINT
"""Exit code after Ctrl-C."""

_stopped_by: signal.Signals | None = None


class Stopped(KeyboardInterrupt):
    """A signal asks the command to stop."""


def stop_as_ctrl_c() -> None:
    """Has the signals raise where Ctrl-C does. One that is ignored, as under `nohup`, stays so."""
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)


def exit_code() -> int:
    """The exit code of a command that was stopped: 128 and the number of the signal."""
    return INTERRUPTED if _stopped_by is None else 128 + _stopped_by


def _stop(number: int, _frame: FrameType | None) -> None:
    global _stopped_by
    _stopped_by = signal.Signals(number)
    # Whoever stops a command says so more than once; cleaning up is not to be disturbed.
    for other in STOP_SIGNALS:
        if signal.getsignal(other) is _stop:
            signal.signal(other, signal.SIG_IGN)
    raise Stopped(f"stopped by {_stopped_by.name}")
