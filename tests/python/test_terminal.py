"""Control characters in names from files and arguments are escaped on a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from conftest import Cli
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from waiting import on_a_terminal

import samples
from counterpoint.cli import console
from counterpoint.system import units

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("undrawn")]

_EVIL = "\x1b]0;owned\x07\x9b31m\u202egpj\u2066\x7f"
"""Sets the title of the terminal, its colour, and the direction of writing."""

_SHOWN = "\\x1b]0;owned\\x07\\x9b31m\\u202egpj\\u2066\\x7f"
_NEVER = ("\x1b]", "\x07", "\x9b", "\u202e", "\u2066", "\x7f")


def _is_harmless(text: str) -> bool:
    return not any(letters in text for letters in _NEVER)


def test_control_characters_are_escaped() -> None:
    assert units.printable(_EVIL) == _SHOWN
    assert units.printable(_SHOWN) == _SHOWN
    assert units.printable("grün, 漢字, µs, a\u00a0b, 🙂") == "grün, 漢字, µs, a\u00a0b, 🙂"
    assert units.printable("a\nb\tc\r", keep="\n") == "a\nb\\tc\\r"
    assert units.printable("\udcff\u2028\U000e0041\ufeff") == "\\udcff\\u2028\\U000e0041\\ufeff"
    for code in (*range(32), *range(127, 160)):
        assert units.printable(chr(code)).isprintable()


def test_json_says_the_same_in_its_own_escapes() -> None:
    said = {"name": _EVIL + "\udcffé\U000e0041\\"}
    text = units.printable_json(json.dumps(said, ensure_ascii=False))
    assert _is_harmless(text)
    assert "é" in text
    assert json.loads(text) == said


def test_error_sentences_escape_names(cli: Cli, furnished: Path) -> None:
    del furnished
    for call in (
        ["run", _EVIL, "btree"],
        ["run", "secpm", _EVIL],
        ["run", "secpm", "btree", "--seed", _EVIL],
        ["run", "secpm", "btree", f"--{_EVIL}"],
        ["compare", "--out", f"/dev/null/{_EVIL}"],
        ["replay", _EVIL],
        ["sweep", _EVIL],
        ["litmus", _EVIL],
        ["record", "--", _EVIL],
        [_EVIL],
    ):
        sentence = cli(*call).refusal
        assert _is_harmless(sentence), sentence
        assert "owned" in sentence, sentence


@pytest.mark.parametrize("evil", [_EVIL, "[/b][link=x]", "a\nHolds: nothing was lost"])
def test_names_of_traces_are_escaped(evil: str, cli: Cli, furnished: Path) -> None:
    (furnished / f"{evil}.log").parent.mkdir(exist_ok=True)
    (furnished / f"{evil}.log").write_bytes(samples.PMEMCHECK)
    (furnished / f"{evil}.nvmain").write_text("10 R 0x1040 0 0\n")
    for call in (
        ["replay", f"{evil}.log", "-d", "secpm,sca"],
        ["replay", f"{evil}.nvmain", "-d", "secpm"],
        ["run", "secpm", f"{evil}.log"],
        ["compare", "-d", "secpm,sca", "-w", f"{evil}.log", "--tx-size", "64", "--out", "out"],
        ["crash", "secpm", f"{evil}.log"],
    ):
        outcome = cli(*call)
        assert outcome.code in (0, 1), outcome
        assert _is_harmless(outcome.out + outcome.err), outcome
        assert units.printable(evil).split("/")[-1][:8] in outcome.out, outcome
        assert "\nHolds: nothing was lost" not in outcome.out, outcome
        document = cli(*call, "--json").out
        assert _is_harmless(document)
        json.loads(document)


def test_sweeps_and_stores_escape_names(cli: Cli, furnished: Path) -> None:
    evil = _EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00")
    axes = f'workload = ["{evil}", "btree"]\nvariant = ["hardened", "{evil}"]'
    spec = f'name = "{evil}"\n[base]\ndesign = "secpm"\nmachine = "small"\ntransactions = 2\n[axes]\n{axes}\n'
    (furnished / "sweep.toml").write_text(spec)
    store = f"{_EVIL}.duckdb"
    outcome = cli("sweep", "sweep.toml", "--store", store, "--csv", f"{_EVIL}.csv")
    assert outcome.code == 1, outcome
    assert _is_harmless(outcome.out + outcome.err), outcome
    assert outcome.out.startswith(_SHOWN), outcome
    assert _is_harmless(cli("sweep", "sweep.toml", "--store", store, "--json").out)
    outcome = cli("report", store, "--sweep", f"{_EVIL}nope")
    assert outcome.code == 2
    assert _SHOWN in outcome.err, "the names that are known, too"
    assert _is_harmless(outcome.err)
    outcome = cli("report", store, "--out", _EVIL)
    assert outcome.code == 0, outcome
    assert _is_harmless(outcome.err)
    (furnished / "broken.toml").write_text(f"[{_EVIL}\n")
    assert _is_harmless(cli("sweep", "broken.toml").err)
    (furnished / "machine.toml").write_text(f'base = "small"\n"{evil}" = 1\n')
    assert _is_harmless(cli("run", "secpm", "btree", "--machine", "./machine.toml").err)


@pytest.mark.parametrize("name", [_EVIL, "[/b][red]x"])
def test_a_terminal_gets_only_what_the_program_means(name: str, furnished: Path) -> None:
    """On a terminal, colours and a progress bar are written, which are the program's own escapes."""
    (furnished / f"{name}.log").parent.mkdir(exist_ok=True)
    (furnished / f"{name}.log").write_bytes(samples.PMEMCHECK)
    for command in ("run", "crash"):
        code, shown = on_a_terminal(command, "secpm", f"{name}.log", cwd=furnished)
        assert code in (0, 1), shown
        text = shown.decode()
        assert "\x1b[" in text, "this is a terminal"
        assert _is_harmless(text), text
        assert units.printable(name).split("/")[-1][:12] in text, text


def _printed(table: Table, width: int) -> list[str]:
    out = console._Console(width=width, file=io.StringIO(), markup=False, highlight=False)
    with out.capture() as captured:
        out.print(table)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


@given(
    st.lists(st.lists(st.integers(0, 10**9), min_size=1, max_size=9), min_size=1, max_size=4).filter(
        lambda rows: len({len(row) for row in rows}) == 1
    ),
    st.integers(40, 100),
)
def test_no_number_is_cut_however_narrow_the_terminal(rows: list[list[int]], width: int) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("design", no_wrap=True)
    for place in range(len(rows[0])):
        table.add_column(f"figure_{place}", justify="right", no_wrap=place % 2 == 0)
    table.add_column("outcome")
    for number, row in enumerate(rows):
        table.add_row(f"d{number}", *(units.number(each) for each in row), "beaten by one and another design")
    lines = _printed(table, width)
    for number, row in enumerate(rows):
        cells = [cell for line in lines if line.split()[:1] == [f"d{number}"] for cell in line.split()[1:]]
        assert [cell for cell in cells if cell[0].isdigit()] == [units.number(each) for each in row]
    assert "…" not in "".join(lines)
    assert " ".join(lines).count("figure_0") == 1, "each column stands once"


def test_a_table_that_fits_is_left_as_it_is() -> None:
    table = Table("", "words", box=None, pad_edge=False)
    table.add_column("n", justify="right")
    table.add_row("x", "some words", "1,000")
    assert _printed(table, 80) == _printed(table, 20) == ["   words           n", "x  some words  1,000"]
    assert _printed(table, 16)[-1].split() == ["x", "1,000"], "beside its design, in a table of its own"
