"""The tables of docs/proof.md: what programs have, and the verdicts over all small ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import counterpoint as cp
from counterpoint.contract.request import Variant
from counterpoint.contract.results import CounterExample, Proof
from counterpoint.system import units
from counterpoint.verbs import catalogue
from page_tables import table

OPERATIONS, LINES = 3, 1
"""Bound of the programs of the table of verdicts."""

_QUICK = ("machine", "apart")
_SLOW = ("slow-writes",)
_OVERFLOWS = ("small-counters",)

_ONE_LINE_REGIONS = (
    "device.capacity=128MiB",
    "device.banks_per_rank=16",
    "wear.leveling=start-gap",
    "wear.gap_interval=1",
    "wear.regions_per_bank=65536",
)

FAULTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "staging-register": ("secpm", {}),
    "append-order": ("secpm-no-cwr", {"timings": _OVERFLOWS}),
    "counter-write-through": ("secpm", {}),
    "cwr-address-check": ("secpm", {"lines": 2, "timings": _OVERFLOWS}),
    "tweak": ("xts-tree", {"operations": 1, "timings": _OVERFLOWS}),
    "buffer-encryption": ("optane-xts", {"operations": 1, "set": catalogue.MODULES}),
    "page-modes": ("hot-xts", {"timings": _OVERFLOWS}),
    "reencryption-status": ("secpm", {"timings": _OVERFLOWS}),
    "old-minors": ("secpm", {"timings": _OVERFLOWS}),
    "done-bit-with-pair": ("secpm", {"timings": _OVERFLOWS}),
    "modified-bits": ("deuce", {}),
    "leading-counter": ("deuce", {}),
    "shredded-block": ("silent-shredder", {"operations": 1}),
    "zero-minor": ("silent-shredder", {"operations": 3, "timings": _OVERFLOWS}),
    "ready-bit": ("fca", {}),
    "counter-update": ("fca", {"operations": 3, "lines": 2}),
    "writeback-order": ("sca", {"operations": 3}),
    "global-counter": ("fca", {}),
    "log-metadata": ("hw-log", {"operations": 4}),
    "undo-hardware-log": ("hw-log", {"operations": 4}),
    "log-before-data": ("hw-log", {"operations": 4}),
    "log-counters": ("hw-log", {}),
    "iv-freshness": ("easy-pm", {"operations": 3}),
    "recent-ciphertext": ("easy-pm", {"operations": 5}),
    "counter-drain": ("eadr-cme", {}),
    "newest-copy": ("eadr-all-operation", {"operations": 3, "lines": 2}),
    "persist-buffer": ("secpb", {}),
    "cache-pads": ("eadr-cme", {}),
    "battery-encryption": ("eadr-all-operation", {}),
    "incr-counter": ("bbe", {"nested": True}),
    "incr-counter-step": ("bbe", {"nested": True}),
    "slot-pad": ("bbe", {}),
    "boot-counter": ("sepencr", {"nested": True}),
    "advance-boot-counter": ("sepencr", {"nested": True}),
    "restore-shadow": ("bbe", {}),
    "shadow-consumed": ("bbe-tree", {"operations": 1, "nested": True}),
    "shadow-root": ("bbe-tree", {}),
    "shadow-root-update": ("bbe-tree", {}),
    "shadow-verification": ("bbe-tree", {"operations": 1, "attack": ["all"]}),
    "epoch-tag": ("sepencr", {}),
    "root-update": ("bbe-tree", {}),
    "integrity-root": ("bbe-tree", {}),
    "mac-address": ("sepencr-tree", {"lines": 2, "attack": ["all"], "steps": ["store", "evict"]}),
    "mac-counter": (
        "bbe-tree",
        {"operations": 3, "lines": 2, "attack": ["all"], "steps": ["store", "evict"], "timings": _SLOW},
    ),
    "node-mac": ("strict-counter-tree", {"operations": 1, "attack": ["all"]}),
    "mac-with-data": ("rebuild", {}),
    "counter-verification": ("strict", {"attack": ["all"], "steps": ["store", "clwb"]}),
    "tree-persistence": ("strict", {}),
    "rebuild-tree": ("rebuild", {}),
    "stop-loss": ("osiris", {"operations": 3}),
    "recover-counters": ("osiris", {}),
    "restore-nodes": ("anubis-agit-read", {}),
    "restore-contents": ("anubis-asit", {}),
    "restore-stale": ("star", {}),
    "table-root": ("anubis-asit", {}),
    "partial-updates": ("thoth", {}),
    "update-lines": ("thoth", {}),
    "apply-updates": ("thoth", {}),
    "table-counters": ("phoenix", {"attack": ["all"]}),
    "bit-lines": ("star", {}),
    "shadow-entry": ("anubis-agit-plus", {}),
    "gap-registers": ("unencrypted", {"set": _ONE_LINE_REGIONS}),
}
"""By fault: a design, and the options of a proof that finds it, where they are others than those of `bound`."""

UNFOUND: Mapping[str, str] = {
    "epoch-bits": "a stamp repeats only after more boots than a proof has",
    "updates-leave": "a line of four updates is full only when five lines were written, and a program has four",
}
"""The faults that no proof of docs/proof.md finds, and why."""


def bound(more: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a proof that looks for a fault."""
    return {"operations": 2, "lines": 1, "timings": _QUICK, **more}


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
    return table(head, (_row(*found) for found in _proofs()))


def _proofs() -> Iterator[tuple[Variant, Proof]]:
    """The readings of each design with their proofs; readings with the same parts have one."""
    for design in cp.designs():
        if design.crash_consistent:
            known: list[tuple[object, Proof]] = []
            for variant in get_args(Variant):
                parts = cp.design_parts(design.name, variant)
                proof = next((one for same, one in known if same == parts), None)
                if proof is None:
                    modules = catalogue.MODULES if catalogue.needs_modules(design.name) else ()
                    proof = cp.prove(design.name, variant=variant, operations=OPERATIONS, lines=LINES, set=modules)
                    known.append((parts, proof))
                yield variant, proof


def _row(variant: Variant, proof: Proof) -> list[str]:
    counts = [units.number(count) for count in (proof.programs, proof.crash_points + proof.nested_points)]
    start = [f"`{proof.design}`", variant, *counts]
    if proof.holds:
        return [*start, "holds", "", ""]
    return [*start, units.number(proof.failing), *_smallest(proof.counterexamples)]


def _smallest(found: Iterable[CounterExample]) -> list[str]:
    first = next(iter(found))
    return [f"`{first.program}` ({first.timing})", f"`{first.rule}`"]


def faults() -> str:
    """The smallest program that shows each fault."""
    rows = []
    for fault in cp.faults():
        if fault.name in UNFOUND:
            rows.append([f"`{fault.name}`", "", "", f"none: {UNFOUND[fault.name]}", ""])
            continue
        design, more = FAULTS[fault.name]
        proof = cp.prove(design, fault=fault.name, **bound(more))
        attack = ", attack" if more.get("attack") else ""
        again = ", power fails again" if more.get("nested") else ""
        options = bound(more)
        tried = f"{units.count_of(options['operations'], 'operation')}, {units.count_of(options['lines'], 'line')}"
        rows.append([f"`{fault.name}`", f"`{design}`", f"{tried}{attack}{again}", *_smallest(proof.counterexamples)])
    return table(["fault", "design", "bound", "smallest program that fails", "rule"], rows)
