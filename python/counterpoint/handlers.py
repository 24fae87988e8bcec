"""Handlers of signals that stand for as long as something lasts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What a user, a batch system and a terminal that is closed stop a program with."""


@contextmanager
def handled(
    numbers: Iterable[signal.Signals],
    handler: Callable[[int, FrameType | None], object],
    *,
    instead_of: Callable[[signal.Signals, Any], bool],
) -> Iterator[None]:
    """Has `handler` take signals, until the end.

    A thread that is not the main one handles no signals, and changes nothing.

    Args:
        numbers: the signals.
        handler: called as a handler of Python is.
        instead_of: told a signal and what handles it now, whether `handler` takes it. A handler that is not Python's
            could not be put back, and stays.
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
