"""Runs with several seeds: means with intervals in tables and pictures, and what does not differ."""

from __future__ import annotations

import json
import math
import re
import statistics
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.cli import comparison_table
from counterpoint.papers.model import Mark
from counterpoint.report import charts, compared, sweep_page
from counterpoint.verbs.frames import over_seeds
from counterpoint.verbs.interval import Estimate, estimate

pytestmark = pytest.mark.engine

_SMALL = ("--machine", "small", "--transactions", "10")
_COMPARE = ("compare", "-d", "unencrypted,secpm", "-w", "array,queue", *_SMALL)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return cp.compare(["unencrypted", "secpm"], ["array", "queue"], machine="small", transactions=10, seeds=3)


def _by_hand(values: list[float]) -> tuple[float, float]:
    """Mean and half of the interval of three values."""
    return statistics.mean(values), 4.3027 * statistics.stdev(values) / math.sqrt(3)


def test_each_seed_is_relative_to_the_baseline_with_that_seed(frame: pl.DataFrame) -> None:
    assert frame["seed"].to_list() == [seed for seed in (1, 2, 3) for _ in range(4)]
    for row in frame.iter_rows(named=True):
        base = frame.row(
            by_predicate=(pl.col("design") == "unencrypted")
            & (pl.col("workload") == row["workload"])
            & (pl.col("seed") == row["seed"]),
            named=True,
        )
        assert row["relative_writes"] == row["nvm_writes"] / base["nvm_writes"]
    assert frame["relative_writes"].n_unique() > 4
    (alone,) = cp.run_matrix(["secpm"], ["array"], machine="small", transactions=10, seed=2)
    of_seed = frame.filter(design="secpm", workload="array", seed=2)
    assert of_seed["event_digest"].to_list() == [alone.event_digest]


def test_means_over_workloads_are_formed_for_each_seed(frame: pl.DataFrame) -> None:
    rows = frame.filter(design="secpm").to_dicts()
    array = [row["relative_latency"] for row in rows if row["workload"] == "array"]
    queue = [row["relative_latency"] for row in rows if row["workload"] == "queue"]
    mean, half = _by_hand([(one + other) / 2 for one, other in zip(array, queue, strict=True)])
    found = over_seeds(rows, "relative_latency", ["array", "queue"])
    assert found and (found.mean, found.half) == pytest.approx((mean, half), rel=1e-4)
    assert (
        over_seeds(
            [row for row in rows if row["seed"] != 2 or row["workload"] == "array"],
            "relative_latency",
            ["array", "queue"],
        )
        is None
    ), "a mean over some of the workloads would mislead"
    points = charts.points(frame, ["relative_latency"]).filter(design="secpm", workload="mean")
    assert points.select("relative_latency", "half").row(0) == pytest.approx((mean, half), rel=1e-4)
    latency = next(one.chart for one in compared.of_paper(frame) if one.name == "latency")
    mark = next(one for one in latency.marks if (one.x, one.series) == ("mean", "secpm"))
    assert isinstance(mark, Mark) and (mark.value, mark.half) == pytest.approx((mean, half), rel=1e-4)


def test_tables_have_intervals_and_say_what_does_not_differ(cli: Cli) -> None:
    outcome = cli(*_COMPARE, "--seeds", "3")
    assert outcome.code == 0
    setting, first, *overview = outcome.out.splitlines()
    assert "mean over the seeds 1 to 3 ± half of the 95 % interval" in setting and "guarantee" in first
    again, title, head, *rows = overview[overview.index("") + 1 :]
    assert again == setting and "latency" in title
    assert head.split() == ["array", "queue", "mean"]
    assert rows[0].split() == ["unencrypted", *["1.00", "±", "0.00"] * 3]
    assert re.fullmatch(r"secpm( +\d\.\d\d ± \d\.\d\d){3} *", rows[1])
    one = cli(*_COMPARE)
    assert "±" not in one.out and "seed 1" in one.out and "Not different" not in one.out


