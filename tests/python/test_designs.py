"""Design files wherever a command or a call takes the name of a design, on the real engine."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, rules_again

import counterpoint as cp
from counterpoint.runs import keys, matrix
from counterpoint.verbs import api

BRIEF: Any = {"machine": "small", "transactions": 20, "footprint": "16KiB"}
SHORT = ["--machine", "small", "--transactions", "20", "--footprint", "16KiB"]
"""Options that make a run short."""

MINE = """
base = "secpm"
summary = "SecPM without its staging register"
write_path = "write-through"
[registers]
staging_register = "absent"
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return str(path)


def test_a_file_is_run_and_compared_by_the_name_that_it_has(cli: Cli, mine: str) -> None:
    run = json.loads(cli("run", mine, "array", *SHORT, "--json").out)
    assert run["design"] == "mine"
    assert run["parts"]["write_path"] == "write-through"
    assert "parts" not in json.loads(cli("run", "secpm", "array", *SHORT, "--json").out)

    shown = cli("compare", "-d", "unencrypted", "-d", "secpm", "-d", mine, "-w", "array", *SHORT)
    assert shown.code == 0
    assert [line.split()[0] for line in shown.out.splitlines() if line.startswith("mine")]
    relative = cli("compare", "-d", "secpm", "-d", mine, "--baseline", mine, "-w", "array", *SHORT)
    assert "mine = 1" in relative.out
    by_name = cli("compare", "-d", "secpm", "-d", mine, "--baseline", "mine", "-w", "array", *SHORT)
    assert by_name.out == relative.out


def test_a_crash_of_a_file_fails_where_its_design_does_and_names_the_file_to_see_it_again(cli: Cli, mine: str) -> None:
    crash = cli("crash", mine, "array", *SHORT, "--json")
    document = json.loads(crash.out)
    assert (crash.code, document["design"], document["parts"]["write_path"]) == (
        1,
        "mine",
        "write-through",
    )
    first = document["violations"][0]
    assert shlex.split(first["reproduce"])[:4] == ["counterpoint", "crash", mine, "array"]
    assert first["rule"] in rules_again(cli, first["reproduce"])


def test_the_picture_of_a_crash_is_that_of_the_file(cli: Cli, mine: str, tmp_path: Path) -> None:
    assert cli("crash", mine, "array", *SHORT, "--no-shrink", "--out", str(tmp_path / "out")).code == 1
    assert "<title>Counterpoint: a crash of mine on array" in (tmp_path / "out" / "crash.html").read_text()


def test_files_are_taken_by_every_call(mine: str) -> None:
    path = Path(mine)
    assert cp.run(path, "array", **BRIEF).design == "mine"
    frame = cp.compare(["unencrypted", path], ["array"], baseline=path, **BRIEF)
    assert (frame["baseline"].unique().to_list(), frame["form"].unique().to_list()) == (["mine"], ["plain"])
    assert not cp.crash(path, "array", **BRIEF).holds
    assert cp.design(path).summary == "SecPM without its staging register"
    assert cp.design_parts(path, "published")["minor_reset"] == "at-once"
    assert cp.design_parts(path)["minor_reset"] == "with-done-bit"


