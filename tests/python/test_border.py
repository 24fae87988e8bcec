"""Whatever the input, the program ends with one sentence: exit code 2 for bad input, 3 for its own faults, never 1."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import SWEEP, Cli, Outcome

import counterpoint as cp
import samples
from counterpoint.cli import BAD_INPUT, PROGRAM_FAULT, TRACEBACK, app, crash, reproduce, sweep
from counterpoint.runs import matrix
from counterpoint.system import signals, streams
from counterpoint.verbs import catalogue, recorder

pytestmark = pytest.mark.engine


def _is_bad_input(outcome: Outcome) -> None:
    assert (outcome.code, outcome.out) == (2, ""), outcome
    lines = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, outcome
    assert "Traceback" not in outcome.err, outcome


class _Panic(BaseException):
    """The exception that the binding raises for a panic."""


@pytest.mark.parametrize(
    "error",
    [TypeError("a\n\x1b[31mb"), MemoryError(), RecursionError("deep"), SystemExit(1), _Panic("index"), OSError(5)],
)
def test_an_exception_is_a_fault_of_the_program(
    error: BaseException, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising() -> Any:
        raise error

    monkeypatch.setattr(catalogue, "designs", raising)
    outcome = cli("designs")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"error: a bug stopped the program ({type(error).__name__}")
    assert outcome.err.count("\n") == 1
    assert "\x1b" not in outcome.err
    monkeypatch.setenv(TRACEBACK, "1")
    outcome = cli("designs")
    assert outcome.code == 3
    assert "in raising" in outcome.err
    assert "\x1b" not in outcome.err


def test_the_table_of_exit_codes_is_complete() -> None:
    text = (Path(__file__).parents[2] / "docs/cli.md").read_text()
    table = text.split("| exit code | meaning |\n|---|---|\n")[1].split("\n\n")[0]
    rows = [int(row.split("|")[1]) for row in table.splitlines()]
    codes = {0, crash.VIOLATED, sweep.SOME_FAILED, reproduce.CLAIM_MISSED, BAD_INPUT, PROGRAM_FAULT}
    codes |= {streams.OUTPUT_FAILED, streams.PIPE_CLOSED, *signals.EXIT_CODES}
    assert rows == sorted(codes)


_NO_PATHS = {"a" * 300: 2, "b/" * 5_000: 2, "sweep.toml/below": 2, "loop": 2, "a\0b": 2, "": 2}
"""Too long, too deep, below a file, a link to itself, with a NUL, nothing."""

_READING = (
    "run secpm {}",
    "replay {}",
    "check {}",
    "sweep {}",
    "report {}",
    "sweep sweep.toml --resume --store {}",
    "run secpm btree --machine {}",
    "run secpm btree --machine {}.toml",
    "run {} btree",
    "litmus {}",
    "reproduce {}",
    "crash secpm btree --fault {}",
    "run sca btree --leave-out {}",
)
_WRITING = (
    "compare --out {}/out",
    "crash secpm btree --machine small --transactions 2 --out {}/out",
    "run secpm btree --machine small --transactions 2 --timeline {}/t.json",
    "sweep sweep.toml --store {}/s.duckdb",
    "sweep sweep.toml --csv {}/x.csv",
    "run secpm btree --machine small --transactions 2 --parquet {}/x.parquet",
    "compare -w btree --machine small --transactions 2 --figures {}/out",
    "reproduce secpm --quick --store {}/s.duckdb",
    "record --out {}/x.cptrace -- true",
    "crash secpm trace.log --recover RECOVERY --recover-dir {}",
)


@pytest.mark.parametrize("command", _READING + _WRITING)
def test_arguments_that_are_no_paths_are_refused(command: str, cli: Cli, furnished: Path) -> None:
    (furnished / "loop").symlink_to("loop")
    for text in _NO_PATHS:
        # Without a text the folder of what is written is the root.
        if text or command not in _WRITING:
            words = [word.format(text).replace("RECOVERY", "true {pool}") for word in command.split(" ")]
            _is_bad_input(cli(*words))


@pytest.mark.parametrize(
    "command", ["sweep {}", "report {}", "run secpm {}", "replay {}", "check {}", "run secpm btree --machine {}/"]
)
def test_folder_in_place_of_a_file_is_refused(command: str, cli: Cli, furnished: Path) -> None:
    _is_bad_input(cli(*command.format(furnished).split()))


def _parameters() -> Iterator[tuple[str, str]]:
    tree: Any = typer.main.get_command(app)
    for name, command in sorted(tree.commands.items()):
        for parameter in command.params:
            if not getattr(parameter, "is_flag", False) and name != "record":
                yield name, parameter.opts[-1] if parameter.param_type_name == "option" else ""


@pytest.mark.parametrize("command", sorted({command for command, _ in _parameters()}))
def test_arguments_that_are_not_utf_8_are_refused(command: str, cli: Cli, furnished: Path) -> None:
    # All arguments are looked at before a command is: the first of its options stands for them.
    del furnished
    option = next(option for name, option in _parameters() if name == command)
    for words in ([], [option] if option else ["--"]):
        outcome = cli(command, *words, os.fsdecode(b"caf\xe9"))
        assert outcome == Outcome(2, "", "error: argument 'caf\\udce9' is not UTF-8\n")


def test_bytes_of_other_encodings_in_a_real_process(furnished: Path) -> None:
    program = [sys.executable, "-m", "counterpoint"]
    for call in ([b"run", b"secpm", b"caf\xe9"], [b"caf\xe9"], [b"--caf\xe9"]):
        done = subprocess.run([*program, *call], cwd=furnished, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (2, b""), done
        assert done.stderr.endswith(b"caf\\udce9' is not UTF-8\n"), done


def test_a_program_may_be_recorded_with_any_arguments(cli: Cli, furnished: Path) -> None:
    outcome = cli("record", "--out", os.fsdecode(b"\xe9.cptrace"), "--", "test", "-n", os.fsdecode(b"\xe9"))
    assert outcome.code == 0, outcome
    assert outcome.err.splitlines()[-1].startswith("\\udce9.cptrace: "), outcome
    assert (furnished / os.fsdecode(b"\xe9.cptrace")).exists()


def test_paths_of_other_encodings_in_python(furnished: Path) -> None:
    other = os.fsdecode(b"caf\xe9")
    (furnished / other).write_bytes(samples.PMEMCHECK)
    for call in (
        lambda: cp.is_line_trace(other),
        lambda: cp.replay(other),
        lambda: cp.replay_lines(other),
        lambda: cp.run("secpm", other),
        lambda: cp.crash("secpm", other),
        lambda: cp.check(other),
        lambda: cp.sweep({"base": {"design": "secpm", "workload": other}, "axes": {"seed": [1]}}),
    ):
        with pytest.raises(cp.InputError):
            call()


_HUGE = ["0x" + "f" * 4_000, "9" * 4_000, "9" * 5_000, str(2**64), str(-(2**63) - 1), "0o" + "7" * 9_000]


@pytest.mark.parametrize("number", _HUGE, ids=lambda text: f"{text[:3]}-{len(text)}")
def test_huge_numbers_are_refused(number: str, cli: Cli, furnished: Path) -> None:
    for place in (f"[base]\nseed = {number}\n[axes]\n", f"[base]\n[axes]\nseed = [{number}]\n", f"name = {number}\n"):
        (furnished / "sweep.toml").write_text(place + 'design = ["secpm"]\nworkload = ["btree"]\n')
        _is_bad_input(cli("sweep", "sweep.toml"))
    (furnished / "sweep.toml").write_text(f"[axes]\nseed = {{ from = 1, to = {number} }}\n")
    _is_bad_input(cli("sweep", "sweep.toml"))
    (furnished / "machine.toml").write_text(f"device.t_wr_ns = {number}\n")
    _is_bad_input(cli("run", "secpm", "btree", "--machine", "machine.toml"))
    for option in ("--seed", "--set=device.t_wr_ns", "--set=program.footprint", "--footprint", "--tx-size"):
        _is_bad_input(cli("run", "secpm", "btree", f"{option}={number}"))


def test_huge_numbers_in_python() -> None:
    huge = 16**4_000
    for call in (
        lambda: cp.run("secpm", "btree", set={"device.t_wr_ns": huge}),
        lambda: cp.crash("secpm", "btree", points=huge),
        lambda: cp.crash("secpm", "btree", at_event=huge),
        lambda: cp.compare(workers=huge),
        lambda: cp.sweep({"base": {"seed": huge}, "axes": {"design": ["secpm"], "workload": ["btree"]}}),
    ):
        with pytest.raises(cp.InputError):
            call()


@pytest.mark.parametrize(
    "span", ["-1e308, to = 1e308", "5e-324, to = 1e308, factor = 1.0000001", "1, to = 1e300, step = 1e-300"]
)
def test_endless_ranges_are_refused(span: str, cli: Cli, furnished: Path) -> None:
    base = '[base]\ndesign = "secpm"\nworkload = "btree"\n'
    (furnished / "sweep.toml").write_text(f"{base}[axes]\ndevice.t_wr_ns = {{ from = {span} }}\n")
    _is_bad_input(cli("sweep", "sweep.toml"))


def test_a_sweep_without_an_end_is_not_read_to_it(cli: Cli, furnished: Path) -> None:
    os.mkfifo("pipe")

    def feed() -> None:
        with pytest.raises(BrokenPipeError), Path("pipe").open("wb") as pipe:
            while True:
                pipe.write(b"# and so on\n" * 1_000)

    feeding = threading.Thread(target=feed)
    feeding.start()
    for path in ("pipe", "/dev/zero"):
        outcome = cli("sweep", path)
        _is_bad_input(outcome)
        assert "at most 16 MiB" in outcome.err
    feeding.join()
    (furnished / "long.toml").write_text("#" * (matrix.FILE_MAX + 1))
    assert "at most 16 MiB" in cli("sweep", "long.toml").err
    outcome = cli("run", "secpm", "btree", "--machine", "/dev/zero")
    _is_bad_input(outcome)
    assert "larger than 1 MiB" in outcome.err


def test_a_sweep_comes_through_a_pipe(cli: Cli, furnished: Path) -> None:
    os.mkfifo("pipe")
    feeding = threading.Thread(target=lambda: (furnished / "pipe").write_text(SWEEP))
    feeding.start()
    assert cli("sweep", "pipe").code == 0
    feeding.join()


@pytest.mark.parametrize("cache", ["/proc/nowhere", "/dev/null", "c" * 300, "a/../loop"])
def test_a_cache_that_cannot_be_written(cache: str, cli: Cli, furnished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (furnished / "loop").symlink_to("loop")
    (furnished / "a").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setattr(recorder, "_version_of_valgrind", lambda: "valgrind-3")
    outcome = cli("record", "--", "true")
    _is_bad_input(outcome)
    assert "XDG_CACHE_HOME" in outcome.err


def _frame(content: bytes) -> bytes:
    """A message of Dask's protocol."""
    return struct.pack("<QQQ", 16 + len(content), 1, len(content)) + content


