"""The search: the only survivor of a space is found, the same again from the store and after an interruption."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, rules_again
from test_sweep import Inline

import counterpoint as cp
import document_types
from counterpoint.report import search_page
from counterpoint.runs import computing
from counterpoint.runs.executor import Refused, worker
from counterpoint.searches import propose, search
from counterpoint.searches.files import command, design_text, write_designs
from counterpoint.searches.goals import load
from counterpoint.searches.ladder import CrashTest
from counterpoint.searches.outcome import Reference, SearchReport
from counterpoint.searches.propose import Genetic, Told
from counterpoint.searches.rules import Learner, Rule, unsound
from counterpoint.searches.space import Candidate, Dimension, Space
from counterpoint.verbs import catalogue
from counterpoint.verbs.interval import Estimate

SURVIVOR: dict[str, Any] = {
    "name": "survivor",
    "workloads": ["linked-list", "queue"],
    "references": ["secpm-no-cwr", "write-through", "unencrypted"],
    "run": {"machine": "secpm", "transactions": 20, "footprint": "1MiB"},
    "promise": {"line_atomic": "every"},
    "space": {
        "base": "secpm-no-cwr",
        "controller": {"wpq_entries": [32, 64]},
        "design": {
            "write_path": ["deferred", "write-through", "staged-pair"],
            "minor_reset": ["at-once", "with-done-bit"],
            "append_order": ["bump-order", "unit-order"],
            "registers": {"reencryption_status": ["volatile", "adr"], "staging_register": ["volatile"]},
            "recovery": [["resume-reencryption"]],
        },
    },
    "objectives": {"transaction_latency_ns_mean": "minimise", "on_chip_bytes": "minimise"},
}
"""Of these parts only those of `secpm-no-cwr` survive."""


@pytest.fixture(scope="module", autouse=True)
def small_batches() -> Iterator[None]:
    """So that what is learned from one batch rules candidates of the next one out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(propose, "BATCH", 8)
        yield


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, small_batches: None) -> SearchReport:
    return cp.search(SURVIVOR, tmp_path_factory.mktemp("survivor") / "s.duckdb")


def documents(report: SearchReport) -> dict[str, Any]:
    return {key: value for key, value in report.to_dict().items() if key != "store"}


def test_the_only_survivor_of_a_space_is_found(found: SearchReport) -> None:
    assert found.complete
    assert found.valid == 48
    held = {one.candidate.parts["write_path"] for one in found.judged if one.state == "holds"}
    assert held == {"staged-pair"}
    assert len(found.front) == 2, "one for each size of the queue"
    for one in found.front:
        assert found.names_of(one) == ["secpm-no-cwr"]
        assert one.tiers_passed == len(found.tiers)
        assert one.crash_points > 1000
    assert found.counts["refuted"] + found.counts["ruled out"] == 46


def test_the_front_is_measured_over_seeds(found: SearchReport, tmp_path: Path, cli: Cli) -> None:
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    report = cp.search(SURVIVOR, store, seeds=3, workers=1)
    assert [one.candidate for one in report.front] == [one.candidate for one in found.front]
    document = report.to_dict()
    document_types.check("documents/search.json", document)
    assert document["seeds"] == [1, 2, 3]
    assert found.to_dict()["seeds"] == [1]
    for one, shown in zip(report.front, document["front"], strict=True):
        latency = report.figure(one, "transaction_latency_ns_mean")
        assert latency is not None and latency.half is not None
        assert latency.low <= (one.figures["transaction_latency_ns_mean"] or 0) * 1.5
        assert (shown["figures"]["transaction_latency_ns_mean"], shown["halves"]["transaction_latency_ns_mean"]) == (
            latency.mean,
            latency.half,
        )
        assert report.figure(one, "on_chip_bytes") == Estimate(one.figures["on_chip_bytes"] or 0.0, 0.0)
    points = [point for point in search_page.picture(report)["points"] if point["kind"] == "front"]
    assert all(point["half"][0] > 0 for point in points)
    (tmp_path / "goals.toml").write_text(_toml(SURVIVOR))
    words = ("search", str(tmp_path / "goals.toml"), "--store", str(store))
    assert "means over the seeds 1 to 3 ± half of the 95 % interval" in cli(*words, "--seeds", "3").out
    assert "Seed 1 alone, so there are no intervals" in cli(*words).out


