"""Numbers on the command line: ASCII digits only, in every option of every command that takes a number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import Cli

import samples
from counterpoint.cli import app

pytestmark = pytest.mark.engine

_SMALL = ["--machine", "small", "--transactions", "2"]
_CALLS = {
    "run": ["run", "secpm", "btree", *_SMALL],
    "compare": ["compare", "-d", "secpm", "-w", "btree", *_SMALL],
    "crash": ["crash", "secpm", "btree", *_SMALL],
    "annotations": ["annotations", "sca", "btree", *_SMALL],
    "check": ["check", "trace.log", "-d", "secpm", "--machine", "small"],
    "replay": ["replay", "trace.log", "-d", "secpm", "--machine", "small"],
    "recovery": ["recovery", "secpm", "--machine", "small", "--memory", "1GiB"],
    "reproduce": ["reproduce", "secpm", "--quick"],
    "calibrate": ["calibrate", "secpm"],
    "sweep": ["sweep", "sweep.toml"],
    "search": ["search", "goals.toml"],
    "explain": ["explain", "secpm", "sca", "-w", "btree", *_SMALL],
}
_PATTERNS = {
    "N": "{}",
    "MHZ": "{}",
    "SECONDS": "{}",
    "N[,N...]": "1,{}",
    "all|N": "{}",
    "SIZE": "{}",
    "SIZE[,SIZE...]": "64,{}",
    "PATH.TO.KEY=VALUE": "controller.wpq_entries={}",
}
"""By what the help calls a number: where it stands."""

_NO_NUMBERS = {
    "NAME",
    "NAME|FILE.toml",
    "DESIGN",
    "FAULT",
    "ATTACK",
    "COMMAND",
    "DIR",
    "FILE",
    "FILE.duckdb",
    "FILE.parquet|FILE.csv",
    "ADDRESS",
    "PATTERN",
    "TEXT",
    "schedule|schedules|legal",
}
_BAD = (
    "1_0",
    "_10",
    " 64",
    "64 ",
    "6 4",
    "+64",
    "\u0661",
    "\uff16\uff14",
    "\u00b2",
    "0x40",
    "6.5.4",
    "",
    "-5",
    "9" * 5_000,
)
_NEVER_WHOLE = ("1e3", "64.0")


def _options() -> Iterator[tuple[str, Any]]:
    """Commands with their options."""
    tree: Any = typer.main.get_command(app)
    for name, command in sorted(tree.commands.items()):
        for option in command.params:
            if option.param_type_name == "option" and not option.is_flag:
                yield name, option


def _numeric() -> Iterator[tuple[str, str, str]]:
    """Options that take numbers, and what the help calls the number, each with one of the commands that have it.

    Options of one name and one help are declared once for all commands.
    """
    known = set()
    for name, option in _options():
        declared = (option.opts[-1], option.metavar, option.help)
        if option.metavar in _PATTERNS and declared not in known:
            known.add(declared)
            yield name, option.opts[-1], option.metavar


_NUMERIC = list(_numeric())


def test_each_option_is_known_to_take_a_number_or_none() -> None:
    options = list(_options())
    strange = [(name, option.opts[-1]) for name, option in options if option.metavar not in {*_PATTERNS, *_NO_NUMBERS}]
    assert {option for _, option in strange} == {"--variant"}
    assert {name for name, option in options if option.metavar in _PATTERNS} == set(_CALLS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("trace.log").write_bytes(samples.PMEMCHECK)
    Path("lines.nvmain").write_text("10 R 0x1040 0 0\n")
    Path("goals.toml").write_text('[space]\ndesigns = ["secpm"]\n[objectives]\nnvm_writes = "minimise"\n')
    Path("sweep.toml").write_text('[base]\ndesign = "secpm"\nworkload = "btree"\n[axes]\nseed = [1]\n')
    return tmp_path


@pytest.mark.parametrize(("command", "option", "metavar"), _NUMERIC)
def test_text_that_is_no_number_is_refused(command: str, option: str, metavar: str, cli: Cli, folder: Path) -> None:
    del folder
    call = ["replay", "lines.nvmain"] if option == "--trace-clock" else _CALLS[command]
    # Around the values of a machine spaces may stand, and some are no whole numbers.
    apart = metavar == "PATH.TO.KEY=VALUE"
    for bad in [bad for bad in _BAD if bad.strip() != "64"] if apart else (*_BAD, *_NEVER_WHOLE):
        outcome = cli(*call, f"{option}={_PATTERNS[metavar].format(bad)}")
        about = f"{option}={bad[:20]!r}: {outcome}"
        assert (outcome.code, outcome.out) == (2, ""), about
        assert outcome.err.startswith("error: "), about
        assert outcome.err.count("\n") == 1, about
        assert bad[:20].strip() in outcome.err, about
        assert len(outcome.err) < 700, about


@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name, option, metavar in _NUMERIC if metavar in ("N", "MHZ", "SECONDS")]
)
def test_the_range_is_told_where_a_number_is_negative(command: str, option: str, cli: Cli, folder: Path) -> None:
    del folder
    call = ["replay", "lines.nvmain"] if option == "--trace-clock" else _CALLS[command]
    assert " to 2^64-1" in cli(*call, f"{option}=-5").err


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


def test_no_source_line_is_no_number_of_lines(cli: Cli) -> None:
    outcome = cli(*_CALLS["run"], "--top=0")
    assert (outcome.code, "from 1 to" in outcome.err) == (2, True)
