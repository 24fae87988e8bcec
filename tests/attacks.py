"""Every attack on every design whose memory is protected, on its own machine and on ``small``, for all workloads: what
is accepted, what is found too late, and whether anything that nobody has changed is refused. Prints a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, product

import counterpoint as cp
from counterpoint.contract.results import Crash

OUTCOMES = ("accepted", "late", "detected", "denied", "harmless")


@dataclass(frozen=True)
class Attacked:
    """What became of all attacks on one run."""

    design: str
    workload: str
    machine: str
    verdict: Crash

    @property
    def outcomes(self) -> tuple[int, ...]:
        """The number of attacks by what became of them, in the order of `OUTCOMES`."""
        assert self.verdict.attacks
        return tuple(sum(getattr(row, outcome) for row in self.verdict.attacks.rows) for outcome in OUTCOMES)

    @property
    def complaint(self) -> str | None:
        """What is wrong; None if every attack was detected in time, or had no effect."""
        accepted, late, *_ = self.outcomes
        told = [violation.explanation for violation in self.verdict.violations[:1]] + list(self.verdict.internal_errors)
        if accepted or late or told:
            return (
                f"{self.design} on {self.workload}, {self.machine}: {accepted} accepted, {late} late. {' '.join(told)}"
            )
        return None


def protected() -> list[str]:
    """The designs that promise to notice, by their parts: MACs, a tree, and a recovery that keeps them."""
    named = [design.name for design in cp.designs() if design.crash_consistent]
    return [name for name in named if protects(name)]


def protects(design: str) -> bool:
    """Whether a design has a tree, without which not every attack is noticed."""
    return "tree" in str(cp.design_parts(design, "hardened").get("integrity", ""))


def attacked(design: str, workload: str, machine: str, transactions: int, every: int, seed: int = 1) -> Attacked:
    """All attacks on one of `every` states and accesses of a run, hardened; `machine`: its name, or `default`."""
    verdict = cp.crash(
        design,
        workload,
        machine=None if machine == "default" else machine,
        transactions=transactions,
        attack="all",
        attack_every=every,
        seed=seed,
        shrink=False,
        blame=False,
    )
    return Attacked(design, workload, machine, verdict)


def campaign(designs: Sequence[str], transactions: int, every: int) -> Iterator[Attacked]:
    """Every design on every workload and both machines, two at a time."""
    workloads = [workload.name for workload in cp.workloads()]
    runs = product(designs, ("default", "small"), workloads)
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda run: attacked(run[0], run[2], run[1], transactions, every), runs)


def main() -> int:
    """Exits with 1 if an attack was not detected in time, or memory that nobody has changed was refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("designs", nargs="*", help="default: all that promise to notice")
    parser.add_argument("--transactions", type=int, default=20)
    parser.add_argument("--every", type=int, default=10)
    arguments = parser.parse_args()
    complaints = []
    print(f"{'design':22}{'machine':10}{'states':>10}{'accesses':>10}" + "".join(f"{name:>11}" for name in OUTCOMES))
    found = campaign(arguments.designs or protected(), arguments.transactions, arguments.every)
    for (design, machine), group in groupby(found, lambda one: (one.design, one.machine)):
        runs = list(group)
        states = sum(run.verdict.attacks.states for run in runs if run.verdict.attacks)
        accesses = sum(run.verdict.attacks.accesses for run in runs if run.verdict.attacks)
        sums = [sum(column) for column in zip(*(run.outcomes for run in runs), strict=True)]
        print(f"{design:22}{machine:10}{states:>10,}{accesses:>10,}" + "".join(f"{n:>11,}" for n in sums), flush=True)
        complaints += [run.complaint for run in runs if run.complaint]
    print("\n".join(complaints) or "attacks: none accepted, none late, and nothing refused that nobody had changed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
