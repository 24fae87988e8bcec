"""The campaign: every design, both readings where they differ, every workload, in the simulated schedule, in disturbed
ones and in every legal state. Readings that promise to survive must hold everywhere: under every scheduling policy,
every second one on each workload, and on random machines. Every other reading must fail on some workload."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import counterpoint as cp
from machines import POLICIES, machine

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
    verdict: cp.Crash

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


def different_readings(design: str) -> tuple[str, ...]:
    """The readings of ``design``, one of those with the same parts."""
    same = cp.design_parts(design, "published") == cp.design_parts(design, "hardened")
    return ("hardened",) if same else ("hardened", "published")


def campaign(transactions: int, seed: int, schedules: int) -> Iterator[Outcome]:
    """Every exploration once, two at a time, and what must hold once more on a machine of its own."""
    designs = [design.name for design in cp.designs() if design.crash_consistent]
    workloads = [workload.name for workload in cp.workloads()]
    fences = {design.name for design in cp.designs() if design.form in ("plain", "annotated")}

    def explored(what: tuple[str, str, str, str, str]) -> Outcome:
        design, variant, workload, explore, on = what
        sets = ["controller.aes_units=2", f"controller.policy={on}"]
        if on == _RANDOM:
            sets = machine(random.Random(f"{seed} {design} {variant} {workload}"))
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
            explore=explore,
            shrink=False,
            blame=False,
            schedules=schedules if explore == "schedules" else None,
            states=_STATES if explore == "legal" else None,
        )
        return Outcome(design, variant, workload, explore, tuple(sets), verdict)

    readings = [(design, variant) for design in designs for variant in different_readings(design)]
    runs = [(*reading, *rest) for reading, *rest in product(readings, workloads, EXPLORE, POLICIES[:1])]
    runs = [run for run in runs if run[3] != "legal" or run[0] in fences]
    promising = [reading for reading in readings if promises(*reading)]
    for (row, reading), (column, workload) in product(enumerate(promising), enumerate(workloads)):
        # Every second of the other policies: the next reading, the next workload and the next seed have the others.
        others = (*POLICIES[1 + (row + column + seed) % 2 :: 2], _RANDOM)
        runs += [(*reading, workload, "schedule", on) for on in others]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(explored, runs)


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
