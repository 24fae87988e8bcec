"""The short campaign: every design and reading, every workload, every kind of exploration."""

from __future__ import annotations

import pytest

import campaign
import counterpoint as cp
from counterpoint.verbs import catalogue
from machines import POLICIES


@pytest.fixture(scope="module")
def outcomes() -> list[campaign.Outcome]:
    return list(campaign.campaign(transactions=8, seed=1, schedules=2, every=3))


def test_promising_readings_hold_and_all_others_fail(outcomes: list[campaign.Outcome]) -> None:
    assert campaign.complaints(outcomes) == []


def test_no_design_is_left_out(outcomes: list[campaign.Outcome]) -> None:
    assert [design.name for design in cp.designs()] == list(campaign.VERDICTS)
    kinds = {(name, kind) for name, verdicts in campaign.VERDICTS.items() for kind in verdicts.values()}
    explored = {(one.design, "holds" if one.survives else "fails") for one in outcomes}
    assert explored == {(name, kind) for name, kind in kinds if kind != "untested"}
    assert {(one.design, one.variant) for one in outcomes} == {*campaign.readings()}


def test_promising_readings_are_explored_on_every_workload_and_in_every_way(outcomes: list[campaign.Outcome]) -> None:
    workloads = {workload.name for workload in cp.workloads()}
    holding = [one for one in outcomes if one.survives]
    for design, variant in {(one.design, one.variant) for one in holding}:
        own = [one for one in holding if (one.design, one.variant) == (design, variant)]
        assert {one.workload for one in own} == workloads
        assert {one.explore for one in own} == {explore for explore, _ in campaign.ways(design)}
        policies = {policy for one in own for policy in POLICIES if f"controller.policy={policy}" in one.sets[:2]}
        assert policies == ({"continuous"} if catalogue.needs_modules(design) else set(POLICIES))


def test_promising_readings_run_on_machines_of_size_one_with_a_slow_device(outcomes: list[campaign.Outcome]) -> None:
    corners = {
        "controller.counter_cache_size=64B",
        "controller.counter_wpq_entries=1",
        "controller.wpq_entries=2",
        "device.t_wr_ns=10000",
    }
    on_machines = [outcome for outcome in outcomes if len(outcome.sets) > 2]
    assert {one.design for one in on_machines} == {one.design for one in outcomes if one.survives}
    for corner in corners:
        assert sum(corner in one.sets for one in on_machines) >= 12, corner
    assert any(corners <= {*one.sets} for one in on_machines), "no machine is that tight in everything"


def test_a_survivor_that_falls_is_a_complaint(outcomes: list[campaign.Outcome]) -> None:
    broken = next(outcome for outcome in outcomes if not outcome.verdict.holds)
    posed = campaign.Outcome("secpm", "hardened", broken.workload, broken.explore, (), broken.verdict)
    assert len(campaign.complaints([posed])) == 1
    holding = next(outcome for outcome in outcomes if outcome.verdict.holds)
    posed = campaign.Outcome("write-back", "published", holding.workload, holding.explore, (), holding.verdict)
    assert campaign.complaints([posed]) == ["write-back published holds on every workload, and has a fault"]
