"""Files that commands write beside what they print: tables for other programs, and charts for papers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..system.files import Table, check_file, prepare_folder, write_table
from . import screen

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import LineRun, Run


class Files:
    """The files that a command is asked for; that they can be written is checked at once."""

    def __init__(self, csv: Path | None, parquet: Path | None, figures: Path | None = None) -> None:
        """Checks them.

        Raises:
            InputError: one of them cannot be written.
        """
        asked: dict[Table, Path | None] = {"csv": csv, "parquet": parquet}
        self._tables = {form: check_file(path) for form, path in asked.items() if path is not None}
        self._figures = None if figures is None else prepare_folder(figures)

    @property
    def asked(self) -> bool:
        """Whether there is a file to write."""
        return bool(self._tables) or self._figures is not None

    def write(
        self,
        frame: Callable[[], pl.DataFrame],
        *,
        drawn: Callable[[], Run | LineRun] | None = None,
        charts: bool = True,
    ) -> None:
        """Writes what was asked for, and says where it is.

        Args:
            frame: gives the table of results; called only if something was asked for.
            drawn: gives what charts are drawn of, if not of the table.
            charts: whether there is anything to draw.
        """
        if not self.asked:
            return
        rows = frame()
        for form, path in self._tables.items():
            screen.note(f"table: {write_table(rows, path, form)}")
        if self._figures is not None and charts:
            from ..report import write_figures

            note_figures(write_figures(rows if drawn is None else drawn(), self._figures), self._figures)


def note_figures(paths: list[Path], folder: Path) -> None:
    """Says where charts are, or that there are none."""
    screen.note(f"figures: {folder}" if paths else "no figures: there is nothing to draw")
