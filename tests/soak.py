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


def queue(choice: random.Random, name: str, sizes: tuple[int, ...]) -> list[str]:
    """Size and watermarks of the write queue called ``name``."""
    entries = choice.choice(sizes)
    high = choice.randint(1, entries)
    return [
        f"controller.{name}_entries={entries}",
        f"controller.{name}_high_watermark={high}",
        f"controller.{name}_low_watermark={choice.randint(0, high - 1)}",
    ]


def log(choice: random.Random) -> list[str]:
    """The log that hardware writes: few large buckets or many small ones.

    Each has room for the records of the largest transactions that all cores may have open, one line to a record.
    """
    buckets, records = choice.choice(((16, 256), (64, 64), (256, 16), (1024, 4)))
    return [
        f"log.buckets={buckets}",
        f"log.bucket_records={records}",
        f"log.pending_entries={choice.choice((1, 2, 3, 7, 16))}",
        f"log.transactions={choice.choice((1, 2, 4, 32))}",
        f"log.cfb_latency={choice.choice(('serial', 'paper'))}",
        f"counters.organisation={choice.choice(('split', 'per-line'))}",
    ]


def machine(choice: random.Random) -> list[str]:
    """Values of a machine that is small in its own way; loads are compared with what the program expects."""
    flag = ("true", "false")
    placement = choice.choice(("same-bank", "single-bank", "cross-bank", "interleaved"))
    mappings = ["page-interleaved", "page-xor", "bank-contiguous"]
    if placement in ("single-bank", "interleaved"):
        # The others put a page's counters by its bank, and a page whose lines are interleaved has none.
        mappings.append("line-interleaved")
    return [
        *queue(choice, "wpq", (2, 3, 4, 6, 8, 16)),
        *queue(choice, "counter_wpq", (1, 2, 3, 4, 8)),
        *log(choice),
        f"controller.counter_wpq_merging={choice.choice(flag)}",
        f"controller.wpq_issue_when_idle={choice.choice(flag)}",
        f"controller.aes_units={choice.randint(1, 4)}",
        f"controller.aes_read_units={choice.randint(1, 4)}",
        f"controller.counter_cache_size={choice.choice((64, 128, 256, 512, 4096))}B",
        "controller.counter_cache_ways=1",
        f"controller.counter_placement={placement}",
        f"controller.read_queue_entries={choice.choice((1, 2, 8, 32))}",
        f"counters.minor_bits={choice.choice((1, 2, 3, 7))}",
        f"device.mapping={choice.choice(mappings)}",
        f"device.write_recovery={choice.choice(('each-write', 'row-close'))}",
        f"l2.shared={choice.choice(flag)}",
        f"l3.size={choice.choice((256, 512, 1024))}B",
        "engine.check_loads=true",
    ]


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
