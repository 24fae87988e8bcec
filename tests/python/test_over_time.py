"""Figures over time: the same run as without, as a table, as bars and as a chart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.cli.over_time_table import bars

_ASKED: dict[str, Any] = {"machine": "small", "transactions": 40, "warmup": 0, "footprint": "64KiB"}
_COMMAND = (
    "run",
    "secpm",
    "btree",
    "--machine",
    "small",
    "--transactions",
    "40",
    "--warmup",
    "0",
    "--footprint",
    "64KiB",
)


def test_windows_sum_up_to_the_run_and_change_nothing() -> None:
    plain = cp.run("secpm", "btree", **_ASKED)
    run = cp.run("secpm", "btree", window="5us", **_ASKED)
    assert run.windows is not None
    assert (plain.windows, run.event_digest, run.stats.nvm) == (None, plain.event_digest, plain.stats.nvm)
    frame = cp.over_time(run)
    assert len(frame) == len(run.windows.from_ns)
    stats = run.stats
    for column, total in {
        "transactions": stats.transactions,
        "instructions": stats.instructions,
        "reads": stats.nvm.reads,
        "writes": stats.nvm.writes,
        "counter_writes": stats.nvm.counter_writes,
    }.items():
        assert frame[column].sum() == total, column
    written = frame["write_gb_per_s"] * run.windows.window_ns
    assert written.sum() == pytest.approx(stats.nvm.writes * run.windows.line_bytes)
    assert cp.run("secpm", "btree", window=5000, **_ASKED).windows == run.windows
    assert "windows_window_ns" not in cp.frame([run]).columns


def test_runs_without_windows_have_no_figures_over_time() -> None:
    with pytest.raises(cp.InputError, match="has no figures over time; give it a window, as in 10us"):
        cp.over_time(cp.run("secpm", "btree", **_ASKED))


@pytest.mark.parametrize("wrong", [True, None.__class__, float("nan"), 2**70])
def test_times_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(cp.InputError, match="window"):
        cp.run("secpm", "btree", window=wrong, **_ASKED)


def test_a_window_gives_bars_a_table_and_a_chart(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = cli(*_COMMAND, "--window", "5us", "--csv", "time.csv", "--parquet", "time.parquet", "--figures", "drawn")
    assert shown.code == 0, shown.err
    frame = pl.read_csv("time.csv")
    told = re.search(r"over time, (\d+) windows of 5\.00 µs", shown.out)
    assert told and int(told[1]) == len(frame) == len(pl.read_parquet("time.parquet"))
    assert re.search(r"lines written +\S+ .*\d", shown.out)
    assert sorted(path.name for path in Path("drawn").iterdir()) == [
        f"over-time.{form}" for form in ("pdf", "png", "svg")
    ]
    drawing = Path("drawn/over-time.svg").read_text()
    assert "simulated time in µs" in drawing and "bandwidth in GB/s" in drawing
    assert Path("drawn/over-time.pdf").read_bytes().startswith(b"%PDF")


def test_what_windows_do_not_go_with_is_said(cli: Cli, tmp_path: Path) -> None:
    told = cli(*_COMMAND, "--figures", str(tmp_path / "drawn"))
    assert told.code == 2 and "give it --window, as in 10us" in told.err
    told = cli(*_COMMAND, "--window", "10us", "--seeds", "2")
    assert told.code == 2 and "--window is of one run; leave out --seeds" in told.err
    told = cli(*_COMMAND, "--window", "10 parsecs")
    assert told.code == 2 and "is not a time from 1ns to 1000000s" in told.err


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=300))
def test_bars_are_as_high_as_their_means(values: list[float]) -> None:
    shown = bars(values)
    assert len(shown) == min(len(values), 40)
    if len(values) <= 40 and max(values) > 0:
        tallest = [place for place, value in enumerate(values) if value == max(values)]
        assert all(shown[place] == "█" for place in tallest)
        assert all(shown[a] <= shown[b] for a, x in enumerate(values) for b, y in enumerate(values) if x <= y)
    if max(values) == 0:
        assert set(shown) == {" "}
