"""The console that tables are printed on; control characters from files, names and arguments are escaped.

Where a table of numbers is wider than the terminal, words are broken into lines, and what does not fit then stands in
further tables with the same first column: a number is never cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from ..system.units import printable

_WIDTH_WITHOUT_TERMINAL = 160
"""Columns for a pipe or a file, where lines need not be broken."""

_PADDING = (0, 1, 0, 1)
_GAP = 2
"""How tables of numbers are padded, so that this lies between their columns."""

_WORDS_MIN, _WORD_MAX = 16, 24
"""What a column of words has at least, if its lines are as long; after how much a long word is broken."""


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        """Escapes before widths are measured."""
        return super().render_str(printable(text, keep="\n"), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Escapes text that was not passed as a string, and fits tables to the width."""
        if isinstance(renderable, Table) and _has_numbers(renderable):
            for part in self._fitted(renderable, options or self.options):
                yield from self._escaped(part, options)
        else:
            yield from self._escaped(renderable, options)

    def _escaped(self, renderable: RenderableType, options: ConsoleOptions | None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text, keep="\n"))

    def _fitted(self, table: Table, options: ConsoleOptions) -> list[Table]:
        """A table as it is where it fits, else as several with columns that do."""
        room = options.max_width
        needs = [self._needed(column, options) for column in table.columns]
        if _together(most for _, most in needs) <= room:
            return [table]
        needs[0] = min(needs[0][0], room // 2), needs[0][1]
        first, *others = range(len(needs))
        parts: list[list[int]] = [[first]]
        for place in others:
            if len(parts[-1]) > 1 and _together(needs[one][0] for one in (*parts[-1], place)) > room:
                parts.append([first])
            parts[-1].append(place)
        return [_part(table, part, [needs[place] for place in part], room) for part in parts]

    def _needed(self, column: Column, options: ConsoleOptions) -> tuple[int, int]:
        """The least and the most columns that a column needs; numbers, which lie at the right, are whole."""
        wide = options.update(max_width=10_000)
        cells = [Measurement.get(self, wide, cell) for cell in column.cells]
        head = Measurement.get(self, wide, column.header)
        widest = max((cell.maximum for cell in cells), default=0)
        most = max(widest, head.maximum)
        if column.justify == "right" or column.no_wrap:
            return max(widest, head.minimum), most
        longest = max((cell.minimum for cell in cells), default=0)
        return max(min(longest, _WORD_MAX), head.minimum, min(widest, _WORDS_MIN)), most


def _has_numbers(table: Table) -> bool:
    """Whether a table is one of numbers, without lines and title, as those of results are."""
    plain = table.box is None and not table.pad_edge and table.title is None and table.padding == _PADDING
    return plain and any(column.justify == "right" for column in table.columns)


def _together(widths: Iterable[int]) -> int:
    """The width of columns side by side."""
    known = list(widths)
    return sum(known) + _GAP * (len(known) - 1)


def _part(table: Table, places: Sequence[int], needs: Sequence[tuple[int, int]], room: int) -> Table:
    """Some columns of a table, which have what they need, and in turn what is left."""
    part = Table(box=None, pad_edge=False, show_header=table.show_header, header_style=table.header_style)
    left = room - _together(least for least, _ in needs)
    for place, (least, most) in zip(places, needs, strict=True):
        column = table.columns[place]
        more = min(most - least, max(0, left))
        left -= more
        part.add_column(
            column.header,
            justify=column.justify,
            style=column.style,
            header_style=column.header_style,
            width=least + more,
            overflow="fold",
        )
    cells = [list(table.columns[place].cells) for place in places]
    for number, row in enumerate(table.rows):
        part.add_row(*(column[number] for column in cells), style=row.style, end_section=row.end_section)
    return part


def standard_output() -> Console:
    """Standard output, see `screen.output`."""
    return _Console(
        width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL,
        highlight=False,
        markup=False,
        emoji=False,
    )
