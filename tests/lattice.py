"""Which design keeps at least what another one keeps, over small programs: tables and pictures of docs/lattice.md.

``python tests/lattice.py`` tries the programs on every reading of every design and writes all of them;
`tests/python/test_lattice.py` tries some again, and holds the pictures to the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, get_args

import counterpoint as cp
from counterpoint.contract.request import Variant
from counterpoint.report.colours import BROKEN, DATA, KEPT
from counterpoint.system import units
from counterpoint.verbs import catalogue
from drawing import WIDTH, Drawing
from page_tables import table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "lattice.md"
MACHINE = "small"

Reading = tuple[str, Variant]
"""A design and a reading of its paper."""

Failing = tuple[str, str]
"""A program and a timing under which it breaks a rule."""


@dataclass(frozen=True)
class Bound:
    """The programs of one order, and whose designs it has.

    Attributes:
        title: what these programs are.
        forms: of designs that run them.
        options: those of `prove`.
    """

    title: str
    forms: tuple[str, ...]
    options: Mapping[str, Any]


BOUNDS: Mapping[str, Bound] = {
    "fences": Bound(
        "Stores, flushes and fences",
        ("plain", "flush-free"),
        {
            "operations": 3,
            "lines": 2,
            "steps": ["store", "nt-store", "clwb", "sfence", "evict"],
        },
    ),
    "transactions": Bound(
        "Programs that designs of all forms run",
        ("plain", "flush-free", "annotated", "hardware-logged"),
        {
            "operations": 5,
            "lines": 1,
            "steps": ["store", "tx-begin", "flush-data", "counter-writeback", "tx-end", "evict"],
        },
    ),
}
"""By name: the orders of the page."""


def readings(bound: Bound) -> list[Reading]:
    """The readings of all designs that run these programs and whose crashes mean something."""
    return [
        (design.name, variant)
        for design in cp.designs()
        if design.crash_consistent and design.form in bound.forms
        for variant in get_args(Variant)
    ]


@cache
def _tried(name: str, design: str, variant: Variant) -> tuple[frozenset[Failing], tuple[Failing, ...], int]:
    bound = BOUNDS[name]
    parts = cp.design_parts(design, variant)
    other = get_args(Variant)[0]
    if variant != other and cp.design_parts(design, other) == parts:
        return _tried(name, design, other)
    modules = catalogue.MODULES if catalogue.needs_modules(design) else ()
    options = {**bound.options, "set": modules}
    proof = cp.prove(design, variant=variant, machine=MACHINE, forms=list(bound.forms), all_failing=True, **options)
    assert proof.failures is not None and not proof.internal_errors and not proof.interrupted
    tried = {timing.name for timing in proof.timings}
    # A timing that changes nothing for a design is the machine as it is.
    void = [timing for timing in timings() if timing not in tried]
    found = [
        (one.program, timing)
        for one in proof.failures
        for timing in timings()
        if timing in one.timings or (timing in void and "machine" in one.timings)
    ]
    return frozenset(found), tuple(found), proof.programs


@cache
def timings() -> tuple[str, ...]:
    """The names of all timings."""
    return tuple(timing.name for timing in cp.prove("secpm", operations=1).timings)


def failing(name: str, reading: Reading) -> frozenset[Failing]:
    """What fails in a reading."""
    return _tried(name, *reading)[0]


@dataclass(frozen=True)
class Group:
    """Readings in which the same programs fail, under the same timings.

    Attributes:
        name: of the group.
        members: the readings.
        fails: number of programs that fail.
    """

    name: str
    members: tuple[Reading, ...]
    fails: int


@dataclass(frozen=True)
class Edge:
    """A group that keeps at least what another one keeps, with none between.

    Attributes:
        stronger: name of the group in which less fails.
        weaker: name of the other one.
        program: the smallest program that holds in the first and fails in the second.
        timing: the timing under which it does.
        rule: what it breaks there.
    """

    stronger: str
    weaker: str
    program: str
    timing: str
    rule: str


@dataclass(frozen=True)
class Order:
    """An order of groups.

    Attributes:
        groups: the strongest first.
        edges: its transitive reduction.
        programs: number of programs that were tried.
    """

    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]
    programs: int


def covers(sets: Sequence[frozenset[Failing]]) -> Iterator[tuple[int, int]]:
    """The pairs of sets of which one lies within the other, with none between: the order's transitive reduction."""
    for low, high in product(range(len(sets)), repeat=2):
        if sets[low] < sets[high] and not any(sets[low] < middle < sets[high] for middle in sets):
            yield low, high


