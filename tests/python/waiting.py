"""Other processes: what they show on a terminal, and waiting for their effects."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until `condition` holds, and fails if that takes longer."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def on_a_terminal(*words: str, cwd: Path | None = None, all_of_it: bool = True) -> tuple[int, bytes]:
    """The exit code of a command and what it shows on a terminal: everything, or what is not its output."""
    terminal, end = pty.openpty()
    call = [sys.executable, "-m", "counterpoint", *words]
    shown = b""
    with subprocess.Popen(call, stdout=end if all_of_it else subprocess.DEVNULL, stderr=end, cwd=cwd) as process:
        os.close(end)
        with contextlib.suppress(OSError):  # The end of a terminal whose other side is closed is an error.
            while read := os.read(terminal, 1 << 16):
                shown += read
    os.close(terminal)
    return process.returncode, shown


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
