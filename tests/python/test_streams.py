"""Output that cannot be written: its own exit code, one sentence if it can be printed, and nothing else is lost.

Some commands in processes of their own, since the streams are theirs; every command with streams that fail here.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SWEEP, Cli, Outcome, furnish

import counterpoint as cp
from counterpoint.cli import app
from counterpoint.papers import calibrate
from counterpoint.report import calibration_page
from counterpoint.system import streams

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("undrawn")]

_SECONDS_MAX = 300
_SMALL = "--machine small --transactions 2"
_PROGRAM = [sys.executable, "-m", "counterpoint"]
_COMMANDS = {
    "": "",
    "--help": "--help",
    "--version": "--version",
    "designs": "designs",
    "designs --help": "designs --help",
    "workloads": "workloads",
    "machines": "machines --json",
    "faults": "faults",
    "include": "include",
    "bugs": "bugs missing_flush",
    "man": "man crash",
    "parts": "parts",
    "run": f"run secpm btree {_SMALL}",
    "compare": f"compare -d secpm -w btree {_SMALL} --json",
    "recovery": "recovery strict --memory 16GiB",
    "crash": f"crash secpm btree {_SMALL}",
    "crash, violated": f"crash write-back btree {_SMALL} --no-shrink --no-blame --json",
    "crash, with files": f"crash secpm btree {_SMALL} --out crash",
    "annotations": f"annotations sca btree {_SMALL}",
    "litmus": "litmus torn-pair",
    "record": "record --out ../shared.cptrace -- true",
    "check": "check trace.log --json",
    "replay": "replay lines.nvmain -d secpm --machine small",
    "reproduce": "reproduce secpm-workshop --quick --store ../papers.duckdb --json",
    "calibrate": "calibrate secpm",
    "sweep": "sweep sweep.toml",
    "report": "report ../sweep.duckdb",
    "no such command": "nope",
    "no such design": "run nope btree",
}
_WAYS = (
    (">/dev/full", "no space left on device", ""),
    ("2>/dev/full", "", "full"),
    ("<&- >&- 2>&-", "it is closed", "closed"),
    (">&-", "it is closed", ""),
    ("2>&-", "", "closed"),
    ("| sleep 0; exit ${PIPESTATUS[0]}", "gone", ""),
)
"""Redirections, and how standard output and standard error fail by them."""

_EVERY_WAY = ("", "run", "sweep", "no such design")


@pytest.fixture(scope="module", autouse=True)
def unsearched() -> Iterator[None]:
    """Searches nothing: that takes minutes and writes to no stream."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "calibrate", lambda *_, **__: (None,))
        patch.setattr(calibration_page, "page", lambda _: "page")
        yield


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what commands need; each works in a folder inside."""
    folder = tmp_path_factory.mktemp("streams")
    cp.sweep(tomllib.loads(SWEEP) | {"name": "sweep"}, folder / "sweep.duckdb", workers=1)
    cp.reproduce("secpm-workshop", quick=True, store=folder / "papers.duckdb")
    return folder


@pytest.fixture
def folder(shared: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = shared / f"of-{abs(hash(request.node.name))}"
    made.mkdir()
    furnish(made)
    monkeypatch.chdir(made)
    return made


def _run(command: str, folder: Path, redirected: str = "") -> Outcome:
    done = subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "bash", *_PROGRAM, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS_MAX,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_every_command_is_below() -> None:
    named = {words.split()[0] for words in _COMMANDS.values() if words}
    assert {command.name for command in app.registered_commands} <= named


@pytest.mark.parametrize("name", _EVERY_WAY)
def test_a_stream_that_fails_is_told(name: str, folder: Path) -> None:
    whole = _run(_COMMANDS[name], folder)
    assert "Traceback" not in whole.err
    for way, fails_output, fails_errors in _WAYS:
        (folder / "sweep.duckdb").unlink(missing_ok=True)
        _holds(whole, _run(_COMMANDS[name], folder, way), fails_output, fails_errors)


@pytest.mark.parametrize("name", [*_COMMANDS])
def test_every_command_notices_a_stream_that_fails(
    name: str, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = _COMMANDS[name].split()
    whole = cli(*command)
    assert "Traceback" not in whole.err
    for stream, fails_output, fails_errors in (("stdout", "no space left on device", ""), ("stderr", "", "full")):
        (folder / "sweep.duckdb").unlink(missing_ok=True)
        with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
            patch.setattr(sys, stream, full)
            outcome = cli(*command)
        _holds(whole, outcome, fails_output, fails_errors)


def _holds(whole: Outcome, outcome: Outcome, fails_output: str, fails_errors: str) -> None:
    """What a command that does `whole` does where standard output or standard error fail."""
    fails = (fails_output and whole.out) or (fails_errors and whole.err)
    gone = streams.PIPE_CLOSED if fails_output == "gone" else streams.OUTPUT_FAILED
    assert outcome.code == (gone if fails and whole.code in (0, 1) else whole.code), outcome
    said = fails_output and whole.out and fails_output != "gone"
    sentence = f"error: standard output cannot be written: {fails_output}\n" if said else ""
    assert outcome.err == ("" if fails_errors else whole.err + sentence), outcome
    assert (outcome.out == "") == bool(fails_output or not whole.out), outcome


def test_files_are_written_though_standard_output_fails(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        outcome = cli("compare", "-d", "secpm", "-w", "btree", *_SMALL.split(), "--out", "out")
    assert outcome.code == streams.OUTPUT_FAILED
    assert (folder / "out/report.html").read_text().endswith("</html>")


def test_notes_never_go_where_results_go(folder: Path) -> None:
    outcome = _run("sweep sweep.toml --json", folder, "2>&-")
    assert outcome.out.startswith("{"), "and not with what standard error would have had"


def test_a_terminal_that_goes_away_stops_nothing(folder: Path) -> None:
    """The progress bar goes to standard error too."""
    terminal, end = pty.openpty()
    command = "compare -d secpm,sca,write-back -w btree,queue --transactions 1000 --footprint 1MiB --json"
    with subprocess.Popen([*_PROGRAM, *command.split()], cwd=folder, stdout=subprocess.PIPE, stderr=end) as process:
        os.close(end)
        assert os.read(terminal, 1), "the bar is there"
        os.close(terminal)
        assert process.stdout
        document = process.stdout.read()
        assert process.wait(_SECONDS_MAX) == streams.OUTPUT_FAILED
    assert document.endswith(b"}\n")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (f"compare -d secpm -w btree {_SMALL} --out out", "output file 'out/"),
        (f"crash secpm btree {_SMALL} --out out", "output file 'out/crash."),
        (f"run secpm btree {_SMALL} --timeline t.json", "timeline t.json: cannot be written: "),
        ("report ../sweep.duckdb --out out", "output file 'out/sweep.html'"),
        ("sweep sweep.toml", "store 'sweep.duckdb' cannot be "),
        ("replay lines.nvmain -d secpm --machine small", ""),
    ],
)
def test_a_full_disk_is_failing_output(command: str, what: str, folder: Path) -> None:
    """A limit on the size of files stands for it, which standard output, a pipe, does not meet."""
    limited = ["bash", "-c", 'ulimit -f 1; "$@"', "bash", *_PROGRAM, *command.split()]
    outcome = subprocess.run(limited, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS_MAX)
    assert outcome.returncode == (streams.OUTPUT_FAILED if what else 0), outcome
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == bool(what), outcome
    assert "Traceback" not in outcome.stderr
    assert what in outcome.stderr, outcome
