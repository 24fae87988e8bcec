"""What an attacker achieves who changes the media while power is off, as a table and in words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from .. import units
from ..results import AttackRow, Crash

_ATTACKS = {
    "spoof": "changes a bit of",
    "splice": "exchanges two",
    "replay": "puts back an older",
    "replay-with-mac": "puts back an older line with its MAC",
    "replay-with-counter": "puts back an older line with its MAC and counter block",
    "replay-page": "puts back an older page with all that protects it",
    "rollback": "puts back the whole memory",
    "erase": "makes look never written:",
}
"""What the attacker does, in words."""

_TARGETS = {
    "data": "data line",
    "counter": "counter block",
    "mac": "line of MACs",
    "tree": "tree node",
    "table": "shadow-table line",
    "several": "",
}
"""What he changes, in words."""

_OUTCOMES = (
    ("accepted", "accepted", "bold red"),
    ("late", "too late", "red"),
    ("detected", "detected", "green"),
    ("denied", "denied", "yellow"),
    ("harmless", "harmless", "dim"),
)
"""The outcomes: their attribute, the heading, the style of a count that is not zero."""


def attack_table(crash: Crash) -> Iterable[RenderableType]:
    """One line for each kind of attack: how many were made, and what became of them; then an example of each kind that
    was accepted."""
    attacks = crash.attacks
    if attacks is None:
        return
    table = Table(title="Attacks", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("the attacker", no_wrap=True, header_style="dim")
    table.add_column("attacks", justify="right", header_style="dim")
    for _, heading, _ in _OUTCOMES:
        table.add_column(heading, justify="right", header_style="dim")
    for row in attacks.rows:
        counts = [_count(getattr(row, name), style) for name, _, style in _OUTCOMES]
        table.add_row(_name(row), units.number(row.attacked), *counts)
    yield Text("")
    yield table
    yield Text("")
    yield Text(attacks.coverage)
    accepted = [row for row in attacks.rows if row.accepted and not row.power_cut]
    for row in accepted:
        yield Text("")
        yield Text(row.example.told)
    if not accepted and not any(row.accepted or row.late for row in attacks.rows):
        yield Text("No attack gave the program a wrong byte.")


def _name(row: AttackRow) -> str:
    name = f"{_ATTACKS[row.attack]} {_TARGETS[row.target]}".strip()
    return f"{name}, cuts power" if row.power_cut else name


def _count(count: int, style: str) -> Text:
    return Text(units.number(count), style=style if count else "dim")
