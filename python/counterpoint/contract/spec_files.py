"""The files that sweeps, searches and checks read, as types: `make contract` publishes a JSON Schema of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from .request import Size

Number: TypeAlias = int | float | Size
"""A number, or a size such as `"4KiB"`."""

Over: TypeAlias = Literal["mean", "max", "min"]
"""How the workloads make one number."""


@dataclass(frozen=True)
class Range:
    """A range of numbers or of sizes, instead of a list of values.

    Attributes:
        from_: the first value.
        to: the end, which is a value if the steps meet it.
        step: from one value to the next; 1 if nothing is said.
        factor: from one value to the next, instead of a step.
        points: how many values, from the first to the end, instead of a step.
        scale: of the points.
    """

    from_: Number
    to: Number
    step: Number | None = None
    factor: Number | None = None
    points: int | None = None
    scale: Literal["linear", "log"] | None = None


@dataclass(frozen=True)
class SweepFile:
    """A sweep: what its runs share, and the axes along which they differ.

    Keys are options of `run`, `design`, `workload`, machine values by their path, and parts of the design
    (`design.write_path`).

    Attributes:
        name: of the sweep; default that of the file.
        base: what every run shares, one value a key.
        axes: every value of one with every value of the others.
        zip: values that go together: one axis, a list for each key.
    """

    name: str | None = None
    base: Mapping[str, Any] | None = None
    axes: Mapping[str, Any] | None = None
    zip: tuple[Mapping[str, Any], ...] | None = None


@dataclass(frozen=True)
class PromiseTable:
    """What a candidate must keep, whatever happens.

    Attributes:
        line_atomic: which lines in flight hold their old or their new value after a crash.
        secret: nothing leaves the chip in plaintext, and no pad is used twice.
        integrity: an attacker who changes memory is found before anything wrong is used.
    """

    line_atomic: Literal["none", "marked", "every"] | None = None
    secret: bool | None = None
    integrity: bool | None = None


@dataclass(frozen=True)
class ObjectiveTable:
    """A figure that is made small or large.

    Attributes:
        goal: which of both.
        over: how the workloads make one number.
    """

    goal: Literal["minimise", "maximise"]
    over: Over | None = None


@dataclass(frozen=True)
class LimitTable:
    """A bound on a figure.

    Attributes:
        at_most: the largest value that is allowed.
        at_least: the smallest.
        over: how the workloads make one number.
    """

    at_most: float | None = None
    at_least: float | None = None
    over: Over | None = None


@dataclass(frozen=True)
class GoalsFile:
    """The goals of a search.

    Attributes:
        name: of the search; default that of the file.
        workloads: the programs that are measured.
        crash_workloads: those of the crash tests; default the same.
        references: designs that are judged as well; default the built-in ones.
        candidates: how many valid candidates are looked at, at most.
        seed: of what is proposed.
        run: options of every run, and machine values by their path.
        promise: what a candidate must keep.
        space: `base`, `designs`, and what varies: parts of the design and machine values, with their values, or
            `"all"`; in `zip` those that go together.
        when: conditions on the space: where some keys have these values, others, in `then`, have those.
        objectives: figures that are made small or large.
        limits: bounds on figures.
    """

    name: str | None = None
    workloads: tuple[str, ...] | None = None
    crash_workloads: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    candidates: int | None = None
    seed: int | None = None
    run: Mapping[str, Any] | None = None
    promise: PromiseTable | None = None
    space: Mapping[str, Any] | None = None
    when: tuple[Mapping[str, Any], ...] | None = None
    objectives: Mapping[str, ObjectiveTable | Literal["minimise", "maximise"]] | None = None
    limits: Mapping[str, LimitTable] | None = None


@dataclass(frozen=True)
class Suppression:
    """Findings of a check that are not shown: those that match every pattern given here.

    In patterns `*` stands for any text, `?` for any character and `[...]` for one of several.

    Attributes:
        function: pattern of the function, with or without its parameters.
        file: pattern of the source file: of its whole path, its path below the root of the repository, or its name.
        object: pattern of the program or library: of its whole path or its name.
        kind: pattern of the kind of finding.
        reason: why they are not shown; for whoever reads the file.
    """

    function: str | None = None
    file: str | None = None
    object: str | None = None
    kind: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SuppressionsFile:
    """Findings of a check that are not shown.

    Attributes:
        suppress: which, each begun by `[[suppress]]`.
    """

    suppress: tuple[Suppression, ...] | None = None


def keys_of(kind: Any) -> tuple[str, ...]:
    """The keys of a table of such a file."""
    return tuple(one.name.removesuffix("_") for one in fields(kind))
