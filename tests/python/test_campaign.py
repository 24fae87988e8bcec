"""The short campaign: every design, both readings, every workload, every kind of exploration."""

from __future__ import annotations

import pytest

import campaign
import counterpoint as cp


@pytest.fixture(scope="module")
def outcomes() -> list[campaign.Outcome]:
    return list(campaign.campaign(transactions=12, seed=1, schedules=3))


def test_what_promises_to_survive_holds_and_every_other_reading_falls(outcomes: list[campaign.Outcome]) -> None:
    assert campaign.complaints(outcomes) == []


def test_no_design_is_left_out(outcomes: list[campaign.Outcome]) -> None:
    explored = {(outcome.design, outcome.variant, outcome.workload) for outcome in outcomes}
    assert len(explored) == 20 * 2 * len(cp.workloads())
    readings = {(outcome.design, outcome.variant) for outcome in outcomes if outcome.survives}
    assert len(readings) == 15 + 5


def test_a_survivor_that_falls_is_a_complaint(outcomes: list[campaign.Outcome]) -> None:
    broken = next(outcome for outcome in outcomes if not outcome.verdict.holds)
    posed = campaign.Outcome("secpm", "hardened", broken.workload, broken.explore, broken.verdict)
    assert len(campaign.complaints([posed])) == 1
    holding = next(outcome for outcome in outcomes if outcome.verdict.holds)
    posed = campaign.Outcome("write-back", "published", holding.workload, holding.explore, holding.verdict)
    assert campaign.complaints([posed]) == ["write-back published holds on every workload, and has a fault"]
