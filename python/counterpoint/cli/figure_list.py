"""Figures with their names, in groups, on the screen."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from ..system import units


class Figures:
    """Names and values in groups."""

    def __init__(self) -> None:
        """No figures yet."""
        self.table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        self.table.add_column(no_wrap=True)
        self.table.add_column()
        self._begun = ""

    def group(self, name: str) -> None:
        """Begins a group; it is shown if anything is added to it."""
        self._begun = name

    def add(self, name: str, value: str) -> None:
        """Adds a figure, if it has a value."""
        if value == units.NOTHING:
            return
        if self._begun:
            self.table.add_row("")
            self.table.add_row(Text(self._begun, style="bold"))
            self._begun = ""
        self.table.add_row(f"  {name}", value)
