"""Waiting for the effects of another process."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until `condition` holds, and fails if that takes longer."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def listens(process: int) -> bool:
    """Whether a command has begun, so that it hears SIGTERM: before that, it has nothing to clean up."""
    status = Path(f"/proc/{process}/status").read_text().split()
    return bool(int(status[status.index("SigCgt:") + 1], 16) >> (signal.SIGTERM - 1) & 1)


def ended(process: int) -> bool:
    """Whether a process is no more, but for what its parent has not read of it yet."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except FileNotFoundError:
        return True
    return stat.rpartition(b")")[2].split()[0] == b"Z"
