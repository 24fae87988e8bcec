"""At most one thread or process per processor works at a time, however many are requested."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint import _engine
from counterpoint.papers.model import Reproduction
from counterpoint.runs import sweeps
from counterpoint.runs.executor.processes import Processes
from counterpoint.system.signals import INTERRUPTED

pytestmark = pytest.mark.engine

_PROCESSORS = _engine.processors()
_ASKED = 5_000
_BESIDE_WORKERS = 2
"""Threads of a call beside those that work: one waits for them, and one is of the test."""

_LONG_TRACE = "".join(f"{10 * at} R {64 * at:#x} 0 0\n" for at in range(1, 40_000))


class _Counted:
    """The largest number of threads that this process had in addition to those at the start."""

    def __init__(self) -> None:
        self._before, self.most = self._threads(), 0

    def __call__(self, *_: object) -> None:
        self.most = max(self.most, self._threads() - self._before)

    @staticmethod
    def _threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))


def test_simulations_use_as_many_threads_as_processors() -> None:
    counted = _Counted()
    cp.run_matrix(["secpm"] * 12, ["btree"], transactions=400, footprint="1MiB", workers=_ASKED, progress=counted)
    assert 1 <= counted.most <= 2 * _PROCESSORS + _BESIDE_WORKERS, "as many populate memory"


def test_replays_use_as_many_threads_as_processors(tmp_path: Path) -> None:
    path = tmp_path / "long.nvmain"
    path.write_text(_LONG_TRACE)
    request = json.dumps({"runs": [{"design": "secpm", "workload": str(path)}] * 12})
    counted = _Counted()
    seen: list[int] = []
    done = False

    def watch() -> None:
        while not done:
            counted()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        seen.append(len(json.loads(_engine.replay(request, _ASKED))["results"]))
    finally:
        done = True
        watching.join()
    assert seen == [12]
    # One more starts the work in the pool, and waits for it.
    assert 1 <= counted.most <= _PROCESSORS + _BESIDE_WORKERS + 1


def test_sweeps_use_as_many_processes_as_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Processes(_ASKED)
    try:
        assert len(executor._workers) == _PROCESSORS
    finally:
        executor.close()
    monkeypatch.chdir(tmp_path)
    started = []
    monkeypatch.setattr(Processes, "_start", lambda self: started.append(self))
    monkeypatch.setattr(sweeps._Sheet, "fill", lambda *_: None)
    base = {"design": "secpm", "workload": "btree", "machine": "small", "transactions": 2}
    cp.sweep({"base": base, "axes": {"seed": list(range(2 * _PROCESSORS))}}, workers=_ASKED)
    assert len(started) == _PROCESSORS
    started.clear()
    cp.sweep({"name": "one", "base": base, "axes": {"seed": [1]}}, workers=_ASKED)
    assert len(started) == 1, "nor more than there are runs"


@pytest.mark.parametrize(
    "command",
    [
        "compare -d secpm -w btree --machine small --transactions 2 --workers {}",
        "replay trace.log -d secpm --machine small --workers {}",
        "replay lines.nvmain -d secpm --machine small --workers {}",
        "sweep sweep.toml --workers {}",
        "reproduce secpm --quick --workers {}",
        "calibrate secpm --workers {}",
        "crash secpm trace.log --recover RECOVERY --recover-jobs {}",
        "crash secpm btree --machine small --transactions 2 --workers {}",
    ],
)
def test_more_workers_than_processors_are_told(
    command: str, cli: Cli, furnished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del furnished
    monkeypatch.setattr("counterpoint.papers.calibrate.calibrate", lambda *_, **__: ())
    monkeypatch.setattr("counterpoint.papers.reproduce.reproduce", lambda *_, **__: _nothing())
    for asked, said in ((1000, True), (1, False)):
        outcome = cli(*(word.replace("RECOVERY", "true {pool}") for word in command.format(asked).split()))
        assert ("at a time" in outcome.err) == said, outcome
        assert outcome.code in (0, 1, INTERRUPTED), outcome


def _nothing() -> Reproduction:
    raise cp.Interrupted