_SERVERS: dict[str, Callable[[socket.socket], object]] = {
    "closes": lambda server: server.close(),
    "says nothing": lambda server: None,
    "SSH": lambda server: server.sendall(b"SSH-2.0-OpenSSH_9.6\r\n" * 100),
    "HTTP": lambda server: server.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "zeros": lambda server: server.sendall(bytes(4096)),
    "lengths of 2^64": lambda server: server.sendall(b"\xff" * 4096),
    "broken messages": lambda server: server.sendall(_frame(b"\xc1\xc1")),
    "other messages": lambda server: server.sendall(_frame(b"\x01") * 8),
}


def test_servers_other_than_schedulers_are_refused(furnished: Path) -> None:
    kept: list[socket.socket] = []

    def serve(listening: socket.socket, answer: Callable[[socket.socket], object]) -> None:
        with suppress(OSError):
            while True:
                kept.append(listening.accept()[0])
                answer(kept[-1])

    with ExitStack() as stack:
        servers = {what: stack.enter_context(socket.create_server(("127.0.0.1", 0))) for what in _SERVERS}
        for what, listening in servers.items():
            threading.Thread(target=serve, args=(listening, _SERVERS[what]), daemon=True).start()
        addresses = [f"tcp://127.0.0.1:{listening.getsockname()[1]}" for listening in servers.values()]
        ended = _swept_on(addresses, furnished)
        for listening in servers.values():
            listening.shutdown(socket.SHUT_RDWR)
    for address, what, done in zip(addresses, servers, ended, strict=True):
        sentence = f"error: cluster '{address}' does not answer: "
        assert done.err.splitlines()[-1].startswith(sentence), (what, done)


