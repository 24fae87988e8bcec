"""Traces of other tools: what is read of them, and what is said of what cannot be read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
import samples

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("name", "reads", "writes"),
    [("nvmain", 1, 2), ("prospero", 1, 3), ("dramsim2", 3, 1), ("dramsim3", 1, 2), ("ramulator", 2, 2)],
)
def test_lines_are_those_of_their_simulator(name: str, reads: int, writes: int, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "lines.trace"
    path.write_bytes(samples.LINES[name])
    outcome = cli("replay", "-d", "secpm", "--machine", "small", "--json", str(path))
    (run,) = json.loads(outcome.out)["runs"]
    assert (run["format"], run["reads"], run["writes"]) == (name, reads, writes)


def test_a_log_with_stacks_gives_the_lines_of_stores(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "stacks.log"
    path.write_bytes(samples.STACKS.replace(b"|FLUSH;0x5200000;0x80", b""))
    lost = [finding for finding in cp.check(path).findings if finding.kind == "never-flushed"]
    assert {finding.source: finding.function for finding in lost} == {
        "list.h:12": "set",
        "list.c:60": "list::operator||(int)",
    }
    shown = cli("check", str(path), "--wrapper", "set")
    assert "list.c:44" in shown.out and "list.h:12" not in shown.out


def test_a_bad_first_line_names_its_format(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "k6.trc"
    path.write_bytes(b"\n0x7F64A0C0 P_IO_RD 12\n")
    for command in (("replay",), ("run", "secpm"), ("crash", "secpm"), ("check",)):
        refusal = cli(*command, str(path)).refusal
        assert f"{path}: line 2 at byte 1: expected DRAMSim2's address P_FETCH|P_MEM_RD" in refusal
        assert refusal.endswith('found "0x7F64A0C0 P_IO_RD 12"\n')


@pytest.mark.parametrize(
    ("make", "kind"),
    [(os.mkfifo, "a pipe"), (Path.mkdir, "a folder"), (lambda path: path.symlink_to("/dev/null"), "a device")],
)
def test_what_is_no_regular_file_is_no_trace(make: Callable[[Path], None], kind: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    make(path)
    said = f"{path}: a trace is read several times, so it must be a regular file, and this is {kind}\n"
    for command in (("replay",), ("run", "secpm"), ("crash", "secpm"), ("check",), ("compare", "--workload")):
        outcome = cli(*command, str(path))
        assert said in outcome.refusal, command
