"""Traces through the compiled engine: a recorder's pipe becomes a file that replays; memory lines give latencies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import counterpoint as cp
from counterpoint import _engine

pytestmark = pytest.mark.engine

_BASE = 0x1000_0000


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def _stream(*, end: bool = True) -> bytes:
    """A file, a store of four bytes, a flush and a fence, from the description of the format."""
    records = [
        bytes([0x01, 0, 0, 0]),
        bytes([0x02, 0, 4]) + b"pool",
        bytes([0x03]) + _unsigned(_BASE) + _unsigned(0x2000) + bytes([0, 0]),
        bytes([0x20, 0]),
        bytes([0x11, 9, 0]) + _unsigned(2 * (_BASE + 0x40)) + bytes([4]) + b"abcd",
        bytes([0x14, 0, 0, 0]),
        bytes([0x17, 0, 0]),
        bytes([0x21, 0]),
    ]
    last = [bytes([0x7F, len(records), 12, 3])] if end else []
    return b"CPTRACE\x01" + b"".join([*records, *last])


def _write(data: bytes, path: Path) -> dict[str, int | bool | list[str]]:
    read_end, write_end = os.pipe()

    def feed() -> None:
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        return _engine.write_trace(read_end, path)
    finally:
        os.close(read_end)
        feeder.join()


def test_a_pipe_becomes_a_trace_that_replays(tmp_path: Path) -> None:
    path = tmp_path / "program.cptrace"
    written = _write(_stream(), path)
    assert written == {
        "records": 8,
        "instructions": 12,
        "loads": 0,
        "stores": 1,
        "bytes": 4,
        "flushes": 1,
        "fences": 1,
        "threads": 1,
        "files": 1,
        "transactions": 1,
        "status": 3,
        "stream_bytes": len(_stream()),
        "file_bytes": path.stat().st_size,
        "complete": True,
        "paths": ["pool"],
    }
    assert not cp.is_line_trace(path)
    (run,) = cp.replay(path, ["secpm"])
    assert run.stats.transactions == 1


def test_a_pipe_that_breaks_off_leaves_a_trace_and_one_that_lies_none(tmp_path: Path) -> None:
    written = _write(_stream(end=False), tmp_path / "killed.cptrace")
    assert (written["complete"], written["status"], written["records"]) == (False, 256, 8)
    with pytest.raises(cp.InputError, match=r"the recorder: record 9 at byte .*: expected a record's tag"):
        _write(_stream(end=False) + b"\x55", tmp_path / "lies.cptrace")
    with pytest.raises(cp.InputError, match="fd -1: expected a file descriptor"):
        _engine.write_trace(-1, tmp_path / "lies.cptrace")
    assert [path.name for path in tmp_path.iterdir()] == ["killed.cptrace"]


def test_memory_lines_give_latencies(tmp_path: Path) -> None:
    path = tmp_path / "lines.nvt"
    path.write_text("".join(f"{n * 50} {'W' if n % 2 else 'R'} 0x{n * 4096:x} 0 0\n" for n in range(40)))
    assert cp.is_line_trace(path)
    plain, encrypted = cp.replay_lines(path, ["unencrypted", "secpm"], trace_clock_mhz=400)
    assert (plain.requests, plain.reads, plain.writes, plain.format) == (40, 20, 20, "nvmain")
    assert plain.counter_writes == 0
    assert encrypted.counter_writes > 0
    assert plain.read_latency_ns is not None
    assert encrypted.read_latency_ns is not None
    assert plain.read_latency_ns < encrypted.read_latency_ns
    with pytest.raises(cp.InputError, match="replay_lines takes it"):
        cp.replay(path, ["secpm"])
    shown = subprocess.run(
        [sys.executable, "-m", "counterpoint", "replay", str(path), "-d", "secpm", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    document = json.loads(shown.stdout)
    assert document["kind"] == "lines"
    assert document["runs"][0]["writes"] == 20


@pytest.mark.parametrize("arguments", ["run secpm", "crash secpm", "replay --trace-clock 0", "compare -w"])
def test_memory_lines_are_refused_where_a_program_is_needed(arguments: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("LD 0x40\n")
    command, *rest = arguments.split()
    shown = subprocess.run(
        [sys.executable, "-m", "counterpoint", command, *rest, str(path)], capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stdout) == (2, ""), shown.stderr
    assert shown.stderr.startswith("error: ")
    assert shown.stderr.count("\n") == 1
