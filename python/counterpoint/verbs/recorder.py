"""Recording programs: builds the Valgrind tool of `recorder/` once, and runs a program under it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import termios
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .. import _engine
from .._engine import InputError
from ..contract.results import TraceWritten, build
from ..system.descendants import tell_all
from ..system.handlers import STOPS, handled
from ..system.paths import is_file, is_folder, reason

SUFFIX = ".cptrace"
_PIPE_BYTES = 1 << 20
VALGRIND = "valgrind"
INCLUDE = Path(__file__).parents[1] / "include"
"""The folder of the header that programs may include."""
_SOURCES = Path(__file__).parents[1] / "_recorder"
_TOOL = "counterpoint-amd64-linux"
_NEEDED = "install it with: apt-get install valgrind gcc make"
_FILES_OF_VALGRIND = 12
"""Descriptors that Valgrind keeps above those of the program (`N_RESERVED_FDS`)."""
_FILES_EXPECTED = 1024
"""Open files that a program may have on any Linux, unless somebody has lowered the limit."""
_FILES_MAX = 1 << 16
"""The most descriptors to ask for: the kernel allocates up to the highest that is used, and Valgrind uses that."""
_HEADER = "valgrind/pub_tool_tooliface.h"


@dataclass(frozen=True)
class Recording:
    """What was recorded.

    Attributes:
        path: the trace.
        status: how the program ended, as in a shell: its exit code, or 128 + the signal that ended it.
        summary: what the trace holds.
    """

    path: Path
    status: int
    summary: TraceWritten


def record(
    program: Sequence[str],
    out: str | Path | None = None,
    *,
    pmem: Sequence[str] = (),
    files: Sequence[str] = (),
    mark_stderr: str | None = None,
) -> Recording:
    """Runs a program and writes a trace of what it does to persistent memory.

    Persistent memory is each shared mapping of a file that is opened for reading and writing, what the program
    registers by the client requests of pmemcheck, and the files of `files`. The program keeps standard input, output
    and error.

    Args:
        program: the program and its arguments.
        out: the trace; without it the program's name with `.cptrace` in the current folder.
        pmem: patterns with `*` and `?`; of mapped files, only those whose whole path matches one of them are recorded.
        files: such patterns; files whose whole path matches one of them are recorded once they are opened for writing,
            mapped or not.
        mark_stderr: each line on standard error that begins with this is a mark.

    Raises:
        InputError: there is no such program, Valgrind is not installed, the trace cannot be written, or there is
            nothing to record because the program leaves everything to others.
    """
    path = _checked(program, out)
    library = tool()
    reading, writing = os.pipe()
    with suppress(OSError):
        # The program then waits less for the reader. A system may allow less.
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    command = [*_under("counterpoint"), f"--trace-fd={writing}"]
    command += [f"--pmem={pattern}" for pattern in pmem]
    command += [f"--files={pattern}" for pattern in files]
    if mark_stderr is not None:
        command.append(f"--mark-stderr={mark_stderr}")
    with _patient() as told:
        try:
            with _more_files() as soft:
                command += [f"--soft-files={soft}", "--", *program]
                process = subprocess.Popen(
                    command,
                    pass_fds=[writing],
                    env={**os.environ, "VALGRIND_LIB": str(library)},
                )
        finally:
            os.close(writing)
        told.began(process)
        try:
            summary = _written(reading, path, told)
        finally:
            # A program whose trace cannot be written continues unrecorded.
            os.close(reading)
            code = process.wait()
    if summary is None:
        if told.newest is not None:
            # The signal came before there was anything to record: it stops this command like any other.
            signal.raise_signal(told.newest)
        raise InputError(f"nothing was recorded: Valgrind ended with {code} before '{program[0]}' began")
    if summary.left_to_others and not summary.paths:
        path.unlink()
        why = "; ".join(f"{sentence[:1].lower()}{sentence[1:-1]}" for sentence in summary.lacks)
        raise InputError(
            f"nothing was recorded: '{program[0]}' used no persistent memory itself; {why}: "
            "record the program that uses it"
        )
    return Recording(path, code if code >= 0 else 128 - code, summary)


def _checked(program: Sequence[str], out: str | Path | None) -> Path:
    """The path of the trace, if program and trace can be what they are asked to be."""
    if not program:
        raise InputError("no program to record was given")
    if shutil.which(program[0]) is None:
        raise InputError(f"'{program[0]}' is no program that can be run")
    path = Path(out) if out is not None else Path(Path(program[0]).name + SUFFIX)
    if not is_folder(path.parent):
        raise InputError(f"'{path}' cannot be written: there is no folder '{path.parent}'")
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' cannot be written: it exists and is not a file")
    return path


def watcher() -> list[str]:
    """The command line of the tool that notes what a command reads (`recorder/reads.h`), without the command.

    Raises:
        InputError: what building it needs is not installed.
    """
    return ["env", f"VALGRIND_LIB={tool()}", *_under("counterpoint-reads"), "--trace-children=yes"]


def recorder_of_commands() -> list[str]:
    """The command line of the tool that records a command and each program that it starts, without the command.

    Raises:
        InputError: what building it needs is not installed.
    """
    return ["env", f"VALGRIND_LIB={tool()}", *_under("counterpoint"), "--trace-children=yes"]


def _under(name: str) -> list[str]:
    """The command line that both tools have, up to their own options."""
    return [VALGRIND, f"--tool={name}", "--quiet", "--fair-sched=try", "--vgdb=no"]


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
    if shutil.which(VALGRIND) is None:
        raise InputError(f"recording needs Valgrind, which is not installed; {_NEEDED}")
    for program in ("cc", "make"):
        if shutil.which(program) is None:
            raise InputError(f"building the recorder needs '{program}', which is not installed; {_NEEDED}")
    if not any((Path(prefix) / _HEADER).exists() for prefix in ("/usr/include", "/usr/local/include")):
        raise InputError(
            f"building the recorder needs Valgrind's header '{_HEADER}', which is not installed; {_NEEDED}"
        )
    return subprocess.run([VALGRIND, "--version"], capture_output=True, text=True, check=True).stdout


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


def few_files() -> str | None:
    """A sentence if the program cannot have as many open files as programs take for granted; otherwise None."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = _FILES_EXPECTED + _FILES_OF_VALGRIND
    if hard == resource.RLIM_INFINITY or hard >= enough:
        return None
    return (
        f"the limit of {hard} open files leaves {hard - _FILES_OF_VALGRIND} to the program, because Valgrind keeps "
        f"{_FILES_OF_VALGRIND}; a hard limit ('ulimit -n') of {enough} or more leaves it {_FILES_EXPECTED}"
    )


