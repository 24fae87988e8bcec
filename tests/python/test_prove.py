"""`prove`: every small program, as a call and as a command."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
import proof_tables
from counterpoint.verbs.proofs import counterexample

pytestmark = pytest.mark.engine


def test_programs_that_fail_are_those_that_crash_runs_find() -> None:
    # Without symmetry and pruning: one line has no other names, and a first fence does nothing.
    operations = ("store A", "clwb A", "sfence")
    proof = cp.prove(
        "write-back", operations=3, lines=1, steps=["store", "clwb", "sfence"], timings=["machine"], machine="small"
    )
    failing = [
        steps
        for length in (1, 2, 3)
        for steps in product(operations, repeat=length)
        if steps[0] == "store A" and ("sfence", "sfence") not in pairwise(steps)
        if cp.crash("write-back", "; ".join(steps), machine="small", shrink=False, blame=False).holds is False
    ]
    assert proof.failing == len(failing) == 6
    assert proof.counterexamples[0].program == "store A; clwb A" == "; ".join(failing[0])


def test_design_that_holds_does_so_for_all_programs_and_says_what_was_not_tried() -> None:
    proof = cp.prove("secpm", operations=2, nested=True)
    assert proof.holds and not proof.failing and not proof.counterexamples
    assert proof.programs == sum(length.programs for length in proof.lengths)
    assert proof.nested_points == sum(length.nested_points for length in proof.lengths)
    assert [timing.name for timing in proof.timings][:2] == ["machine", "apart"]
    assert "not all orders in which the hardware may complete operations" in proof.coverage
    fewer = cp.prove("secpm", operations=2, timings=["apart"])
    assert fewer.programs == proof.programs and "Timing 'machine' was not tried." in fewer.coverage


def test_smallest_program_is_shown_again_by_its_command(cli: Cli) -> None:
    outcome = cli("prove", "write-back", "--operations", "3", "--lines", "1", "--json")
    assert outcome.code == 1
    (line, *_) = json.loads(outcome.out)["counterexamples"]
    assert line["reproduce"].startswith("counterpoint crash write-back 'nt-store A' --variant hardened --machine small")
    proof = cp.prove("write-back", operations=3, lines=1)
    assert proof.to_dict() | {"host": None} == json.loads(outcome.out) | {"host": None}
    crash = counterexample(proof)
    assert crash.workload == line["program"]
    assert line["rule"] in {violation.rule for violation in crash.violations}


def test_command_shows_the_verdict_and_draws_the_smallest_program(cli: Cli, tmp_path: Path) -> None:
    held = cli("prove", "secpm", "--operations", "2", "--lines", "1")
    assert held.code == 0 and "Holds for all" in held.out and "small-counters" in held.out
    words = ("prove", "secpm", "--fault", "counter-write-through", "--operations", "3", "--lines", "1", "--out")
    failed = cli(*words, str(tmp_path / "out"))
    assert failed.code == 1 and "Does not hold" in failed.out and "    nt-store A\n" in failed.out
    assert json.loads((tmp_path / "out/proof.json").read_text())["fault"] == "counter-write-through"
    assert (tmp_path / "out/crash.html").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("secpm", "--operations", "13"), "operations: 13 is not from 1 to 12"),
        (("secpm", "--step", "stroe"), "did you mean 'store'?"),
        (("secpm", "--places", "AG"), "places: 'AG' names a line that is none"),
        (("secpm", "--timing", "odd"), "timings 'odd' does not exist"),
        (("ideal",), "cannot be crash-tested"),
    ],
)
def test_bad_input_is_a_sentence(cli: Cli, words: tuple[str, ...], told: str) -> None:
    outcome = cli("prove", *words)
    assert outcome.code == 2 and told in outcome.err and not outcome.out


def test_program_that_is_written_out_is_a_workload(cli: Cli) -> None:
    program = "store A; clwb A; sfence"
    assert cp.run("secpm", program, machine="small").stats.nvm.data_writes == 1
    verdict = cp.crash("secpm", program, machine="small")
    assert verdict.holds and verdict.workload == program
    refused = cli("crash", "secpm", "store A; clwb", "--machine", "small")
    assert refused.code == 2 and "clwb is about a line, as in 'clwb A'" in refused.err


@pytest.mark.parametrize("fault", [fault.name for fault in cp.faults()])
def test_small_programs_find_every_fault(fault: str) -> None:
    if fault in proof_tables.UNFOUND:
        pytest.skip(proof_tables.UNFOUND[fault])
    design, more = proof_tables.FAULTS[fault]
    options = proof_tables.bound(more)
    broken = cp.prove(design, fault=fault, **options)
    assert broken.failing and not broken.internal_errors
    assert cp.prove(design, **options).holds
