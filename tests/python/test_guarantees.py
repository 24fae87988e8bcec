"""What designs guarantee, in the first table of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli
from rich.console import Console

import counterpoint as cp
from counterpoint.cli.comparison_table import comparison
from counterpoint.verbs.comparison import run_matrix
from counterpoint.verbs.frames import compared
from counterpoint.verbs.guarantees import guarantees, told


def _row(design: str, variant: str = "hardened") -> tuple[str | None, ...]:
    (found,) = guarantees([design], variant)  # type: ignore[arg-type]
    assert (found.design, found.variant) == (design, variant)
    return found.secrecy, found.replay, found.crash


@pytest.mark.parametrize(
    ("design", "expected"),
    [
        ("unencrypted", ("none", "accepted", "holds")),
        ("eadr", ("none", "accepted", "holds")),
        ("xts", ("repeats", "accepted", "holds")),
        ("optane-xts", ("at-rest", "accepted", "holds")),
        ("write-back", ("leaks", "accepted", "breaks")),
        ("secpm", ("holds", "accepted", "holds")),
        ("sca", ("holds", "accepted", "holds")),
        ("easy-pm", ("holds", "accepted", "holds")),
        ("bbe", ("holds", "accepted", "holds")),
        ("eadr-mc-cme", ("leaks", "accepted", "holds")),
        ("secpm-tree", ("holds", "detected", "holds")),
        ("star", ("holds", "detected", "holds")),
    ],
)
def test_a_design_guarantees_what_its_exploration_shows(design: str, expected: tuple[str, ...]) -> None:
    assert _row(design) == expected


def test_where_nothing_can_be_explored_a_sentence_says_why() -> None:
    (found,) = guarantees(["ideal"])
    assert (found.secrecy, found.replay, found.crash, found.crash_points) == (None, None, None, 0)
    assert found.why_not is not None and "cannot be crash-tested" in found.why_not


def test_a_design_file_is_explored(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "secpm"\nwrite_path = "counter-dropped"\n')
    (found,) = guarantees([path])
    assert (found.design, found.crash) == ("mine", "breaks")


def test_stated_parts_of_a_design_are_explored_and_values_of_the_machine_are_not(cli: Cli) -> None:
    stated = ["design.write_path=counter-dropped", "controller.wpq_entries=64", "counters.minor_bits=9"]
    (found,) = guarantees(["secpm"], set=stated)
    assert found.crash == "breaks"
    words = "compare -d secpm,secpm-no-cwr -w queue --transactions 20 --set design.write_path=counter-dropped --json"
    assert [one["crash"] for one in json.loads(cli(*words.split()).out)["guarantees"]] == ["breaks", "breaks"]


def _table(**options: object) -> str:
    designs = ["unencrypted", "xts", "star", "ideal"]
    runs = run_matrix(designs, ["queue"], transactions=20, footprint="64KiB", **options)  # type: ignore[arg-type]
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(comparison(compared(runs), guarantees(designs)))
    return capture.get()


def test_one_setting_has_costs_and_guarantees_in_one_table() -> None:
    lines = [line.rstrip() for line in _table().splitlines()]
    head, titles, *rows = lines[1:7]
    assert head == "What designs cost, unencrypted = 1, and what they guarantee"
    assert titles.split() == ["latency", "lines", "bytes", "lifetime", "secrecy", "replay", "crash"]
    words = {row.split()[0]: row.split()[1:] for row in rows}
    assert words["unencrypted"] == ["1.00", "1.00", "1.00", "1.00", "plaintext", "accepted", "holds"]
    assert words["xts"][-4:] == ["repeats", "seen", "accepted", "holds"] and words["xts"][1:3] == ["1.00", "1.00"]
    assert words["star"][-3:] == ["holds", "detected", "holds"] and float(words["star"][0]) > 1
    assert words["ideal"][-3:] == ["-", "-", "-"]
    assert lines[7:9] == told().splitlines()
    assert lines[9].startswith("Not explored: design 'ideal' cannot be crash-tested")


def test_several_settings_have_guarantees_alone() -> None:
    lines = [line.rstrip() for line in _table(tx_size=[64, 128]).splitlines()]
    assert lines[0] == "What designs guarantee" and lines[1].split() == ["secrecy", "replay", "crash"]
    assert sum("guarantee" in line for line in lines) == 1


def test_the_document_has_them(cli: Cli) -> None:
    words = "compare -d unencrypted,xts -w queue --transactions 20 --footprint 64KiB --json"
    xts = json.loads(cli(*words.split()).out)["guarantees"][1]
    assert xts == {
        "design": "xts",
        "variant": "hardened",
        "secrecy": "repeats",
        "replay": "accepted",
        "crash": "holds",
        "crash_points": xts["crash_points"],
        "why_not": None,
    }
    assert xts["crash_points"] > 1000


def test_a_lifetime_is_counted_in_work() -> None:
    frame = cp.compare(["unencrypted", "xts"], ["queue"], transactions=50, footprint="64KiB")
    first, second = frame.to_dicts()
    assert first["relative_lifetime"] == 1.0
    assert second["relative_lifetime"] == pytest.approx(first["nvm_max_line_writes"] / second["nvm_max_line_writes"])
    assert second["nvm_lifetime_years"] > first["nvm_lifetime_years"], "the slower one takes longer for as much work"
