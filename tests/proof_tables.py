"""The tables of docs/proof.md: what programs have, and the verdicts over all small ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

import counterpoint as cp
from counterpoint.contract.request import Variant
from counterpoint.contract.results import CounterExample, Proof
from counterpoint.system import units
from page_tables import table

OPERATIONS = 3
"""Operations of the programs of the table of verdicts, over at most two lines."""

FAULTS: Mapping[str, tuple[int, tuple[str, ...]]] = {}
"""The faults that programs of `FAULT_OPERATIONS` operations do not show, with the bound and operations that do."""
FAULT_OPERATIONS = 3


def places() -> str:
    """The lines of programs."""
    proof = cp.prove("unencrypted", operations=1, places=["ABCD", "E", "F"])
    rows = [[f"`{one.name}`", f"{one.address:#x}", one.meaning] for one in proof.places]
    return table(["line", "address", "where it lies"], rows)


def timings() -> str:
    """The timings under which programs are run."""
    rows = [
        [f"`{one.name}`", one.meaning, ", ".join(f"`{change}`" for change in one.set)]
        for one in cp.prove("secpm", operations=1).timings
    ]
    return table(["timing", "what it is", "`--set`"], rows)


def proofs() -> str:
    """The verdict of each reading of each design over all small programs."""
    head = ["design", "reading", "programs", "crashes", "failing", "smallest program that fails", "rule"]
    return table(head, (_row(proof) for proof in _proofs()))


def _proofs() -> Iterator[Proof]:
    for design in cp.designs():
        if design.crash_consistent:
            for variant in get_args(Variant):
                yield cp.prove(design.name, variant=variant, operations=OPERATIONS, nested=True)


def _row(proof: Proof) -> list[str]:
    counts = [units.number(count) for count in (proof.programs, proof.crash_points + proof.nested_points)]
    start = [f"`{proof.design}`", proof.variant, *counts]
    if proof.holds:
        return [*start, "holds", "", ""]
    return [*start, units.number(proof.failing), *_smallest(proof.counterexamples)]


def _smallest(found: Iterable[CounterExample]) -> list[str]:
    first = next(iter(found))
    return [f"`{first.program}` ({first.timing})", f"`{first.rule}`"]
