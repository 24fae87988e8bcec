"""`record`: errors are reported in one sentence, and signals end what is recorded, on a program in Valgrind's place.

Recording itself is tested by tests/recorder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import ended, wait_until

import counterpoint as cp
import samples
from counterpoint import InputError, recorder
from counterpoint.handlers import STOPS


def test_the_program_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'/no/such/program' is no program that can be run"):
        recorder.record(["/no/such/program"], tmp_path / "out.cptrace")


def test_the_folder_of_the_trace_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: there is no folder '.*missing'"):
        recorder.record(["/bin/sh"], tmp_path / "missing" / "out.cptrace")


def test_without_valgrind_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"needs Valgrind, which is not installed; .*apt-get install valgrind"):
        recorder.record(["/bin/sh"], tmp_path / "out.cptrace")
    assert not list(tmp_path.iterdir())


def test_only_x86_64_linux_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(InputError, match=r"x86-64 Linux only; this is aarch64"):
        recorder.tool()


def test_the_sources_are_part_of_the_package() -> None:
    assert {"Makefile", "COPYING", "main.c", "recorder.h"} <= {file.name for file in recorder._SOURCES.iterdir()}


_VALGRIND = f"""#!{sys.executable}
import os, subprocess, sys, time
stream = next(int(word.partition("=")[2]) for word in sys.argv if word.startswith("--trace-fd="))
here = os.path.dirname(__file__)
with open(os.path.join(here, "stream"), "rb") as file:
    os.write(stream, file.read())
told = next(int(word.partition("=")[2]) for word in sys.argv if word.startswith("--told-fd="))
with open(os.path.join(here, "said"), "rb") as file:
    os.write(told, file.read())
child = subprocess.Popen(["sleep", os.environ["SECONDS"]])
with open(os.path.join(here, "new"), "w") as began:
    began.write(f"{{os.getpid()}} {{child.pid}}")
os.rename(began.name, os.path.join(here, "began"))
time.sleep(float(os.environ["SECONDS"]))
"""
"""Writes a stream of which more may come, starts a child, and waits."""

_RECORD = """
import os, signal, subprocess, sys
from pathlib import Path
from counterpoint import recorder
from counterpoint.cli import main
recorder.tool = lambda: Path()
"""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Any]:
    """Starts `counterpoint record`, in a session of its own: no terminal tells its children of Ctrl-C."""
    started: list[subprocess.Popen[str]] = []

    def record(stream: bytes, before: str = "", said: bytes = b"", seconds: int = 600) -> subprocess.Popen[str]:
        valgrind = tmp_path / "valgrind"
        valgrind.write_text(_VALGRIND)
        valgrind.chmod(0o700)
        (tmp_path / "stream").write_bytes(stream)
        (tmp_path / "said").write_bytes(said)
        command = f"main(['record', '--out', {str(tmp_path / 'out.cptrace')!r}, '--', '/bin/true'])"
        process = subprocess.Popen(
            [sys.executable, "-c", _RECORD + before + command],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "SECONDS": str(seconds)},
        )
        started.append(process)
        return process

    yield record
    for process in started:
        process.kill()
        process.wait()
    for left in _began(tmp_path):
        if not ended(left):
            os.kill(left, signal.SIGKILL)


def _began(folder: Path) -> list[int]:
    """The processes of the program that is recorded, once they have begun."""
    began = folder / "began"
    return [int(process) for process in began.read_text().split()] if began.exists() else []


@pytest.mark.engine
@pytest.mark.parametrize("number", STOPS)
def test_a_signal_ends_the_program_and_its_children_and_keeps_the_trace(
    begin: Any, tmp_path: Path, number: signal.Signals
) -> None:
    stream, _, _ = samples.recorded().rpartition(b"\x7f")
    process = begin(stream)
    wait_until(lambda: bool(_began(tmp_path)), seconds=60)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "3 flushes, 2 fences; the program was cut off" in told
    wait_until(lambda: all(map(ended, _began(tmp_path))))
    assert cp.replay(tmp_path / "out.cptrace", ["unencrypted"])[0].stats.transactions == 1


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_that_comes_while_the_program_is_started_is_not_lost(
    begin: Any, tmp_path: Path, number: signal.Signals
) -> None:
    early = f"""
popen = subprocess.Popen
def start(*given, **options):
    os.kill(os.getpid(), {int(number)})
    return popen(*given, **options)
subprocess.Popen = start
"""
    process = begin(b"", early)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (128 + number, "")
    wait_until(lambda: all(map(ended, _began(tmp_path))))
    assert not (tmp_path / "out.cptrace").exists()


def test_a_recorder_that_does_not_begin_is_told_of(begin: Any, tmp_path: Path) -> None:
    process = begin(b"", f"Path({str(tmp_path / 'valgrind')!r}).write_text('#!/bin/sh\\nexit 3')\n")
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (
        2,
        "error: nothing was recorded: Valgrind ended with 3 before '/bin/true' began\n",
    )


_NOTHING = b"CPTRACE\x01\x01\x00\x00\x00"
"""A stream of a program without persistent memory, up to its END."""


@pytest.mark.engine
@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (b"F", "it started other processes, of which nothing is recorded"),
        (b"\0/bin/other\0", "it became '/bin/other' by exec, of which nothing is recorded"),
    ],
)
def test_a_program_that_leaves_everything_to_others_is_refused(
    begin: Any, tmp_path: Path, said: bytes, sentence: str
) -> None:
    process = begin(_NOTHING, said=said, seconds=0)
    _, told = process.communicate(timeout=60)
    nothing = "error: nothing was recorded: '/bin/true' used no persistent memory itself; "
    assert (process.returncode, told) == (2, f"{nothing}{sentence}: record the program that uses it\n")
    assert not (tmp_path / "out.cptrace").exists()


@pytest.mark.engine
@pytest.mark.parametrize(
    ("said", "complete", "warns"),
    [(b"F", True, "started other"), (b"\0/bin/other\0", False, "became '/bin/other'"), (b"\0/no\0", True, None)],
)
def test_what_a_recorded_program_leaves_to_others_is_told(
    begin: Any, tmp_path: Path, said: bytes, complete: bool, warns: str | None
) -> None:
    stream = samples.recorded() if complete else samples.recorded().rpartition(b"\x7f")[0]
    process = begin(stream, said=said, seconds=0)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert ("warning: the program is not recorded whole: it " in told) == (warns is not None)
    assert warns is None or warns in told
    assert (tmp_path / "out.cptrace").exists()
