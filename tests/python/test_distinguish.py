"""`distinguish`: two designs on the same small programs, as a call and as a command."""

from __future__ import annotations

import json
import shlex
from itertools import product
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp

pytestmark = pytest.mark.engine


def test_rows_are_what_crash_runs_of_each_design_show() -> None:
    # Without symmetry and pruning: one line has no other names.
    options = {"steps": ["store", "clwb"], "timings": ["machine"], "variant": "published"}
    found = cp.distinguish("write-back", "unencrypted", operations=2, lines=1, **options)  # type: ignore[arg-type]
    programs = [
        "; ".join(steps)
        for length in (1, 2)
        for steps in product(("store A", "clwb A"), repeat=length)
        if steps[0] == "store A"
    ]
    assert found.programs == len(programs)

    def holds(design: str, program: str) -> bool:
        verdict = cp.crash(design, program, machine="small", variant="published", shrink=False, blame=False)
        assert verdict.holds is not None
        return verdict.holds

    fails = [one for one in programs if not holds("write-back", one) and holds("unencrypted", one)]
    (row,) = (one for one in found.differences if one.differs == "first-fails")
    assert (row.programs, row.program) == (len(fails), fails[0])
    assert found.design.failing == len(fails) and found.other.failing == 0


def test_commands_of_a_row_show_what_it_says(cli: Cli) -> None:
    found = cp.distinguish("write-back", "secpm", operations=2, lines=1)
    assert {one.differs for one in found.differences} == {"first-fails", "states", "writes"}
    for row in found.differences:
        for outcome in (row.first, row.second):
            words = shlex.split(outcome.reproduce)[1:]
            shown = json.loads(cli(*words, "--json").out)
            if row.differs == "writes":
                assert shown["nvm"]["data_writes"] == outcome.written.data
                assert shown["nvm"]["counter_writes"] == outcome.written.counters
            elif row.differs == "first-fails":
                assert shown["holds"] == outcome.holds


def test_command_shows_rows_and_writes_them(cli: Cli, tmp_path: Path) -> None:
    words = ("distinguish", "secpm", "secpm", "--other-variant", "published", "--operations", "1", "--lines", "1")
    told = cli(*words, "--out", str(tmp_path / "out"))
    assert told.code == 0 and "They differ" in told.out and "    1. nt-store A\n" in told.out
    assert "secpm (published) fails, and secpm (hardened) holds: 1 program" in told.out
    written = json.loads((tmp_path / "out/distinction.json").read_text())
    assert written | {"host": None} == json.loads(cli(*words, "--json").out) | {"host": None}
    same = cli("distinguish", "secpm", "secpm", "--operations", "1", "--lines", "1")
    assert same.code == 0 and "No difference within these bounds: " in same.out


def test_forms_are_told(cli: Cli) -> None:
    told = cli("distinguish", "eadr", "sca", "--operations", "1", "--lines", "1", "--timing", "machine")
    assert "eadr runs flush-free programs: counter-atomic-store is store, clwb is left out" in " ".join(
        told.out.split()
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("secpm", "fca", "--operations", "13"), "operations: 13 is not from 1 to 12"),
        (("secpm", "hw-log", "--step", "sfence"), "is in no program that designs 'secpm' and 'hw-log' both run"),
        (("secpm", "ideal"), "cannot be crash-tested"),
        (("secpm",), "Missing argument"),
    ],
)
def test_bad_input_is_a_sentence(cli: Cli, words: tuple[str, ...], told: str) -> None:
    outcome = cli("distinguish", *words)
    assert outcome.code == 2 and told in outcome.err and not outcome.out