def test_designs_whose_intervals_meet_do_not_differ() -> None:
    assert Estimate(1.0, 0.2).meets(Estimate(1.3, 0.1)) and Estimate(1.3, 0.1).meets(Estimate(1.0, 0.2))
    assert not Estimate(1.0, 0.2).meets(Estimate(1.31, 0.1))
    values = {"a": (1.0, 1.1, 1.2), "b": (1.1, 1.2, 1.3), "c": (5.0, 5.1, 5.2)}
    group = [
        {"design": design, "workload": "x", "seed": seed, "relative_latency": value, "baseline": "a"}
        for design, of in values.items()
        for seed, value in enumerate(of)
    ]
    measure = comparison_table._TRANSACTION_MEASURES[0]
    (said,) = comparison_table._alike(group, measure)
    assert said.plain == "Not different on x, because the intervals meet: a and b\n"
    assert list(comparison_table._alike([row for row in group if row["seed"] == 0], measure)) == []


def test_pictures_have_error_bars(frame: pl.DataFrame, tmp_path: Path) -> None:
    page = cp.write_report(frame, tmp_path)
    drawn, text = (tmp_path / "compare.svg").read_text(), page.read_text()
    several = drawn.count('aria-roledescription="rule mark"')
    assert several > 6, "beside the line at 1"
    assert "the same seeds." in text and "mean over the seeds 1 to 3 ± half of the 95 % interval" in text
    mean, half = _by_hand(frame.filter(design="secpm", workload="array")["relative_writes"].to_list())
    assert f"<td>{mean:.2f} ± {half:.2f}</td>" in text
    cp.write_report(frame.filter(seed=1), tmp_path)
    assert "the same seed." in page.read_text()
    assert (tmp_path / "compare.svg").read_text().count('aria-roledescription="rule mark"') < several


def test_one_run_with_several_seeds(cli: Cli, tmp_path: Path) -> None:
    words = ("run", "secpm", "queue", *_SMALL, "--seeds", "3", "--seed", "4")
    csv = tmp_path / "t.csv"
    outcome = cli(*words, "--csv", str(csv))
    rows = pl.read_csv(csv)
    assert rows["seed"].to_list() == [4, 5, 6]
    found = estimate(rows["nvm_writes"].to_list())
    assert re.search(rf"line writes +{found.mean:,.0f} ± {found.half:,.0f}", outcome.out)
    assert "mean over the seeds 4 to 6" in outcome.out
    runs = json.loads(cli(*words, "--json").out)["runs"]
    assert [run["nvm"]["writes"] for run in runs] == rows["nvm_writes"].to_list()


def test_a_sweep_over_seeds_has_their_intervals(tmp_path: Path) -> None:
    base = {"design": "secpm", "workload": "queue", "machine": "small", "transactions": 5}
    axes = {"tx_size": [64, 100, 128], "seed": [1, 2, 3]}
    report = cp.sweep({"name": "q", "base": base, "axes": axes}, tmp_path / "s.duckdb", workers=1)
    assert len(report.failures) == 3, "100 is no size"
    latencies = report.frame().filter(tx_size=64)["transaction_latency_ns_mean"].to_list()
    with cp.Store(report.store, read_only=True) as store:
        first = sweep_page.of_paper(store)[0].chart
    marks = {mark.x: mark for mark in first.marks}
    assert (marks["64 B"].value, marks["64 B"].half) == pytest.approx(_by_hand(latencies), rel=1e-4)
    assert (marks["100 B"].value, marks["100 B"].half) == (None, None)


@pytest.mark.parametrize("command", [("run", "secpm", "btree"), ("compare",)])
def test_numbers_of_seeds_that_give_no_interval_are_refused(cli: Cli, command: tuple[str, ...]) -> None:
    for bad in ("0", "32"):
        assert f"seeds is {bad}; it must be a whole number from 1 to 31" in cli(*command, "--seeds", bad).refusal
    with pytest.raises(cp.InputError, match="seeds is 0"):
        cp.compare(seeds=0)