def test_faulty_scheduler_files_are_refused(furnished: Path) -> None:
    said = ["", "text", "[1]", "{}", '{"address": 5}', '{"address": "tcp://127.0.0.1:1"}', "[" * 100_000]
    files = {f"scheduler-{number}.json": text for number, text in enumerate(said)}
    for name, text in files.items():
        (furnished / name).write_text(text)
    for name, done in zip(files, _swept_on([*files], furnished), strict=True):
        assert f"error: cluster '{name}' " in done.err, files[name]


_SWEPT = """
import contextlib, io, json, sys
from counterpoint.cli import main
found = []
for address in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["sweep", "sweep.toml", "--cluster", address])
        except SystemExit as stop:
            found.append((stop.code, out.getvalue(), err.getvalue()))
print(json.dumps(found))
"""


def _swept_on(addresses: list[str], furnished: Path) -> list[Outcome]:
    """What sweeps on these clusters give, which are none; in a separate process, because Dask reports what it leaves
    behind only when the process ends."""
    call = [sys.executable, "-c", _SWEPT, *addresses]
    done = subprocess.run(call, cwd=furnished, capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == "", "Dask left something behind"
    ended = [Outcome(*one) for one in json.loads(done.stdout)]
    assert len(ended) == len(addresses)
    for one in ended:
        _is_bad_input(one)
        assert len(one.err.splitlines()) == 2, one
    return ended