@cache
def order(name: str) -> Order:
    """The order over all readings."""
    by_failing: dict[frozenset[Failing], list[Reading]] = {}
    known = readings(BOUNDS[name])
    for reading in known:
        by_failing.setdefault(failing(name, reading), []).append(reading)
    # The order of the catalogue decides between groups in which as much fails.
    sets = sorted(by_failing, key=lambda found: (len(found), known.index(by_failing[found][0])))
    groups = [
        Group(_letter(place), tuple(by_failing[found]), len({program for program, _ in found}))
        for place, found in enumerate(sets)
    ]
    edges = []
    for low, high in sorted(covers(sets)):
        reading = groups[high].members[0]
        program, timing = next(one for one in _tried(name, *reading)[1] if one not in sets[low])
        rule = rule_of(reading, program, timing)
        assert rule_of(groups[low].members[0], program, timing) is None, "a run of it by itself says something else"
        edges.append(Edge(groups[low].name, groups[high].name, program, timing, str(rule)))
    (programs,) = {_tried(name, *reading)[2] for reading in known}
    return Order(tuple(groups), tuple(edges), programs)


def _letter(place: int) -> str:
    return chr(ord("A") + place) if place < 26 else f"Z{place - 25}"


@cache
def _used(design: str, variant: Variant) -> Mapping[str, tuple[str, ...]]:
    """What each timing that makes a difference to a reading changes of the machine."""
    begins = ["tx-begin"] if cp.design(design).form == "hardware-logged" else []
    proof = cp.prove(design, variant=variant, machine=MACHINE, operations=2, lines=1, steps=["store", *begins])
    return {timing.name: timing.set for timing in proof.timings}


def rule_of(reading: Reading, program: str, timing: str) -> str | None:
    """The first rule that a program breaks under a timing, as a crash run by itself says; None: it holds."""
    design, variant = reading
    used = _used(design, variant)
    waits = program.replace("; ", "; wait; ") if timing == "apart" else program
    # A timing that changes nothing for a design is the machine as it is.
    sets = list(used.get(timing, ()))
    crash = cp.crash(design, waits, variant=variant, machine=MACHINE, set=sets, shrink=False, blame=False)
    return None if crash.holds else crash.violations[0].rule


def groups_table(name: str) -> str:
    """The groups of an order."""
    found = order(name)
    rows = [
        [one.name, ", ".join(_named(one.members)), units.number(one.fails) if one.fails else "none"]
        for one in found.groups
    ]
    head = ["group", "designs", f"programs that fail, of {units.number(found.programs)}"]
    return table(head, rows)


def _named(members: Iterable[Reading]) -> Iterator[str]:
    """The names of readings; a design whose readings are together is named once."""
    variants: dict[str, list[str]] = {}
    for design, variant in members:
        variants.setdefault(design, []).append(variant)
    for design, found in variants.items():
        both = len(found) == len(get_args(Variant))
        yield f"`{design}`" if both else f"`{design}` {found[0]}"


def edges_table(name: str) -> str:
    """The edges of an order, each with a witness."""
    rows = [
        [f"{one.stronger} → {one.weaker}", f"`{one.program}`", f"`{one.timing}`", f"`{one.rule}`"]
        for one in order(name).edges
    ]
    return table(["keeps more → keeps less", "smallest program that fails only in the second", "timing", "rule"], rows)


def bounds_text(name: str) -> str:
    """What was tried, in a list."""
    bound = BOUNDS[name]
    options = bound.options
    steps = ", ".join(f"`{step}`" for step in options["steps"])
    programs = units.count_of(order(name).programs, "program")
    lines = units.count_of(options["lines"], "line")
    tried = ", ".join(f"`{timing}`" for timing in timings())
    return (
        f"- {programs} of up to {options['operations']} operations over up to {lines}\n"
        f"- operations: {steps}\n"
        f"- timings: {tried}; one that changes nothing for a design counts as `machine`\n"
        f"- power fails once, after each event, on the machine `{MACHINE}`\n"
    )


_COLUMNS = 3
_WIDE, _NARROW, _GAP, _ROW, _BETWEEN = 152.0, 132.0, 10.0, 92.0, 26.0
"""Units of a box in a row of at most two and of three, between boxes, of a row, and between rows."""

_NAMES = 2
"""Names of designs that a box shows."""

Groups = Sequence[tuple[str, Sequence[str]]]
"""Groups by name, with their members."""

Ways = Sequence[tuple[str, str]]
"""Names of a group that keeps more, and of one that keeps less."""


def _rows(groups: Groups, ways: Ways) -> list[list[str]]:
    """The groups of each row: below all that keep more, and at most so many beside each other."""
    level = {name: 0 for name, _ in groups}
    for name, _ in groups:
        level[name] = max((level[high] + 1 for high, low in ways if low == name), default=0)
    rows: list[list[str]] = []
    for depth in range(max(level.values()) + 1):
        here = [name for name, _ in groups if level[name] == depth]
        rows += [here[place : place + _COLUMNS] for place in range(0, len(here), _COLUMNS)]
    return rows