def test_known_designs_are_beaten_only_where_intervals_do_not_meet(found: SearchReport) -> None:
    best = found.front[-1]
    slower = replace(best, figures={name: (value or 0.0) * 1.01 for name, value in best.figures.items()})
    known = Reference("slower", replace(slower, candidate=replace(best.candidate, key="other")))
    assert found.outcome_of(known).startswith("beaten by ")

    def over(figures: Any, half: float) -> dict[str, Estimate]:
        return {name: Estimate(value, half * value) for name, value in figures.items()}

    def with_half(half: float) -> SearchReport:
        of = {best.candidate: over(best.figures, half), known.judged.candidate: over(slower.figures, half)}
        return replace(found, seeds=(1, 2, 3), intervals=of)

    assert with_half(0.001).outcome_of(known).startswith("beaten by ")
    assert with_half(0.1).outcome_of(known).startswith("does not differ from ")


def test_what_beats_a_candidate_is_called_by_its_parts(found: SearchReport) -> None:
    best = found.front[0]
    beaten = replace(found.front[-1], state="passed over", why=f"beaten by {best.candidate.name}")
    called = found.names.of(best.candidate)
    assert called.startswith("secpm-no-cwr with wpq_entries ")
    assert found.why(beaten) == f"beaten by {called}"
    slow = Reference("slow", replace(best, figures=dict.fromkeys(best.figures, 1000000000000.0)))
    assert found.outcome_of(slow).startswith("beaten by secpm-no-cwr with wpq_entries ")
    document = json.dumps([{**one, "name": ""} for one in found.to_dict()["references"]])
    assert not re.search(r"\bc[0-9a-f]{9}\b", document)
    assert not found.frame()["why"].str.contains(r"\bc[0-9a-f]{9}\b").any()


def test_refuted_candidate_has_its_smallest_counterexample(found: SearchReport) -> None:
    refuted = [one for one in found.judged if one.state == "refuted"]
    assert refuted
    for one in refuted:
        shown = one.counterexample
        assert shown is not None
        words = shlex.split(shown.command)
        assert words[:2] == ["counterpoint", "crash"]
        assert shown.transactions is not None
        assert shown.transactions <= 40


def test_the_command_of_a_counterexample_shows_it(found: SearchReport, cli: Cli) -> None:
    shown = next(one.counterexample for one in found.judged if one.counterexample is not None)
    assert shown.rule in rules_again(cli, shown.command)


def test_learned_rules_are_true_of_all_that_they_rule_out(found: SearchReport) -> None:
    assert found.rules
    for rule in found.rules:
        assert rule.tested > 0
        variant = found.goals.space.variant
        for one in rule.covers:
            assert rule.applies(one)
            answer = worker._crash(rule.test.request(one, variant))
            assert answer["violation_count"] > 0, f"{rule} rules out {one.sets}"


def test_known_designs_have_their_place(found: SearchReport) -> None:
    told = {one.design: found.outcome_of(one) for one in found.references}
    assert told["secpm-no-cwr"] == "on the front"
    assert told["write-through"].startswith("breaks '")
    assert told["unencrypted"].startswith("breaks 'plaintext'")


def test_designs_whose_parts_are_in_the_space_are_found_again(tmp_path: Path) -> None:
    names = ["secpm-no-cwr", "secpm", "supermem", "write-through"]
    report = cp.search(
        {
            "workloads": ["queue"],
            "references": names,
            "run": {"machine": "secpm", "transactions": 20, "footprint": "1MiB"},
            "space": {"designs": names},
            "objectives": {"transaction_latency_ns_mean": "minimise", "nvm_writes_per_transaction": "minimise"},
        },
        tmp_path / "s.duckdb",
    )
    assert report.complete
    for reference in report.references:
        (again,) = [one for one in report.judged if one.candidate.parts == reference.judged.candidate.parts]
        assert again.figures == reference.judged.figures
        # One that a learned rule rules out is refuted as a reference.
        assert (again.state in ("holds", "passed over")) == (reference.judged.state == "holds")
        assert (again.state == "passed over") == report.outcome_of(reference).startswith("beaten by")
    told = {one.design: report.outcome_of(one) for one in report.references}
    assert told["secpm"] == "on the front"
    assert told["supermem"] == "on the front"
    assert told["write-through"].startswith("breaks")


