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
from conftest import Cli
from waiting import ended, wait_until

import counterpoint as cp
import samples
from counterpoint import InputError
from counterpoint.system.handlers import STOPS
from counterpoint.verbs import recorder


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
from counterpoint.verbs import recorder
from counterpoint.cli import main
recorder.tool = lambda: Path()
"""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Any]:
    """Starts `counterpoint record`, in a session of its own: no terminal tells its children of Ctrl-C."""
    started: list[subprocess.Popen[str]] = []

    def record(stream: bytes, before: str = "", seconds: int = 600) -> subprocess.Popen[str]:
        valgrind = tmp_path / "valgrind"
        valgrind.write_text(_VALGRIND)
        valgrind.chmod(0o700)
        (tmp_path / "stream").write_bytes(stream)
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
    assert "3 flushes, 2 fences\n" in told and "The recording broke off" in told
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


_NOTHING = b"CPTRACE\x04\x01\x00\x00\x00"
"""A stream of a program without persistent memory, up to its END."""

_PROCESSES = "The program started other processes, of which nothing is recorded."
_BECAME = "The program became '/bin/other' by exec, of which nothing is recorded."


@pytest.mark.engine
@pytest.mark.parametrize(
    ("lacks", "sentence"), [(samples.lacks(0), _PROCESSES), (samples.lacks(1, b"/bin/other"), _BECAME)]
)
def test_a_program_that_leaves_everything_to_others_is_refused(
    begin: Any, tmp_path: Path, lacks: bytes, sentence: str
) -> None:
    process = begin(_NOTHING + lacks, seconds=0)
    _, told = process.communicate(timeout=60)
    if sentence == _PROCESSES:
        sentence += " The recording broke off: what the program did afterwards is not there."
    why = "; ".join(f"t{one[1:]}".removesuffix(".") for one in sentence.split(". "))
    nothing = "error: nothing was recorded: '/bin/true' used no persistent memory itself; "
    assert (process.returncode, told) == (2, f"{nothing}{why}: record the program that uses it\n")
    assert not (tmp_path / "out.cptrace").exists()


_TRANSFERS = "The program used io_submit: what the kernel wrote to memory for it is not recorded."
_LACKING = {
    "fork": (samples.recorded(samples.lacks(0)), [_PROCESSES]),
    "exec": (samples.recorded(samples.lacks(1, b"/bin/other")).rpartition(b"\x7f")[0], [_BECAME]),
    "failed exec": (samples.recorded(samples.lacks(1, b"/no"), samples.lacks(2)), []),
    "transfers": (samples.recorded(samples.lacks(3, b"io_submit"), samples.lacks(0)), [_TRANSFERS, _PROCESSES]),
    "nothing": (samples.recorded(), []),
}


@pytest.mark.engine
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", _LACKING)
def test_work_of_other_processes_is_told_with_every_verdict(begin: Any, tmp_path: Path, cli: Cli, name: str) -> None:
    stream, lacks = _LACKING[name]
    process = begin(stream, seconds=0)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    warnings = [line for line in told.splitlines() if line.startswith("warning: ")]
    assert [line.partition("say so: ")[2] for line in warnings] == lacks
    trace = tmp_path / "out.cptrace"
    recorded = cp.run("unencrypted", trace).stats.recorded
    assert recorded is not None
    verdicts = (cp.check(trace), cp.crash("unencrypted", trace), recorded)
    assert [list(verdict.lacks) for verdict in verdicts] == [lacks] * 3
    commands = (("check", trace), ("crash", "unencrypted", trace), ("run", "unencrypted", trace))
    for command in (*commands, ("replay", trace, "-d", "unencrypted,secpm")):
        shown = " ".join(cli(*map(str, command)).out.split())
        assert ("Not in the trace: " in shown) == bool(lacks), command
        assert all(sentence in shown for sentence in lacks), command
    cp.write_report(cp.compare(["unencrypted"], [str(trace)]), tmp_path)
    store = tmp_path / "store.duckdb"
    cp.sweep({"axes": {"workload": [str(trace)], "design": ["unencrypted", "secpm"]}}, store=store)
    cp.write_sweep_page(store, tmp_path)
    for name in ("report.html", "sweep.html"):
        page = (tmp_path / name).read_text()
        assert all(sentence.replace("'", "&#39;") in page for sentence in lacks), name
