"""Ctrl-C, SIGTERM and SIGHUP on the real engine: results are kept, children end, temporary folders are removed."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from waiting import listens, wait_until

import counterpoint as cp
import samples

pytestmark = pytest.mark.engine

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MARK = "COUNTERPOINT_TEST_MARK"


def _stop_after(transactions: int) -> Any:
    def progress(done: int, _total: int) -> None:
        if done >= transactions:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(
    ("design", "options"),
    [
        ("secpm", {"transactions": 1000, "points": 2000}),
        ("secpm", {"transactions": 1000, "explore": "schedules"}),
        ("secpm", {"transactions": 1000, "explore": "legal"}),
        ("bbe", {"transactions": 1000, "nested": True, "tx_size": 128}),
        ("write-back", {"transactions": 1000}),
    ],
)
def test_an_interrupted_exploration_has_the_verdict_so_far(design: str, options: dict[str, Any]) -> None:
    with pytest.raises(cp.Interrupted) as stop:
        cp.crash(design, "btree", machine="small", footprint="64KiB", progress=_stop_after(3), **options)
    verdict = stop.value.verdict
    assert verdict is not None
    assert verdict.interrupted
    assert verdict.crash_points > 0
    assert verdict.holds == (design != "write-back")
    assert "interrupted" in verdict.coverage


@dataclass
class Running:
    """A command of its own, whose descendants are known by a mark in their environment."""

    process: subprocess.Popen[str]
    mark: str
    temporary: Path

    def descendants(self) -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != self.process.pid:
                try:
                    environment = (folder / "environ").read_bytes()
                except OSError:
                    continue
                if f"{_MARK}={self.mark}".encode() in environment:
                    found.append(int(folder.name))
        return found

    def wait_for_threads(self) -> None:
        """Waits until several threads are at work, but for a second at most: some commands prepare for longer."""
        end = time.monotonic() + 1
        while time.monotonic() < end and len(list(Path(f"/proc/{self.process.pid}/task").iterdir())) == 1:
            time.sleep(0.02)

    def stop(self, number: signal.Signals) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        wait_until(lambda: not self.descendants())
        assert list(self.temporary.iterdir()) == []
        assert "Traceback" not in err
        return self.process.returncode, out, err


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    started: list[Running] = []

    def begin(*words: str, cwd: Path | None = None) -> Running:
        mark, temporary = uuid.uuid4().hex, tmp_path / "temporary"
        temporary.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "counterpoint", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd or tmp_path,
            env={**os.environ, _MARK: mark, "TMPDIR": str(temporary)},
        )
        running = Running(process, mark, temporary)
        started.append(running)
        wait_until(lambda: listens(process.pid))
        return running

    yield begin
    for running in started:
        running.process.kill()
        running.process.wait()


_LONG = "--footprint 4MiB --transactions 2000000 --tx-size 64"


@pytest.mark.parametrize(
    ("command", "number"),
    [
        (f"run secpm btree {_LONG}", signal.SIGINT),
        (f"compare -d unencrypted,secpm -w array,btree {_LONG}", signal.SIGTERM),
        (f"annotations sca btree {_LONG}", signal.SIGHUP),
        ("reproduce secpm --out out", signal.SIGINT),
        ("calibrate counter-atomicity", signal.SIGTERM),
    ],
)
def test_a_command_without_anything_finished_ends_with_the_signals_code(
    start: Any, command: str, number: signal.Signals
) -> None:
    running = start(*command.split())
    running.wait_for_threads()
    time.sleep(0.1)
    code, out, err = running.stop(number)
    assert code == 128 + number
    assert "Holds" not in out
    assert not command.startswith("run") or (out, err) == ("", "")


def test_a_crash_exploration_prints_the_verdict_so_far(start: Any, tmp_path: Path) -> None:
    words = "crash secpm btree --machine small --footprint 64KiB --transactions 200000 --out out --json"
    running = start(*words.split())
    running.wait_for_threads()
    time.sleep(0.5)
    code, out, err = running.stop(signal.SIGINT)
    assert code == 128 + signal.SIGINT
    verdict = json.loads(out)
    assert verdict["interrupted"]
    assert verdict["crash_points"] > 0
    assert json.loads((tmp_path / "out" / "crash.json").read_text()) == verdict
    assert f"interrupted; {verdict['crash_points']} crash points were tried" in err
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["crash.json"], "a picture takes too long"


def test_a_search_keeps_its_simulations(start: Any, tmp_path: Path) -> None:
    running = start("calibrate", "easy-pm", "--store", "s.duckdb", "--workers", "2")
    log = tmp_path / "s.duckdb.wal"
    wait_until(log.exists, seconds=60)
    before = log.stat().st_size
    wait_until(lambda: log.exists() and log.stat().st_size > before + 20_000, seconds=60)
    code, out, err = running.stop(signal.SIGTERM)
    assert (code, out) == (128 + signal.SIGTERM, "")
    assert err == "interrupted; simulations are kept in 's.duckdb', and the same command goes on\n"
    with cp.Store(tmp_path / "s.duckdb", read_only=True) as store:
        assert store.database.ask("SELECT count(*) FROM results")[0][0] > 0


def test_the_users_own_recovery_ends(start: Any, tmp_path: Path) -> None:
    trace, mark = tmp_path / "t.cptrace", tmp_path / "mark"
    trace.write_bytes(samples.recorded())
    recover = f"echo x >> {mark}; sleep 100 < {{pool}}"
    running = start("crash", "unencrypted", str(trace), "--recover", recover, "--recover-jobs", "2")
    wait_until(lambda: mark.exists() and "x" in mark.read_text(), seconds=60)
    assert running.descendants()
    code, _, _ = running.stop(signal.SIGHUP)
    assert code == 128 + signal.SIGHUP


def _said_with_a_signal_in_a_finalizer(script: str) -> tuple[str, str]:
    """What `script` prints, and its errors. It begins with `Late`, of which the end of an object brings SIGTERM."""
    begin = """