def test_goals_that_promise_integrity_refute_what_protects_nothing(tmp_path: Path, cli: Cli) -> None:
    goals = {
        "workloads": ["array"],
        "references": ["xts"],
        "run": {"machine": "secpm", "transactions": 20, "footprint": "1MiB"},
        "promise": {"integrity": True},
        "space": {"designs": ["secpm", "secpm-tree"], "design": {"integrity": ["none", "macs", "bonsai-tree"]}},
        "objectives": {"transaction_latency_ns_mean": "minimise"},
    }
    report = cp.search(goals, tmp_path / "s.duckdb")
    assert {one.candidate.parts["integrity"] for one in report.front} == {"bonsai-tree"}
    told = {one.design: report.outcome_of(one) for one in report.references}
    assert told["xts"].startswith("breaks 'integrity'")
    bare = [one for one in report.judged if one.candidate.parts["integrity"] != "bonsai-tree" and one.counterexample]
    assert {one.candidate.parts["integrity"] for one in bare} == {"none", "macs"}
    for one in bare:
        assert one.counterexample is not None
        assert one.counterexample.rule == "integrity"
        words = shlex.split(one.counterexample.command)
        assert "--attack" in words
        shown = cli(*words[1:], "--json")
        rows = json.loads(shown.out)["attacks"]["rows"]
        assert any(row["accepted"] for row in rows if row["example"]["crash_event"] == one.counterexample.event)


def test_plainest_of_equal_candidates_is_tested_to_the_end(tmp_path: Path) -> None:
    space = {
        "base": "write-through",
        "design": {
            "write_path": ["staged-pair"],
            "minor_reset": ["with-done-bit"],
            "registers": {"reencryption_status": ["adr"], "staging_register": ["volatile", "absent"]},
            "recovery": [["resume-reencryption"]],
        },
    }
    goals = {**SURVIVOR, "workloads": ["queue"], "references": [], "space": space}
    report = cp.search(goals, tmp_path / "s.duckdb")
    plain = min(report.judged, key=lambda one: len(one.candidate.sets))
    (other,) = (one for one in report.judged if one is not plain)
    assert len(other.candidate.sets) > len(plain.candidate.sets)
    assert plain.figures == other.figures
    assert (plain.state, other.state) == ("holds", "passed over")
    assert other.why == f"as good as {plain.candidate.name}"
    assert report.front == (plain,)
    assert report.equals(plain) == (other,)
    known = cp.search({**goals, "references": ["secpm-no-cwr"]}, report.store)
    assert {one.state for one in known.judged} == {"holds"}, "a known design is tested, however plain the other"
    assert [known.names_of(one) for one in known.front] == [["secpm-no-cwr"]]


@pytest.mark.parametrize("goals", [SURVIVOR, load(SURVIVOR)], ids=["as they are", "read before"])
def test_a_search_is_the_same_from_its_store(goals: Any, found: SearchReport, tmp_path: Path) -> None:
    again = cp.search(goals, shutil.copy(found.store, tmp_path / "again.duckdb"))
    assert again.computed == 0
    assert documents(again) == documents(found)


def test_a_search_that_was_interrupted_goes_on(
    found: SearchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "s.duckdb"
    left = iter(range(100))

    def stop(*_: object) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline(stop))
    with pytest.raises(cp.Interrupted):
        cp.search(SURVIVOR, store)
    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    rest = cp.search(SURVIVOR, store)
    assert 0 < rest.computed <= found.computed - 100
    assert documents(rest) == documents(found)


_RUN = {"design": "secpm", "workload": "queue", "machine": "small", "transactions": 2, "footprint": "64KiB"}


@pytest.mark.parametrize("times", [1, 2])
def test_finished_runs_survive_an_interrupted_write(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    monkeypatch.setattr(computing, "_KEPT_SECONDS", 0.0 if times == 2 else 60.0)
    put, calls = cp.Store.put_runs, itertools.count()

    def write(store: cp.Store, *arguments: Any) -> None:
        if next(calls) == 0:
            raise KeyboardInterrupt
        put(store, *arguments)

    monkeypatch.setattr(cp.Store, "put_runs", write)
    path = tmp_path / "s.duckdb"
    with pytest.raises(cp.Interrupted), computing.computing(path) as computer:
        computer.ask("run", [{**_RUN, "seed": seed} for seed in range(1, times + 1)])
    with cp.Store(path, read_only=True) as store:
        assert store.database.ask("SELECT count(*) FROM results") == [(1,)]


def test_finished_runs_are_kept_beside_a_fault_of_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(task: Any, _: int) -> Refused | None:
        return Refused(task.key, "a fault", bad_input=False) if task.request["seed"] == 2 else None

    path = tmp_path / "s.duckdb"
    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline(faulty))
    with pytest.raises(cp.EngineError, match="a fault"), computing.computing(path) as computer:
        computer.ask("run", [{**_RUN, "seed": seed} for seed in (1, 2)])
    with cp.Store(path, read_only=True) as store:
        assert store.database.ask("SELECT count(*) FROM results") == [(1,)]


