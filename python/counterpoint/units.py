"""Figures as people read them."""

from __future__ import annotations

_NOTHING = "-"


def size(value: object) -> str:
    """Bytes in the largest binary unit that leaves a whole number."""
    if not isinstance(value, int):
        return str(value)
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value and value % scale == 0:
            return f"{value // scale} {unit}"
    return f"{value} B"


def number(value: float | None) -> str:
    """A count, in groups of three digits."""
    return _NOTHING if value is None else f"{value:,.0f}"


def count_of(value: object, noun: str, plural: str = "s") -> str:
    """A count and what is counted."""
    shown = number(value) if isinstance(value, int) else str(value)
    return f"{shown} {noun}{'' if value == 1 else plural}"


def ratio(value: float | None) -> str:
    """A ratio, to two decimals."""
    return _NOTHING if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """A share between 0 and 1, never rounded up to all or down to nothing."""
    if value is None:
        return _NOTHING
    if 0 < value < 0.001:
        return "<0.1 %"
    if 0.999 < value < 1:
        return ">99.9 %"
    return f"{100 * value:.1f} %"


def time(nanoseconds: float | None) -> str:
    """A duration in the unit that leaves one to three digits before the point."""
    if nanoseconds is None:
        return _NOTHING
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.2f} {unit}"
    return f"{nanoseconds:.0f} ns"


def millijoules(value: float | None) -> str:
    """Energy in mJ, to the digits of the paper's table."""
    return _NOTHING if value is None else f"{value:.4f} mJ"
