"""Commands, checks and their summary."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What `make library` has built.
LIBRARY = ROOT / "target" / "library"


class Checks:
    """Counts what holds and what does not."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def that(self, holds: bool, what: str) -> None:
        """Prints `what`, and whether it holds."""
        print(f"{'ok    ' if holds else 'FAILED'} {what}", flush=True)
        self.passed += holds
        self.failed += not holds

    def summary(self) -> int:
        """Prints the counts; returns the exit code."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def run(command: Sequence[str | Path], log: Path, cwd: Path, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit code and output of `command`, which is also in `log`."""
    print(f"       {Path(command[0]).name} ... ({log})", flush=True)
    began = time.monotonic()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    print(f"       {time.monotonic() - began:.0f} s, exit code {done.returncode}", flush=True)
    return done.returncode, log.read_text(errors="replace")


def must(command: Sequence[str | Path], log: Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a command that must succeed; otherwise the end."""
    code, text = run(command, log, cwd, env)
    if code != 0:
        sys.exit(f"error: {' '.join(map(str, command))}: exit code {code}\n" + "\n".join(text.splitlines()[-20:]))
    return text
