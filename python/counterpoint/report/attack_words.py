"""What an attacker does and what becomes of it, in words, and attacks as tables of verdicts by class and by what is
changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..contract.results import AttackRow, Attacks
from ..system import units

CLASSES = {
    "spoof": "changes a bit",
    "splice": "exchanges two",
    "replay": "puts back an older one",
    "replay-with-mac": "puts back a line with its MAC",
    "replay-with-counter": "puts back a line with its MAC and its counter",
    "replay-page": "puts back a page with all that protects it",
    "replay-subtree": "puts back a tree node with all below it",
    "rollback": "puts back the whole memory",
    "erase": "makes it look never written",
}
"""What the attacker does."""

KINDS = {
    "data": "data",
    "mac": "MACs",
    "counter": "counters",
    "tree": "tree nodes",
    "table": "shadow table",
    "shadow": "shadow cache",
    "several": "several together",
}
"""What the attacker changes."""

MOMENTS = {
    "power-off": "while power is off",
    "before-cut-boot": "while power is off, and cuts power again during the boot",
    "after-cut-boot": "after a boot during which power was cut again",
    "after-restart": "after power has failed again in the next power cycle",
    "running": "while the machine runs",
}
"""When that is."""

VERDICTS = {
    "accepted": "not detected",
    "late": "detected late",
    "detected": "detected",
    "denied": "denial only",
    "harmless": "no effect",
}
"""What becomes of it, the worst first."""

MEANINGS = {
    "accepted": "the program is given bytes that it did not store, and no check fails",
    "late": "a check fails, but only after the program has used wrong bytes",
    "detected": "a check fails before a wrong byte is used",
    "denied": "every byte would have been right, yet a check fails: the attacker has made memory unavailable",
    "harmless": "what was changed is not used, is written again or is restored: every byte is right",
}
"""The verdicts, explained."""


@dataclass(frozen=True, slots=True)
class Cell:
    """All attacks of a class on one kind of unit.

    Attributes:
        verdict: the worst verdict.
        count: how many attacks had it.
        attacked: how many there were.
    """

    verdict: str
    count: int
    attacked: int

    def __str__(self) -> str:
        """The verdict, and how many attacks had it."""
        count = "" if self.count == self.attacked else f"{units.number(self.count)} of "
        return f"{VERDICTS[self.verdict]}, {count}{units.number(self.attacked)}"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Verdicts by class of attack, in rows, and by what is changed, in columns.

    Attributes:
        title: when the attacker makes these changes.
        kinds: the names of the columns.
        rows: what the attacker does, and a cell for each column, None where that was not done.
    """

    title: str
    kinds: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]


def matrices(attacks: Attacks) -> Iterator[Matrix]:
    """A table for a machine without power and one for a machine that runs, as far as each was attacked."""
    for title, running in (("Power is off", False), ("The machine runs", True)):
        rows = [row for row in attacks.rows if (row.when == "running") is running]
        if not rows:
            continue
        kinds = [kind for kind in KINDS if any(row.target == kind for row in rows)]
        classes = [name for name in CLASSES if any(row.attack == name for row in rows)]

        def cells(name: str, rows: list[AttackRow] = rows, kinds: list[str] = kinds) -> list[Cell | None]:
            return [_cell([row for row in rows if row.attack == name and row.target == kind]) for kind in kinds]

        yield Matrix(title, [KINDS[kind] for kind in kinds], [(CLASSES[name], cells(name)) for name in classes])


def _cell(rows: Sequence[AttackRow]) -> Cell | None:
    if not rows:
        return None
    worst = next(name for name in VERDICTS if any(getattr(row, name) for row in rows))
    return Cell(worst, sum(getattr(row, worst) for row in rows), sum(row.attacked for row in rows))


def conclusion(attacks: Attacks) -> str:
    """What the attacker has achieved, in a sentence or two."""
    accepted, late, detected, denied = (
        sum(getattr(row, name) for row in attacks.rows) for name in ("accepted", "late", "detected", "denied")
    )
    made = units.count_of(attacks.attacked, "attack")
    if accepted:
        return (
            f"Of {made}, {units.number(accepted)} were not detected: "
            "the program was given bytes that it had not stored, and nothing noticed."
        )
    if late:
        return f"Of {made}, {units.number(late)} were detected late, after the program had used wrong bytes."
    return (
        f"No attack gave the program a wrong byte: of {made}, {units.number(detected)} were detected before anything "
        f"wrong was used, {units.number(denied)} made memory unavailable, and the others had no effect."
    )


def watched(attacks: Attacks) -> str:
    """What whoever only watches the bus has learned, or what modules store, in a sentence or two."""
    seen = attacks.watched
    blocks = f"{units.count_of(seen.blocks, 'block')} of 16 bytes"
    crossed = "modules stored" if seen.stored else "crossed the bus"
    if seen.example is None:
        return f"Of {blocks} that {crossed}, none had the bytes of an earlier one at its address."
    return (
        f"Of {blocks} that {crossed}, {units.number(seen.repeated)} had the bytes of an earlier one at their "
        f"address: whoever watches sees where a value comes back. The first: {seen.example.told}."
    )


def examples(attacks: Attacks) -> Iterator[AttackRow]:
    """The first attack of each class that was not detected in time; if there are none, one that was detected at each
    moment."""
    told = [row for row in attacks.rows if row.verdict in ("accepted", "late")]
    chosen = told or [row for row in attacks.rows if row.verdict == "detected"]
    seen: set[tuple[str, ...]] = set()
    for row in chosen:
        key = (row.attack, row.target) if told else (row.when,)
        if key not in seen:
            seen.add(key)
            yield row