def _places(rows: Sequence[Sequence[str]], ways: Ways) -> dict[tuple[str, int], tuple[float, float]]:
    """Where boxes begin and how wide they are, by group and row. A way that passes a row has a place of no width there.

    What lies in a row is ordered by where the ways to it come from.
    """
    of = {name: number for number, row in enumerate(rows) for name in row}
    found: dict[tuple[str, int], tuple[float, float]] = {}
    for number, row in enumerate(rows):
        passing = [f"{high}-{low}" for high, low in ways if of[high] < number < of[low]]
        above: dict[str, list[float]] = {name: [] for name in [*row, *passing]}
        for high, low in ways:
            here = low if of[low] == number else f"{high}-{low}"
            if here in above:
                x, wide = found[_end(high, low, number - 1, of)]
                above[here].append(x + wide / 2)
        ordered = sorted(above, key=lambda name: (sum(above[name]) / (len(above[name]) or 1), name))
        wide = _WIDE if len(row) < _COLUMNS else _NARROW
        widths = [wide if name in row else 0.0 for name in ordered]
        x = (WIDTH - sum(widths) - _GAP * (len(widths) - 1)) / 2
        for name, width in zip(ordered, widths, strict=True):
            found[name, number] = x, width
            x += width + _GAP
    return found


def _end(high: str, low: str, number: int, of: Mapping[str, int]) -> tuple[str, int]:
    """What a way meets in a row: the group where it begins, or ends, or its own place."""
    return {of[high]: high, of[low]: low}.get(number, f"{high}-{low}"), number


def picture(title: str, groups: Groups, ways: Ways) -> Drawing:
    """The order as a drawing: what keeps most is on top, and lines go down to what keeps less."""
    rows = _rows(groups, ways)
    of = {name: number for number, row in enumerate(rows) for name in row}
    places = _places(rows, ways)
    told = "; ".join(f"{high} keeps all that {low} keeps" for high, low in ways)
    height = 20 + _ROW * len(rows) + _BETWEEN * (len(rows) - 1)
    drawing = Drawing(title, f"Groups of designs, those that keep most on top. {told}.", height)
    boxes = {}
    for name, members in groups:
        x, wide = places[name, of[name]]
        bottom = all(name != high for high, _ in ways)
        colour = KEPT if of[name] == 0 else BROKEN if bottom else DATA
        boxes[name] = drawing.box(x, _top(of[name]), wide, *_shown(name, members), colour=colour)
    for high, low in ways:
        begin = boxes[high].bottom()
        for number in range(of[high] + 1, of[low]):
            x, _ = places[f"{high}-{low}", number]
            drawing.line(begin, (x, _top(number)))
            begin = x, _top(number) + _ROW
            drawing.line((x, _top(number)), begin)
        drawing.line(begin, boxes[low].top())
    return drawing


def _top(number: int) -> float:
    return 10 + number * (_ROW + _BETWEEN)


def _shown(name: str, members: Sequence[str]) -> list[str]:
    plain = [member.replace("`", "").replace(" published", " (p)").replace(" hardened", " (h)") for member in members]
    more = len(plain) - _NAMES
    shown = plain[: _NAMES + (more == 1)]
    return [name, *shown, *([f"and {more} more"] if more > 1 else [])]


def drawn(name: str, groups: str, edges: str) -> str:
    """The picture of an order from the tables of the page."""
    listed = [line.split(" | ") for line in groups.splitlines()[2:]]
    ways = [line.removeprefix("| ").split(" | ")[0] for line in edges.splitlines()[2:]]
    return picture(
        BOUNDS[name].title,
        [(cells[0].removeprefix("| "), cells[1].split(", ")) for cells in listed],
        [(way.split(" → ")[0], way.split(" → ")[1]) for way in ways],
    ).svg()


PARTS: Mapping[str, Any] = {"bounds": bounds_text, "groups": groups_table, "edges": edges_table}
"""What the page has of each order, by the name of the part."""


def image(name: str) -> Path:
    """The file of a picture."""
    return ROOT / "docs" / "img" / f"lattice-{name}.svg"


def main() -> None:
    """Writes the parts of the page, and the pictures."""
    import pages

    for name in BOUNDS:
        for part, text in PARTS.items():
            pages.write(PAGE, f"{name}-{part}", text(name))
        image(name).write_text(drawn(name, groups_table(name), edges_table(name)))


if __name__ == "__main__":
    main()
