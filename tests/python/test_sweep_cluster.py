"""Sweeps on a Dask cluster: a real scheduler and real worker processes on this computer."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from conftest import Cli, Outcome
from dask import config
from distributed import Client
from polars.testing import assert_frame_equal
from test_searches import SURVIVOR
from test_sweep import TINY
from waiting import wait_until

import counterpoint as cp
from counterpoint.runs.executor import dask

pytestmark = pytest.mark.engine

SPEC: dict[str, Any] = {
    "name": "both",
    "base": TINY,
    "axes": {"design": ["unencrypted", "secpm"], "seed": {"from": 1, "to": 15}, "controller.wpq_entries": [2, 8]},
}
"""A sweep of 60, half of them refused since their queue is shorter than its watermark."""


LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
"""Nothing listens where another computer could reach it; without a dashboard, Dask still answers at its address."""


@contextmanager
def _process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-m", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        children = psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
        started.kill()
        started.wait()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    port = _free_port()
    with _process("distributed.cli.dask_scheduler", *LOOPBACK, "--port", str(port)):
        wait_until(lambda: _answers(port))
        yield f"tcp://127.0.0.1:{port}"


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _worker(address: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    with _process(
        "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", *LOOPBACK, *options
    ) as worker:
        yield worker


def _spec(folder: Path) -> str:
    """A sweep of two short runs."""
    base = "".join(f"base.{key} = {value!r}\n" for key, value in TINY.items())
    (folder / "s.toml").write_text(f"{base}base.design = 'secpm'\naxes.seed = [1, 2]\n")
    return str(folder / "s.toml")


def _other_engine(folder: Path) -> str:
    """What makes a worker say that it has another engine."""
    other = folder / "other_engine.py"
    other.write_text("from counterpoint.verbs import catalogue\ncatalogue.engine_build = lambda: 'f' * 64\n")
    return str(other)


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
                if done >= 35 and not done_at_kill:
                    done_at_kill.append(done)
                    killed.send_signal(signal.SIGKILL)

        cluster = cp.sweep(SPEC, tmp_path / "cluster.duckdb", cluster=scheduler, progress=kill_midway)
        assert staying.poll() is None
        assert killed.wait(10) == -signal.SIGKILL
    assert done_at_kill[0] < 60
    assert (cluster.computed, len(cluster.failures)) == (30, 30)
    local = cp.sweep(SPEC, tmp_path / "local.duckdb", workers=2)
    assert_frame_equal(cluster.frame(), local.frame())
    workers = {name.rpartition(":")[2] for name in _hosts(tmp_path / "cluster.duckdb")}
    assert workers == {str(staying.pid), str(killed.pid)}, "both computed, until one was killed"


def _hosts(store: Path) -> list[str]:
    import duckdb

    with duckdb.connect(store, read_only=True) as connection:
        return [name for (name,) in connection.execute("SELECT DISTINCT worker FROM hosts").fetchall()]


def test_a_search_on_a_cluster_finds_what_processes_find(scheduler: str, tmp_path: Path) -> None:
    goals = {**SURVIVOR, "workloads": ["queue"], "references": ["secpm-no-cwr"]}
    with _worker(scheduler):
        _wait_for_workers(scheduler, 1)
        cluster = cp.search(goals, tmp_path / "cluster.duckdb", cluster=scheduler)
    local = cp.search(goals, tmp_path / "local.duckdb")
    assert cluster.front
    assert {**cluster.to_dict(), "store": ""} == {**local.to_dict(), "store": ""}


def test_a_worker_with_another_engine_is_refused(scheduler: str, cli: Cli, tmp_path: Path) -> None:
    with _worker(scheduler, "--preload", _other_engine(tmp_path)):
        _wait_for_workers(scheduler, 1)
        outcome = cli("sweep", _spec(tmp_path), "--store", str(tmp_path / "s.duckdb"), "--cluster", scheduler)
    assert outcome.code == 2
    assert re.search(r"error: worker tcp://\S+ has the engine \S+ \(f{12}\), and this computer has", outcome.err)
    with cp.Store(tmp_path / "s.duckdb") as store:
        assert store.rows("s")["nvm_writes" if "nvm_writes" in store.rows("s").columns else "failure"].count() == 0


def test_a_worker_with_another_engine_that_joins_later_is_refused(scheduler: str, tmp_path: Path) -> None:
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
    with _worker(scheduler, "--preload", _other_engine(tmp_path)):
        waiting.join(30)
    assert "install the same one on both" in str(found[0])


def test_no_scheduler_is_one_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = _spec(tmp_path)
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://x", "", "://", "x" * 300, "tcp://127.0.0.1:99999", "/"):
        outcome = cli("sweep", spec, "--store", str(tmp_path / "s.duckdb"), "--cluster", address)
        assert outcome.code == 2
        assert f"error: cluster '{address}' does not answer" in outcome.err.splitlines()[-1]


def test_without_dask_the_command_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    spec = _spec(tmp_path)
    outcome = cli("sweep", spec, "--store", str(tmp_path / "s.duckdb"), "--cluster", "tcp://127.0.0.1:1")
    assert outcome.code == 2
    assert "pip install 'counterpoint[cluster]'" in outcome.err


def _listening(process: subprocess.Popen[bytes]) -> set[str]:
    """The addresses that a process and its children listen on."""
    whole = psutil.Process(process.pid)
    found = [one.net_connections() for one in (whole, *whole.children(recursive=True))]
    return {one.laddr.ip for connections in found for one in connections if one.status == psutil.CONN_LISTEN}


def test_the_documented_cluster_listens_on_this_computer_alone(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweep.md").read_text()
    commands = {line.split()[1]: line for line in page.splitlines() if line.startswith("    dask ")}
    assert set(commands) == {"scheduler", "worker"}
    port = _free_port()

    def documented(name: str) -> list[str]:
        line = (
            commands[name]
            .replace("--nworkers 8", "--nworkers 2")
            .replace(":8786", f":{port}")
            .replace(":8787", f":{_free_port()}")
        )
        return [f"distributed.cli.dask_{name}", *shlex.split(line, comments=True)[2:]]

    with _process(*documented("scheduler"), "--port", str(port)) as scheduler:
        wait_until(lambda: _answers(port))
        with _process(*documented("worker")) as worker:
            _wait_for_workers(f"tcp://127.0.0.1:{port}", 2)
            assert _listening(scheduler) == _listening(worker) == {"127.0.0.1"}


def _certificate(folder: Path, name: str) -> dict[str, str]:
    """Dask's configuration with a certificate that is its own authority."""
    certificate, key = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command = ["openssl", "req", "-x509", *kind, "-subj", "/CN=test", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)
    roles = {f"{role}__{part}": path for role in ROLES for part, path in (("CERT", certificate), ("KEY", key))}
    settings = {f"{PREFIX}TLS__{name}": path for name, path in {"CA_FILE": certificate, **roles}.items()}
    return {f"{PREFIX}REQUIRE_ENCRYPTION": "true", **settings}


