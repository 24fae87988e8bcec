"""What is said of a prediction: that it is one, and which open decisions move it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..contract.printed import document
from ..contract.request import literal

PREDICTION = "This is a prediction, made without the paper's values, which are to be compared with it later."
"""Of a figure whose published values are withheld."""

NOTHING = "nothing that the paper leaves open"

_MOST = 3
"""How many decisions are named for a chart."""

_LEAST = 0.05
"""The smallest change that is told: less is 0.0."""


@dataclass(frozen=True)
class Change:
    """How far the mean of a chart moves with another choice of a decision.

    Attributes:
        chart: the title of the chart, or the name of its axis where it has none.
        choice: the other choice, as `assumptions` has it.
        change: from what the preset has; null where one of the two has no such figure.
        unit: of the change: in percent of what the preset has, or in points where the quantity is a percentage.
    """

    chart: str
    choice: Any
    change: float | None
    unit: Literal["%", "points"]

    @property
    def size(self) -> float:
        """How large the change is, whatever its sign."""
        return abs(self.change or 0.0)


@dataclass(frozen=True)
class Dependence:
    """How a prediction depends on one decision: with each of its other choices, everything else as in the preset.

    Attributes:
        figure: the figure, by its id.
        decision: path of the value, or the name of the group.
        changes: of each chart with each choice that the engine takes.
        refused: how many choices the engine refuses.
    """

    figure: str
    decision: str
    changes: tuple[Change, ...]
    refused: int

    @property
    def largest(self) -> float:
        """The size of the largest change of any chart, a point being as much as a percent."""
        return max((one.size for one in self.changes), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """The document, as `reproduce --json` has it below a figure, with a number of its own."""
        return document(self)


def choice_text(choice: Any) -> str:
    """A choice as people read it: a value, or the values of a group."""
    if isinstance(choice, dict):
        return ", ".join(f"{key.rpartition('.')[2]} {literal(one)}" for key, one in choice.items())
    return literal(choice)


def sentence(depends: Sequence[Dependence]) -> str:
    """The decisions that move each chart of a prediction most, as Markdown."""
    charts = most(depends)
    told = [f"“{chart}”: {moved}" if len(charts) > 1 else moved for chart, moved in charts.items()]
    return f"Depends most on: {'; '.join(told)}." if depends else f"Depends most on: {NOTHING}."


def most(depends: Sequence[Dependence]) -> dict[str, str]:
    """By chart, the decisions that move it most, each with the choices that move it furthest up and down."""
    charts = dict.fromkeys(one.chart for each in depends for one in each.changes)
    return {chart: _most_of(depends, chart) for chart in charts}


def _most_of(depends: Sequence[Dependence], chart: str) -> str:
    moved = {
        one.decision: [each for each in one.changes if each.chart == chart and each.size >= _LEAST] for one in depends
    }
    ranked = sorted((name for name in moved if moved[name]), key=lambda name: -max(map(_size, moved[name])))
    return ", ".join(f"`{name}` ({_effects(moved[name])})" for name in ranked[:_MOST]) or NOTHING


def _effects(changes: Sequence[Change]) -> str:
    ends = [
        max((one for one in changes if (one.change or 0.0) * sign > 0), key=_size, default=None) for sign in (1, -1)
    ]
    found = sorted((one for one in ends if one), key=_size, reverse=True)
    return "; ".join(f"{choice_text(one.choice)}: {_signed(one)}" for one in found)


def _size(one: Change) -> float:
    return one.size


def _signed(one: Change) -> str:
    return f"{one.change or 0.0:+,.{0 if one.size >= 10 else 1}f} {one.unit}"
