"""What papers leave open: a value, or a few that only make sense together, each with the choices that are plausible.

A paper's own decisions are tables of `paper.toml`. Decisions about the simulator that several papers cite are tables of
`simulators.toml`; these papers are searched together and get one value::

    [[decision]]
    key = "device.write_recovery"         # a machine value, or one of `RUN_PARAMETERS`
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
from typing import Any

from ..contract.request import literal
from ..searches.space import Dimension, Row, Typed, typed

RUN_PARAMETERS = ("cores", "footprint", "tx_size", "warmup_bytes")
"""Keys of decisions that are no machine values."""

_KEYS = ("key", "name", "start", "shipped", "range", "reason")


@dataclass(frozen=True)
class DecisionSpec(Dimension):
    """Something that a paper leaves open: a dimension with a name, a start and reasons.

    Attributes:
        name: path of the value, or the name of a group of values.
        start: the choice that was taken before any claim was looked at.
        shipped: the choice that the cited simulator ships or the paper's text suggests; None where neither says.
        reason: why it is open, and why `start`.
        simulator: the simulator whose papers share the decision; empty where it is the paper's own.
    """

    name: str
    start: Row
    shipped: Row | None
    reason: str
    simulator: str = ""

    @property
    def is_group(self) -> bool:
        """Whether it sets several values."""
        return self.keys != (self.name,)

    def place(self, row: Row) -> int:
        """The number of a choice."""
        return self._places[typed(row)]

    @cached_property
    def _places(self) -> Mapping[Typed, int]:
        return {typed(row): place for place, row in enumerate(self.rows)}

    def departs(self, place: int) -> bool:
        """Whether a choice differs from what is shipped; where nothing is, none does."""
        return self.shipped is not None and self.place(self.shipped) != place

    def text(self, row: Row | None) -> str:
        """A choice as people read it."""
        if row is None:
            return ""
        if not self.is_group:
            return literal(row[0])
        return ", ".join(
            f"{key.rpartition('.')[2]} {literal(value)}" for key, value in zip(self.keys, row, strict=True)
        )

    def plain(self, row: Row | None) -> Any:
        """A choice as JSON: a value, or the values of a group by key."""
        if row is None:
            return None
        return dict(zip(self.keys, row, strict=True)) if self.is_group else row[0]


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

    def row(given: Any) -> dict[str, Any]:
        if grouped != isinstance(given, Mapping):
            needed = "a table, because it has a name" if grouped else "one value, because it has a key"
            raise ValueError(f"decision {name}: {given} must be {needed}")
        return dict(given) if grouped else {name: given}

    choices = [row(given) for given in entry["range"]]
    keys = tuple(choices[0])
    for key in keys:
        if "." not in key and key not in RUN_PARAMETERS:
            raise ValueError(f"decision {name}: '{key}' is no machine value and none of {', '.join(RUN_PARAMETERS)}")
    if any(set(one) != set(keys) for one in choices):
        raise ValueError(f"decision {name}: its choices set different values")
    rows = tuple(tuple(one[key] for key in keys) for one in choices)
    known = set(map(typed, rows))
    if len(known) < len(rows):
        raise ValueError(f"decision {name}: its range has a choice twice")

    def chosen(what: str) -> Row:
        given = row(entry[what])
        found = tuple(given.get(key, "") for key in keys)
        if len(given) != len(keys) or typed(found) not in known:
            raise ValueError(f"decision {name}: {what} is not in its range")
        return found

    shipped = chosen("shipped") if "shipped" in entry else None
    return DecisionSpec(keys, rows, name, chosen("start"), shipped, entry["reason"], simulator)