def test_design_file_is_read_once_for_the_keys_of_its_crash_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = tmp_path / "mine.toml"
    design.write_text('base = "secpm"\n')
    read: list[str] = []
    described = catalogue.described

    def reading(name: str) -> dict[str, Any]:
        read.append(name)
        return described(name)

    monkeypatch.setattr(catalogue, "described", reading)
    monkeypatch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    tests = [{"design": str(design), "workload": "array", "points": 1, "transactions": n} for n in (1, 2, 3)]
    with cp.Store(tmp_path / "s.duckdb") as store:
        computer = computing.Computer(store)
        assert all(isinstance(answer, dict) for answer in computer.ask("crash", tests))
    assert len(read) == 1 + len(tests), "once here, and once where each is computed"


def test_the_genetic_search_finds_the_same_front_and_is_the_same_twice(
    found: SearchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "ENUMERATED_MAX", 0)
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    first = cp.search(SURVIVOR, store)
    assert not first.complete
    assert [one.candidate for one in first.front] == [one.candidate for one in found.front]
    assert documents(cp.search(SURVIVOR, store)) == documents(first)


def test_the_genetic_search_begins_with_the_known_designs_of_the_space(tmp_path: Path) -> None:
    names = ["secpm", "sca", "co-located"]
    report = cp.search(
        {
            "workloads": ["queue"],
            "references": ["bbe", *names],
            "candidates": 3,
            "run": {"machine": "secpm", "transactions": 20, "footprint": "1MiB"},
            "space": {"designs": [*names, "hw-log"], "controller": {"wpq_entries": [64, 32]}},
            "objectives": {"transaction_latency_ns_mean": "minimise", "nvm_writes_per_transaction": "minimise"},
        },
        tmp_path / "s.duckdb",
    )
    assert not report.complete
    known = [one.judged for one in report.references if one.design in names]
    assert [one.candidate.parts for one in report.judged] == [one.candidate.parts for one in known]
    assert [one.figures for one in report.judged] == [one.figures for one in known], "the machine of the goals"


def test_a_space_that_has_no_machine_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(search, "ENUMERATED_MAX", 0)
    monkeypatch.setattr(propose, "_DRAWS_MAX", 50)
    space = {**SURVIVOR["space"], "controller": {"wpq_entries": [4, 8]}}
    file = tmp_path / "none.toml"
    file.write_text(_toml({**SURVIVOR, "references": ["secpm"], "space": space}))
    report = cp.search(file, tmp_path / "s.duckdb")
    assert report.judged == ()
    assert report.points.refusals == report.points.tried > 0
    outcome = cli("search", str(file), "--store", str(tmp_path / "s.duckdb"))
    assert outcome.code == 1
    assert "The engine accepts none of the points that were tried" in outcome.out


def test_a_limit_leaves_out_what_is_beyond_it(found: SearchReport, tmp_path: Path) -> None:
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    small = min(one.figures["on_chip_bytes"] or 0.0 for one in found.front)
    limited = cp.search({**SURVIVOR, "limits": {"on_chip_bytes": {"at_most": small}}}, store)
    assert [one.figures["on_chip_bytes"] for one in limited.front] == [small]
    none = cp.search({**SURVIVOR, "limits": {"on_chip_bytes": {"at_most": 1}}}, store)
    assert none.front == ()
    assert {one.why for one in none.judged if one.excess > 0} == {"beyond the limits"}


def test_a_figure_that_does_not_exist_is_bad_input(found: SearchReport, tmp_path: Path) -> None:
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    with pytest.raises(cp.InputError, match="there is no figure 'nvm_write': did you mean 'nvm_writes'"):
        cp.search({**SURVIVOR, "objectives": {"nvm_write": "minimise"}}, store)


