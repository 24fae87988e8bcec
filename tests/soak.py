"""Runs the long campaign over all designs, then crashes those that must survive, on a new small machine each time,
until time is up or one does not survive. The campaign comes again with another seed after so many machines."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time

import campaign
import counterpoint as cp
from machines import machine

DESIGNS = ("eadr", *campaign.SURVIVORS)
TX_SIZES = (64, 128, 256, 512, 1024)

NESTED_TRANSACTIONS = 4
"""So few are run where power fails again at every step of every recovery."""

DEEP_POINTS = 40
"""So few crashes are followed by more than one during their recoveries."""

CAMPAIGN_EVERY = 400
"""Machines between two campaigns."""

CAMPAIGN_TRANSACTIONS = 60
CAMPAIGN_SCHEDULES = 6


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
        if (seed - arguments.first_seed) % CAMPAIGN_EVERY == 0:
            outcomes = list(campaign.campaign(CAMPAIGN_TRANSACTIONS, seed, CAMPAIGN_SCHEDULES))
            complaints = campaign.complaints(outcomes)
            crashes += sum(outcome.verdict.crash_points for outcome in outcomes)
            print(f"campaign with seed {seed}: {len(outcomes)} explorations, {len(complaints)} complaints", flush=True)
            if complaints:
                print("\n".join(complaints))
                return 1
        design, workload = choice.choice(DESIGNS), choice.choice(workloads)
        nested = choice.choice((0, 0, 0, 0, 0, 0, 1, 2))
        explore = choice.choice(("schedule", "schedules") if nested else campaign.EXPLORE)
        cores = choice.choice((1, 1, 2, 3))
        verdict = cp.crash(
            design,
            workload,
            machine="small",
            set=machine(choice),
            tx_size=choice.choice(TX_SIZES),
            transactions=NESTED_TRANSACTIONS if nested else 50,
            nested_depth=nested or None,
            points=DEEP_POINTS if nested > 1 else None,
            explore=explore,
            schedules=3 if explore == "schedules" else None,
            cores=cores,
            shrink=False,
            blame=False,
            footprint="128KiB",
            seed=seed,
        )
        crashes += verdict.crash_points + verdict.nested_points
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
