"""What papers leave open: a value, or a few that only make sense together, each with the choices that are plausible.

A paper's own decisions are tables of `paper.toml`. Decisions about the simulator that several papers cite are tables of
`simulators.toml`; these papers are searched together and get one value::

    [[decision]]
    key = "device.write_recovery"         # a machine value, or `cores`, `footprint`, `warmup`
    start = "each-write"                  # what was taken before any claim was looked at
    shipped = "row-close"                 # what the simulator ships or the paper's text suggests; may be left out
    range = ["each-write", "row-close"]
    reason = "..."

    [[decision]]
    name = "write queue"                  # values that go together, under a name
    start = { "controller.wpq_entries" = 32, "controller.wpq_high_watermark" = 24 }
    range = [
      { "controller.wpq_entries" = 32, "controller.wpq_high_watermark" = 24 },
      { "controller.wpq_entries" = 64, "controller.wpq_high_watermark" = 48 },
    ]
    reason = "..."
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, TypeAlias

from ..contract.request import bytes_of, literal
from ..runs.matrix import Value

Choice: TypeAlias = tuple[tuple[str, Value], ...]
"""One choice of a decision: the values that it sets, by key."""

RUN_PARAMETERS = ("cores", "footprint", "warmup")
"""Keys of decisions that are no machine values."""

_KEYS = ("key", "name", "start", "shipped", "range", "reason")


@dataclass(frozen=True)
class DecisionSpec:
    """Something that a paper leaves open.

    Attributes:
        name: path of the value, or the name of a group of values.
        range: the choices.
        start: the choice that was taken before any claim was looked at.
        shipped: the choice that the cited simulator ships or the paper's text suggests; None where neither says.
        reason: why it is open, and why `start`.
        simulator: the simulator whose papers share the decision; empty where it is the paper's own.
    """

    name: str
    range: tuple[Choice, ...]
    start: Choice
    shipped: Choice | None
    reason: str
    simulator: str = ""

    @property
    def is_group(self) -> bool:
        """Whether it sets several values."""
        return len(self.range[0]) > 1 or self.range[0][0][0] != self.name

    @property
    def is_ordered(self) -> bool:
        """Whether its choices are numbers or sizes that rise or fall, so that neighbours are alike."""
        if self.is_group:
            return False
        numbers = [_number(choice[0][1]) for choice in self.range]
        if any(number is None for number in numbers):
            return False
        return numbers in (sorted(numbers), sorted(numbers, reverse=True))  # type: ignore[type-var]

    def place(self, choice: Choice) -> int:
        """The number of a choice in `range`."""
        return self._places[_typed(choice)]

    @cached_property
    def _places(self) -> Mapping[frozenset[tuple[str, type, Value]], int]:
        return {_typed(one): place for place, one in enumerate(self.range)}

    def said(self, choice: Choice | None) -> str:
        """A choice as people read it."""
        if choice is None:
            return ""
        if not self.is_group:
            return literal(choice[0][1])
        return ", ".join(f"{key.rpartition('.')[2]} {literal(value)}" for key, value in choice)

    def plain(self, choice: Choice | None) -> Any:
        """A choice as JSON: a value, or the values of a group by key."""
        if choice is None:
            return None
        return dict(choice) if self.is_group else choice[0][1]


@dataclass(frozen=True)
class Simulator:
    """A simulator that papers cite.

    Attributes:
        name: of the page of its search.
        title: as people read it.
        papers: those that cite it; they are searched together.
        decisions: what they share.
    """

    name: str
    title: str
    papers: tuple[str, ...]
    decisions: tuple[DecisionSpec, ...]


@cache
def simulators() -> tuple[Simulator, ...]:
    """The simulators of `simulators.toml`."""
    document = tomllib.loads(resources.files(__package__).joinpath("simulators.toml").read_text())
    return tuple(
        Simulator(entry["name"], entry["title"], tuple(entry["papers"]), read(entry.get("decision", ()), entry["name"]))
        for entry in document["simulator"]
    )


def simulator_of(paper: str) -> Simulator:
    """The simulator that a paper cites."""
    return next(simulator for simulator in simulators() if paper in simulator.papers)


def read(entries: Iterable[Mapping[str, Any]], simulator: str = "") -> tuple[DecisionSpec, ...]:
    """Decisions as TOML has them.

    Raises:
        ValueError: a table that is no decision.
    """
    return tuple(_decision(entry, simulator) for entry in entries)


def _decision(entry: Mapping[str, Any], simulator: str) -> DecisionSpec:
    name = str(entry.get("key", entry.get("name")))
    if unknown := set(entry) - set(_KEYS):
        raise ValueError(f"decision {name}: {', '.join(sorted(unknown))} is not known")
    if ("key" in entry) == ("name" in entry):
        raise ValueError(f"decision {name}: a decision has a key, or a name and tables of values")
    grouped = "name" in entry

    def choice(given: Any) -> Choice:
        if grouped != isinstance(given, Mapping):
            needed = "a table, because it has a name" if grouped else "one value, because it has a key"
            raise ValueError(f"decision {name}: {given} must be {needed}")
        return tuple(given.items()) if grouped else ((name, given),)

    choices = tuple(choice(given) for given in entry["range"])
    start, shipped = choice(entry["start"]), choice(entry["shipped"]) if "shipped" in entry else None
    typed = [_typed(one) for one in choices]
    if len(set(typed)) < len(typed):
        raise ValueError(f"decision {name}: its range has a choice twice")
    for what, given in (("start", start), ("shipped", shipped)):
        if given is not None and _typed(given) not in typed:
            raise ValueError(f"decision {name}: {what} is not in its range")
    for key in {key for one in choices for key, _ in one}:
        if "." not in key and key not in RUN_PARAMETERS:
            raise ValueError(f"decision {name}: '{key}' is no machine value and none of {', '.join(RUN_PARAMETERS)}")
    if len({frozenset(key for key, _ in one) for one in choices}) > 1:
        raise ValueError(f"decision {name}: its choices set different values")
    return DecisionSpec(name, choices, start, shipped, entry["reason"], simulator)


def _typed(choice: Choice) -> frozenset[tuple[str, type, Value]]:
    """A choice by its content; `true` is not 1."""
    return frozenset((key, type(value), value) for key, value in choice)


def _number(value: Value) -> float | None:
    if isinstance(value, bool):
        return None
    found = bytes_of(value) if isinstance(value, str) else value
    return None if found is None else float(found)
