"""Recording programs: builds the Valgrind tool of `recorder/` once, and runs a program under it."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import InputError, _engine
from .handlers import STOPS, handled
from .paths import is_file, is_folder, reason

SUFFIX = ".cptrace"
_SOURCES = Path(__file__).with_name("_recorder")
_TOOL = "counterpoint-amd64-linux"
_NEEDED = "install it with: apt-get install valgrind gcc make"
_HEADER = "valgrind/pub_tool_tooliface.h"


@dataclass(frozen=True)
class Recording:
    """What was recorded.

    Attributes:
        path: the trace.
        status: how the program ended, as in a shell: its exit code, or 128 + the signal that ended it.
        summary: what the trace holds: records, instructions, loads, stores, bytes, flushes, fences, threads, files,
            transactions, and whether it is complete.
    """

    path: Path
    status: int
    summary: dict[str, Any]


def record(program: Sequence[str], out: str | Path | None = None, *, pmem: Sequence[str] = ()) -> Recording:
    """Runs a program and writes a trace of what it does to persistent memory.

    Persistent memory is each shared mapping of a file that is opened for reading and writing, and what the program
    registers by the client requests of pmemcheck. The program keeps standard input, output and error.

    Args:
        program: the program and its arguments.
        out: the trace; without it the program's name with `.cptrace` in the current folder.
        pmem: patterns with `*` and `?`; only files whose whole path matches one of them are recorded.

    Raises:
        InputError: there is no such program, Valgrind is not installed, or the trace cannot be written.
    """
    if not program:
        raise InputError("no program to record was given")
    if shutil.which(program[0]) is None:
        raise InputError(f"'{program[0]}' is no program that can be run")
    path = Path(out) if out is not None else Path(Path(program[0]).name + SUFFIX)
    if not is_folder(path.parent):
        raise InputError(f"'{path}' cannot be written: there is no folder '{path.parent}'")
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' cannot be written: it exists and is not a file")
    library = tool()
    reading, writing = os.pipe()
    command = ["valgrind", "--tool=counterpoint", "--quiet", "--fair-sched=try", "--vgdb=no", f"--trace-fd={writing}"]
    command += [f"--pmem={pattern}" for pattern in pmem]
    with _patient() as told:
        try:
            process = subprocess.Popen(
                [*command, "--", *program], pass_fds=[writing], env={**os.environ, "VALGRIND_LIB": str(library)}
            )
        finally:
            os.close(writing)
        told.append(process)
        try:
            summary: dict[str, Any] = dict(_engine.write_trace(reading, str(path)))
        finally:
            # A program whose trace cannot be written continues unrecorded.
            os.close(reading)
            code = process.wait()
    return Recording(path, code if code >= 0 else 128 - code, summary)


def tool() -> Path:
    """The folder with the built tool, for `VALGRIND_LIB`; it is built when there is none for these sources.

    Raises:
        InputError: what building it needs is not installed.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise InputError(
            f"programs are recorded on x86-64 Linux only; this is {platform.machine()} {platform.system()}"
        )
    version = _version_of_valgrind()
    folder = _cache() / f"recorder-{_digest(version)}"
    if is_file(folder / _TOOL):
        return folder
    try:
        return _built_in(folder)
    except OSError as error:
        raise InputError(
            f"the recorder cannot be built in '{folder.parent}': {reason(error)}; "
            "the environment variable XDG_CACHE_HOME names another folder"
        ) from error


def _built_in(folder: Path) -> Path:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="recorder-", dir=folder.parent) as temporary:
        built = Path(temporary) / "built"
        _build(built)
        shutil.rmtree(built / "objects")
        try:
            built.rename(folder)
        except OSError:
            if not is_file(folder / _TOOL):
                raise
    return folder


def _version_of_valgrind() -> str:
    if shutil.which("valgrind") is None:
        raise InputError(f"recording needs Valgrind, which is not installed; {_NEEDED}")
    for program in ("cc", "make"):
        if shutil.which(program) is None:
            raise InputError(f"building the recorder needs '{program}', which is not installed; {_NEEDED}")
    if not any((Path(prefix) / _HEADER).exists() for prefix in ("/usr/include", "/usr/local/include")):
        raise InputError(
            f"building the recorder needs Valgrind's header '{_HEADER}', which is not installed; {_NEEDED}"
        )
    return subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "counterpoint"


def _digest(version: str) -> str:
    digest = hashlib.sha256(version.encode())
    for source in sorted(_SOURCES.iterdir()):
        if source.suffix in (".c", ".h") or source.name == "Makefile":
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _build(folder: Path) -> None:
    result = subprocess.run(
        ["make", "--silent", "-C", str(_SOURCES.resolve()), f"BUILD={folder}"], capture_output=True, text=True
    )
    if result.returncode != 0:
        lines = result.stderr.splitlines()
        why = next((line for line in lines if "error" in line), lines[-1] if lines else "make failed")
        raise InputError(f"the recorder cannot be built: {why}")


@contextmanager
def _patient() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Lets the program decide how to react to a signal: signals that stop commands are passed on to these processes.

    Ctrl-C on a terminal reaches the program as well, without being passed on. Whatever ends it, its trace is written to
    its end.
    """
    programs: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _frame: object) -> None:
        for program in programs:
            if number != signal.SIGINT or not _on_terminal():
                program.send_signal(number)

    with handled(STOPS, pass_on, instead_of=lambda _, handler: handler is not signal.SIG_IGN):
        yield programs


def _on_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, which sends Ctrl-C to its whole process group."""
    try:
        with open("/dev/tty", "rb") as terminal:  # noqa: PTH123
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
