"""The options of a call are stated once: the function, the command, the engine and the pages have the same ones."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import fake_engine
import pytest
import typer.main
from conftest import Cli, asked_of

import counterpoint as cp
from counterpoint import _engine
from counterpoint.cli import app
from counterpoint.cli.options import OPTIONS
from counterpoint.contract import commands, options
from counterpoint.contract.request import request
from counterpoint.runs import matrix
from counterpoint.verbs import recorder
from counterpoint.verbs.litmus_suite import _RUN

_SUBJECT = {"design", "workload"}
_TABLES = {"csv", "parquet"}
_LINES = {"trace_clock", "requests"}
"""What only traces of memory lines take."""

_SHOWN = {"as_json", "out", "top"}
"""What a command does with its results, which no call has."""
_PROJECT = {"project", "no_project"}
"""What a command takes in place of options."""
_REVIEW = {"suppressions", "baseline", "only", "show_all"}
"""What `check` leaves out."""


def _keys(kind: Any) -> set[str]:
    return set(get_type_hints(kind))


def _known(call: Callable[[str], object], asked: dict[str, Any]) -> set[str]:
    """The keys that the engine knows for a kind of request, as it says where one does not exist."""
    with pytest.raises(cp.InputError, match=r"^option 'nonsense' does not exist") as refused:
        call(json.dumps(asked))
    found = re.search(r"\(known: (.*)\)$", str(refused.value))
    assert found
    return set(found[1].split(", "))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "call", "also"),
    [
        (options.SingleRunOptions, _engine.resolve, _SUBJECT),
        (options.CrashOptions, _engine.crash, _SUBJECT | {"recorder"}),
        (options.SceneOptions, _engine.scene, _SUBJECT),
        (options.ProveOptions, _engine.prove, {"design"}),
        (options.DistinguishOptions, _engine.distinguish, {"design", "other"}),
        (options.CheckOptions, _engine.check, {"trace", "design", "top"}),
        (options.RecoveryOptions, _engine.recovery, {"design", "measure"}),
    ],
)
def test_the_engine_knows_the_options_of_a_call_and_no_others(
    kind: Any, call: Callable[[str], object], also: set[str]
) -> None:
    assert _known(call, {"nonsense": 1}) == _keys(kind) | also


@pytest.mark.engine
def test_the_engine_knows_the_options_of_a_replay_of_memory_lines(tmp_path: Path) -> None:
    trace = tmp_path / "t.trace"
    trace.write_text("0x40 READ 3\n0x80 WRITE 4\n")
    known = _known(_engine.replay, {"runs": [{"workload": str(trace), "nonsense": 1}]})
    # Of programs, and in the configuration all the same.
    assert known == _keys(options.LineOptions) | _SUBJECT | {"tx_size", "cores"}


@pytest.mark.parametrize(
    ("name", "kind", "own", "but"),
    [
        ("run", options.SingleRunOptions, _SUBJECT | _SHOWN - {"out"} | _TABLES | _LINES | {"seeds", "figures"}, ()),
        ("cite", options.RunOptions, _SUBJECT | {"as_json"}, ()),
        (
            "crash",
            options.CrashOptions,
            _SUBJECT | _SHOWN - {"top"} | {"no_shrink", "no_blame", "by_line", "beside", "output_format"},
            ("shrink", "blame", "recover_keep"),
        ),
        ("check", options.CheckOptions, _SHOWN - {"out"} | {"trace", "design", "output_format"} | _REVIEW, ()),
        ("recovery", options.RecoveryOptions, {"as_json", "designs"}, ()),
        (
            "prove",
            options.ProveOptions,
            {"design", "out", "as_json", "own_machine", "at_a_time"},
            ("machine", "workers"),
        ),
        (
            "distinguish",
            options.DistinguishOptions,
            {"design", "other", "out", "as_json", "own_machine", "at_a_time"},
            ("machine", "workers"),
        ),
        ("annotations", options.AnnotationOptions, _SUBJECT | {"as_json"}, ("allow_truncated",)),
        (
            "compare",
            options.RunOptions,
            _SHOWN - {"top"}
            | {"designs", "workloads", "baseline", "workers", "figures", "seeds", "trace_clock"}
            | _TABLES,
            (),
        ),
        (
            "replay",
            options.ReplayOptions,
            _SHOWN - {"out"} | {"trace", "designs", "baseline", "workers", "seeds", "stats"} | _LINES | _TABLES,
            ("tx_size", "footprint"),
        ),
    ],
)
def test_a_command_has_the_options_of_its_call(name: str, kind: Any, own: set[str], but: tuple[str, ...]) -> None:
    tree: Any = typer.main.get_command(app)
    parameters = {parameter.name for parameter in tree.commands[name].params}
    assert parameters == (_keys(kind) - set(but)) | own | _PROJECT


def test_every_option_of_the_command_line_is_one_of_a_call() -> None:
    kinds = [kind for name, kind in vars(options).items() if name.endswith("Options")]
    every = set().union(*map(_keys, kinds))
    assert every - set(OPTIONS) == {"shrink", "blame", "recover_keep"}
    assert set(OPTIONS) <= every
    assert set(_RUN) <= _keys(options.CrashOptions) | {"workload"}
    assert set(matrix._OPTIONS) == _keys(options.RunOptions) - {"set"} | _SUBJECT | {"trace_clock_mhz"}


def test_the_page_of_the_python_interface_names_every_option() -> None:
    text = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    kinds = [kind for name, kind in vars(options).items() if name.endswith("Options")]
    missing = {name for kind in kinds for name in _keys(kind) if f"`{name}`" not in text}
    assert missing == set()


_EVERYTHING: dict[str, Any] = {
    "design": "write-back",
    "workload": "my traces/a'b.log",
    "variant": "published",
    "seed": 7,
    "machine": "my machine.toml",
    "set": ["controller.wpq_entries=16", "device.t_wr_ns=150"],
    "tx_size": 64,
    "cores": 2,
    "footprint": 16384,
    "warmup": 3,
    "fault": "staging-register",
    "recover": "check '{pool}' | grep ok",
    "recover_prints": "all is well",
    "recover_timeout": 9,
    "no_preflight": True,
    "leave_out": "mutate-flush",
    "omit_annotations": [3, 4],
    "explore": "legal",
    "schedule": 2,
    "states": 100,
    "watch_reads": ["watch"],
    "sector": 512,
    "allow_truncated": True,
    "serial": True,
    "transactions": 4,
    "nested_depth": 2,
    "attack": ["all"],
    "at_event": 219,
}
"""Everything that a request which shows a violation again may have."""


@pytest.mark.parametrize("depth", [1, 2])
def test_the_command_of_a_request_asks_for_that_request(depth: int, cli: Cli, fake: pytest.MonkeyPatch) -> None:
    document = json.dumps(fake_engine.crash_document({"design": "secpm", "workload": "btree"}))
    fake.setattr(_engine, "crash", lambda *_: document)
    asked = asked_of(fake, "crash")
    fake.setattr(recorder, "watcher", lambda: ["watch"])
    fake.setattr(recorder, "recorder_of_commands", lambda: ["record"])
    whole = _EVERYTHING | {"nested_depth": depth}
    words = shlex.split(commands.crash_command(whole))
    assert words[:4] == ["counterpoint", "crash", "write-back", "my traces/a'b.log"]
    assert set(options.TYPED) == set(whole) - _SUBJECT
    assert cli(*words[1:]).code == 0
    (given,) = asked
    assert given.pop("recorder") == ["record"]
    if depth == 1:
        given = {"nested_depth" if name == "nested" else name: value for name, value in given.items()}
    # Sizes are texts that the engine reads as numbers.
    assert {name: int(value) if name == "footprint" else value for name, value in given.items()} == whole


@pytest.mark.engine
def test_a_verdict_has_commands_where_the_engine_has_requests() -> None:
    small: options.RunOptions = {"machine": "small", "transactions": 4, "tx_size": 64, "footprint": "16KiB"}
    asked = request(options.CrashOptions, "write-back", "btree", small)
    report = json.loads(_engine.crash(json.dumps(asked)))
    document = cp.crash("write-back", "btree", **small).to_dict()
    assert set(report) - set(document) == {"reproduce"}
    assert list(document) == [key for key in report if key != "reproduce"]
    run = "counterpoint crash write-back btree --variant hardened --seed 1 --machine small --tx-size 64 --cores 1"
    for key, footprint, transactions in (("violations", 16384, 4), ("shrunk", 4096, 1)):
        assert document[key]
        for found, engines in zip(document[key], report[key], strict=True):
            assert list(found) == list(engines)
            more = f"--footprint {footprint} --warmup 0 --transactions {transactions} --at-event {found['crash_event']}"
            assert found["reproduce"] == f"{run} {more}"
    scene = cp.scene("write-back", "btree", at_event=100, schedule=1, **small)
    assert scene["command"] == f"{run} --footprint 16384 --warmup 0 --schedule 1 --transactions 4"
    assert "reproduce" not in scene


@pytest.mark.engine
def test_options_of_another_call_are_refused() -> None:
    calls: tuple[Callable[..., object], ...] = (cp.run, cp.scene, cp.annotations, cp.resolve)
    for call in calls:
        with pytest.raises(TypeError, match="unexpected keyword argument 'nested'; the options are "):
            call("secpm", "btree", nested=True)
    with pytest.raises(TypeError, match="'timeline'"):
        cp.crash("secpm", "btree", timeline="t.json")  # type: ignore[call-arg]
    asked = json.dumps({"runs": [{"design": "secpm", "workload": "btree", "points": "all"}]})
    with pytest.raises(cp.InputError, match=r"^points: a run does not take it, only a crash exploration does$"):
        _engine.run_many(asked)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"nested": False, "stages": None, "blame": None, "shrink": None, "transactions": None}, {}),
        ({"nested": True, "blame": False, "shrink": False}, {"nested": True, "blame": False, "shrink": False}),
        ({"shrink": True, "recover_folder": Path("/tmp")}, {"shrink": True, "recover_folder": "/tmp"}),
        ({"points": "12", "set": {"engine.bytes": False}}, {"points": 12, "set": ["engine.bytes=false"]}),
    ],
)
def test_a_request_has_what_was_asked_for_and_nothing_else(given: dict[str, Any], asked: dict[str, Any]) -> None:
    assert request(options.CrashOptions, "secpm", "btree", given) == {"design": "secpm", "workload": "btree", **asked}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("points", 0, "points is '0'; it must be 'all' or a whole number above zero"),
        ("at_event", -1, "at_event is -1; it must be a whole number from 0 to 2"),
        ("explore", 5, "explore is '5'; it must be a name"),
        ("variant", 5, "variant is '5'; it must be a name"),
        ("recover", b"true", "recover is 'b'true''; it must be a name"),
        ("leave_out", "mutate", "leave_out 'mutate' does not exist: did you mean 'mutate-"),
    ],
)
def test_a_value_that_no_request_can_have_is_refused(name: str, value: object, sentence: str) -> None:
    with pytest.raises(cp.InputError, match=re.escape(sentence)):
        request(options.CrashOptions, "secpm", "btree", {name: value})
    with pytest.raises(cp.InputError, match="design is '7'; it must be a name"):
        request(options.CrashOptions, 7, "btree", {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "call", "but", "own"),
    [
        ("sweep", cp.sweep, {"progress", "export"}, {"as_json"} | _TABLES),
        ("reproduce", cp.reproduce, {"asked", "progress", "command"}, {"paper", "as_json", "out", "figures"}),
        ("calibrate", cp.calibrate, {"asked", "progress"}, {"paper", "as_json", "out"}),
        ("litmus", cp.litmus, {"progress", "source", "workers"}, {"as_json"}),
        ("record", cp.record, set(), set()),
        ("report", cp.write_sweep_page, {"folder", "command"}, {"out", "figures"}),
    ],
)
def test_a_command_without_a_type_of_options_has_those_of_its_function(
    name: str, call: Callable[..., object], but: set[str], own: set[str]
) -> None:
    tree: Any = typer.main.get_command(app)
    parameters = {parameter.name for parameter in tree.commands[name].params} - _PROJECT
    assert parameters == set(inspect.signature(call).parameters) - but | own
