"""What tests of recorded programs share: a run under the recorder, without compression, and how a check fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Failure(Exception):
    """A check failed."""


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Failure(sentence)


def record(command: list[str], trace: Path, tool: Path, *options: str, status: int = 0, stdin: str = "") -> str:
    """Runs a command under the tool, which writes its stream to `trace`; returns what the command printed."""
    with trace.open("wb") as raw:
        valgrind = ["valgrind", "--tool=counterpoint", "--quiet", "--fair-sched=try", *options]
        done = subprocess.run(
            [*valgrind, f"--trace-fd={raw.fileno()}", "--", *command],
            input=stdin,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[raw.fileno()],
            env={**os.environ, "VALGRIND_LIB": str(tool), "PMEM_IS_PMEM_FORCE": "1"},
        )
    require(done.returncode == status, f"'{' '.join(command)}' ended with {done.returncode}, not {status}")
    return done.stdout
