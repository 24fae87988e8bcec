"""What an attacker achieves who changes the media, as tables and in words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import Crash
from ..report.attack_words import MEANINGS, VERDICTS, Cell, conclusion, examples, matrices, watched

_STYLES = {"accepted": "bold red", "late": "red", "detected": "green", "denied": "yellow", "harmless": "dim"}
"""How a verdict is shown."""


def attack_table(crash: Crash) -> Iterable[RenderableType]:
    """The worst verdict of each class of attack on each kind of unit; then what was not detected in time."""
    attacks = crash.attacks
    if attacks is None:
        return
    for matrix in matrices(attacks):
        table = Table(title=f"Attacks: {matrix.title.lower()}", title_justify="left", title_style="bold", box=None)
        table.pad_edge = False
        table.add_column("the attacker", header_style="dim")
        for kind in matrix.kinds:
            table.add_column(kind, header_style="dim")
        for name, cells in matrix.rows:
            table.add_row(name, *map(_shown, cells))
        yield Text("")
        yield table
    yield Text("")
    for name in VERDICTS:
        yield Text(f"{VERDICTS[name]}: {MEANINGS[name]}", style="dim")
    yield Text("")
    yield Text(attacks.coverage)
    yield Text(conclusion(attacks), style="bold")
    for row in examples(attacks):
        yield Text("")
        yield Text(row.example.told)
    yield Text("")
    yield Text(watched(attacks))


def _shown(cell: Cell | None) -> Text:
    return Text("-", style="dim") if cell is None else Text(str(cell), style=_STYLES[cell.verdict])