PREFIX, ROLES = "DASK_DISTRIBUTED__COMM__", ("SCHEDULER", "WORKER", "CLIENT")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl makes certificates on this computer")
def test_a_cluster_with_tls_takes_those_with_its_certificates_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cli: Cli, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(config.refresh)
    spec, port = _spec(tmp_path), _free_port()
    own, other = _certificate(tmp_path, "own"), _certificate(tmp_path, "other")

    def sweep(settings: dict[str, str], scheme: str = "tls") -> Outcome:
        config.refresh(env=settings)
        return cli("sweep", spec, "--store", str(tmp_path / "s.duckdb"), "--cluster", f"{scheme}://127.0.0.1:{port}")

    def refused(settings: dict[str, str], scheme: str = "tls") -> str:
        outcome = sweep(settings, scheme)
        assert outcome.code == 2, outcome
        assert "Traceback" not in outcome.err
        assert outcome.err.count("error: ") == 1
        return outcome.err

    for name, value in own.items():
        monkeypatch.setenv(name, value)
    with _process("distributed.cli.dask_scheduler", "--protocol", "tls", *LOOPBACK, "--port", str(port)):
        wait_until(lambda: _answers(port))
        with _worker(f"tls://127.0.0.1:{port}"):
            assert "does not answer" in refused(other)
            assert "does not answer" in refused({}, "tcp")
            assert "Dask's configuration has no certificates" in refused({})
            assert "requires encryption" in refused(own, "tcp")
            lost = {**own, f"{PREFIX}TLS__CA_FILE": str(tmp_path / "none.pem")}
            assert "cannot be read: [Errno 2] No such file or directory" in refused(lost)
            done = sweep(own)
            assert (done.code, "2 computed" in done.out) == (0, True), done.err
