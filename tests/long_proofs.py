"""Proves the readings that must hold over longer programs than docs/proof.md, for as long as it is given.

The programs of a bound are split by their first operations. Each part of each reading is a proof of its own, and is
written down when it ends, so that another call goes on where this one stops. ``--status`` says how far it is.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import campaign
import counterpoint as cp
from counterpoint.contract.request import Variant

PREFIX = 3
"""Operations with which all programs of a part begin."""

GROUPS: Mapping[int, str] = {1: "A", 2: "ABC", 3: "ABC", 4: "ABCD"}
"""By the most lines of a program: the lines that programs have."""

_NOTHING = "none of these programs begins with"
"""What a refusal says of operations with which no program begins."""

Part = tuple[str, str, str]
"""A design, a reading, and the operations with which programs begin; none: those that are shorter."""


def main() -> int:
    """Exits with 1 at the first program that fails in a reading that must hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--operations", type=int, default=6)
    parser.add_argument("--lines", type=int, default=3)
    parser.add_argument("--design", action="append", help="prove this one only; repeatable")
    parser.add_argument("--store", type=Path, default=Path("out/long-proofs.jsonl"))
    parser.add_argument("--status", action="store_true", help="say what was proven, and prove nothing")
    arguments = parser.parse_args()
    bound = {"operations": arguments.operations, "lines": arguments.lines}
    done = read(arguments.store, bound)
    if arguments.status:
        print("\n".join(status(done)))
        return 0
    arguments.store.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * arguments.minutes
    cut_off = arguments.store.exists() and not arguments.store.read_text().endswith("\n")
    with arguments.store.open("a") as store:
        store.write("\n" if cut_off else "")
        for part in parts(bound, arguments.design):
            if part in done:
                continue
            if time.monotonic() > until:
                break
            found = prove(part, bound)
            store.write(json.dumps({**row(part, bound), **found}) + "\n")
            store.flush()
            done[part] = found
            if found["failing"]:
                print(f"{part[0]} ({part[1]}) does not hold: {found['smallest']}")
                return 1
    print("\n".join(status(done)))
    return 0


def row(part: Part, bound: Mapping[str, int]) -> dict[str, Any]:
    """What a line of the store is about: its part, the bound, and the engine, whose answer it is."""
    design, variant, beginning = part
    return {"design": design, "variant": variant, "beginning": beginning, **bound, "engine": cp.engine_build()}


def read(store: Path, bound: Mapping[str, int]) -> dict[Part, dict[str, Any]]:
    """The parts of this bound that this engine has proven; a line that was cut off is none."""
    found: dict[Part, dict[str, Any]] = {}
    for line in store.read_text().splitlines() if store.exists() else []:
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            continue
        part = one["design"], one["variant"], one["beginning"]
        if row(part, bound).items() <= one.items():
            found[part] = one
    return found


def parts(bound: Mapping[str, int], designs: list[str] | None = None) -> Iterator[Part]:
    """All parts: of each beginning, all readings that must hold, so that these advance together."""
    known = [(design, variant) for design, variant in campaign.readings() if campaign.promises(design, variant)]
    wanted = [one for one in known if designs is None or one[0] in designs]
    yield from ((*reading, "") for reading in wanted)
    if bound["operations"] < PREFIX:
        return
    operations = {reading: alphabet(*reading, bound["lines"]) for reading in wanted}
    every = dict.fromkeys(step for steps in operations.values() for step in steps)
    for beginning in product(every, repeat=PREFIX):
        for reading, steps in operations.items():
            if set(beginning) <= set(steps):
                yield (*reading, "; ".join(beginning))


def alphabet(design: str, variant: str, lines: int) -> list[str]:
    """The operations of a design's programs, each with each line that it may have."""
    # A proof of so few operations says which there are.
    steps = cp.prove(design, variant=_variant(variant), operations=2, lines=1, timings=["machine"]).steps
    places = GROUPS[lines]
    without = {"sfence", "mfence", "tx-begin", "tx-end", "wait"}
    return [one for step in steps for one in ([step] if step in without else [f"{step} {line}" for line in places])]


def prove(part: Part, bound: Mapping[str, int]) -> dict[str, Any]:
    """Proves one part."""
    design, variant, beginning = part
    operations = bound["operations"] if beginning else min(PREFIX - 1, bound["operations"])
    try:
        proof = cp.prove(
            design,
            variant=_variant(variant),
            operations=operations,
            lines=bound["lines"],
            beginning=beginning or None,
        )
    except cp.InputError as refused:
        if _NOTHING not in str(refused):
            raise
        return {"programs": 0, "crashes": 0, "failing": 0, "smallest": None}
    failing = proof.failing or len(proof.internal_errors)
    smallest = proof.counterexamples[0].reproduce if proof.counterexamples else "; ".join(proof.internal_errors)
    return {
        "programs": proof.programs,
        "crashes": proof.crash_points,
        "failing": failing,
        "smallest": smallest or None,
    }


def _variant(name: str) -> Variant:
    return "published" if name == "published" else "hardened"


def status(done: Mapping[Part, Mapping[str, Any]]) -> Iterator[str]:
    """How much was proven of each reading."""
    readings: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for (design, variant, _), found in done.items():
        readings.setdefault((design, variant), []).append(found)
    for (design, variant), known in readings.items():
        programs, crashes, failing = (sum(one[key] for one in known) for key in ("programs", "crashes", "failing"))
        told = "no program fails" if not failing else f"{failing:,} fail"
        proven = f"{design} ({variant}): {len(known):,} parts, {programs:,} programs, {crashes:,} crashes"
        yield f"{proven}; {told}"
    if not readings:
        yield "nothing was proven yet"


if __name__ == "__main__":
    sys.exit(main())