import os, signal, time
from counterpoint.system import signals
class Late:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
"""
    done = subprocess.run([sys.executable, "-c", begin + script], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_a_signal_that_comes_while_garbage_is_collected_stops_all_the_same() -> None:
    script = """
try:
    with signals.listening():
        one = Late()
        del one
        time.sleep(20)
        print('not stopped')
except KeyboardInterrupt:
    print(signals.exit_code())
"""
    assert _said_with_a_signal_in_a_finalizer(script) == ("143\n", "")


def test_a_signal_that_comes_just_before_the_end_does_not_end_what_follows() -> None:
    script = """
with signals.listening():
    one = Late()
    del one
time.sleep(0.2)
print(signals.exit_code())
"""
    assert _said_with_a_signal_in_a_finalizer(script) == ("143\n", "")


def test_a_signal_that_is_ignored_from_the_start_stays_so(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from counterpoint.system import signals\n"
        "with signals.listening(): os.kill(os.getpid(), signal.SIGHUP); print('on')"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == "on\n"


def _blank_lines(path: Path) -> None:
    """A trace whose second access comes after 4 GiB of blank lines."""
    blank = gzip.compress(b"\n" * (64 << 20), compresslevel=1)
    with path.open("wb") as file:
        file.write(gzip.compress(b"0x40 READ 1\n"))
        for _ in range(64):
            file.write(blank)
        file.write(gzip.compress(b"0x40 READ 2\n"))


def _many_records(path: Path) -> None:
    """A recorded program that flushes a line 800 million times and does nothing else."""
    first, *_ = samples.recorded().partition(b"\x14\x03\x00")
    flush = gzip.compress(b"\x14\x03\x00\x00" * (16 << 20), compresslevel=1)
    with path.open("wb") as file:
        file.write(gzip.compress(first))
        for _ in range(50):
            file.write(flush)


@pytest.mark.parametrize(
    ("write", "command"),
    [(_blank_lines, "replay -d secpm"), (_many_records, "replay -d secpm"), (_many_records, "crash secpm")],
)
def test_every_reader_hears_ctrl_c(start: Any, tmp_path: Path, write: Any, command: str) -> None:
    path = tmp_path / "t.gz"
    write(path)
    running = start(*command.split(), str(path))
    time.sleep(1)
    assert running.process.poll() is None, "the reader is still at it"
    began = time.monotonic()
    code, _, _ = running.stop(signal.SIGINT)
    assert code == 130
    # The whole takes more than ten times as long.
    assert time.monotonic() - began < 5


def test_finished_replays_of_memory_lines_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "t.trace"
    path.write_text("0x40 READ 1\n")
    whole = cp.replay_lines(path, ["secpm", "unencrypted"])
    results = [whole[0].to_dict(), {"error": "interrupted"}]

    def interrupted(*_: object) -> str:
        raise cp._engine.Interrupted(json.dumps({"results": results}))

    monkeypatch.setattr(cp._engine, "replay", interrupted)
    with pytest.raises(cp.Interrupted) as stop:
        cp.replay_lines(path, ["secpm", "unencrypted"])
    assert [run.design for run in stop.value.lines] == ["secpm"]


@pytest.mark.parametrize("number", _STOPS)
def test_a_signal_during_an_import_waits_for_its_end(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "library.py").write_text(
        f"import os, time\ntry:\n    os.kill(os.getpid(), {int(number)})\n    time.sleep(0.1)\n    loaded = True\n"
        "except BaseException:\n    loaded = False\n"
    )
    script = (
        "import time; from counterpoint.system import signals\n"
        "with signals.listening():\n    try:\n        import library\n        time.sleep(10)\n"
        "    except KeyboardInterrupt:\n        print(library.loaded, signals.exit_code())"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout == f"True {128 + number}\n"


@pytest.mark.parametrize("number", _STOPS)
def test_a_signal_while_the_temporary_folder_is_tried_leaves_no_file_there(
    tmp_path: Path, number: signal.Signals
) -> None:
    script = (
        "import os, tempfile, time; from counterpoint.system import signals\n"
        "unlink = os.unlink\n"
        f"def late(path): os.kill(os.getpid(), {int(number)}); time.sleep(0.1); unlink(path)\n"
        "os.unlink = late\n"
        "with signals.listening():\n    try:\n        tempfile.gettempdir()\n        time.sleep(10)\n"
        "    except KeyboardInterrupt:\n        print(os.listdir(os.environ['TMPDIR']), signals.exit_code())"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert shown.stdout == f"[] {128 + number}\n"


def test_a_command_leaves_the_signals_of_its_caller_alone(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
        return ""

    before = [signal.getsignal(number) for number in _STOPS]
    monkeypatch.setattr(cp._engine, "describe", interrupted)
    assert cli("designs").code == 130
    assert [signal.getsignal(number) for number in _STOPS] == before
