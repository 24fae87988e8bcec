"""Recorded programs with threads: a core for each, several instances of the program, and the one recorded order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
import samples

pytestmark = pytest.mark.engine


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """Two threads that store to a line each, of which the second follows the first store."""
    store = b"\x11" + samples.unsigned(3) + samples.signed(0)
    of = [samples.signed(samples.BASE), samples.signed(64), samples.signed(-64)]
    flush = b"\x14\x00" + samples.signed(0) + samples.signed(0)
    fence = b"\x17\x00" + samples.signed(0)
    first = [store + of[0] + b"\x04aaaa", flush, fence]
    second = [b"\x07\x01", b"\x25\x02\x00\x04", store + of[1] + b"\x04bbbb", flush, fence]
    last = [b"\x07\x00", store + of[2] + b"\x04cccc", flush, fence]
    path = tmp_path / "threads.cptrace"
    path.write_bytes(samples.ended([*samples.begun(4096), *first, *second, *last], 30, version=7))
    return str(path)


def test_each_thread_has_a_core_unless_they_run_in_their_order(trace: str) -> None:
    (apart,) = cp.replay(trace, ["unencrypted"])
    (serial,) = cp.replay(trace, ["unencrypted"], serial=True)
    (twice,) = cp.replay(trace, ["unencrypted"], cores=4)
    assert (apart.cores, serial.cores, twice.cores) == (2, 1, 4)
    fences = [run.stats.recorded and run.stats.recorded.fences for run in (apart, serial, twice)]
    assert fences == [3, 3, 6]
    assert twice.stats.instructions == 2 * apart.stats.instructions
    assert apart.stats.instructions == serial.stats.instructions


def test_what_is_assumed_of_threads_is_said(trace: str, cli: Cli) -> None:
    told = " ".join(cli("replay", trace, "-d", "unencrypted").out.split())
    assert "Its 2 threads run on a core each" in told
    serial = " ".join(cli("replay", trace, "-d", "unencrypted", "--serial").out.split())
    assert "Its 2 threads are taken in the one order that was recorded" in serial
    instances = " ".join(cli("replay", trace, "-d", "unencrypted", "--cores", "4").out.split())
    assert "2 instances of the program run at the same time" in instances


def test_cores_are_a_multiple_of_the_threads(trace: str, cli: Cli) -> None:
    refused = cli("replay", trace, "-d", "unencrypted", "--cores", "3")
    assert refused.code == 2
    assert "cores: 3 is no multiple of 2, the threads of the recorded program" in refused.err
    assert cli("replay", trace, "-d", "unencrypted", "--cores", "3", "--serial").code == 0


def test_crashes_and_citations_state_how_threads_run(trace: str, cli: Cli) -> None:
    found = json.loads(cli("crash", "write-back", trace, "--cores", "4", "--json").out)
    assert not found["holds"]
    assert "--cores 4" in found["violations"][0]["reproduce"]
    found = json.loads(cli("crash", "write-back", trace, "--serial", "--json").out)
    assert "--serial" in found["violations"][0]["reproduce"]
    assert "--serial" in cp.cite("unencrypted", trace, serial=True).command
    assert "--cores 4" in cp.cite("unencrypted", trace, cores=4).command


def test_costs_of_useless_operations_are_of_the_recorded_order(trace: str) -> None:
    assert cp.check(trace, design="secpm").cost is not None