def test_values_of_the_machine_that_a_design_sets_are_told_wherever_its_figures_are(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "often.toml"
    path.write_text('base = "osiris"\n[set]\nintegrity.stop_loss = 1\n')
    often = str(path)
    told = "Machine values of the design (often): integrity.stop_loss = 1"
    run = json.loads(cli("run", often, "array", *SHORT, "--json").out)
    assert (run["set_by_design"], run["parts"]["set.integrity.stop_loss"]) == ("integrity.stop_loss = 1", 1)
    compared = cp.compare(["osiris", path], ["array"], **BRIEF)
    assert compared["set_by_design"].to_list() == [None, "integrity.stop_loss = 1"]
    plain, more = compared["nvm_counter_writes"]
    assert plain < more
    pair = ["-d", "osiris", "-d", often]
    for shown in (
        cli("compare", *pair, "-w", "array", *SHORT),
        cli("recovery", "osiris", often, "--machine", "small"),
    ):
        assert " ".join(shown.out.split()).count(told) == 1, shown.out
    cli("compare", *pair, "-w", "array", *SHORT, "--out", str(tmp_path / "out"))
    assert told in (tmp_path / "out" / "report.html").read_text()
    assert "set.integrity.stop_loss" in cli("designs", often).out

    # What the user states of the machine is not the design's.
    set_otherwise = ["--set", "integrity.stop_loss=4"]
    assert "Machine values" not in cli("compare", *pair, "-w", "array", *SHORT, *set_otherwise).out
    document = json.loads(cli("run", often, "array", *SHORT, *set_otherwise, "--json").out)
    assert "set_by_design" not in document and "set.integrity.stop_loss" not in document["parts"]

    # Another value is another run.
    resolved = [api.resolve(design, "array", **BRIEF) for design in ("osiris", often)]
    assert len({keys.key(one, "build") for one in resolved}) == 2
    asked = {"design": often}
    before = keys.answer_key("recovery", asked, "build")
    path.write_text('base = "osiris"\n[set]\nintegrity.stop_loss = 2\n')
    assert keys.answer_key("recovery", asked, "build") != before


def test_a_machine_value_of_a_design_is_exchanged_like_a_part(tmp_path: Path) -> None:
    often, seldom = tmp_path / "often.toml", tmp_path / "seldom.toml"
    for path, value in ((often, 1), (seldom, 8)):
        path.write_text(f'base = "osiris"\n[set]\nintegrity.stop_loss = {value}\n')
    found = cp.explain(often, seldom, ["array"], figures=["nvm_writes"], **BRIEF)
    (exchange,) = found.exchanges
    assert (exchange.key, exchange.values) == ("set.integrity.stop_loss", (1, 8))
    writes = [design.figures["nvm_writes"] for design in found.designs]
    assert [exchange.second.figures["nvm_writes"], exchange.first.figures["nvm_writes"]] == writes


def test_two_designs_of_one_name_cannot_be_told_apart(cli: Cli, mine: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "mine.toml"
    other.write_text('base = "fca"\n')
    assert "are both called 'mine'" in cli("compare", "-d", mine, "-d", str(other), "-w", "array", *SHORT).refusal


def test_single_parts_are_set_for_a_run_and_are_the_axes_of_a_sweep(cli: Cli, tmp_path: Path) -> None:
    part = "design.write_path=deferred"
    crash = json.loads(cli("crash", "secpm", "array", *SHORT, "--set", part, "--json").out)
    assert crash["violation_count"] > 0
    assert part in shlex.split(crash["violations"][0]["reproduce"])

    spec = tmp_path / "sweep.toml"
    spec.write_text(
        '[base]\ndesign = "secpm"\nworkload = "array"\nmachine = "small"\ntransactions = 20\nfootprint = "16KiB"\n'
        '[axes]\ndesign.write_path = ["deferred", "write-through", "staged-pair"]\n'
    )
    points = matrix.load(spec)[0].points
    known = {keys.key(api.resolve_request(point.request), "build") for point in points}
    assert len(known) == 3
    # The part that it has anyway changes nothing.
    alone = cp.resolve("secpm", "array", **BRIEF)
    assert keys.key(alone, "build") in known
    assert cp.sweep(spec, tmp_path / "sweep.duckdb").frame().height == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('base = "secpn"', "design 'secpn' does not exist: did you mean 'secpm', 'secpb' or 'sepencr'?"),
        ('base = "secpm"\nwrite_path = "staged"', "write_path 'staged' does not exist: did you mean 'staged-pair'?"),
        ('base = "secpm"\nwrite_path = "ready-pairs"', 'needs write_queues = "data-and-counter"'),
        ('base = "secpm"\nlog_order = "log-first"', "log_order has no effect without a hardware log"),
        ("base =", "expected"),
    ],
)
def test_faulty_design_file_is_refused_in_one_sentence(cli: Cli, tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    for command in (["run", str(path), "array"], ["compare", "-d", str(path)], ["designs", str(path)]):
        assert sentence in cli(*command).refusal


def test_a_battery_that_only_writes_carries_no_drain_that_computes(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('base = "bbe"\n')
    refused = cli("run", str(path), "array", "--machine", "small", "--set", "eadr.battery=write-only").refusal
    assert "eadr.battery = write-only: design 'mine' makes pads after power is lost" in refused


def test_the_parts_of_a_design_and_its_file_are_shown(cli: Cli, mine: str, tmp_path: Path) -> None:
    shown = cli("designs", "bbe").out
    assert "encrypt-to-shadow" in shown and "location" in shown and "metadata" in shown
    document = json.loads(cli("designs", mine, "--json").out)["design"]
    assert document["parts"]["published"]["write_path"] == "write-through"
    for known in cp.designs():
        path = tmp_path / f"{known.name}.toml"
        printed = cli("designs", known.name, "--toml").out
        path.write_text(printed)
        assert cp.design_file(known.name) == printed
        assert cp.resolve(str(path), "array") == cp.resolve(known.name, "array")
    assert cli("designs", "--toml").code == 2
    assert cli("designs", mine, "--toml").code == 2


def test_every_part_is_listed_with_what_its_values_mean(cli: Cli) -> None:
    shown = cli("parts").out
    document = json.loads(cli("parts", "--json").out)["parts"]
    assert [part["key"] for part in document] == [part.key for part in cp.parts()]
    for part in cp.parts():
        assert part.key in shown and part.meaning and part.values
        for value in part.values:
            assert value.name in shown and value.meaning.endswith(".")
    papers = {value.paper for part in cp.parts() for value in part.values}
    assert "secpm, section 3.3.2, Figure 7" in papers and "seeded fault" in papers
