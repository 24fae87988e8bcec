"""Designs with different presets in one call: one machine everywhere, and it is named; or a column that says which."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.cli import Program
from counterpoint.runs.sweeps import SweepReport
from counterpoint.searches import goals
from counterpoint.searches.ladder import tiers
from counterpoint.verbs import catalogue

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("undrawn")]

MINE = "mine.toml"
"""A user's design on the machine `counter-atomicity`, as `sca-tree`, which it builds on, has it."""

DESIGNS = [MINE, "unencrypted", "easy-pm"]
"""Three designs, each with another preset."""

SMALL = ["--transactions", "3", "--warmup", "0", "--footprint", "64KiB"]
TRACE = "".join(f"{cycle} W 0x{64 * cycle:x} 00 0\n" for cycle in range(1, 30)) + "40 R 0x40 00 0\n"
PROGRAM = Path(__file__).parents[1] / "data" / "btree-5.pmemcheck.log"

GOALS: dict[str, Any] = {
    "workloads": ["linked-list"],
    "run": {"transactions": 3, "footprint": "64KiB"},
    "space": {"base": MINE, "design": {"counter_coalescing": ["off"]}},
    "objectives": {"nvm_writes": "minimise"},
    "references": DESIGNS[1:],
}

SEVERAL = {"compare", "replay", "recovery", "litmus", "sweep", "search", "explain", "report", "distinguish"}
"""Commands whose tables and pages have several designs; a test below is about each."""

OF_A_PAPER = {"reproduce", "calibrate"}
"""Commands that take each paper's own machine."""

