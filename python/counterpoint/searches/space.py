"""The space of a search: parts of designs and machine values that vary, and the candidates that they make.

A point has a choice for each dimension. The parts that have no effect together with the others are left out, so that
points which make the same machine are one candidate. What the engine refuses is none.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

from .._engine import InputError
from ..contract.request import Variant, bytes_of, literal
from ..verbs import catalogue

Value: TypeAlias = bool | int | float | str | tuple[str, ...]
"""The value of a part or of the machine; a tuple for the steps of a recovery."""

Row: TypeAlias = tuple[Value, ...]
"""A choice of a dimension: a value for each of its keys."""

Typed: TypeAlias = tuple[tuple[type, Value], ...]

Point: TypeAlias = tuple[int, ...]
"""A choice for each dimension, by its number."""

PART = "design."
"""What the keys of parts begin with."""

_SHOWN = 9
"""Digits of a candidate's name."""


@dataclass(frozen=True)
class Dimension:
    """Something that varies.

    Attributes:
        keys: what it sets; several where they go together.
        rows: the choices: a value for each key.
    """

    keys: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def is_ordered(self) -> bool:
        """Whether the choices are numbers or sizes that rise or fall, so that neighbours are alike."""
        numbers = [number for row in self.rows if (number := _number(row[0])) is not None]
        is_all = len(self.keys) == 1 and len(numbers) == len(self.rows)
        return is_all and numbers in (sorted(numbers), sorted(numbers, reverse=True))


@dataclass(frozen=True)
class When:
    """A condition: where all of some keys have one of their values, other keys only have some of theirs."""

    given: Mapping[str, tuple[Value, ...]]
    then: Mapping[str, tuple[Value, ...]]

    def applies(self, values: Mapping[str, Value]) -> bool:
        """Whether it says something about a point with these values."""
        return all(values.get(key) in allowed for key, allowed in self.given.items())


@dataclass(frozen=True, eq=False)
class Candidate:
    """A machine that a search may find. Two with the same parts and machine values are the same.

    Attributes:
        key: digest of parts and machine values.
        base: the design that its parts are stated on.
        parts: every part that has an effect.
        machine: the machine values that vary.
        sets: what to set on the base, as `set` takes it: parts that differ, and machine values.
    """

    key: str
    base: str
    parts: Mapping[str, Value]
    machine: Mapping[str, Value]
    sets: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        """Whether both are the same machine."""
        return isinstance(other, Candidate) and self.key == other.key

    def __hash__(self) -> int:
        """The hash of the key."""
        return hash(self.key)

    @property
    def name(self) -> str:
        """What tells it from the others; the same in every search."""
        return f"c{self.key[:_SHOWN]}"

    @property
    def part_sets(self) -> tuple[str, ...]:
        """Those of `sets` that are parts of the design."""
        return tuple(one for one in self.sets if one.startswith(PART))

    @cached_property
    def values(self) -> dict[str, Value]:
        """Parts and machine values by key, as files have them."""
        return {**{PART + key: value for key, value in self.parts.items()}, **self.machine}