def test_the_front_is_written_as_files_that_other_commands_take(found: SearchReport, tmp_path: Path, cli: Cli) -> None:
    written = write_designs(found, tmp_path)
    assert len(written) == 4, "a design and a machine each"
    for one in found.front:
        design = tmp_path / f"{one.candidate.name}.toml"
        assert design.read_text() == design_text(found, one)
        assert cli("crash", str(design), "linked-list", "--machine", "small", "--transactions", "5").code == 0
        words = shlex.split(command(found, one, str(tmp_path)))
        outcome = cli(*words[1:], "--json")
        assert outcome.code == 0, outcome.err
        document = json.loads(outcome.out)
        assert document["machine"].endswith(".machine")
        assert document["parts"] == {
            key: list(value) if isinstance(value, tuple) else value for key, value in one.candidate.parts.items()
        }


def test_a_frame_has_a_row_for_each_candidate(found: SearchReport) -> None:
    frame = found.frame()
    assert frame.height == 48
    assert set(frame.filter("front")["name"]) == {one.candidate.name for one in found.front}
    assert frame["design.write_path"].n_unique() == 3


class Fails:
    """Answers for tests as some function of a candidate says."""

    def __init__(self, broken: Any) -> None:
        self._broken = broken
        self.asked = 0

    def fails(self, test: CrashTest, candidates: Sequence[Candidate]) -> list[str | None]:
        self.asked += len(candidates)
        return [self._broken(one.machine) for one in candidates]


_SPACE = Space("secpm", "hardened", {}, tuple(Dimension((f"a.{name}",), ((0,), (1,), (2,))) for name in "abcde"))
_TEST = CrashTest("every event", "queue", {}, True)


def _made(point: tuple[int, ...]) -> Candidate:
    values = _SPACE.values(point)
    return Candidate(json.dumps(values), "secpm", {}, values, ())


def _learned(broken: Any, point: tuple[int, ...], passed: Sequence[tuple[int, ...]] = ()) -> Rule | None:
    judge: Any = Fails(broken)
    known = [(at, _made(at)) for at in passed]
    return Learner(_SPACE, judge, _made, lambda: known, 1).learn(point, _made(point), _TEST, None)


def test_crash_tests_have_the_widest_minors_that_a_block_has_room_for(tmp_path: Path) -> None:
    design = tmp_path / "two-pages.toml"
    design.write_text('base = "secpm"\n[set]\ncounters.block_lines = 128\ncounters.minor_bits = 3\n')
    test = CrashTest("every event", "queue", {"machine": "small", "set": ["controller.aes_units=1"]}, False, True)

    def sets(base: str) -> Any:
        return test.request(Candidate("one", base, {}, {}, ()), "hardened")["set"]

    assert sets("secpm") == ["controller.aes_units=1", "counters.minor_bits=7"]
    assert sets(str(design)) == ["controller.aes_units=1", "counters.minor_bits=3"]


def test_a_rule_has_exactly_what_breaks() -> None:
    rule = _learned(lambda values: "line" if values["a.a"] == 1 and values["a.c"] == 2 else "", (1, 0, 2, 0, 1))
    assert rule is not None
    assert rule.values == {"a.a": 1, "a.c": 2}
    assert rule.tested >= 15
    assert "With a.a = 1 and a.c = 2, queue breaks the rule 'line'" in str(rule)


def test_two_causes_at_once_are_told_apart() -> None:
    """With both, no change of one part lets the test pass; the draws show that nothing at all is no cause."""
    rule = _learned(lambda values: "line" if values["a.a"] == 1 or values["a.c"] == 2 else "", (1, 0, 2, 0, 1))
    assert rule is not None
    assert rule.values in ({"a.a": 1}, {"a.c": 2})


def test_no_rule_is_about_a_candidate_that_has_passed() -> None:
    """One of 81 passes: what is drawn hardly ever has it."""

    def broken(values: Any) -> str:
        return "line" if values["a.a"] == 1 and any(values[f"a.{name}"] != 2 for name in "bcde") else ""

    rule = _learned(broken, (1, 0, 0, 0, 0))
    assert rule is not None and rule.values == {"a.a": 1}
    better = _learned(broken, (1, 0, 0, 0, 0), [(1, 2, 2, 2, 2)])
    assert better is not None
    assert not better.applies(_made((1, 2, 2, 2, 2)))
    assert better.values["a.a"] == 1 and len(better.values) == 2


