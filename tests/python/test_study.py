"""The study of docs/study.md: what it searched is still valid, and what it found still beats the three designs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import counterpoint as cp
from counterpoint.searches.goals import load
from counterpoint.verbs import catalogue, comparison
from counterpoint.verbs.api import TIMING_ONLY

STUDY = Path(__file__).parents[2] / "docs" / "study"
FOUND = STUDY / "inline-log.toml"
_PAGE = STUDY.with_suffix(".md").read_text()


@pytest.mark.parametrize("name", ["goals.toml", "within.toml"])
def test_the_goals_are_valid_and_ask_the_same(name: str) -> None:
    goals = load(STUDY / name)
    assert goals.workloads == comparison.COMPARE_WORKLOADS
    assert len(goals.crash_workloads) == 8
    assert goals.candidates == 2000
    assert f"{goals.space.size:,} points" in _PAGE


@pytest.mark.parametrize("tx_size", [64, 1024])
def test_the_first_table_says_what_runs_say(tx_size: int) -> None:
    designs: list[str | Path] = ["secpm", "sca", "easy-pm", FOUND]
    asked: dict[str, Any] = {"machine": "secpm", "transactions": 2000, "footprint": "1GiB", "set": TIMING_ONLY}
    runs = cp.compare(designs, tx_size=tx_size, **asked)
    figures = runs.group_by("design", maintain_order=True).agg(pl.col("transaction_latency_ns_mean").mean())
    (line,) = (line for line in _PAGE.splitlines() if line.startswith(f"| {tx_size:,} | latency, ns |"))
    cells = [cell.strip(" *") for cell in line.split("|")[3:7]]
    assert cells == [f"{latency:,.0f}" for latency in figures["transaction_latency_ns_mean"]]


def test_the_goals_with_integrity_are_valid() -> None:
    goals = load(STUDY / "protected.toml")
    assert goals.promise.integrity
    assert {one.figure for one in goals.objectives} >= {"nvm_lifetime_years", "boot_time_ns"}
    assert f"{goals.space.size:,} points" in _PAGE


@pytest.mark.parametrize(
    "design, sets, row",
    [
        ("secpm-tree", [], "| `secpm-tree` |"),
        ("secpm-tree", ["tree_roots=dynamic"], "| `secpm-tree` with dynamic roots |"),
        ("secpb", ["counter_bank=cross-bank"], "| `secpb` with counter blocks in another bank |"),
        (
            "secpb",
            ["counter_bank=cross-bank", "counter_coalescing=in-wpq", "counters=wide", "tree_order=out-of-order"],
            "| `secpb` with counter blocks in another bank, merged in the queue, counters of 56 bits",
        ),
        (
            "osiris",
            ["counter_bank=cross-bank", "counters=wide", "encryption=versioned-xts", "tweak=line"],
            "| `osiris` with XTS and versions, counters of 56 bits",
        ),
        ("osiris", ["tree_roots=dynamic"], "| `osiris` with dynamic roots |"),
        ("strict", ["counter_coalescing=in-wpq"], "| `strict` with merging in the queue |"),
        ("phoenix", [], "| `phoenix` |"),
    ],
)
def test_the_table_with_integrity_says_what_runs_say(design: str, sets: list[str], row: str) -> None:
    options: dict[str, Any] = {"machine": "secpm", "transactions": 100, "footprint": "64MiB"}
    parts = [f"design.{one}" for one in sets]
    runs = [cp.run(design, workload, set=parts, **options) for workload in comparison.COMPARE_WORKLOADS]
    latency = sum(one.to_dict()["transaction_latency_ns"]["mean"] for one in runs) / len(runs)
    (line,) = (line for line in _PAGE.splitlines() if line.startswith(row))
    assert f"| {latency:,.0f} |" in line


def test_found_design_is_made_of_parts_of_easy_pm_and_co_located() -> None:
    found, *parents = (catalogue.effective_parts(one) for one in (FOUND, "easy-pm", "co-located"))
    for key, value in found.items():
        if key != "recovery":
            assert any(parent.get(key) == value for parent in parents), key


@pytest.mark.parametrize("tx_size", [64, 256])
def test_found_design_beats_the_three_designs_with_small_transactions(tx_size: int) -> None:
    def of(design: str | Path) -> tuple[float, float, float]:
        options: dict[str, Any] = {"machine": "secpm", "transactions": 100, "footprint": "64MiB", "tx_size": tx_size}
        runs = [cp.run(design, workload, **options).to_dict() for workload in comparison.COMPARE_WORKLOADS]
        latency = sum(one["transaction_latency_ns"]["mean"] for one in runs)
        return latency, sum(one["nvm"]["writes"] for one in runs), sum(one["nvm"]["write_bytes"] for one in runs)

    found = of(FOUND)
    for design in ("secpm", "sca", "easy-pm"):
        assert all(mine < theirs for mine, theirs in zip(found, of(design), strict=True)), design


@pytest.mark.parametrize("workload", ["btree", "linked-list"])
def test_found_design_survives(workload: str) -> None:
    verdict = cp.crash(FOUND, workload, machine="small", transactions=20, set=["program.log_granularity=line"])
    assert verdict.holds
    assert verdict.crash_points > 1000


def test_without_the_register_of_the_global_counter_it_does_not(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(FOUND.read_text().replace('global_counter = "configured"', 'global_counter = "absent"'))
    verdict = cp.crash(broken, "array", machine="small", transactions=2)
    assert verdict.violations[0].rule == "pad_reuse"
