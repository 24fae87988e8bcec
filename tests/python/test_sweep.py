"""Sweeps on a store: nothing is computed twice, no result is lost, no failure is ignored."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fake_engine
import polars as pl
import pytest
from conftest import Cli
from polars.testing import assert_frame_equal
from waiting import ended, wait_until

import counterpoint as cp
from counterpoint import _engine
from counterpoint.runs import sweeps
from counterpoint.runs.executor import Executor, Finished, Lost, Mismatch, Outcome, Task
from counterpoint.runs.executor.processes import Processes
from counterpoint.runs.executor.worker import work
from counterpoint.runs.store import axis_type

TINY = {"machine": "small", "workload": "array", "transactions": 5, "warmup": 0, "footprint": "64KiB", "tx_size": 64}
MANY = {
    "name": "many",
    "base": TINY,
    "axes": {
        "design": ["unencrypted", "secpm", "write-back", "write-through"],
        "controller.aes_units": {"from": 1, "to": 5},
        "seed": {"from": 1, "to": 8},
    },
}


class Inline:
    """An executor in this process, one task at a time; tests set the outcome of a task."""

    def __init__(self, become: Callable[[Task, int], Outcome | None] = lambda *_: None) -> None:
        self.asked: list[str] = []
        self._tasks: deque[Task] = deque()
        self._become = become

    def room(self) -> int:
        return 1 - len(self._tasks)

    def submit(self, task: Task) -> None:
        assert self.room(), "a sweep keeps to the room that there is"
        self._tasks.append(task)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        task = self._tasks.popleft()
        self.asked.append(task.key)
        return [self._become(task, self.asked.count(task.key)) or work(task)]

    def close(self) -> None:
        self._tasks.clear()


@pytest.fixture
def inline(fake: pytest.MonkeyPatch) -> Callable[[Executor], None]:
    """The fake engine, and sweeps on that executor."""

    def use(executor: Executor) -> None:
        fake.setattr("counterpoint.runs.executor.start.Processes", lambda workers: executor)

    use(Inline())
    return use


SMALL_SPEC = {"base": {"workload": "btree"}, "axes": {"design": ["unencrypted", "secpm"], "tx_size": [64, 1024, 100]}}


def test_stored_runs_are_not_computed_again(inline: Callable[[Executor], None], tmp_path: Path) -> None:
    first, again, more = Inline(), Inline(), Inline()
    spec: dict[str, Any] = {"base": {"workload": "btree"}, "axes": {"design": ["unencrypted", "secpm"]}}
    inline(first)
    report = cp.sweep(spec, tmp_path / "s.duckdb")
    assert (report.points, report.runs, report.found, report.computed, report.failures) == (2, 2, 0, 2, ())
    inline(again)
    report = cp.sweep(spec, tmp_path / "s.duckdb")
    assert (report.found, report.computed, again.asked) == (2, 0, [])
    inline(more)
    spec["axes"]["design"].append("write-back")
    report = cp.sweep(spec, tmp_path / "s.duckdb")
    assert (report.found, report.computed) == (2, 1)
    with cp.Store(tmp_path / "s.duckdb", read_only=True) as store:
        asked = {"design": "write-back", "workload": "btree", "machine": "secpm"}
        assert store.run(more.asked[0]).to_dict() == fake_engine.run_document(asked), "a run comes back whole"
        assert store.configuration(more.asked[0]) == asked


def test_another_engine_meets_none_of_the_results(
    inline: Callable[[Executor], None], fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = {"base": {"workload": "btree", "design": "secpm"}}
    cp.sweep(spec, tmp_path / "s.duckdb")
    edited = json.dumps(json.loads(_engine.describe()) | {"engine_build": "edited"})
    fake.setattr(_engine, "describe", lambda: edited)
    assert cp.sweep(spec, tmp_path / "s.duckdb").computed == 1


def test_a_trace_counts_by_its_bytes(inline: Callable[[Executor], None], tmp_path: Path) -> None:
    trace, moved = tmp_path / "a.log", tmp_path / "b.log"
    trace.write_text("STORE;1;1;8")
    shutil.copy(trace, moved)
    for path, computed in ((trace, 1), (moved, 0)):
        assert cp.sweep({"base": {"workload": str(path), "design": "secpm"}}, tmp_path / "s").computed == computed
    moved.write_text("STORE;1;2;8;")
    assert cp.sweep({"base": {"workload": str(moved), "design": "secpm"}}, tmp_path / "s").computed == 1


def test_refused_points_are_failures_and_the_others_run(inline: Callable[[Executor], None], tmp_path: Path) -> None:
    report = cp.sweep(SMALL_SPEC, tmp_path / "s.duckdb")
    assert (report.points, report.computed) == (6, 4)
    assert [failure.request["tx_size"] for failure in report.failures] == [100, 100]
    assert all(failure.bad_input and failure.attempts == 0 for failure in report.failures)
    rows = report.frame()
    assert rows.columns[:4] == ["point", "design", "tx_size", "variant"]
    assert rows["tx_size"].to_list() == [64, 1024, 100] * 2, "in the order of the points"
    assert rows["failure"].is_null().to_list() == [True, True, False] * 2
    assert rows["nvm_writes"].is_null().to_list() == [False, False, True] * 2


def test_a_run_that_ends_its_workers_is_given_up_after_three(
    inline: Callable[[Executor], None], tmp_path: Path
) -> None:
    def become(task: Task, times: int) -> Outcome | None:
        if task.request["tx_size"] == 64:
            return Lost(task.key, "its worker ended")
        return Lost(task.key, "its worker ended") if times < 3 else None

    spec = {"base": {"workload": "btree", "design": "secpm"}, "axes": {"tx_size": [64, 128, 256]}}
    executor = Inline(become)
    inline(executor)
    report = cp.sweep(spec, tmp_path / "s.duckdb")
    assert report.computed == 2
    assert [(failure.sentence, failure.attempts) for failure in report.failures] == [("its worker ended", 3)]
    assert len(executor.asked) == 9
    healthy = Inline()
    inline(healthy)
    again = cp.sweep(spec, tmp_path / "s.duckdb")
    assert (again.computed, again.failures) == (1, ()), "a failure is tried again, and forgotten once it works"


def test_a_fault_of_the_engine_is_a_failure(
    inline: Callable[[Executor], None], fake: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake.setattr(_engine, "run_many", lambda *_: json.dumps({"results": [{"error": "index out of bounds"}]}))
    report = cp.sweep({"base": {"workload": "btree", "design": "secpm"}}, tmp_path / "s.duckdb")
    assert [failure.sentence for failure in report.failures] == ["EngineError: index out of bounds"]
    assert not report.failures[0].bad_input


def test_a_worker_with_another_engine_ends_the_sweep(inline: Callable[[Executor], None], tmp_path: Path) -> None:
    inline(Inline(lambda task, _: Mismatch(task.key, "worker w has the engine 9")))
    with pytest.raises(cp.InputError, match="worker w has the engine 9"):
        cp.sweep({"base": {"workload": "btree", "design": "secpm"}}, tmp_path / "s.duckdb")
    task = Task("key", {"design": "secpm", "workload": "btree"}, "another build")
    found = work(task)
    assert isinstance(found, Mismatch)
    assert "install the same one on both" in found.sentence


def test_a_worker_that_reads_another_file_does_not_compute(fake: pytest.MonkeyPatch) -> None:
    found = work(Task("another key", {"design": "secpm", "workload": "btree"}, cp.engine_build()))
    assert "another machine file or trace" in getattr(found, "sentence", "")


def test_ctrl_c_keeps_what_was_finished(inline: Callable[[Executor], None], tmp_path: Path) -> None:
    def become(task: Task, _: int) -> Outcome | None:
        if task.request["tx_size"] == 128:
            raise KeyboardInterrupt
        return None

    spec = {"base": {"workload": "btree", "design": "secpm"}, "axes": {"tx_size": [1024, 128]}}
    inline(Inline(become))
    with pytest.raises(cp.Interrupted) as stop:
        cp.sweep(spec, tmp_path / "s.duckdb")
    kept = stop.value.sweep
    assert kept is not None
    assert kept.computed == 1
    inline(Inline())
    assert cp.sweep(spec, tmp_path / "s.duckdb", resume=True).found == kept.computed


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2), "BIGINT"),
        (("64KiB", 128), "BIGINT"),
        ((1, 2.5), "DOUBLE"),
        ((True, False), "BOOLEAN"),
        ((True, 1), "VARCHAR"),
        (("secpm", "64KiB"), "VARCHAR"),
        ((2**64 - 1,), "VARCHAR"),
    ],
)
def test_axes_have_the_type_of_their_values(values: tuple[Any, ...], kind: str) -> None:
    assert axis_type(values) == kind


def test_the_command_says_what_failed(inline: Callable[[Executor], None], cli: Cli, tmp_path: Path) -> None:
    spec, store = tmp_path / "mine.toml", tmp_path / "s.duckdb"
    spec.write_text('base.workload = "btree"\naxes.design = ["secpm", "unencrypted"]\naxes.tx_size = [64, 100]\n')
    outcome = cli("sweep", str(spec), "--store", str(store))
    assert outcome.code == 1
    assert "0 of 4 runs are in the store" in outcome.err
    assert "mine: 4 points, 4 runs: 0 found, 2 computed, 2 failed" in outcome.out
    assert re.search(r"^ *2 +tx_size = 100 must be", outcome.out, re.MULTILINE)
    outcome = cli("sweep", str(spec), "--store", str(store), "--resume", "--json")
    assert outcome.code == 1
    assert "2 of 4 runs are in the store" in outcome.err
    document = json.loads(outcome.out)
    assert [document[name] for name in ("schema", "name", "points", "found", "computed")] == [1, "mine", 4, 2, 0]
    assert len(document["failures"]) == 2


def test_bad_input_is_one_sentence(inline: Callable[[Executor], None], cli: Cli, tmp_path: Path) -> None:
    spec, store = tmp_path / "mine.toml", str(tmp_path / "s.duckdb")

    def refused(*arguments: str) -> str:
        outcome = cli("sweep", str(spec), *arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.splitlines()[-1].startswith("error: ")
        return outcome.err

    assert "cannot be read" in refused()
    spec.write_text("nme = 1\nbase.design = 'secpm'\nbase.workload = 'btree'")
    assert "'nme' does not exist (known: name, base, axes, zip)" in refused()
    spec.write_text("name = 'a/b'\nbase.design = 'secpm'\nbase.workload = 'btree'")
    assert "name is 'a/b'" in refused()
    spec.write_text("base.design = 'secpm'\nbase.workload = 'btree'\nbase.tx_size = 100")
    assert "every run of the sweep 'mine' is refused: tx_size = 100" in refused("--store", store)
    spec.write_text("base.design = 'secpm'\nbase.workload = 'btree'")
    assert "there is no store" in refused("--store", str(tmp_path / "none.duckdb"), "--resume")
    assert "holds another sweep 'mine'" in refused("--store", store, "--resume")
    assert "cannot be written" in refused("--store", store, "--csv", str(tmp_path / "no" / "x.csv"))
    with pytest.raises(cp.InputError, match=r"must end in \.parquet or \.csv"):
        cp.sweep(spec, store, export="x.json")


# What follows is with the engine and real processes.


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> sweeps.SweepReport:
    """The sweep of 160 runs, uninterrupted."""
    report = cp.sweep(MANY, tmp_path_factory.mktemp("whole") / "whole.duckdb", workers=2)
    assert (report.points, report.computed, report.failures) == (160, 160, ())
    return report


def as_toml(path: Path) -> Path:
    base = "\n".join(f"{key} = {json.dumps(value)}" for key, value in TINY.items())
    path.write_text(
        f'name = "many"\n[base]\n{base}\n[axes]\n'
        'design = ["unencrypted", "secpm", "write-back", "write-through"]\n'
        "controller.aes_units = { from = 1, to = 5 }\nseed = { from = 1, to = 8 }\n"
    )
    return path


def kept_in(store: Path) -> int:
    with cp.Store(store) as opened:
        return opened.rows("many")["nvm_writes"].count()


def children_of(parent: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


@pytest.mark.engine
def test_interrupted_twice_and_resumed_it_is_equal_row_for_row(whole: sweeps.SweepReport, tmp_path: Path) -> None:
    spec, store = as_toml(tmp_path / "spec.toml"), tmp_path / "s.duckdb"
    command = [sys.executable, "-m", "counterpoint", "sweep", str(spec), "--store", str(store), "--workers", "2"]
    kept = [0]
    for how in (signal.SIGINT, signal.SIGKILL):
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        log = store.with_name(store.name + ".wal")
        wait_until(lambda: len(children_of(running.pid)) == 2)  # noqa: B023
        before = log.stat().st_size if log.exists() else 0
        wait_until(lambda: log.exists() and log.stat().st_size > before + 100_000)  # noqa: B023
        workers = children_of(running.pid)
        started = time.monotonic()
        running.send_signal(how)
        _, said = running.communicate(timeout=20)
        if how == signal.SIGINT:
            assert running.returncode == 130
            assert time.monotonic() - started < 3, "a second, and what a busy computer adds"
            assert re.search(r"interrupted; \d+ of 160 runs are in the store", said)
            assert "Traceback" not in said
        wait_until(lambda: all(map(ended, workers)))  # noqa: B023
        kept.append(kept_in(store))
    assert 0 < kept[1] < kept[2] < 160
    done = subprocess.run([*command, "--resume", "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert (report["found"], report["computed"]) == (kept[2], 160 - kept[2])
    assert f"{kept[2]} of 160 runs are in the store" in done.stderr
    with cp.Store(store, read_only=True) as opened:
        assert_frame_equal(opened.rows("many"), whole.frame())


@pytest.mark.engine
def test_exports_are_what_the_store_holds(whole: sweeps.SweepReport, tmp_path: Path) -> None:
    with cp.Store(whole.store, read_only=True) as store:
        rows = store.rows("many")
        parquet = pl.read_parquet(store.export("many", tmp_path / "x.parquet"))
        assert_frame_equal(parquet.with_columns(pl.col("configuration").cast(pl.String)), rows)
        with store.export("many", tmp_path / "x.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
    assert sorted(item.name for item in tmp_path.iterdir()) == ["x.csv", "x.parquet"]
    assert list(table[0]) == rows.columns
    assert [float(row["throughput_tps"]) for row in table] == rows["throughput_tps"].to_list()
    assert [row["event_digest"] for row in table] == rows["event_digest"].to_list()
    row = rows.row(7, named=True)
    alone = cp.run("unencrypted", **{**TINY, "seed": 8, "set": {"controller.aes_units": 1}})  # type: ignore[arg-type]
    assert (row["design"], row["seed"], row["controller.aes_units"]) == ("unencrypted", 8, 1)
    assert (row["event_digest"], row["config_digest"]) == (alone.event_digest, alone.config_digest)


@pytest.mark.engine
def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    with cp.Store(tmp_path / "s.duckdb"):
        script = f"import counterpoint as cp\ncp.Store({str(tmp_path / 's.duckdb')!r})"
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert f"is in use by another process (process {os.getpid()})" in other.stderr


@pytest.fixture
def processes() -> Iterator[Processes]:
    executor = Processes(2)
    yield executor
    executor.close()


@pytest.mark.engine
def test_a_killed_worker_costs_its_run_only(processes: Processes, tmp_path: Path) -> None:
    long = {"machine": "small", "workload": "btree", "transactions": 20_000, "design": "secpm"}
    plan = sweeps.plan({"base": long, "axes": {"seed": [1]}})
    short = sweeps.plan({"base": {**TINY, "design": "secpm"}, "axes": {"seed": [1, 2, 3, 4]}})
    (key, request), *_ = plan.requests.items()
    processes.submit(Task(key, request, plan.build))
    first = processes._workers[0] if processes._workers[0].tasks else processes._workers[1]
    for other, asked in short.requests.items():
        if processes.room():
            processes.submit(Task(other, asked, short.build))
    held = [task.key for task in first.tasks]
    first.process.send_signal(signal.SIGKILL)
    outcomes: list[Outcome] = []

    def all_ended() -> bool:
        outcomes.extend(processes.wait(0.1))
        return len(outcomes) == 4

    wait_until(all_ended)
    lost = [one for one in outcomes if isinstance(one, Lost)]
    assert [one.key for one in lost] == [key]
    assert "was ended by signal 9" in lost[0].sentence
    finished = {one.key for one in outcomes if isinstance(one, Finished)}
    assert finished == set(list(short.requests)[:3])
    assert len(held) == 2, "the run that waited behind the lost one is among the finished"
