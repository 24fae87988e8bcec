"""Threads of one process on one store: all of them work, and none sees a text of DuckDB."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from test_sweep import Inline

import counterpoint as cp
from counterpoint.runs.executor import Finished
from counterpoint.runs.store import Failure
from counterpoint.searches import ladder

THREADS = 3
GOALS: dict[str, Any] = {
    "workloads": ["linked-list"],
    "run": {"machine": "small", "transactions": 3, "footprint": "64KiB"},
    "objectives": {"nvm_writes": "minimise"},
    "references": [],
}
SWEEP: dict[str, Any] = {
    "base": {"workload": "array", "machine": "small", "transactions": 3, "warmup": 0, "footprint": "64KiB"},
}


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What calls give that begin at once, each in its own thread."""
    begin = threading.Barrier(len(calls))

    def call(one: Callable[[], Any]) -> Any:
        begin.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call, one) for one in calls]]


@pytest.mark.engine
def test_searches_in_threads_find_what_they_find_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = ladder._document()
    monkeypatch.setattr(ladder, "_document", lambda: {**document, "tier": document["tier"][:1]})
    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    spaces = [{"designs": [design, "strict"]} for design in ("secpm", "secpm-no-cwr", "write-through")]
    asked = [{**GOALS, "space": space} for space in spaces]

    def search(goals: dict[str, Any], store: str) -> dict[str, Any]:
        return cp.search(goals, tmp_path / store, workers=1).to_dict() | {"store": ""}

    alone = [search(goals, f"{number}.duckdb") for number, goals in enumerate(asked)]
    calls = [lambda goals=goals: search(goals, "s.duckdb") for goals in asked]
    assert together(*calls) == alone


@pytest.mark.engine
def test_sweeps_in_threads_of_which_some_are_the_same(tmp_path: Path) -> None:
    designs = [["unencrypted", "secpm"], ["unencrypted", "secpm"], ["secpm", "write-back", "nosuch"]]
    asked = [{**SWEEP, "name": f"s{place}", "axes": {"design": some}} for place, some in enumerate(designs)]
    calls = [lambda spec=spec: cp.sweep(spec, tmp_path / "s.duckdb", workers=1) for spec in asked]
    reports = together(*calls)
    assert [len(report.failures) for report in reports] == [0, 0, 1]
    for some, report in zip(designs, reports, strict=True):
        assert report.frame()["design"].to_list() == some
        assert report.frame()["nvm_writes"].drop_nulls().len() == len(some) - len(report.failures)


@pytest.mark.engine
def test_reproductions_in_threads_have_the_figures_of_one(tmp_path: Path) -> None:
    def reproduced() -> dict[str, Any]:
        return cp.reproduce("secpm-workshop", quick=True, store=tmp_path / "s.duckdb", workers=1).to_dict()

    found = together(*[reproduced] * THREADS)
    assert found == [cp.reproduce("secpm-workshop", quick=True, workers=1).to_dict()] * THREADS


def test_figures_that_another_thread_had_first_are_no_conflict(fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    cp.sweep({"base": {"workload": "array"}, "axes": {"design": ["secpm"]}}, tmp_path / "s.duckdb")

    def finished(key: str) -> Finished:
        return Finished(key, {}, {"schema": 1, "nvm_new": 3, f"only_{key[0]}": 4}, "w", 0.1)

    def keep(number: int) -> None:
        with cp.Store(tmp_path / "s.duckdb") as store:
            for place in range(20):
                store.put_failures([Failure(f"{number}{place}", {}, "no", True, 1)])
                store.put_runs([finished(f"{name}{place}") for name in (number, "shared", "shared")], "build")

    together(*[lambda number=number: keep(number) for number in range(THREADS)])
    with cp.Store(tmp_path / "s.duckdb", read_only=True) as store:
        assert len(store.known([f"{n}{place}" for n in range(THREADS) for place in range(20)])) == 20 * THREADS
        assert len(store.known([f"shared{place}" for place in range(20)])) == 20
        assert store.failures_of([f"{n}{place}" for n in range(THREADS) for place in range(20)]) == []


def test_a_store_that_is_read_can_be_opened_to_write_and_the_reader_goes_on(
    fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    spec = {"name": "s", "base": {"workload": "array"}, "axes": {"design": ["secpm"]}}
    cp.sweep(spec, tmp_path / "s.duckdb")
    with cp.Store(tmp_path / "s.duckdb", read_only=True) as reader:
        spec["axes"] = {"design": ["secpm", "write-back"]}
        cp.sweep(spec, tmp_path / "s.duckdb")
        assert [sweep.points for sweep in reader.sweeps()] == [2]
        with pytest.raises(cp.InputError, match="it was opened to be read"):
            reader.put_failures([])
    with pytest.raises(cp.InputError, match="is closed"):
        reader.sweeps()
