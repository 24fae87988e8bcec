"""Values on the command line: what each parser refuses, and that every command gives its values to a parser."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer
from conftest import Cli

from counterpoint.cli import app

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("furnished")]

_SMALL = ["--machine", "small", "--transactions", "2"]
_CALLS = {
    "run": ["run", "secpm", "btree", *_SMALL],
    "compare": ["compare", "-d", "secpm", "-w", "btree", *_SMALL],
    "crash": ["crash", "secpm", "trace.log", "--machine", "small", "--recover", "true {pool}"],
    "prove": ["prove", "secpm", "--operations", "1"],
    "distinguish": ["distinguish", "secpm", "write-back", "--operations", "1"],
    "annotations": ["annotations", "sca", "btree", *_SMALL],
    "check": ["check", "trace.log", "-d", "secpm", "--machine", "small"],
    "replay": ["replay", "trace.log", "-d", "secpm", "--machine", "small"],
    "recovery": ["recovery", "secpm", "--machine", "small", "--memory", "1GiB"],
    "reproduce": ["reproduce", "secpm", "--quick"],
    "calibrate": ["calibrate", "secpm"],
    "sweep": ["sweep", "sweep.toml"],
    "search": ["search", "goals.toml"],
    "explain": ["explain", "secpm", "sca", "-w", "btree", *_SMALL],
    "report": ["report", "store.duckdb"],
    "record": ["record", "true"],
    "litmus": ["litmus", "torn-pair"],
    "designs": ["designs", "secpm"],
    "cite": ["cite", "secpm", "btree", *_SMALL],
    "man": ["man", "crash"],
    "bugs": ["bugs", "missing_flush"],
}
"""Calls of all commands that take values, each with its arguments first."""

_NUMBERS, _NO_PATH = ("x", "-5"), ("a\0b",)
_BAD: dict[str | None, tuple[str, ...]] = {
    **dict.fromkeys(("N", "MHZ", "SECONDS", "all|N", "SIZE", "BYTES"), _NUMBERS),
    "N[,N...]": ("1,x", "1,-5"),
    "SIZE[,SIZE...]": ("64,x", "64,-5"),
    "PATH.TO.KEY=VALUE": ("no.such=1", "controller.wpq_entries=x"),
    **dict.fromkeys(
        (
            *(None, "NAME", "DESIGN", "FAULT", "ATTACK", "TEXT", "OPERATION", "LINES", "TIMING", "FORM", "PROGRAM"),
            *("schedule|schedules|legal", "dramsim3|ramulator|champsim"),
        ),
        ("no-such",),
    ),
    "NAME|FILE.toml": ("secpm,no-such", "no-such.toml"),
    **dict.fromkeys(("FILE.toml", "FILE.json"), ("no-such.toml",)),
    "TIME": ("x", "10m"),
    "COMMAND": ("without a place",),
    "ADDRESS": ("://",),
    **dict.fromkeys(("DIR", "FILE", "FILE.duckdb"), _NO_PATH),
}
"""By what the help calls a value: some that are none."""

_ANY_TEXT = {"--wrapper", "--pmem", "--files", "--mark-stderr", "--recover-prints"}
"""Options that nothing is bad for."""


def _values(command: str) -> list[Any]:
    """The arguments and options of a command that have a value."""
    tree: Any = typer.main.get_command(app)
    return [one for one in tree.commands[command].params if not getattr(one, "is_flag", False)]


def test_every_command_that_takes_values_is_called() -> None:
    tree: Any = typer.main.get_command(app)
    assert {name for name in tree.commands if _values(name)} == set(_CALLS)


@pytest.mark.parametrize("command", _CALLS)
def test_every_value_of_a_command_is_given_to_a_parser(command: str, cli: Cli) -> None:
    """A new option is among them, without a word here unless its value is of a new kind."""
    if command == "report":
        assert cli("sweep", "sweep.toml", "--store", "store.duckdb").code == 0
    arguments = [one for one in _values(command) if one.param_type_name == "argument"]
    for place in range(1, 1 + len(arguments)):
        call = list(_CALLS[command])
        call[place] = "no-such"
        assert "no-such" in cli(*call).refusal
    for option in _values(command)[len(arguments) :]:
        flag = option.opts[-1]
        call = ["replay", "lines.nvmain"] if flag == "--trace-clock" else _CALLS[command]
        for bad in () if flag in _ANY_TEXT else _BAD[option.metavar]:
            words = [*call, f"{flag}={bad}"] if command != "record" else ["record", f"{flag}={bad}", "true"]
            outcome = cli(*words)
            assert (outcome.code, outcome.out) == (2, ""), (flag, bad, outcome)
            (said,) = (line for line in outcome.err.splitlines() if line.startswith("error: "))
            names = (flag[2:], option.name, bad.split(",")[-1].replace("\0", "\\x00"))
            assert re.search(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)", said), said
            assert bad != "-5" or option.metavar in ("all|N", "SIZE") or " to 2^64-1" in said, said


_NO_NUMBERS = (
    *("1_0", "_10", " 64", "64 ", "6 4", "+64", "\u0661", "\uff16\uff14", "\u00b2", "0x40", "6.5.4", "", "-5"),
    *("9" * 5_000, "1e3", "64.0"),
)


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("run", "--seed={}"),
        ("run", "--tx-size={}"),
        ("run", "--top={}"),
        ("run", "--set=controller.wpq_entries={}"),
        ("compare", "--cores=1,{}"),
        ("compare", "--tx-size=64,{}"),
        ("recovery", "--memory=64KiB,{}"),
        ("crash", "--points={}"),
        ("crash", "--omit-annotations={}"),
    ],
)
def test_text_that_is_no_number_is_refused(command: str, option: str, cli: Cli) -> None:
    """An option for each parser."""
    for bad in _NO_NUMBERS:
        # Around the values of a machine spaces may stand, and some are no whole numbers.
        if "--set" not in option or (bad.strip() != "64" and bad not in ("1e3", "64.0")):
            sentence = cli(*_CALLS[command], option.format(bad)).refusal
            assert bad[:20].strip() in sentence
            assert len(sentence) < 700


@pytest.mark.parametrize("size", ["1_024", "1 KiB", " 1KiB", "1KiB ", "1kib", "\u0661KiB", "0x1KiB", "-1KiB"])
def test_sizes_are_digits_with_a_unit(size: str, cli: Cli) -> None:
    for option in ("--tx-size", "--footprint"):
        outcome = cli(*_CALLS["run"], f"{option}={size}")
        assert outcome.code == 2, outcome
        assert "is not a whole number of bytes" in outcome.err, outcome
    assert cli(*_CALLS["run"], "--set", f"l1.size={size}").code == (0 if size.strip() == "1KiB" else 2)


def test_numbers_are_taken(cli: Cli) -> None:
    assert (
        cli("run", "secpm", "btree", *_SMALL, "--seed=007", "--tx-size=0064", "--footprint=64KiB", "--top=1").code == 0
    )
    assert cli("run", "secpm", "btree", *_SMALL, "--set=device.t_wr_ns=150", "--set=name=1_0").code == 0
    assert cli("crash", "secpm", "btree", *_SMALL, "--points=2").code == 0