@dataclass(frozen=True)
class Space:
    """What a search varies.

    Attributes:
        base: the design that parts are stated on.
        variant: the reading of that design.
        fixed: parts that all candidates have, where they have an effect.
        dimensions: what varies.
        conditions: which choices go together.
    """

    base: str
    variant: Variant
    fixed: Mapping[str, Value]
    dimensions: tuple[Dimension, ...]
    conditions: tuple[When, ...] = ()

    @property
    def size(self) -> int:
        """The number of points."""
        return math.prod(len(one.rows) for one in self.dimensions)

    @property
    def machine_keys(self) -> list[str]:
        """The machine values that vary."""
        return [key for one in self.dimensions for key in one.keys if not key.startswith(PART)]

    def points(self) -> Iterator[Point]:
        """All points, in order."""
        return product(*(range(len(one.rows)) for one in self.dimensions))

    def values(self, point: Point) -> dict[str, Value]:
        """What a point sets, by key; parts with `design.` before them."""
        return values_at(self.dimensions, point)

    def nearest(self, values: Mapping[str, Value]) -> Point:
        """The point with some values; the first choice where the space does not have them."""
        return tuple(
            next((place for place, row in enumerate(one.rows) if _has(values, one.keys, row)), 0)
            for one in self.dimensions
        )

    def mended(self, point: Point) -> Point:
        """The point with the first choices that the conditions allow, where they do not allow its own."""
        for _ in range(len(self.conditions) + 1):
            values = self.values(point)
            broken = next((one for one in self.conditions if one.applies(values) and not _keeps(values, one)), None)
            if broken is None:
                return point
            point = tuple(
                place if self._allows(one, place, broken) else self._first(one, broken, place)
                for one, place in zip(self.dimensions, point, strict=True)
            )
        return point

    def candidate(self, point: Point) -> Candidate:
        """What a point makes.

        Raises:
            InputError: its parts contradict each other, or break a condition whatever is chosen.
        """
        values = self.values(point)
        if any(one.applies(values) and not _keeps(values, one) for one in self.conditions):
            raise InputError("the conditions of the goals file contradict each other here")
        stated = {PART + key: value for key, value in self.fixed.items()} | values
        return candidate(self.base, self.variant, stated)

    def _allows(self, one: Dimension, place: int, condition: When) -> bool:
        row = dict(zip(one.keys, one.rows[place], strict=True))
        return all(row[key] in allowed for key, allowed in condition.then.items() if key in row)

    def _first(self, one: Dimension, condition: When, place: int) -> int:
        return next((other for other in range(len(one.rows)) if self._allows(one, other, condition)), place)


def typed(row: Row) -> Typed:
    """A choice with the types of its values: `true` is not 1."""
    return tuple((type(value), value) for value in row)


def values_at(dimensions: Iterable[Dimension], point: Point) -> dict[str, Value]:
    """What a point sets, by key."""
    return {
        key: value
        for one, place in zip(dimensions, point, strict=True)
        for key, value in zip(one.keys, one.rows[place], strict=True)
    }


def changed(point: Point, which: int, choice: int) -> Point:
    """A point with another choice for one dimension."""
    return (*point[:which], choice, *point[which + 1 :])


def candidate(base: str, variant: Variant, stated: Mapping[str, Value]) -> Candidate:
    """The candidate with these parts, whose keys begin with `design.`, and machine values.

    Raises:
        InputError: the parts contradict each other.
    """
    of_base = catalogue.effective_parts(base, variant=variant)
    parts = catalogue.effective_parts(
        base, {key[len(PART) :]: value for key, value in stated.items() if key.startswith(PART)}, variant=variant
    )
    machine = {key: value for key, value in stated.items() if not key.startswith(PART)}
    differ = {key: value for key, value in parts.items() if of_base.get(key) != value}
    sets = [f"{PART}{key}={literal(value)}" for key, value in differ.items()]
    sets += [f"{key}={literal(value)}" for key, value in machine.items()]
    text = json.dumps([parts, machine], sort_keys=True)
    return Candidate(hashlib.sha256(text.encode()).hexdigest(), base, parts, machine, tuple(sets))


def differences(one: Candidate, other: Candidate) -> dict[str, tuple[Value | None, Value | None]]:
    """The values that differ, by key; None where a part has no effect or a machine value is not set."""
    keys = dict.fromkeys([*one.values, *other.values])
    return {
        key: (one.values.get(key), other.values.get(key))
        for key in keys
        if one.values.get(key) != other.values.get(key)
    }


def of_designs(names: Sequence[str], variant: Variant, without: Iterable[str]) -> dict[str, tuple[Value, ...]]:
    """The values that parts have in some designs, in the order of the designs; `without` some parts.

    What a design sets of the machine is no part: it would be set for all others, too.
    """
    left_out = frozenset(without)
    found: dict[str, dict[Value, None]] = {}
    for name in names:
        for key, value in catalogue.effective_parts(name, variant=variant).items():
            if key not in left_out and not key.startswith(catalogue.SET):
                found.setdefault(key, {})[value] = None
    return {key: tuple(values) for key, values in found.items()}


def _number(value: Value) -> float | None:
    if isinstance(value, bool | tuple):
        return None
    found = bytes_of(value) if isinstance(value, str) else value
    return None if found is None else float(found)


def _keeps(values: Mapping[str, Any], condition: When) -> bool:
    return all(values.get(key) in allowed for key, allowed in condition.then.items())


def _has(values: Mapping[str, Value], keys: Sequence[str], row: Sequence[Value]) -> bool:
    return all(values.get(key) == value for key, value in zip(keys, row, strict=True))
