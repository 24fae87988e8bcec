"""Commands that must succeed, in an environment that has nothing but PATH."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Failure(Exception):
    """What is installed is not what it should be."""


def require(holds: bool, what: str) -> None:
    """Fails with a sentence unless something holds."""
    if not holds:
        raise Failure(what)


def command(words: Sequence[str | Path], *, cwd: Path = ROOT, **set_to: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command that knows PATH and these variables only; what it says is in `stdout`."""
    environment = {"PATH": os.environ["PATH"], **{name: str(value) for name, value in set_to.items()}}
    to_both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(list(map(str, words)), cwd=cwd, env=environment, text=True, check=False, **to_both)  # type: ignore[call-overload, no-any-return]


def told(words: Sequence[str | Path], *, cwd: Path = ROOT, **set_to: str | Path) -> str:
    """What a command says that must succeed."""
    done = command(words, cwd=cwd, **set_to)
    require(done.returncode == 0, f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout.strip()


def make(target: str, set_to: Mapping[str, str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a target of the Makefile as a user does, who has an environment, though not that of another `make`."""
    words = ["make", "--silent", "--no-print-directory", target, *(f"{name}={value}" for name, value in set_to.items())]
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    return subprocess.run(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
    )


def made(target: str, **set_to: str | Path) -> str:
    """What `make` says of a target that must succeed."""
    done = make(target, set_to)
    require(done.returncode == 0, f"make {target} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def commands() -> list[str]:
    """The program's commands, as its help lists them."""
    return re.findall(r"^  ([a-z]+) {2,}\S", told([program()]), re.MULTILINE)


def program() -> Path:
    """The installed command."""
    return ROOT / ".venv" / "bin" / "counterpoint"
