"""`explain`: each part that differs is exchanged alone, in both directions, with figures and crashes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import counterpoint as cp
import document_types
from counterpoint.searches import figures
from counterpoint.searches.explain import Explanation

_RUN: dict[str, Any] = {"transactions": 20, "footprint": "1MiB"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explain") / "s.duckdb"


@pytest.fixture(scope="module")
def found(store: Path) -> Explanation:
    return cp.explain("secpm", "write-through", ["queue"], store=store, **_RUN)


def test_the_parts_that_differ_are_those_of_the_lists(found: Explanation) -> None:
    mine, other = (cp.design_parts(name) for name in ("secpm", "write-through"))
    pinned = ("crash_consistent", "line_atomic", "secret")
    differ = {key for key in {*mine, *other} if mine.get(key) != other.get(key)} - set(pinned)
    assert {one.key for one in found.exchanges} == differ
    assert found.machine == "secpm"


def test_a_design_with_a_part_of_the_other_is_the_design_with_that_set(found: Explanation) -> None:
    one = next(one for one in found.exchanges if one.key == "counter_coalescing")
    assert one.values == ("in-wpq", "off")
    run = cp.run("secpm", "queue", machine="secpm", set={"design.counter_coalescing": "off"}, **_RUN)
    assert one.first.figures["transaction_latency_ns_mean"] == run.to_dict()["transaction_latency_ns"]["mean"]
    assert one.first.holds
    writes = "nvm_writes_per_transaction"
    assert (one.first.figures[writes] or 0) > (found.designs[0].figures[writes] or 0)


def test_a_part_that_breaks_a_design_is_named(found: Explanation) -> None:
    one = next(one for one in found.exchanges if one.key == "write_path")
    assert not one.first.holds
    shown = one.first.counterexample
    assert shown is not None
    assert "design.write_path=write-through" in shown.command
    assert found.designs[0].holds
    assert not found.designs[1].holds


def test_parts_that_go_only_together_are_exchanged_together(store: Path) -> None:
    found = cp.explain("secpm", "sca", ["queue"], store=store, **_RUN)
    one = next(one for one in found.exchanges if one.key == "write_path")
    assert one.first_with == ("write_queues",)
    assert not one.first.refused
    assert one.second.refused, "one more part is not enough"
    assert found.promise.line_atomic == "marked", "what both promise"


def test_equal_designs_differ_in_nothing(store: Path, cli: Cli) -> None:
    assert cp.explain("secpm", "secpm", ["queue"], store=store, **_RUN).exchanges == ()
    outcome = cli("explain", "secpm", "secpm", "-w", "queue", "--transactions", "20", "--footprint", "1MiB")
    assert outcome.code == 0, outcome.err
    assert "No part differs." in outcome.out


def test_the_command_prints_both_directions(store: Path, cli: Cli) -> None:
    asked = ["explain", "secpm", "write-through", "-w", "queue", "--transactions", "20", "--footprint", "1MiB"]
    outcome = cli(*asked, "--store", str(store))
    assert outcome.code == 0, outcome.err
    assert "secpm with one part of write-through" in outcome.out
    assert "write-through with one part of secpm" in outcome.out
    assert "breaks 'line'" in outcome.out
    document = json.loads(cli(*asked, "--store", str(store), "--json").out)
    document_types.check("documents/explain.json", document)
    assert document["names"] == ["secpm", "write-through"]
    assert {one["key"] for one in document["exchanges"]} >= {"write_path", "counter_coalescing"}


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (("secpm", "ideal"), {}, "design 'ideal' promises nothing after a power failure"),
        (("secpm", "secpn"), {}, "design 'secpn' does not exist"),
        (("secpm", "sca"), {"machine": "secpn"}, "secpn"),
        (("secpm", "sca"), {"figures": ["nvm_write"]}, "there is no figure 'nvm_write': did you mean 'nvm_writes'"),
        (("secpm", "sca"), {"figures": []}, "there is nothing to compare: name at least one workload and one figure"),
        (("secpm", "sca"), {"figures": figures.known()}, f"figures has {len(figures.known())} values; at most 64"),
        (("secpm", "sca"), {"workloads": []}, "there is nothing to compare"),
        (("secpm", "sca"), {"workloads": ["quue"]}, "workload 'quue' does not exist and is not a trace file: did you"),
        (("secpm", "sca"), {"workloads": ["queue", "nosuch"]}, "workload 'nosuch' does not exist"),
        (("secpm", "sca"), {"set": ["controller.wpq_entries=1"]}, "controller.wpq_entries = 1 must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_computed(
    names: tuple[str, str], options: dict[str, Any], said: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.searches.explain.computing", None)
    with pytest.raises(cp.InputError) as refused:
        cp.explain(*names, **{"workloads": ["queue"], "store": store, **_RUN, **options})
    assert said in str(refused.value)