@contextmanager
def _more_files() -> Iterator[int]:
    """Raises the soft limit of open files for what is started meanwhile; gives what it was, or 0 where it stays.

    The soft limit with which Valgrind starts is the hard limit that the program finds.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _FILES_MAX)
    if soft == resource.RLIM_INFINITY or soft >= most:
        yield 0
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield soft
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _begins(reading: int) -> bool:
    """Waits for the first bytes of the recorder; whether there are any."""
    begun = select.poll()
    begun.register(reading, select.POLLIN)
    begun.poll()
    waiting = array("i", [0])
    fcntl.ioctl(reading, termios.FIONREAD, waiting)
    return waiting[0] > 0


def _written(reading: int, path: Path, told: _Told) -> TraceWritten | None:
    """The summary of the trace, or None if the recorder writes nothing.

    The trace is written on a thread of its own: handlers of signals run in this one, and only while it is in Python.
    """
    with ThreadPoolExecutor(1) as writer:
        try:
            if not _begins(reading):
                return None
            written = writer.submit(_engine.write_trace, reading, str(path)).result()
            return build(TraceWritten, json.loads(written))
        except KeyboardInterrupt:
            # A signal that was put off from before the program was started.
            told.tell(signal.SIGTERM)
            raise


class _Told:
    """The program that is recorded, and the signals that it is told of."""

    def __init__(self) -> None:
        self.newest: int | None = None
        self._early: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def began(self, process: subprocess.Popen[bytes]) -> None:
        """The program has been started; it is told of the signals that have come meanwhile."""
        self._process = process
        for number in self._early:
            tell_all(process.pid, number)

    def tell(self, number: int, _frame: object = None) -> None:
        """A signal has come. Ctrl-C on a terminal reaches the program as well, without being passed on."""
        self.newest = number
        if self._process is None:
            self._early.append(number)
        elif number != signal.SIGINT or not _on_terminal():
            tell_all(self._process.pid, number)


@contextmanager
def _patient() -> Iterator[_Told]:
    """Lets the program decide how to react to a signal: those that stop commands are passed on to it and all below it.

    Whatever ends it, its trace is written to its end.
    """
    program = _Told()
    with handled(STOPS, program.tell, instead_of=lambda _, handler: handler is not signal.SIG_IGN):
        yield program


def _on_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, which sends Ctrl-C to its whole process group."""
    try:
        with open("/dev/tty", "rb") as terminal:  # noqa: PTH123
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
