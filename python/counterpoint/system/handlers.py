"""Handlers of signals that stand for as long as something lasts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals by which a user, a batch system and a closed terminal stop a program."""


@contextmanager
def handled(
    numbers: Iterable[signal.Signals],
    handler: Callable[[int, FrameType | None], object],
    *,
    instead_of: Callable[[signal.Signals, Any], bool],
) -> Iterator[None]:
    """Installs `handler` for signals, until the end of the context.

    A thread other than the main one cannot handle signals, and changes nothing.

    Args:
        numbers: the signals.
        handler: a signal handler of Python.
        instead_of: called with a signal and its current handler; whether `handler` replaces it. A handler that was not
            installed from Python could not be restored, and stays.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in numbers}
    before = {number: old for number, old in found.items() if old is not None and instead_of(number, old)}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
