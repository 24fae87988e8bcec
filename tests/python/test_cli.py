"""The command line: exit codes, one sentence for bad input, one JSON document for `--json`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import fake_engine
import pytest
import typer.main
from conftest import Cli, altered, asked_of, interrupted

from counterpoint import _engine
from counterpoint.cli import Program, app
from counterpoint.verbs import catalogue
from counterpoint.verbs.comparison import COMPARE_WORKLOADS, EASY_PM_CORES, EASY_PM_WORKLOADS

pytestmark = pytest.mark.usefixtures("fake")


@pytest.mark.parametrize("command", ["designs", "workloads", "machines", "faults"])
def test_listing_has_one_row_each(cli: Cli, command: str) -> None:
    known = json.loads(_engine.describe())
    found = known[command]
    # Probes, which keep nothing, come after the workloads.
    also = known["probes"] if command == "workloads" else []
    outcome = cli(command)
    assert outcome.code == 0
    # A row that is longer than a line goes on below, not in the first column.
    rows = [line for line in outcome.out.splitlines()[1:] if not line.startswith(" ")]
    assert [row.split()[0] for row in rows] == [item["name"] for item in (*found, *also)]
    probes = {"probes": also} if also else {}
    assert json.loads(cli(command, "--json").out) == {"schema": 1, command: found, **probes}


def test_run_passes_the_engines_document_through(cli: Cli) -> None:
    outcome = cli("run", "secpm", "btree", "--tx-size", "256", "--json", "--set", "controller.wpq_entries=64")
    assert (outcome.code, outcome.err) == (0, "")
    asked = {"design": "secpm", "workload": "btree", "tx_size": 256, "set": ["controller.wpq_entries=64"]}
    assert json.loads(outcome.out) == fake_engine.run_document(asked)


def test_run_prints_the_figures_that_matter(cli: Cli) -> None:
    out = cli("run", "unencrypted", "btree").out
    assert "unencrypted (hardened) on btree" in out
    assert "99th percentile" in out


def test_run_tells_misses_that_fetched_from_secondary_ones_and_leaves_out_what_has_no_value(cli: Cli) -> None:
    of = fake_engine.run_document({"design": "secpm", "workload": "btree"})["counter_cache"]
    told = f"{of['misses']} fetched, {of['secondary_misses']} secondary"
    assert re.search(f"counter cache misses +{told}", cli("run", "secpm", "btree").out)
    without = cli("run", "unencrypted", "btree").out
    assert "counter cache" not in without
    assert not re.search(r" -(,|\s|$)", without)


def test_every_option_reaches_the_engine_by_its_name(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    asked = asked_of(fake, "run_many")
    text = (
        "run secpm btree --machine small --set controller.wpq_entries=64 --tx-size 1024 --transactions 10 "
        "--warmup 2 --cores 4 --footprint 64MiB --seed 7 --variant published --allow-truncated --serial "
        "--timeline t.json"
    )
    assert cli(*text.split()).code == 0
    given = {"machine": "small", "set": ["controller.wpq_entries=64"], "tx_size": 1024, "transactions": 10, "warmup": 2}
    given |= {
        "cores": 4,
        "footprint": "64MiB",
        "seed": 7,
        "variant": "published",
        "allow_truncated": True,
        "serial": True,
    }
    subject = {"design": "secpm", "workload": "btree"}
    assert asked.pop()["runs"] == [{**subject, **given, "timeline": "t.json"}]
    assert cli("run", "secpm", "btree").code == 0
    assert asked.pop()["runs"] == [subject], "what was not asked for is left to the engine"


def test_compare_without_arguments_is_the_secpm_family(cli: Cli) -> None:
    outcome = cli("compare", "--json")
    runs = json.loads(outcome.out)["runs"]
    assert outcome.code == 0
    assert len(runs) == 35
    assert {run["tx_size"] for run in runs} == {1024}
    assert "unencrypted" in {run["design"] for run in runs}


def test_tables_on_the_screen_move_no_contents_and_say_the_same(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("compare", "-d", "unencrypted,deuce", "-w", "queue", "--transactions", "20", "--footprint", "1MiB")
    asked: list[list[dict[str, Any]]] = []
    run_many = _engine.run_many

    def noted(request: str, *rest: Any) -> str:
        asked.append(json.loads(request)["runs"])
        return run_many(request, *rest)

    monkeypatch.setattr(_engine, "run_many", noted)

    def contents() -> list[bool]:
        return ["engine.bytes=false" not in one.get("set", []) for one in asked.pop()]

    on_screen = cli(*arguments)
    assert contents() == [False, False]
    assert cli(*arguments, "--set", "engine.bytes=true") == on_screen, "what is stated wins"
    assert asked.pop()[0]["set"] == ["engine.bytes=false", "engine.bytes=true"]
    written = json.loads(cli(*arguments, "--json").out)
    assert contents() == [True, True]
    assert all(one["nvm"]["flipped_bits"] > 0 for one in written["runs"])
    # The time of these writes depends on contents.
    changed = cli(*arguments, "--set", "device.programmed_bits=changed")
    assert changed.code == 0
    assert contents() == [True, True]


def test_compare_prints_each_measure_normalised(cli: Cli) -> None:
    out = cli("compare", "-d", "write-back", "-d", "secpm,unencrypted", "-w", "array").out
    assert out.count("unencrypted = 1") == 6
    first, *baseline = [line.split() for line in out.splitlines() if line.startswith("unencrypted ")]
    assert first[:5] == ["unencrypted", *["1.00"] * 4]
    assert baseline == [["unencrypted", "1.00"]] * 4 + [["unencrypted", "0.00"]]
    out = cli("compare", "-d", "write-back", "-d", "secpm", "-w", "array").out
    assert "write-back = 1" in out, "the first design, where unencrypted is not among them"


def test_compare_of_hardware_logs_shows_reads_and_the_latency_of_the_first_level(cli: Cli) -> None:
    designs = ("hw-log", "alc", "easy-pm")
    out = cli("compare", "-d", ",".join(designs), "-w", "array").out
    assert out.count("hw-log = 1") == 1 + 5 + 3
    lines = out.splitlines()
    runs = [fake_engine.run_document({"design": one, "workload": "array", "cores": 4}) for one in designs]

    def reads(of: str) -> list[str]:
        """Of a kind in the runs, over all reads of the first run, as they are shown."""
        return [f"{run['nvm'][of] / runs[0]['nvm']['reads']:.2f}" for run in runs]

    def under(title: str) -> list[str]:
        """The cells of the table with this title for the three designs on the one workload."""
        start = lines.index(title) + 2
        return [line.split()[1] for line in lines[start : start + 3]]

    assert under("NVM reads, hw-log = 1 (lower is better)") == reads("reads")
    assert under("Counter reads among them, NVM reads of hw-log = 1") == reads("counter_reads")
    ns = [run["l1_access_latency_ns"] for run in runs]
    assert under("L1 access latency, hw-log = 1 (lower is better)") == [f"{one / ns[0]:.2f}" for one in ns]
    assert under("L1 access latency in ns (lower is better)") == [f"{one:.2f}" for one in ns]
    shown = under("Throughput in transactions per second")
    assert shown == [f"{run['throughput_tps']:,.0f}" for run in runs]
    assert "NVM reads," not in cli("compare", "-d", "sca,secpm", "-w", "array").out, "no hardware writes a log there"


def test_no_table_is_shown_of_what_nobody_did(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    def without(answer: Any) -> None:
        for run in answer["results"]:
            run["nvm"] |= {"reads": 0, "data_reads": 0, "counter_reads": 0}
            run["l1_access_latency_ns"] = None

    altered(fake, "run_many", without)
    outcome = cli("compare", "-d", "hw-log,easy-pm", "-w", "array")
    assert outcome.code == 0
    assert outcome.out.count("hw-log = 1") == 1 + 5
    assert "ns (" not in outcome.out


@pytest.mark.parametrize(
    ("arguments", "workloads", "cores"),
    [
        ("-d hw-log,easy-pm", EASY_PM_WORKLOADS, EASY_PM_CORES),
        ("-d secpm --machine easy-pm", EASY_PM_WORKLOADS, EASY_PM_CORES),
        ("-d secpm,easy-pm", COMPARE_WORKLOADS, 1),
        ("-d easy-pm --machine small", COMPARE_WORKLOADS, 1),
        ("-d easy-pm -w queue", ("queue",), EASY_PM_CORES),
        ("-d easy-pm -w queue --cores 2", ("queue",), 2),
        ("-d easy-pm -w some/trace.log", ("some/trace.log",), 1),
    ],
)
def test_workloads_and_cores_are_those_of_the_machines_paper(
    cli: Cli, arguments: str, workloads: tuple[str, ...], cores: int
) -> None:
    runs = json.loads(cli("compare", *arguments.split(), "--json").out)["runs"]
    assert tuple(dict.fromkeys(run["workload"] for run in runs)) == workloads
    assert {run["cores"] for run in runs} == {cores}


_SINGLE_CORE = [(64, 1), (128, 1), (256, 1), (512, 1), (1024, 1)]


@pytest.mark.parametrize(
    ("arguments", "points"),
    [
        ("-d eadr,bbe", [*_SINGLE_CORE, (64, 2), (64, 4), (64, 8)]),
        ("-d secpm --machine sepencr", [*_SINGLE_CORE, (64, 2), (64, 4), (64, 8)]),
        ("-d eadr --machine secpm", [(1024, 1)]),
        ("-d eadr --cores 1,2", [(64, 1), (64, 2)]),
        ("-d eadr --tx-size 128,256", [(128, 1), (256, 1)]),
        ("-d eadr --tx-size 128 --cores 4", [(128, 4)]),
        ("-d eadr -w some/trace.log", [(1024, 1)]),
    ],
)
def test_points_are_those_of_the_machines_figures(cli: Cli, arguments: str, points: list[tuple[int, int]]) -> None:
    runs = json.loads(cli("compare", *arguments.split(), "--json").out)["runs"]
    assert list(dict.fromkeys((run["tx_size"], run["cores"]) for run in runs)) == points
    works = {run["workload"] for run in runs}
    assert works == ({"some/trace.log"} if "trace" in arguments else set(COMPARE_WORKLOADS))


@pytest.mark.parametrize(
    ("arguments", "warmup"),
    [
        ("-d eadr --tx-size 64,1024", {16384, 1024}),
        ("-d eadr --warmup 7", {7}),
        ("-d eadr -w some/trace.log", {None}),
        ("-d eadr --machine secpm", {None}),
    ],
)
def test_persistent_caches_are_filled_before_they_are_measured(
    cli: Cli, fake: pytest.MonkeyPatch, arguments: str, warmup: set[int | None]
) -> None:
    asked = asked_of(fake, "run_many")
    assert cli("compare", *arguments.split()).code == 0
    assert {run.get("warmup") for one in asked for run in one["runs"]} == warmup


def test_compare_of_persistent_caches_shows_execution_time(cli: Cli) -> None:
    out = cli("compare", "-d", "sepencr,eadr-cme,eadr", "-w", "array").out

    def under(title: str) -> list[list[str]]:
        """Cells of the last table of that title: its header, the workload, the designs."""
        return [line.split() for line in out[out.rindex(title) :].splitlines()[1:6]]

    for title, header in (
        ("Execution time by transaction size, eadr = 1", "64 B 128 B 256 B 512 B 1 KiB"),
        ("Execution time by cores, eadr at as many cores = 1", "1 2 4 8"),
    ):
        shown, workload, sepencr, cme, eadr = under(title)
        assert (shown, workload) == (header.split(), ["array"])
        assert eadr == ["eadr", *["1.00"] * (len(eadr) - 1)]
        assert all(float(one) > 1 for one in (*sepencr[1:], *cme[1:])), "longer, not shorter"
    assert out.count("Execution time, eadr = 1") == 8, "at every point, too"
    assert out.count("Throughput by cores") == 1, "only where there are several"
    assert "Execution time" not in cli("compare", "-d", "secpm,sca", "-w", "array", "--cores", "1,2").out


def test_adr_cost_is_relative_to_eadr(cli: Cli) -> None:
    out = cli("compare", "-d", "adr,eadr", "-w", "array", "--tx-size", "64").out
    assert "Execution time, eadr = 1" in out, "Figure 3 of the paper"
    assert "unencrypted = 1" in cli("compare", "-d", "eadr,unencrypted", "-w", "array", "--tx-size", "64").out
    assert "adr = 1" in cli("compare", "-d", "adr,eadr", "-w", "array", "--tx-size", "64", "--baseline", "adr").out


def test_run_shows_what_a_power_failure_would_cost(cli: Cli) -> None:
    lines = [line.split() for line in cli("run", "bbe", "btree").out.splitlines()]
    start = lines.index(["at", "a", "power", "failure"])
    assert [line[0] for line in lines[start + 2 : start + 8]] == ["L1", "L2", "L3", "counter", "encryption", "all"]
    parts = fake_engine.run_document({"design": "bbe", "workload": "btree"})["at_crash"]["parts"]
    (counters,) = (part for part in parts if part["name"] == "counter-cache")
    assert f"{100 * counters['dirty_bytes'] / counters['bytes']:.1f}" in lines[start + 5]
    half, everything = lines[start + 7][1::2]
    assert 0 < float(half) < float(everything)
    assert "by the paper's formula" in cli("run", "bbe", "btree").out
    assert "recovery" not in cli("run", "eadr", "btree").out, "there is no shadow cache"
    assert "at a power failure" not in cli("run", "secpm", "btree").out


def test_compare_takes_comma_lists(cli: Cli) -> None:
    outcome = cli("compare", "-d", "secpm", "-w", "array", "--tx-size", "64,256", "--cores", "1,2", "--json")
    points = {(run["tx_size"], run["cores"]) for run in json.loads(outcome.out)["runs"]}
    assert points == {(64, 1), (64, 2), (256, 1), (256, 2)}


def test_compare_over_several_numbers_of_cores_shows_throughput_by_cores(cli: Cli) -> None:
    text = "compare -d ideal -d sca -w array,btree --cores 1,2,4"
    out = cli(*text.split()).out
    assert "left, ideal at 1 core = 1; right, ideal at as many cores = 1" in out
    header, _, ideal, *_ = out[out.index("right, ideal") :].splitlines()[1:]
    assert header.split() == ["1", "2", "4", "1", "2", "4"]
    asked = {"design": "ideal", "workload": "array"}
    tps = [fake_engine.run_document({**asked, "cores": cores})["throughput_tps"] for cores in (1, 2, 4)]
    assert ideal.split()[1:4] == [f"{one / tps[0]:.2f}" for one in tps]
    assert ideal.split()[4:] == ["1.00", "1.00", "1.00"]
    assert "by cores" not in cli("compare", "-d", "ideal", "-w", "array", "--cores", "2").out


def test_replay_runs_a_trace_on_every_design(cli: Cli) -> None:
    runs = json.loads(cli("replay", "some/trace.log.zst", "--json").out)["runs"]
    assert {run["workload"] for run in runs} == {"some/trace.log.zst"}
    described = {design["name"] for design in json.loads(_engine.describe())["designs"]}
    assert {run["design"] for run in runs} == {name for name in described if not catalogue.needs_modules(name)}
    out = cli("replay", "some/trace.log.zst", "-d", "secpm").out
    assert "trace.log.zst" in out
    assert "some/" not in out


def test_crash_that_holds(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("crash", "secpm", "btree", "--out", str(tmp_path / "new"))
    assert outcome.code == 0
    assert "Holds" in outcome.out
    assert json.loads((tmp_path / "new" / "crash.json").read_text())["crash_points"] == 1000
    written = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert written == ["crash.html", "crash.json", "crash.trace.json"]
    assert f"page: {tmp_path / 'new' / 'crash.html'}" in outcome.err


def test_ctrl_c_while_the_page_is_drawn_keeps_the_verdict(cli: Cli, fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    interrupted(fake, "scene")
    outcome = cli("crash", "secpm", "btree", "--out", str(tmp_path))
    assert outcome.code == 130
    assert "Holds" in outcome.out
    assert [file.name for file in tmp_path.iterdir()] == ["crash.json"]


def test_crash_that_does_not_hold_explains_itself(cli: Cli) -> None:
    outcome = cli("crash", "write-back", "btree")
    assert outcome.code == 1
    for words in (
        "Does not hold",
        "still in the counter cache",
        "transaction 1 (mutate), line 0x1240",
        "counterpoint crash write-back btree --seed 1 --transactions 2 --at-event 517",
        "5 violations more; --json explains 7 in all",
    ):
        assert words in outcome.out
    lost, leaked = (outcome.out.index(f"{rule}: power lost after event") for rule in ("line", "pad reuse"))
    assert lost < leaked and outcome.out.count("reproduce:") == 2, "an example of each rule, and lost data first"
    outcome = cli("crash", "write-back", "btree", "--json")
    assert outcome.code == 1
    assert len(json.loads(outcome.out)["violations"]) == 7


@pytest.mark.parametrize("command", ["crash", "annotations"])
def test_a_command_to_type_is_printed_whole_however_long(cli: Cli, fake: pytest.MonkeyPatch, command: str) -> None:
    design = {"crash": "write-back", "annotations": "sca"}[command]
    path = f"{'/folder' * 40}/program.log"
    altered(fake, "crash", lambda report: report["reproduce"].update(workload=path))
    assert re.search(
        rf"^  counterpoint crash {design} {path} .*--at-event \d+$", cli(command, design, "btree").out, re.M
    )


@pytest.mark.parametrize(
    ("rule", "what"), [("pad_reuse", "secrets leaked"), ("plaintext", "secrets leaked"), ("line", "data were lost")]
)
def test_a_crash_that_loses_nothing_but_a_secret_says_so(
    cli: Cli, fake: pytest.MonkeyPatch, rule: str, what: str
) -> None:
    def leaking(report: Any) -> None:
        report["recovered"] = report["crash_points"]
        for violation in report["violations"]:
            violation["rule"] = rule

    altered(fake, "crash", leaking)
    outcome = cli("crash", "write-back", "btree")
    assert outcome.code == 1
    assert f"of 1,000 crashes none failed, yet {what}" in outcome.out


def test_a_mechanism_that_is_switched_off_is_told(cli: Cli) -> None:
    outcome = cli("crash", "secpm", "btree", "--fault", "staging-register")
    assert outcome.code == 1
    assert "secpm (hardened) on btree, seed 1, staging-register switched off" in outcome.out
    document = json.loads(cli("crash", "secpm", "btree", "--fault", "staging-register", "--json").out)
    assert document["fault"] == "staging-register"
    assert " --fault staging-register " in document["violations"][0]["reproduce"]
    assert json.loads(cli("crash", "secpm", "btree", "--json").out)["fault"] is None


def test_power_that_fails_again_during_recovery(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    outcome = cli("crash", "bbe", "btree", "--nested")
    assert outcome.code == 0
    assert "in 1,000 crashes and 640 more during recovery" in outcome.out
    assert "during recovery" not in cli("crash", "bbe", "btree").out, "it was not asked for"
    published = ("crash", "bbe", "btree", "--nested", "--variant", "published")
    outcome = cli(*published)
    assert outcome.code == 1
    assert "yet secrets leaked when power failed again during recovery" in outcome.out
    assert "power lost after event 88, again after step 3 of the recovery, transaction 1" in outcome.out
    thrice = "event 88, again after step 3 of the recovery, again after step 1 of the recovery from that"
    assert thrice in cli("crash", "bbe", "btree", "--nested-depth", "3", "--variant", "published").out
    document = json.loads(cli(*published, "--json").out)
    assert (document["nested_points"], document["violations"][0]["nested_event"]) == (640, 3)
    altered(fake, "crash", lambda report: report["violations"][0].update(rule="atomicity"))
    assert "yet data were lost when power failed again during recovery" in cli(*published).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--nope", "--nope"),
        ("nope", "nope"),
        ("run", "DESIGN"),
        ("run secpm", "WORKLOAD"),
        ("run secpm btree extra", "extra"),
        ("run sepcm btree", "did you mean 'secpm',"),
        ("run secpm btree --tx-size 63", "tx_size = 63"),
        ("run secpm btree --tx-size 0", "tx_size = 0"),
        ("run secpm btree --cores 0", "cores"),
        ("compare --tx-size 64,65", "tx_size = 65"),
        ("run secpm btree --tx-size", "--tx-size"),
        ("compare -d secpm --baseline ideal", "baseline 'ideal'"),
        ("crash secpm btree --out /dev/null/sub", "/dev/null/sub"),
        ("crash ideal btree", "'ideal'"),
        ("replay", "TRACE"),
        ("run sca btree --leave-out nothing", "leave_out 'nothing' does not exist (known: prepare-"),
        ("crash sca btree --leave-out mutate", "did you mean 'mutate-counter-cache-writeback'?"),
        ("crash sca btree --leave-out comit-counter-atomic", "did you mean 'commit-counter-atomic'?"),
        ("crash secpm btree --leave-out commit-counter-atomic", "the programs that design 'secpm' runs do not have it"),
        ("crash sca btree --leave-out flush-data", "the programs that design 'sca' runs do not have it"),
        ("annotations sca", "WORKLOAD"),
        ("annotations secpm btree", "the programs that design 'secpm' runs do not have it"),
        ("annotations sca btree --leave-out commit-counter-atomic", "--leave-out"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(cli: Cli, arguments: str, words: str) -> None:
    assert words in cli(*arguments.split()).refusal


def test_an_unwritable_folder_is_found_before_anything_is_simulated(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    asked = asked_of(fake, "run_many")
    assert "/proc/nowhere" in cli("compare", "--out", "/proc/nowhere").refusal
    assert asked == []


def test_a_fault_of_the_engine_is_not_blamed_on_the_input(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise _engine.EngineError("the engine stopped at a fault of its own")

    fake.setattr(_engine, "run_many", broken)
    outcome = cli("run", "secpm", "btree")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == "error: the engine stopped at a fault of its own\n"


def test_ctrl_c_keeps_what_is_finished(cli: Cli, fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(request: str, *_: object) -> str:
        results = json.loads(fake_engine.run_many(request))["results"]
        raise _engine.Interrupted(json.dumps({"results": [*results[:2], {"error": "cancelled"}, *results[3:5]]}))

    fake.setattr(_engine, "run_many", interrupted)
    outcome = cli("compare", "--out", str(tmp_path), "--json")
    assert outcome.code == 130
    kept = " ".join(run["design"] for run in json.loads(outcome.out)["runs"])
    assert kept == "unencrypted xts write-through secpm-workshop"
    assert (tmp_path / "report.html").exists()
    assert "4 simulations were finished" in outcome.err
    assert cli("compare", "--baseline", "secpm").code == 130, "the baseline itself was not finished"


def test_ctrl_c_keeps_the_verdict_so_far(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    def interrupted(request: str, *_: object) -> str:
        raise _engine.Interrupted(fake_engine.crash(request))

    fake.setattr(_engine, "crash", interrupted)
    outcome = cli("crash", "secpm", "btree", "--json")
    assert outcome.code == 130
    assert json.loads(outcome.out)["crash_points"] == 1000


def test_ctrl_c_before_anything_is_finished(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    interrupted(fake, "run_many", "replay", "crash")
    for arguments in ("compare", "replay t", "run secpm btree", "crash secpm btree"):
        assert cli(*arguments.split()).code == 130


def test_help_and_version(cli: Cli) -> None:
    assert "compare" in cli().out
    assert cli("--help").code == 0
    assert cli("--version").out == cli("-V").out != ""
    assert cli("--version").out.startswith("counterpoint ")


def test_the_help_has_every_command_once_in_a_group_with_an_example(cli: Cli) -> None:
    sections = dict(re.findall(r"^(\S.*):\n((?:  .*\n|\n)+)", cli("--help").out + "\n", re.MULTILINE))
    listed = {title: re.findall(r"^  ([a-z]+) {2,}\S", sections[title], re.MULTILINE) for title in Program.groups}
    assert listed == {title: list(commands) for title, commands in Program.groups.items()}
    assert all(sections[title].count("  Example: counterpoint ") == 1 for title in listed)


@pytest.mark.parametrize("name", Program.places)
def test_the_example_of_a_command_is_shown_and_can_be_called(name: str, cli: Cli) -> None:
    example = Program.places[name].example
    assert f"  Example: counterpoint {example}\n" in cli(name, "--help").out
    called, *words = shlex.split(example)
    assert called == name
    group: Any = typer.main.get_command(app)
    group.get_command(None, name).make_context(name, words)


def test_a_closed_pipe_is_neither_a_fault_nor_a_violation() -> None:
    command = f"{sys.executable} -m counterpoint --help | sleep 0; exit ${{PIPESTATUS[0]}}"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (141, "")
