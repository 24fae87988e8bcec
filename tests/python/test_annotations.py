"""The check of annotations (needed, superfluous or absent), on the fake engine and on the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fake_engine
import pytest
from conftest import Cli, asked_of, rules_again

import counterpoint as cp
import samples
from counterpoint import _engine
from counterpoint.contract.request import ANNOTATIONS, PROGRAM_STEPS
from counterpoint.verbs.annotation_checks import annotations_of

PREPARE, MUTATE, COMMIT, FLUSH_DATA = ANNOTATIONS


@pytest.mark.usefixtures("fake")
class TestOnAnEngineThatAnswersAtOnce:
    def test_each_annotation_gets_its_verdict(self) -> None:
        found = cp.annotations("sca", "btree", seed=3)
        assert found.holds
        verdicts = {annotation.name: annotation.verdict for annotation in found.annotations}
        assert verdicts == {PREPARE: "needed", MUTATE: "superfluous", COMMIT: "needed"}
        without = found.annotations[0].without
        assert without is not None
        assert without.first is not None
        assert (without.rules, without.first.crash_event) == (("atomicity", "structure"), 417), "the one shown first"

    def test_the_document_has_every_key(self, cli: Cli) -> None:
        outcome = cli("annotations", "sca", "btree", "--seed", "3", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        document = json.loads(outcome.out)
        assert document.pop("host")["seconds"] >= 0
        prepare, mutate, commit = document.pop("annotations")
        assert document == {
            "schema": 1,
            "design": "sca",
            "variant": "hardened",
            "workload": "btree",
            "seed": 3,
            "complete": {"crash_points": 1000, "recovered": 1000, "rules": [], "sufficient": True, "first": None},
            "assumed": None,
            "lacks": [],
        }
        of_mutate: dict[str, Any] = {
            "name": MUTATE,
            "stage": "mutate",
            "place": None,
            "verdict": "superfluous",
            "rules": [],
        }
        assert mutate == {**of_mutate, "crash_points": 1000, "recovered": 1000, "first": None}
        assert (prepare["recovered"], commit["recovered"]) == (998, 999)
        first = commit["first"]
        assert list(first) == ["rule", "crash_event", "transaction", "stage", "line", "explanation", "reproduce"]
        assert (first["rule"], first["stage"], first["line"]) == ("durability", "commit", 0x1240)
        assert "--leave-out commit-counter-atomic" in first["reproduce"]

    def test_the_table_explains_what_is_needed(self, cli: Cli) -> None:
        out = cli("annotations", "sca", "btree").out
        assert "Sufficient: the complete program lost nothing in 1,000 crashes" in out
        rows = {line.split()[0]: line for line in out.splitlines() if line.split()[1:2] and "-counter-" in line}
        for words in ("Prepare", "needed", "2 of 1,000 fail", "atomicity", "1, Mutate", "0x1240"):
            assert words in rows[PREPARE]
        assert "superfluous" in rows[MUTATE]
        assert f"without {COMMIT}: durability: power lost after event 902, transaction 1 (commit), line 0x1240" in out
        assert f"  counterpoint crash sca btree --seed 1 --leave-out {PREPARE} --transactions 2 --at-event 417" in out
        assert out.count("reproduce:") == 2

    def test_a_program_that_changes_nothing_in_place_has_no_annotation_there(self, cli: Cli) -> None:
        absent = json.loads(cli("annotations", "sca", "linked-list", "--json").out)["annotations"][1]
        nothing: dict[str, Any] = dict.fromkeys(("place", "crash_points", "recovered", "first"))
        assert absent == {**nothing, "name": MUTATE, "stage": "mutate", "verdict": "absent", "rules": []}

    @pytest.mark.parametrize("workload", ["btree", "linked-list"])
    def test_a_program_whose_log_hardware_writes_is_annotated_with_flush_data_alone(self, workload: str) -> None:
        found = cp.annotations("easy-pm", workload)
        assert found.holds
        assert [(one.name, one.stage, one.verdict) for one in found.annotations] == [(FLUSH_DATA, "mutate", "needed")]

    def test_annotations_that_do_not_suffice_end_with_1(self, cli: Cli, fake: pytest.MonkeyPatch) -> None:
        fake.setitem(fake_engine._WITHOUT, None, [(300, "line", "prepare")])
        outcome = cli("annotations", "sca", "btree")
        assert outcome.code == 1
        assert "Not sufficient: 1 of 1,000 crashes of the complete program failed" in outcome.out
        assert "complete program: line: power lost after event 300" in outcome.out
        verdicts = [found.verdict for found in cp.annotations("sca", "btree").annotations]
        assert verdicts == ["needed", "needed", "needed"], "without Mutate's, nothing fails: a different verdict"

    def test_only_the_left_out_annotation_differs_between_the_runs(self, fake: pytest.MonkeyPatch) -> None:
        seen = asked_of(fake, "crash")
        cp.annotations("sca", "btree", points=10, transactions=7, tx_size=64)
        first, *runs = seen
        assert (first["transactions"], first["points"]) == (1, 1), "bad input is found out before the work"
        assert [run.pop("leave_out", None) for run in runs] == [None, PREPARE, MUTATE, COMMIT]
        same = {"design": "sca", "workload": "btree", "points": 10, "transactions": 7, "tx_size": 64}
        assert runs == [same | {"shrink": False, "blame": False}] * 4

    def test_progress_is_of_all_runs_together(self) -> None:
        seen: list[tuple[int, int]] = []
        cp.annotations("sca", "btree", progress=lambda done, total: seen.append((done, total)))
        assert seen == [(200, 800), (400, 800), (600, 800), (800, 800)]

    @pytest.mark.parametrize(("finished", "kept"), [(1, None), (2, 0), (3, 1)])
    def test_ctrl_c_keeps_what_is_finished(
        self, cli: Cli, fake: pytest.MonkeyPatch, finished: int, kept: int | None
    ) -> None:
        calls = []

        def crash(request: str, progress: fake_engine.Progress = None) -> str:
            calls.append(request)
            if len(calls) > finished:
                raise _engine.Interrupted(None)
            return fake_engine.crash(request, progress)

        fake.setattr(_engine, "crash", crash)
        outcome = cli("annotations", "sca", "btree", "--json")
        assert outcome.code == 130
        if kept is None:
            assert outcome.out == ""
        else:
            assert len(json.loads(outcome.out)["annotations"]) == kept


def test_run_and_crash_take_leave_out(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    runs, crashes = asked_of(fake, "run_many"), asked_of(fake, "crash")
    assert cli("run", "sca", "btree", "--leave-out", COMMIT).code == 0
    assert cli("crash", "sca", "btree", "--leave-out", COMMIT).code == 1
    assert [one["leave_out"] for one in (*runs[0]["runs"], *crashes)] == [COMMIT, COMMIT]


@pytest.mark.engine
@pytest.mark.parametrize("design", ["secpm", "sca", "hw-log", "easy-pm"])
@pytest.mark.parametrize("name", ANNOTATIONS)
def test_the_engine_knows_the_annotations_of_each_design_by_these_names(design: str, name: str) -> None:
    request = json.dumps({"design": design, "workload": "array", "leave_out": name})
    if name in annotations_of(design):
        assert json.loads(_engine.resolve(request))["leave_out"] == name
    else:
        with pytest.raises(cp.InputError, match=f"leave_out {name}: .*'{design}'"):
            _engine.resolve(request)


@pytest.mark.engine
def test_the_engine_knows_no_other_annotation() -> None:
    with pytest.raises(cp.InputError, match="does not exist") as caught:
        _engine.resolve(json.dumps({"design": "sca", "workload": "array", "leave_out": "none"}))
    known = str(caught.value).partition("(known: ")[2].rstrip(")")
    assert known.split(", ") == [*ANNOTATIONS, *PROGRAM_STEPS]


@pytest.mark.engine
def test_annotations_suffice_and_are_needed(cli: Cli) -> None:
    found = cp.annotations("sca", "array", machine="small", transactions=20, tx_size=64, footprint="16KiB")
    assert found.holds, found.complete
    needed = [
        one.without.first for one in found.annotations if one.without is not None and one.without.first is not None
    ]
    assert needed, found.annotations
    for first in needed:
        assert first.rule in rules_again(cli, first.reproduce)


@pytest.mark.engine
def test_a_design_without_annotations_is_refused() -> None:
    with pytest.raises(cp.InputError, match="secpm"):
        cp.annotations("secpm", "array", machine="small")


def _recorded(folder: Path, *, annotated: bool = True, between: int = 0) -> Path:
    """Three records that become durable one after the other, and after each their number, with annotations or not.

    So many lines are flushed between the number and its fence.
    """
    at, records = 0, samples.begun(0x40000)

    def operation(tag: int, address: int | None = None, *fields: bytes) -> None:
        nonlocal at
        if tag in (0x1A, 0x1B) and not annotated:
            return
        moved = b"" if address is None else samples.signed(samples.BASE + address - at)
        at = at if address is None else samples.BASE + address
        records.append(bytes([tag, 0, 0]) + moved + b"".join(fields))

    operation(0x1B, 0, samples.unsigned(8))
    for number in range(1, 4):
        operation(0x11, 0x1000 * number, b"\x01", b"r")
        operation(0x14, 0x1000 * number)
        operation(0x1A, 0x1000 * number, b"\x01")
        operation(0x17)
        operation(0x11, 0, b"\x01", bytes([number]))
        operation(0x14, 0)
        for other in range(between):
            operation(0x11, 0x8000 + 64 * other, b"\x01", b"o")
            operation(0x14, 0x8000 + 64 * other)
        operation(0x17)
    path = folder / "records.cptrace"
    path.write_bytes(samples.ended(records, len(records) - 3, version=3))
    return path


@pytest.mark.engine
def test_the_annotations_of_a_recorded_program_are_left_out_line_by_line(cli: Cli, tmp_path: Path) -> None:
    trace = _recorded(tmp_path)
    found = cp.annotations("sca", trace)
    assert found.holds
    named = [(one.name, one.stage, one.verdict) for one in found.annotations]
    assert named == [("counter-atomic", None, "needed"), ("counter-writeback", None, "needed")]
    assert all(one.place for one in found.annotations)
    out = cli("annotations", "sca", str(trace)).out
    assert "--omit-annotations 1 --omit-annotations 2 --omit-annotations 3 --at-event" in out
    whole = cp.crash("sca", trace)
    assert (whole.holds, whole.assumed) == (True, None)
    without = cp.crash("sca", trace, omit_annotations=[0, 1, 2, 3])
    assert without.blame is not None
    assert (without.holds, without.blame.who) == (False, "annotations")
    left_out = "omit_annotations"
    assert without.request[left_out] == [0, 1, 2, 3] and left_out not in whole.request
    picture = cp.scene("sca", trace, omit_annotations=without.request[left_out])
    assert picture["violations"] and not cp.scene("sca", trace)["violations"]


@pytest.mark.engine
def test_a_recorded_program_without_annotations_rests_on_what_is_assumed(cli: Cli, tmp_path: Path) -> None:
    trace = _recorded(tmp_path, annotated=False)
    verdict = cp.crash("sca", trace)
    assert verdict.holds
    assert verdict.assumed is not None
    assert "Assumed: The recorded program has no annotations" in cli("crash", "sca", str(trace)).out
    # The number's counter is written back at the fence; `fca` writes it with the number.
    late = _recorded(tmp_path, annotated=False, between=200)
    readable = cp.crash("sca", late, recover="od -An -tu1 -N1 {pool} | grep -qx ' *[0123]'")
    assert readable.blame is not None
    assert (readable.holds, readable.blame.who) == (False, "assumption")
    for refused, says in (
        ("sca", "the recorded program has no annotations"),
        ("secpm", "does not use the annotations"),
    ):
        with pytest.raises(cp.InputError, match=says):
            cp.annotations(refused, trace)
