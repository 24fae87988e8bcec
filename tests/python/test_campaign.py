"""The short campaign: every design and reading, every workload, every kind of exploration."""

from __future__ import annotations

import pytest

import campaign
import counterpoint as cp
from machines import POLICIES


@pytest.fixture(scope="module")
def outcomes() -> list[campaign.Outcome]:
    return list(campaign.campaign(transactions=12, seed=1, schedules=3))


def test_what_promises_to_survive_holds_and_every_other_reading_falls(outcomes: list[campaign.Outcome]) -> None:
    assert campaign.complaints(outcomes) == []


def test_no_design_is_left_out(outcomes: list[campaign.Outcome]) -> None:
    explored = {(outcome.design, outcome.variant, outcome.workload) for outcome in outcomes}
    assert len(explored) == (37 + 16) * len(cp.workloads()), "16 designs have readings that differ"
    readings = {(outcome.design, outcome.variant) for outcome in outcomes if outcome.survives}
    assert len(readings) == 32


def test_what_holds_also_runs_on_machines_of_size_one_with_a_slow_device(outcomes: list[campaign.Outcome]) -> None:
    corners = {
        "controller.counter_cache_size=64B",
        "controller.counter_wpq_entries=1",
        "controller.wpq_entries=2",
        "device.t_wr_ns=10000",
    }
    on_machines = [outcome for outcome in outcomes if len(outcome.sets) > 2]
    holding = {(outcome.design, outcome.variant, outcome.workload) for outcome in outcomes if outcome.survives}
    assert {(outcome.design, outcome.variant, outcome.workload) for outcome in on_machines} == holding
    for corner in corners:
        designs = {outcome.design for outcome in on_machines if corner in outcome.sets}
        assert len(designs) >= 12, corner
    at_once = [outcome for outcome in outcomes if len(corners & set(outcome.sets)) == len(corners)]
    assert at_once, "no machine is that tight in everything"


def test_what_holds_runs_under_every_scheduling_policy(outcomes: list[campaign.Outcome]) -> None:
    holding = {(outcome.design, outcome.variant, outcome.workload) for outcome in outcomes if outcome.survives}
    readings = {(design, variant) for design, variant, _ in holding}
    for policy in POLICIES:
        under = {
            (outcome.design, outcome.variant, outcome.workload)
            for outcome in outcomes
            if outcome.survives and f"controller.policy={policy}" in outcome.sets
        }
        assert {(design, variant) for design, variant, _ in under} == readings, policy
        assert 2 * len(under) >= len(holding), policy


def test_a_survivor_that_falls_is_a_complaint(outcomes: list[campaign.Outcome]) -> None:
    broken = next(outcome for outcome in outcomes if not outcome.verdict.holds)
    posed = campaign.Outcome("secpm", "hardened", broken.workload, broken.explore, (), broken.verdict)
    assert len(campaign.complaints([posed])) == 1
    holding = next(outcome for outcome in outcomes if outcome.verdict.holds)
    posed = campaign.Outcome("write-back", "published", holding.workload, holding.explore, (), holding.verdict)
    assert campaign.complaints([posed]) == ["write-back published holds on every workload, and has a fault"]
