"""Intervals of measured values over seeds: Student's t at 95 %, two-sided."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._engine import InputError
from ..contract.request import count

_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
"""The 97.5 % quantile of Student's t distribution for 1 to 30 degrees of freedom."""

SEEDS_MAX = len(_T) + 1


def check_seeds(asked: object) -> int:
    """`asked`, a number of seeds that there can be an interval over, or 1.

    Raises:
        InputError: it is none.
    """
    found = count("seeds", asked)
    if not 1 <= found <= SEEDS_MAX:
        raise InputError(f"seeds is {found}; it must be a whole number from 1 to {SEEDS_MAX}")
    return found


@dataclass(frozen=True)
class Estimate:
    """A value over seeds.

    Attributes:
        mean: over the seeds.
        half: half the width of the interval; None where there is one seed.
    """

    mean: float
    half: float | None

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - (self.half or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + (self.half or 0.0)

    def meets(self, other: Estimate) -> bool:
        """Whether the intervals of two values meet, so that these do not differ."""
        return self.low <= other.high and other.low <= self.high

    def shown(self, show: Callable[[float | None], str]) -> str:
        """In the words of what shows one value."""
        return show(self.mean) if self.half is None else f"{show(self.mean)} ± {show(self.half)}"

    def said(self, digits: int) -> str:
        """As people read it."""
        shown = f"{self.mean:.{digits}f}"
        return shown if self.half is None else f"{shown} ± {self.half:.{digits}f}"


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of values, one for each seed, and its interval."""
    count = len(values)
    if count == 1:
        return Estimate(values[0], None)
    mean = math.fsum(values) / count
    return Estimate(mean, _T[count - 2] * statistics.stdev(values) / math.sqrt(count))


def estimate_of_all(values: Sequence[float | None]) -> Estimate | None:
    """The same of values that may be missing: None if one is, or if there are none."""
    known = [value for value in values if value is not None]
    return estimate(known) if known and len(known) == len(values) else None
