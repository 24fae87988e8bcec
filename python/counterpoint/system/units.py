"""Figures and texts in readable form."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TypeGuard

NOTHING = "-"
"""Stands for a value that there is not."""

_SIZES = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
_TIMES = {"s": 1e9, "ms": 1e6, "µs": 1e3}
_LONG_TIMES = {"h": 3.6e12, "min": 6e10}

SCALES: dict[str, float] = {**_SIZES, **_TIMES, **_LONG_TIMES, "%": 0.01}
"""What one of each unit is in bytes, in nanoseconds or as a share; of units that are not here, 1."""

_QUOTED_MAX = 100
_NOT_ASCII = re.compile("[^\n -~]")


def _known(value: float | None) -> TypeGuard[float]:
    """Whether there is a value: a share of nothing is none."""
    return value is not None and math.isfinite(value)


def size(value: object) -> str:
    """Bytes in the largest binary unit that leaves a whole number."""
    if not isinstance(value, int):
        return str(value)
    for unit, scale in _SIZES.items():
        if value and value % scale == 0:
            return f"{value // scale} {unit}"
    return f"{value} B"


def number(value: float | None) -> str:
    """A count, in groups of three digits."""
    return f"{value:,.0f}" if _known(value) else NOTHING


def figure(value: float | None) -> str:
    """A figure of any kind, to the digits that tell two of them apart."""
    if not _known(value):
        return NOTHING
    return number(value) if abs(value) >= 1000 or float(value).is_integer() else f"{value:.4g}"


def count_of(value: object, noun: str, plural: str = "s") -> str:
    """A count and what is counted."""
    shown = number(value) if isinstance(value, int) else str(value)
    return f"{shown} {noun}{'' if value == 1 else plural}"


def name_of(name: str) -> str:
    """A machine or a workload in a line: a file goes by its file name."""
    return printable(PurePath(name).name)


def machines(names: Iterable[str]) -> str:
    """The machine of what follows, or that it has several."""
    known = list(dict.fromkeys(names))
    shown = ", ".join(map(name_of, known))
    return f"machine {shown}" if len(known) == 1 else f"machines differ: {shown}"


def ratio(value: float | None) -> str:
    """A ratio, to two decimals."""
    return f"{value:.2f}" if _known(value) else NOTHING


def percent(value: float | None) -> str:
    """A share between 0 and 1 as a percentage, never rounded up to 100 % or down to 0 %."""
    if not _known(value):
        return NOTHING
    if 0 < value < 0.001:
        return "<0.1 %"
    if 0.999 < value < 1:
        return ">99.9 %"
    return f"{100 * value:.1f} %"


def time(nanoseconds: float | None) -> str:
    """A duration in the unit that leaves one to three digits before the point."""
    if not _known(nanoseconds):
        return NOTHING
    for unit, scale in _TIMES.items():
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.2f} {unit}"
    return f"{nanoseconds:.0f} ns"


def duration(nanoseconds: float | None) -> str:
    """A duration like `time`, from a minute on in minutes and from an hour on in hours."""
    if _known(nanoseconds):
        for unit, scale in _LONG_TIMES.items():
            if nanoseconds >= scale:
                return f"{nanoseconds / scale:,.2f} {unit}"
    return time(nanoseconds)


def years(value: float | None) -> str:
    """A duration in years, or shorter ones in days, hours, minutes and seconds."""
    if not _known(value):
        return NOTHING
    if value >= 1:
        return f"{figure(round(value, 1))} years"
    days = value * 365.25
    return f"{days:.1f} days" if days >= 1 else duration(days * 24 * 3.6e12)


def millijoules(value: float | None) -> str:
    """Energy in mJ, to the digits of the paper's table."""
    return f"{value:.4f} mJ" if _known(value) else NOTHING


def printable(text: str, keep: str = "") -> str:
    """`text` with everything escaped that a terminal would interpret instead of printing, except characters in `keep`.

    These are control characters, format characters such as those that change the direction of writing, and code points
    that are not characters. The function is idempotent.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter in keep or _is_harmless(letter) else _escaped(letter) for letter in text)


def _is_harmless(letter: str) -> bool:
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def excerpt(text: str) -> str:
    """`text` for quotation in a sentence: only the beginning of a long text."""
    return text if len(text) <= _QUOTED_MAX else f"{text[:_QUOTED_MAX]}..."


def near(name: str, known: Sequence[str]) -> str:
    """What ends a sentence about a name that does not exist: the nearest name, or all of them."""
    meant = difflib.get_close_matches(name, known, n=1)
    return f": did you mean '{meant[0]}'?" if meant else f" (known: {', '.join(known)})"


def printable_json(text: str) -> str:
    """JSON text with the characters that `printable` escapes in JSON's form; those below the space already are."""
    return _NOT_ASCII.sub(lambda found: found[0] if _is_harmless(found[0]) else _escaped_in_json(found[0]), text)


def _escaped_in_json(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
