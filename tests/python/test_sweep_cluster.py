"""Sweeps on a Dask cluster: a real scheduler and real worker processes on this computer."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from distributed import Client
from polars.testing import assert_frame_equal
from test_sweep import TINY

import counterpoint as cp
from counterpoint.executor import dask

pytestmark = pytest.mark.engine

SPEC: dict[str, Any] = {
    "name": "both",
    "base": TINY,
    "axes": {"design": ["unencrypted", "secpm"], "seed": {"from": 1, "to": 30}, "controller.wpq_entries": [2, 8]},
}
"""A run of 120, half of them refused since their queue is shorter than its watermark."""


@contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    host = ("--host", "127.0.0.1")
    with _process("distributed.cli.dask_scheduler", *host, "--port", str(port), "--no-dashboard"):
        address = f"tcp://127.0.0.1:{port}"
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield address


@contextmanager
def _worker(address: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    alone = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    with _process("distributed.cli.dask_worker", address, *alone, *options) as worker:
        yield worker


def _wait_for_workers(address: str, number: int) -> None:
    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(number, timeout=30)


def test_local_and_cluster_give_the_same_though_a_worker_is_killed(scheduler: str, tmp_path: Path) -> None:
    with _worker(scheduler) as staying, _worker(scheduler) as killed:
        _wait_for_workers(scheduler, 2)
        done_at_kill: list[int] = []
        lock = threading.Lock()

        def kill_midway(done: int, total: int, failed: int) -> None:
            with lock:
                if done >= 70 and not done_at_kill:
                    done_at_kill.append(done)
                    killed.send_signal(signal.SIGKILL)

        cluster = cp.sweep(SPEC, tmp_path / "cluster.duckdb", cluster=scheduler, progress=kill_midway)
        assert staying.poll() is None
        assert killed.wait(10) == -signal.SIGKILL
    assert done_at_kill[0] < 120
    assert (cluster.computed, len(cluster.failures)) == (60, 60)
    local = cp.sweep(SPEC, tmp_path / "local.duckdb", workers=2)
    assert_frame_equal(cluster.frame(), local.frame())
    workers = {name.rpartition(":")[2] for name in _hosts(tmp_path / "cluster.duckdb")}
    assert workers == {str(staying.pid), str(killed.pid)}, "both computed, until one was killed"


def _hosts(store: Path) -> list[str]:
    import duckdb

    with duckdb.connect(store, read_only=True) as connection:
        return [name for (name,) in connection.execute("SELECT DISTINCT worker FROM hosts").fetchall()]


def test_a_worker_with_another_engine_is_refused(scheduler: str, cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other_engine.py"
    other.write_text("from counterpoint import api\napi.engine_build = lambda: 'f' * 64\n")
    spec = tmp_path / "s.toml"
    base = "".join(f"base.{key} = {value!r}\n" for key, value in TINY.items())
    spec.write_text(f"{base}base.design = 'secpm'\naxes.seed = [1, 2]\n")
    with _worker(scheduler, "--preload", str(other)):
        _wait_for_workers(scheduler, 1)
        outcome = cli("sweep", str(spec), "--store", str(tmp_path / "s.duckdb"), "--cluster", scheduler)
    assert outcome.code == 2
    assert re.search(r"error: worker tcp://\S+ has the engine \S+ \(f{12}\), and this computer has", outcome.err)
    with cp.Store(tmp_path / "s.duckdb") as store:
        assert store.rows("s")["nvm_writes" if "nvm_writes" in store.rows("s").columns else "failure"].count() == 0


def test_a_worker_with_another_engine_that_joins_later_is_refused(scheduler: str, tmp_path: Path) -> None:
    other = tmp_path / "other_engine.py"
    other.write_text("from counterpoint import api\napi.engine_build = lambda: 'f' * 64\n")
    found: list[BaseException] = []

    def sweep() -> None:
        try:
            cp.sweep({"base": {**TINY, "design": "secpm"}}, tmp_path / "s.duckdb", cluster=scheduler)
        except cp.InputError as refused:
            found.append(refused)

    waiting = threading.Thread(target=sweep)
    waiting.start()
    time.sleep(1)
    assert waiting.is_alive(), "without workers it waits for some"
    with _worker(scheduler, "--preload", str(other)):
        waiting.join(30)
    assert "install the same one on both" in str(found[0])


def test_no_scheduler_is_one_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text("base.design = 'secpm'\nbase.workload = 'array'\n")
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        outcome = cli("sweep", str(spec), "--store", str(tmp_path / "s.duckdb"), "--cluster", address)
        assert outcome.code == 2
        assert f"error: cluster '{address}' does not answer" in outcome.err.splitlines()[-1]


def test_without_dask_the_command_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    spec = tmp_path / "s.toml"
    spec.write_text("base.design = 'secpm'\nbase.workload = 'array'\n")
    outcome = cli("sweep", str(spec), "--store", str(tmp_path / "s.duckdb"), "--cluster", "tcp://127.0.0.1:1")
    assert outcome.code == 2
    assert "pip install 'counterpoint[cluster]'" in outcome.err
