"""The campaign: every design, both readings where they differ, in the simulated schedule, in disturbed ones and in
every legal state. Readings that promise to survive must hold everywhere: on every workload, under every scheduling
policy and on random machines. Every other reading must fail on some workload."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import call
from pathlib import Path

import counterpoint as cp
from counterpoint.contract.results import Crash
from machines import POLICIES, fitting, machine, scheduled

VERDICTS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (Path(__file__).parents[1] / "crates/engine/tests/verdicts.toml").read_text()
)
"""What each reading of each design must do: `holds`, `fails` or `untested`."""

EXPLORE = ("schedule", "schedules", "legal")
_RANDOM = "random"
"""A machine of its own, instead of a policy on ``small``."""

_STATES = 300
"""Classes of legal states judged at a fence."""


@dataclass(frozen=True)
class Outcome:
    """The result of one exploration."""

    design: str
    variant: str
    workload: str
    explore: str
    sets: tuple[str, ...]
    verdict: Crash

    @property
    def survives(self) -> bool:
        """Whether this reading of the design promises to hold."""
        return promises(self.design, self.variant)

    def __str__(self) -> str:
        broken = sorted({violation.rule for violation in self.verdict.violations})
        told = [", ".join(broken) or "holds", *self.verdict.internal_errors]
        run = f"{self.design} {self.variant} on {self.workload}, {self.explore}, {' '.join(self.sets)}"
        return f"{run}: {'; '.join(told)}"


def promises(design: str, variant: str) -> bool:
    """Whether this reading of ``design`` promises to hold."""
    return VERDICTS[design][variant] == "holds"


def readings() -> list[tuple[str, str]]:
    """The readings of all designs that promise something, one of those with the same parts."""
    found = []
    for design in cp.designs():
        same = cp.design_parts(design.name, "published") == cp.design_parts(design.name, "hardened")
        if design.crash_consistent:
            found += [(design.name, variant) for variant in (("hardened",) if same else ("hardened", "published"))]
    return found


def ways(design: str) -> list[tuple[str, str]]:
    """How a design is explored: what is tried, and the scheduling policy, or a machine at random."""
    found = [("schedules", POLICIES[0]), *(("schedule", policy) for policy in (*POLICIES[1:], _RANDOM))]
    if cp.design(design).form in ("plain", "annotated"):  # programs that fence
        found.append(("legal", POLICIES[0]))
    return found


def campaign(transactions: int, seed: int, schedules: int, every: int = 1) -> Iterator[Outcome]:
    """Explores two runs at a time.

    What must hold is explored in each of its `ways` on each workload, or in one of `every`: the next reading, workload
    and seed have the others. What must fail is explored until it fails.
    """
    workloads = [workload.name for workload in cp.workloads()]

    def explored(design: str, variant: str, workload: str, explore: str, on: str) -> Outcome:
        sets = ["controller.aes_units=2", *scheduled(on)]
        if on == _RANDOM:
            sets = machine(random.Random(f"{seed} {design} {variant} {workload}"))
        sets = fitting(design, sets)
        verdict = cp.crash(
            design,
            workload,
            variant=variant,  # type: ignore[arg-type]
            machine="small",
            set=sets,
            tx_size=128,
            footprint="16KiB",
            transactions=transactions,
            seed=seed,
            explore=explore,  # type: ignore[arg-type]
            shrink=False,
            blame=False,
            schedules=schedules if explore == "schedules" else None,
            states=_STATES if explore == "legal" else None,
        )
        return Outcome(design, variant, workload, explore, tuple(sets), verdict)

    def alone(*run: str) -> list[Outcome]:
        return [explored(*run)]

    def until_it_fails(row: int, design: str, variant: str) -> list[Outcome]:
        outcomes: list[Outcome] = []
        first = row % len(workloads)
        for (explore, on), workload in product(ways(design), workloads[first:] + workloads[:first]):
            outcomes.append(explored(design, variant, workload, explore, on))
            if not outcomes[-1].verdict.holds:
                break
        return outcomes

    tasks: list[Callable[[], list[Outcome]]] = []
    for row, (design, variant) in enumerate(readings()):
        if not promises(design, variant):
            tasks.append(partial(until_it_fails, row, design, variant))
            continue
        for column, workload in enumerate(workloads):
            for way in ways(design)[(row + column + seed) % every :: every]:
                tasks.append(partial(alone, design, variant, workload, *way))
    with ThreadPoolExecutor(2) as pool:
        for outcomes in pool.map(call, tasks):
            yield from outcomes


def complaints(outcomes: list[Outcome]) -> list[str]:
    """The results that are not as promised."""
    wrong = [str(outcome) for outcome in outcomes if outcome.survives and not outcome.verdict.holds]
    wrong += [str(outcome) for outcome in outcomes if outcome.verdict.internal_errors]
    readings = {(outcome.design, outcome.variant): outcome.survives for outcome in outcomes}
    for (design, variant), survives in readings.items():
        of_reading = [outcome for outcome in outcomes if (outcome.design, outcome.variant) == (design, variant)]
        if not survives and all(outcome.verdict.holds for outcome in of_reading):
            wrong.append(f"{design} {variant} holds on every workload, and has a fault")
    return wrong