def test_another_broken_rule_is_another_cause() -> None:
    def broken(values: Any) -> str:
        return "line" if values["a.a"] == 1 else "pad_reuse"

    rule = _learned(broken, (1, 0, 0, 0, 0))
    assert rule is not None
    assert rule.values == {"a.a": 1}


def test_a_rule_that_does_not_hold_is_found_in_the_end() -> None:
    rule = Rule({"a.a": 1}, _TEST, "line", None, 16)
    rule.covers = [_made((1, 0, 0, 0, place)) for place in range(3)]
    judge: Any = Fails(lambda values: "" if values["a.e"] == 2 else "line")
    assert unsound([rule], judge, 25) == [rule]
    judge = Fails(lambda values: "line")
    assert unsound([rule], judge, 25) == []
    assert rule.tested == 19


def test_a_rule_that_is_wrong_for_few_of_what_it_ruled_out_is_found() -> None:
    rule = Rule({"a.a": 1}, _TEST, "line", None, 16)
    places = itertools.product(range(3), repeat=4)
    rule.covers = [_made((1, *place)) for place in places]
    judge: Any = Fails(lambda values: "" if [values[f"a.{name}"] for name in "bcde"] == [1, 2, 1, 0] else "line")
    assert len(rule.covers) == 81 <= search._AUDITED
    assert unsound([rule], judge, search._AUDITED) == [rule]


def test_candidates_of_a_wrong_rule_are_judged_after_all(
    found: SearchReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Learner.learn

    def wrong(self: Learner, *arguments: Any) -> Rule | None:
        rule = real(self, *arguments)
        if len(self.rules) == 1:
            self.rules.insert(0, Rule({"controller.wpq_entries": 64}, self.rules[0].test, "line", None, 1))
        return rule

    monkeypatch.setattr(Learner, "learn", wrong)
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    again = cp.search(SURVIVOR, store)
    assert [one.candidate for one in again.front] == [one.candidate for one in found.front]
    assert not any("wpq_entries" in str(rule) for rule in again.rules)


def test_the_genetic_proposer_proposes_each_candidate_once() -> None:
    small = replace(_SPACE, dimensions=_SPACE.dimensions[:3])
    proposer = Genetic(small, lambda point: _made((*point, 0, 0)), 1, 1)
    seen: list[Candidate] = []
    while batch := proposer.batch(1000):
        seen += [one for _, one in batch]
        proposer.tell([Told((float(sum(one.machine.values())),), 0.0) for _, one in batch])  # type: ignore[arg-type]
    assert len(seen) == len(set(seen))
    assert len(seen) > 20, "of 27"


def test_the_command_prints_the_front_and_writes_it(found: SearchReport, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "goals.json.toml"
    file.write_text(_toml(SURVIVOR))
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    outcome = cli("search", str(file), "--store", str(store), "--out", str(tmp_path / "out"))
    assert outcome.code == 0, outcome.err
    for one in found.front:
        assert one.candidate.name in outcome.out
        assert (tmp_path / "out" / "designs" / f"{one.candidate.name}.toml").exists()
    assert "Every candidate of the space was looked at." in outcome.out
    assert (tmp_path / "out" / "search.html").exists()
    document = json.loads(cli("search", str(file), "--store", str(store), "--json").out)
    document_types.check("documents/search.json", document)
    document_types.check("files/goals.json", tomllib.loads(file.read_text()))
    assert {**document, "store": ""} == {**json.loads(json.dumps(found.to_dict())), "store": ""}


def test_a_search_without_a_front_ends_with_1(found: SearchReport, tmp_path: Path, cli: Cli) -> None:
    file = tmp_path / "none.toml"
    file.write_text(_toml({**SURVIVOR, "limits": {"on_chip_bytes": {"at_most": 1}}}))
    store = shutil.copy(found.store, tmp_path / "s.duckdb")
    outcome = cli("search", str(file), "--store", str(store))
    assert outcome.code == 1
    assert "None survives within the limits." in outcome.out


def _toml(document: dict[str, Any]) -> str:
    """A document as TOML: JSON's values are TOML's, but for its objects."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{key} = {inline(one)}" for key, one in value.items()) + " }"
        return json.dumps(value)

    return "\n".join(f"{key} = {inline(value)}" for key, value in document.items()) + "\n"
