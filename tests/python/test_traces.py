"""Traces through the compiled engine: a recorder's pipe becomes a file that replays; memory lines give latencies."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from waiting import on_a_terminal

import counterpoint as cp
import samples
from counterpoint import _engine
from counterpoint.system import units

pytestmark = pytest.mark.engine

_STORE = b"\x11\x09\x00" + samples.signed(samples.BASE + 0x40) + b"\x04abcd"
_DURABLE = [b"\x14\x00\x00\x00", b"\x17\x00\x00"]
_RECORDS = [*samples.begun(0x2000), b"\x20\x00", _STORE, *_DURABLE, b"\x21\x00"]
"""A file, and in a transaction a store of four bytes, a flush and a fence."""


def _without_transactions(*, mark: bool) -> bytes:
    """Two stores, each with a flush and a fence."""
    rest = [*_DURABLE, *([b"\x22\x03one"] if mark else [])]
    records = [*samples.begun(0x2000), _STORE, *rest, b"\x11\x09\x00\x00\x04efgh", *rest]
    return samples.ended(records, 24)


def _write(data: bytes, path: Path) -> dict[str, Any]:
    read_end, write_end = os.pipe()

    def feed() -> None:
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(data)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        written: dict[str, Any] = json.loads(_engine.write_trace(read_end, path))
        return written
    finally:
        os.close(read_end)
        feeder.join()


_VERSION_1 = (
    "The trace has version 1 of the format, which does not say whether the program left something to other processes."
)


def test_a_pipe_becomes_a_trace_that_replays(tmp_path: Path) -> None:
    path = tmp_path / "program.cptrace"
    stream = samples.ended(_RECORDS, 12, status=3)
    written = _write(stream, path)
    operations = {"loads": 0, "stores": 1, "bytes": 4, "flushes": 1, "fences": 1, "threads": 1, "transactions": 1}
    sizes = {"stream_bytes": len(stream), "file_bytes": path.stat().st_size}
    ended = {"status": 3, "complete": True, "left_to_others": False, "lacks": [_VERSION_1], "paths": ["pool"]}
    assert written == {"records": 8, "instructions": 12, **operations, **sizes, **ended}
    assert not cp.is_line_trace(path)
    (run,) = cp.replay(path, ["secpm"])
    assert run.stats.transactions == 1


def test_a_pipe_that_breaks_off_leaves_a_trace_and_one_that_lies_none(tmp_path: Path) -> None:
    cut = b"CPTRACE\x01" + b"".join(_RECORDS)
    written = _write(cut, tmp_path / "killed.cptrace")
    assert (written["complete"], written["status"], written["records"]) == (False, 256, 8)
    with pytest.raises(cp.InputError, match=r"the recorder: record 9 at byte .*: expected a record's tag"):
        _write(cut + b"\x55", tmp_path / "lies.cptrace")
    with pytest.raises(cp.InputError, match="fd -1: expected a file descriptor"):
        _engine.write_trace(-1, tmp_path / "lies.cptrace")
    assert [path.name for path in tmp_path.iterdir()] == ["killed.cptrace"]


def _called_stream(object_file: Path) -> bytes:
    """Two lines flushed from two places of a library that is not there, called from two places of `object_file`."""
    code, library = 0x40_0000, 0x7000_0000
    path = os.fsencode(object_file)
    records = [
        *samples.begun(0x2000),
        b"\x05" + samples.unsigned(code) + samples.unsigned(0x10_0000) + b"\x00" + samples.unsigned(len(path)) + path,
        b"\x05" + samples.unsigned(library) + samples.unsigned(0x1000) + b"\x00\x0c/gone/lib.so",
        b"\x11\x09" + samples.signed(code + 0x10) + samples.signed(samples.BASE + 0x40) + b"\x04abcd",
        b"\x08\x01" + samples.signed(code + 0x20),
        b"\x14\x00" + samples.signed(library + 8 - (code + 0x10)) + b"\x00",
        b"\x17\x00\x00",
    ]
    return samples.ended(records, 12)


@pytest.mark.parametrize("mark", [False, True])
def test_a_program_without_transactions_is_compared_by_simulated_time(cli: Cli, tmp_path: Path, mark: bool) -> None:
    trace = tmp_path / "t.cptrace"
    trace.write_bytes(_without_transactions(mark=mark))
    ran = cli("replay", str(trace), "-d", "unencrypted,write-through")
    assert "Simulated time, unencrypted = 1" in ran.out
    assert "Simulated time per fence" in ran.out
    assert ("Simulated time per mark" in ran.out) == mark
    assert "Transaction latency" not in ran.out
    assert "Throughput" not in ran.out
    for run in json.loads(cli("replay", str(trace), "-d", "unencrypted,write-through", "--json").out)["runs"]:
        assert run["transactions"] == 0
        half = pytest.approx(run["simulated_ns"] / 2)
        marks = {"marks": 2, "ns_per_mark": half} if mark else {"marks": 0, "ns_per_mark": None}
        said = {"assumed": None, "lacks": [_VERSION_1], "other_accesses": None}
        assert run["recorded"] == {"fences": 2, "ns_per_fence": half, **marks, **said}
    single = cli("run", "secpm", str(trace))
    assert re.search(r"fences +2, \d+ ns each", single.out)


def test_a_program_with_transactions_is_compared_by_them(cli: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "t.cptrace"
    trace.write_bytes(samples.ended(_RECORDS, 12))
    ran = cli("replay", str(trace), "-d", "unencrypted,write-through")
    assert "Transaction latency" in ran.out
    assert "Simulated time" not in ran.out
    assert cp.run("secpm", trace).stats.recorded is not None
    assert cp.run("secpm", "array", transactions=5).stats.recorded is None


def test_lines_of_a_program_without_debug_information(tmp_path: Path) -> None:
    path = tmp_path / "called.cptrace"
    _write(_called_stream(tmp_path / "no-program"), path)
    (run,) = cp.replay(path, ["secpm"], by_line=True)
    assert run.sites is not None
    places = {cost.place: cost for cost in run.sites}
    assert set(places) == {"no-program+0x10", "lib.so+0x8"}
    flush = places["lib.so+0x8"]
    assert (flush.object, flush.source, flush.function) == ("/gone/lib.so", None, None)
    assert (flush.flushes, flush.fences, places["no-program+0x10"].stores) == (1, 1, 1)
    assert flush.waited_for_ns == pytest.approx(run.stats.core.fence_stall_ns) and flush.waited_for_ns > 100
    assert flush.flush_latency_ns is not None and flush.flush_latency_ns > 0
    assert run.to_dict()["sites"][0]["place"] == run.sites[0].place
    (plain,) = cp.replay(path, ["secpm"])
    assert plain.sites is None and plain.event_digest == run.event_digest


def test_lines_on_the_screen_and_in_json(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "called.cptrace"
    _write(_called_stream(tmp_path / "no-program"), path)
    table = cli("replay", str(path), "-d", "unencrypted,secpm", "--by-line", "--top", "1").out
    assert "Time that commit waited for each source line" in table and "lib.so+0x8" in table
    assert "longest" in cli("run", "secpm", str(path), "--by-line").out
    found = json.loads(cli("replay", str(path), "-d", "unencrypted,secpm", "--by-line", "--json").out)
    assert [len(run["sites"]) for run in found["runs"]] == [2, 2]
    refused = cli("run", "secpm", "btree", "--by-line").refusal
    assert refused == "by_line: only a recorded program has source lines\n"


def test_memory_lines_give_latencies(cli: Cli, tmp_path: Path) -> None:
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
    document = json.loads(cli("replay", str(path), "-d", "secpm", "--json").out)
    assert document["kind"] == "lines"
    assert document["runs"][0]["writes"] == 20


def test_response_times_are_shown(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "one80.trc"
    path.write_text("".join(f"{0x100000 + n * 64:#x} WRITE {n}\n" for n in range(80)) + "0x900000 READ 80\n")
    runs = cp.replay_lines(path, ["unencrypted", "secpm"])
    shown = cli("replay", str(path), "-d", "unencrypted,secpm", "--json")
    assert json.loads(shown.out)["runs"][1]["read_response_ns"] == runs[1].document["read_response_ns"]
    table = cli("replay", str(path), "-d", "unencrypted,secpm").out
    assert "From the cycle in the trace to the answer, with the wait for a free entry\n" in table
    for cell in ("waited", "p99.9", "last answer", units.time(runs[0].finish_ns), units.time(runs[1].finish_ns)):
        assert cell in table


def test_a_replay_of_memory_lines_shows_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "lines.trace"
    kinds = ("WRITE", "READ", "READ")
    path.write_text("".join(f"{n * 37 % 4096 * 64:#x} {kinds[n % 3]} {n * 20}\n" for n in range(300_000)))
    words = ("replay", str(path), "-d", "unencrypted,secpm", "--workers", "1")
    code, shown = on_a_terminal(*words, all_of_it=False)
    assert code == 0
    shares = {int(share) for share in re.findall(rb"(\d+)%", shown)}
    assert any(0 < share < 100 for share in shares), shown


@pytest.mark.parametrize(
    "arguments",
    [
        "run secpm --transactions 5",
        "crash secpm",
        "replay --trace-clock 0",
        "replay --by-line",
        "replay --transactions 5",
        "replay --warmup 0",
        "replay --allow-truncated",
        "replay --serial",
        "replay --cores 2",
        "compare --cores 2 -w",
    ],
)
def test_memory_lines_are_refused_where_a_program_is_needed(arguments: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("LD 0x40\n")
    assert cli(*arguments.split(), str(path)).refusal


def test_table_of_requests_is_that_of_the_engine_as_csv_and_as_parquet(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.trace").write_text(
        "".join(f"{64 * (n * 37 % 5000):#x} {'WRITE' if n % 3 else 'READ'} {n * 20}\n" for n in range(900))
    )
    run = cp.replay_lines("t.trace", ["secpm"], requests="rows.csv")[0]
    told = cli("replay", "t.trace", "-d", "secpm", "--requests", "rows.parquet")
    assert told.code == 0 and "requests: rows.parquet" in told.err
    rows = pl.read_parquet("rows.parquet")
    assert rows.equals(pl.read_csv("rows.csv"))
    assert sorted(rows["id"]) == list(range(900)) and rows["answered_ps"].is_sorted()
    parts = rows.select(pl.sum_horizontal("room_ps", "bank_ps", "media_ps", "counter_ps", "rest_ps")).to_series()
    assert (rows["answered_ps"] - rows["due_ps"] == parts).all()
    reads = rows.filter(pl.col("op") == "R")
    assert (reads["answered_ps"] - reads["sent_ps"]).mean() == pytest.approx(1e3 * (run.read_latency_ns or 0))
    assert rows.filter(pl.col("room_ps") > 0).height == run.waited
    told = cli("replay", "t.trace", "-d", "secpm,sca", "--requests", "rows.csv")
    assert told.code == 2 and "requests: a table is of one design, and there are 2" in told.err
    told = cli("replay", "t.trace", "-d", "secpm", "--requests", "gone/rows.csv")
    assert told.code == 2 and "cannot be written" in told.err
