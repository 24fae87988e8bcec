"""The order of designs over small programs: some of it tried again, and the pictures held to the tables."""

from __future__ import annotations

import re
from itertools import product

import pytest

import lattice
import pages
from lattice import Reading

pytestmark = pytest.mark.engine

_FAST: dict[str, tuple[Reading, ...]] = {
    "fences": (("write-back", "published"), ("eadr", "published"), ("secpm", "published")),
    "transactions": (("hw-log", "published"), ("easy-pm", "hardened"), ("sca", "published")),
}
"""By order: readings whose programs take a moment."""


def _part(name: str, part: str) -> str:
    return pages.part(lattice.PAGE.read_text(), f"{name}-{part}")[1]


def _rows(text: str) -> list[list[str]]:
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines()[2:]]


def _groups(name: str) -> dict[Reading, str]:
    """The group of each reading, as the page has it."""
    found: dict[Reading, str] = {}
    for group, members, _ in _rows(_part(name, "groups")):
        for design, variant in re.findall(r"`([\w-]+)`(?: (published|hardened))?", members):
            for one in (variant,) if variant else ("published", "hardened"):
                found[design, one] = group
    return found


def _keeps_more(name: str) -> set[tuple[str, str]]:
    """The pairs of groups of which the first keeps what the second keeps, as the page has them."""
    pairs = {(way.split(" → ")[0], way.split(" → ")[1]) for way, *_ in _rows(_part(name, "edges"))}
    while more := {(one, end) for (one, middle), (begin, end) in product(pairs, repeat=2) if middle == begin} - pairs:
        pairs |= more
    return pairs


@pytest.mark.parametrize("name", lattice.BOUNDS)
def test_every_reading_is_in_one_group(name: str) -> None:
    assert set(_groups(name)) == set(lattice.readings(lattice.BOUNDS[name]))


@pytest.mark.parametrize("name", lattice.BOUNDS)
def test_order_of_some_readings_is_that_of_the_page(name: str) -> None:
    groups, more = _groups(name), _keeps_more(name)
    for one, two in product(_FAST[name], repeat=2):
        fails, also = lattice.failing(name, one), lattice.failing(name, two)
        assert (fails == also) == (groups[one] == groups[two]), (one, two)
        assert (fails < also) == ((groups[one], groups[two]) in more), (one, two)


@pytest.mark.parametrize("name", lattice.BOUNDS)
def test_witnesses_fail_in_one_group_and_hold_in_the_other(name: str) -> None:
    of = {group: reading for reading, group in reversed(_groups(name).items())}
    for way, program, timing, rule in _rows(_part(name, "edges")):
        stronger, weaker = way.split(" → ")
        asked = program.strip("`"), timing.strip("`")
        assert lattice.rule_of(of[weaker], *asked) == rule.strip("`"), way
        assert lattice.rule_of(of[stronger], *asked) is None, way


@pytest.mark.parametrize("name", lattice.BOUNDS)
def test_picture_is_drawn_from_the_tables(name: str) -> None:
    drawn = lattice.drawn(name, _part(name, "groups"), _part(name, "edges"))
    assert lattice.image(name).read_text() == drawn, "`make lattice` draws it"


def test_order_is_reduced_to_neighbours() -> None:
    sets = [frozenset({("p", str(number)) for number in range(size)}) for size in (0, 1, 2)]
    assert sorted(lattice.covers([*sets, frozenset({("q", "0")})])) == [(0, 1), (0, 3), (1, 2)]
