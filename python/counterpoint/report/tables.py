"""Tables of pages: which columns hold words, and the data of charts as CSV, in links that need no network."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from markupsafe import Markup, escape

_VALUE = r"[-+<>~]?\d[\d.,]*( ?[%\wµ]{1,5})?"
_NUMBER = re.compile(rf"{_VALUE}( ± {_VALUE})?|-|")
"""A cell that is empty or a number, with or without an interval and units."""


def breakable(name: str) -> Markup:
    """A name that may break after a point or between words."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(name))))


def heads(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[tuple[Markup, bool]]:
    """The names of columns, each with whether it holds words, which lie at the left. The first column does."""
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return [
        (breakable(name), not place or not all(_NUMBER.fullmatch(str(cell)) for cell in column))
        for place, (name, column) in enumerate(zip(header, columns, strict=True))
    ]


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; what is None is empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def data_link(text: str) -> str:
    """CSV as the address of a link, which has all of it."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",.-:;=/()_~*!@$'")
