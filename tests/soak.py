"""Fuzzes every reader, runs the long campaign over all designs, then crashes those that must survive, on a new small
machine each time, and attacks those that must notice, until time is up or one fails. The campaign comes again with
another seed after so many machines. The last line has the figures of all of it."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event

import attacks
import campaign
import counterpoint as cp
from counterpoint.contract.results import Crash
from machines import fitting, machine

DESIGNS = tuple(
    name for name in sorted({*campaign.VERDICTS} - {"unencrypted", "adr"}) if campaign.promises(name, "hardened")
)
TX_SIZES = (64, 128, 256, 512, 1024)

NESTED_TRANSACTIONS = 4
"""Transactions of runs in which power fails again at every step of every recovery."""

DEEP_POINTS = 8
"""Crashes that are followed by more than one during their recoveries."""

ATTACK_EVERY = 20
"""Of so many states and accesses of a run that is attacked, one is."""

CAMPAIGN_EVERY = 400
"""Machines between two campaigns."""

FUZZ = Path(__file__).parents[1] / "crates/engine/fuzz/run.sh"
_CLEAN = re.compile(r"^[a-z]+: (\d+) inputs in \d+ s, clean;")

CAMPAIGN_TRANSACTIONS = 60
CAMPAIGN_SCHEDULES = 6


def main() -> int:
    """Exits with 1 if a reader does not survive an input, or at the first violation, with what shows it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--fuzz-seconds", type=int, default=60, help="for each reader; 0: none is fuzzed")
    parser.add_argument("--design", action="append", help="crash this one only, a name or a file; repeatable")
    parser.add_argument("--designs", type=Path, help="crash those of a folder, as search writes it")
    parser.add_argument("--set", action="append", default=[], help="a value of every machine, such as the log's")
    parser.add_argument("--crash-points", type=int, help="crash each of these so often, however long that takes")
    arguments = parser.parse_args()
    designs = arguments.design or []
    if arguments.designs:
        designs += [str(path) for path in sorted(arguments.designs.glob("*.toml")) if ".machine" not in path.suffixes]
    if designs:
        return own(designs, arguments.set, arguments.first_seed, arguments.crash_points, arguments.minutes)
    fuzzed = fuzz(arguments.fuzz_seconds) if arguments.fuzz_seconds else "no reader fuzzed"
    if fuzzed is None:
        return 1
    until = time.monotonic() + 60 * arguments.minutes
    crashes = attacked = 0
    for seed in itertools.count(arguments.first_seed):
        if (seed - arguments.first_seed) % CAMPAIGN_EVERY == 0:
            outcomes = list(campaign.campaign(CAMPAIGN_TRANSACTIONS, seed, CAMPAIGN_SCHEDULES))
            complaints = campaign.complaints(outcomes)
            crashes += sum(outcome.verdict.crash_points for outcome in outcomes)
            print(f"campaign with seed {seed}: {len(outcomes)} explorations, {len(complaints)} complaints", flush=True)
            if complaints:
                print("\n".join(complaints))
                return 1
        choice = random.Random(seed)
        verdict = crash(choice.choice(DESIGNS), choice, seed)
        crashes += verdict.crash_points + verdict.nested_points
        attacked += verdict.attacks.attacked if verdict.attacks else 0
        if failed(verdict):
            return 1
        if time.monotonic() > until:
            machines = seed - arguments.first_seed + 1
            print(f"soak: {fuzzed}; {machines:,} machines, {crashes:,} crashes, {attacked:,} attacks; no failure")
            return 0
    raise AssertionError("there is always a next seed")


def own(designs: Sequence[str], sets: Sequence[str], first_seed: int, points: int | None, minutes: float) -> int:
    """Crashes each of some designs until it has been so often, or all of them until time is up."""
    until = time.monotonic() + 60 * minutes if points is None else math.inf
    wanted = math.inf if points is None else points
    broken = Event()

    def crashes(design: str) -> int:
        count = 0
        for seed in itertools.count(first_seed):
            if count >= wanted or time.monotonic() > until or broken.is_set():
                break
            verdict = crash(design, random.Random(seed), seed, sets, workers=1)
            count += verdict.crash_points + verdict.nested_points
            if failed(verdict):
                broken.set()
        return count

    with ThreadPoolExecutor(os.cpu_count() if points else len(designs)) as pool:
        ended = {pool.submit(crashes, one): one for one in designs}
        for one in as_completed(ended):
            if not broken.is_set():
                print(f"soak: {ended[one]}: {one.result():,} crashes; no failure", flush=True)
    return int(broken.is_set())


def crash(design: str, choice: random.Random, seed: int, sets: Sequence[str] = (), workers: int | None = None) -> Crash:
    """Crashes a design in a workload, on a machine and in a way that are chosen at random."""
    workload = choice.choice([workload.name for workload in cp.workloads()])
    nested = choice.choice((0, 0, 0, 0, 0, 0, 1, 2))
    explore = choice.choice(("schedule", "schedules") if nested else campaign.EXPLORE)
    cores = choice.choice((1, 1, 2, 3))
    attack = choice.choice((None, "all")) if attacks.protects(design) and explore == "schedule" and not nested else None
    return cp.crash(
        design,
        workload,
        machine="small",
        set=[*fitting(design, machine(choice)), *sets],
        tx_size=choice.choice(TX_SIZES),
        transactions=NESTED_TRANSACTIONS if nested else 50,
        nested_depth=nested or None,
        points=DEEP_POINTS if nested > 1 else None,
        explore=explore,  # type: ignore[arg-type]
        schedules=3 if explore == "schedules" else None,
        cores=cores,
        attack=attack,
        attack_every=ATTACK_EVERY if attack else None,
        shrink=False,
        blame=False,
        footprint="128KiB",
        seed=seed,
        workers=workers,
    )


def failed(verdict: Crash) -> bool:
    """Whether a design does not hold; says so, and what shows it again."""
    if verdict.holds:
        return False
    told = [f"{one.explanation}\n{one.reproduce}" for one in verdict.violations[:1]] or list(verdict.internal_errors)
    print(f"{verdict.design} on {verdict.workload} does not hold: {told[0]}")
    return True


def fuzz(seconds: int) -> str | None:
    """Fuzzes every reader for this time; returns the number of inputs, or None if a reader did not survive one."""
    inputs = []
    with subprocess.Popen(
        [FUZZ], stdout=subprocess.PIPE, text=True, env={**os.environ, "FUZZ_SECONDS": f"{seconds}"}
    ) as run:
        assert run.stdout
        for line in run.stdout:
            print(line, end="", flush=True)
            inputs += [int(clean[1]) for clean in [_CLEAN.match(line)] if clean]
    return f"{len(inputs)} readers, {sum(inputs):,} inputs" if run.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
