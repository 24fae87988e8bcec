"""Crashes designs that must survive, with a new seed each time, until time is up or one does not survive."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

import counterpoint as cp

DESIGNS = ("secpm", "secpm-no-cwr")
TX_SIZES = (64, 128, 256, 1024)


def main() -> int:
    """Exits with 1 at the first violation, with the command that shows it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--first-seed", type=int, default=1)
    arguments = parser.parse_args()
    workloads = [workload.name for workload in cp.workloads()]
    until = time.monotonic() + 60 * arguments.minutes
    crashes = 0
    for seed in itertools.count(arguments.first_seed):
        choice = random.Random(seed)
        design, workload = choice.choice(DESIGNS), choice.choice(workloads)
        verdict = cp.crash(
            design, workload, machine="small", tx_size=choice.choice(TX_SIZES), transactions=50, seed=seed
        )
        crashes += verdict.crash_points
        if not verdict.holds:
            first = verdict.violations[0]
            print(f"{design} on {workload} does not hold: {first.explanation}\n{first.reproduce}")
            return 1
        if time.monotonic() > until:
            print(f"{seed - arguments.first_seed + 1} runs, {crashes:,} crashes, no violation")
            return 0
    raise AssertionError("there is always a next seed")


if __name__ == "__main__":
    sys.exit(main())
