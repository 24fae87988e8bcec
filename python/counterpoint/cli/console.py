"""The console that tables are printed on; control characters from files, names and arguments are escaped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ..system.units import printable

_WIDTH_WITHOUT_TERMINAL = 160
"""Columns for a pipe or a file, where lines need not be broken."""


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes before widths are measured."""
        return super().render_str(printable(text, keep="\n"), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Escapes text that was not passed as a string."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, keep="\n"))


def standard_output() -> Console:
    """Standard output, see `screen.output`."""
    return _Console(
        width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL,
        highlight=False,
        markup=False,
        emoji=False,
    )