OF_ONE = {"run", "crash", "prove", "check", "annotations", "record", "cite"}
LISTS = {"designs", "parts", "workloads", "machines", "faults", "include", "bugs", "man"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a design file and a trace of memory lines."""
    monkeypatch.chdir(tmp_path)
    Path(MINE).write_text('base = "sca-tree"\n')
    Path("lines.nvt").write_text(f"NVMV1\n{TRACE}")
    return tmp_path


def one_of(document: Any) -> str:
    """The machine of every run of a document."""
    (name,) = {each["machine"] for each in document}
    return str(name)


def test_every_command_is_known_to_this_test() -> None:
    assert set(Program.places) == SEVERAL | OF_A_PAPER | OF_ONE | LISTS


def test_the_designs_have_different_presets() -> None:
    assert [catalogue.machine_of(design) for design in DESIGNS] == ["counter-atomicity", "secpm", "easy-pm"]


@pytest.mark.parametrize(("first", "machine"), [(0, "counter-atomicity"), (1, "secpm"), (2, "easy-pm")])
@pytest.mark.parametrize(
    "command",
    [
        ["compare", "-w", "array", *SMALL],
        ["replay", "lines.nvt"],
        ["replay", str(PROGRAM)],
    ],
    ids=["compare", "replay-lines", "replay"],
)
def test_tables_have_the_machine_of_the_first_design(cli: Cli, command: list[str], first: int, machine: str) -> None:
    given = [*command, "-d", ",".join([*DESIGNS[first:], *DESIGNS[:first]])]
    assert one_of(json.loads(cli(*given, "--json").out)["runs"]) == machine
    shown = cli(*given)
    assert shown.code == 0, shown.err
    assert set(re.findall(r"machine ([\w-]+)", shown.out)) == {machine}


@pytest.mark.parametrize("command", [["compare", "-w", "array", *SMALL], ["replay", "lines.nvt"]])
def test_a_machine_that_is_named_serves_all(cli: Cli, command: list[str]) -> None:
    given = [*command, "-d", ",".join(DESIGNS), "--machine", "small"]
    assert one_of(json.loads(cli(*given, "--json").out)["runs"]) == "small"
    assert "machine small" in cli(*given).out


def test_python_gives_one_machine_too() -> None:
    assert {run.machine for run in cp.replay_lines("lines.nvt", DESIGNS)} == {"counter-atomicity"}
    assert {run.machine for run in cp.replay_lines("lines.nvt")} == {catalogue.machine_of(catalogue.designs()[0].name)}
    assert {run.machine for run in cp.replay(PROGRAM, DESIGNS)} == {"counter-atomicity"}
    assert {cost.machine for cost in cp.recovery(DESIGNS, memory=[], measure=False)} == {"counter-atomicity"}


def test_a_comparison_names_its_machine_in_the_first_line_of_the_page_and_in_the_picture(cli: Cli) -> None:
    assert cli("compare", "-d", ",".join(DESIGNS), "-w", "array", *SMALL, "--out", "out").code == 0
    (lead,) = re.findall(r'<p class="lead">(.*)</p>', Path("out/report.html").read_text())
    assert "on machine <strong>counter-atomicity</strong>" in lead
    assert "on machine counter-atomicity, unencrypted = 1" in Path("out/compare.svg").read_text()


def test_runs_of_several_machines_are_told_apart_and_never_compared() -> None:
    runs = [
        cp.run(design, "array", machine=machine, transactions=3, warmup=0, footprint="64KiB")
        for machine in ("secpm", "easy-pm")
        for design in ("unencrypted", "secpm")
    ]
    frame = cp.frame(runs)
    base = frame.filter(frame["design"] == "unencrypted")
    assert base["relative_latency"].to_list() == [1.0, 1.0]
    page = cp.write_report(frame, "out").read_text()
    assert '<p class="lead">Machines differ: secpm, easy-pm.' in page
    assert page.count('<th scope="col" class="words">machine</th>') == 2
    assert page.count('<td class="words">easy-pm</td>') == 2
    assert [words in page for words in ("1 core, machine secpm</h2>", "1 core, machine easy-pm</h2>")] == [True, True]


def test_recovery_has_one_machine(cli: Cli) -> None:
    command = ["recovery", *DESIGNS, "--memory", "1GiB"]
    assert one_of(json.loads(cli(*command, "--json").out)["recoveries"]) == "counter-atomicity"
    assert cli(*command).out.startswith("machine counter-atomicity, hardened")


def test_litmus_tests_name_their_machine(cli: Cli) -> None:
    assert one_of(json.loads(cli("litmus", "torn-pair", "--json").out)["litmus"]) == "small"
    assert "litmus tests, machine small" in cli("litmus", "torn-pair").out


def test_explain_has_the_machine_of_the_first_design(cli: Cli) -> None:
    words = ["-w", "linked-list", "--transactions", "3", "--footprint", "64KiB", "--store", "e.duckdb"]
    assert json.loads(cli("explain", MINE, "fca", *words, "--json").out)["machine"] == "counter-atomicity"
    assert "on machine counter-atomicity" in cli("explain", MINE, "fca", *words).out


def sweep_of(axes: Mapping[str, Any], **base: Any) -> SweepReport:
    spec = {
        "base": {"workload": "array", "transactions": 3, "warmup": 0, "footprint": "64KiB", **base},
        "axes": axes,
    }
    return cp.sweep(spec, "s.duckdb", workers=1)


def lead() -> str:
    (found,) = re.findall(r'<p class="lead">(.*)</p>', cp.write_sweep_page("s.duckdb", "out").read_text())
    return str(found)


def test_a_sweep_of_designs_has_one_machine(cli: Cli) -> None:
    report = sweep_of({"design": DESIGNS, "controller.aes_units": [2, 4]})
    assert report.to_dict()["machines"] == ["counter-atomicity"]
    assert report.frame()["machine"].unique().to_list() == ["counter-atomicity"]
    assert lead().startswith(
        "All of it is on machine counter-atomicity, with values of controller.aes_units as given at each point."
    )
    Path("s.toml").write_text(
        f'[base]\nworkload = "array"\ntransactions = 3\n[axes]\nseed = [1]\ndesign = {json.dumps(DESIGNS)}\n'
    )
    assert "\nmachine counter-atomicity\n" in cli("sweep", "s.toml", "--workers", "1").out


def test_a_sweep_over_machines_says_so_and_has_them_as_a_column() -> None:
    report = sweep_of({"design": ["unencrypted", "secpm"], "machine": ["small", "secpm"]})
    assert report.machines == ("small", "secpm")
    assert sorted(report.frame()["machine"].unique()) == ["secpm", "small"]
    assert lead().startswith("Machines differ: small, secpm;")
    assert '<th scope="col" class="words">machine</th>' in Path("out/sweep.html").read_text()


def test_a_store_of_an_older_version_shows_that_machines_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "machine_for", lambda designs, machine: machine)
    monkeypatch.setattr("counterpoint.runs.sweeps.Plan.machines", ())
    sweep_of({"design": ["unencrypted", "easy-pm"]})
    assert lead().startswith("Machines differ: secpm, easy-pm;")
    page = Path("out/sweep.html").read_text()
    assert '<th scope="col" class="words">machine</th>' in page
    assert '<td class="words">unencrypted</td><td class="words">secpm</td>' in page


def test_a_search_judges_all_on_one_machine(cli: Cli) -> None:
    read = goals.load(GOALS)
    assert read.machine == "counter-atomicity"
    own = {test.options["machine"] for tier in tiers(read) for test in tier.tests}
    assert own == {"small", "counter-atomicity"}
    report = cp.search(GOALS, "g.duckdb", workers=1)
    with cp.Store("g.duckdb", read_only=True) as store:
        asked = store.database.ask("SELECT document->>'$.machine', document->>'$.design' FROM results")
    assert "easy-pm" in {design for _, design in asked}, "a known design beside the candidates"
    assert {machine for machine, _ in asked} == {"counter-atomicity"}
    assert report.to_dict()["machine"] == "counter-atomicity"
    assert "<dt>machine</dt><dd>counter-atomicity</dd>" in cp.write_search_page(report, "out").read_text()
    Path("g.toml").write_text(
        f'workloads = ["linked-list"]\nreferences = ["easy-pm"]\n[run]\ntransactions = 3\nfootprint = "64KiB"\n'
        f'[space]\nbase = "{MINE}"\ndesign.counter_coalescing = ["off"]\n[objectives]\nnvm_writes = "minimise"\n'
    )
    assert "on machine counter-atomicity" in cli("search", "g.toml", "--store", "g.duckdb", "--workers", "1").out
