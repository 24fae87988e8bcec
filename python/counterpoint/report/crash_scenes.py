"""What `crash.html` shows: windows of runs, the event at which each opens, and one axis for two designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from .._engine import InputError
from ..contract.options import SceneOptions
from ..contract.request import part
from ..contract.results import Crash, Shrunk
from ..verbs import api, catalogue
from ..verbs.api import Progress

Scene = dict[str, Any]

_SHAPE = ("transactions", "tx_size", "footprint", "cores", "schedule")
"""The options in which a smaller run differs from the run in which it was found."""
_BEFORE, _AFTER = 400, 100
"""Events of a window before the event that it is about, and after it, as the engine draws it."""
_WINDOWS_MAX = 5
"""How many windows of a run are looked at for one that is worth showing, or that shows the steps of another."""
_PROGRAM = frozenset({"store", "flush", "counter cache writeback", "counter-atomic from now on", "fence complete"})
"""Marks that tell what the program does, whatever design it runs on; those of transactions beside."""


@dataclass(frozen=True)
class Shown:
    """A window, and the column of the common axis in which each of its events lies.

    Attributes:
        scene: as `api.scene` gives it.
        verdict: the verdict on its run.
        begin: the first event that is shown.
        columns: of each event from `begin` on; the last event in or before a column is the one that counts there.
    """

    scene: Scene
    verdict: Crash
    begin: int
    columns: Sequence[int]


@dataclass(frozen=True)
class Axis:
    """Windows under one handle.

    Attributes:
        shown: one, or two of the same program.
        open: the column at which the page opens.
        smallest: the smallest run that fails, if that is shown, and not the one that was judged.
    """

    shown: Sequence[Shown]
    open: int
    smallest: Shrunk | None = None


def opening(verdict: Crash) -> tuple[int | None, dict[str, Any]]:
    """The crash at which the page opens, and in what the run that shows it differs from the one judged.

    The event that was asked for; else the first of the smallest runs, else the first violation, which are those that
    lose data if any are; None where nothing is wrong.
    """
    if verdict.crash_points and "at_event" in verdict.request:
        return verdict.request["at_event"], {}
    for smaller in verdict.shrunk:
        return smaller.crash_event, {"warmup": 0} | {name: getattr(smaller, name) for name in _SHAPE}
    for violation in verdict.violations:
        return violation.crash_event, {"schedule": violation.schedule}
    return None, {}


def interesting(scene: Mapping[str, Any]) -> int | None:
    """The event at which a window without a violation is worth opening.

    The first after which the boot has lines to put right, and did not have them at the beginning; else the first in
    which data becomes durable; None if there is neither.
    """
    points = [point for point in scene["points"] if "boot" in point]
    for point in points[1:]:
        if any("lines" in step for step in scene["boots"][point["boot"]]):
            return int(point["n"])
    persists = (mark["n"] for mark in scene["marks"] if mark["kind"] == "data persists")
    return next(persists, None)


def windows(verdict: Crash, beside: Crash | None, progress: Progress | None) -> Axis:
    """The windows of the runs of these verdicts, simulated once more. Where only the second one fails, it says which.

    Raises:
        InputError: bad input, or the two verdicts are not of the same program.
        Interrupted: Ctrl-C.
    """
    if beside is not None:
        _check_same_program(verdict, beside)
    leads = verdict if beside is None or opening(verdict)[0] is not None or opening(beside)[0] is None else beside
    event, smaller = opening(leads)
    smallest = leads.shrunk[0] if "warmup" in smaller else None

    def draw(of: Crash, at: int | None) -> Scene:
        asked: dict[str, Any] = {**part(SceneOptions, of.request), "at_event": at, **smaller}
        if of is beside:
            asked["machine"] = catalogue.machine_for([verdict.request["design"]], verdict.request.get("machine"))
        return api.scene(of.request["design"], of.request["workload"], progress=progress, **asked)

    scene = draw(leads, event)
    if event is None:
        scene, event = _worth_showing(lambda at: draw(leads, at), scene, leads)
    if beside is None:
        every = range(scene["last"] - scene["first"] + 1)
        return Axis([Shown(scene, verdict, scene["first"], every)], event - scene["first"], smallest)
    follows = verdict if leads is beside else beside
    other = _other_window(lambda at: draw(follows, at), scene, event)
    (begin, columns), (other_begin, other_columns) = common_axis(scene, other)
    first, second = Shown(scene, leads, begin, columns), Shown(other, follows, other_begin, other_columns)
    return Axis([first, second] if leads is verdict else [second, first], _column(first, event), smallest)


def _check_same_program(verdict: Crash, beside: Crash) -> None:
    """Two designs can be shown beside each other if they run the same program."""
    for name in ("workload", "transactions", "tx_size", "footprint", "cores", "seed"):
        ours, theirs = verdict.request.get(name), beside.request.get(name)
        if ours != theirs:
            raise InputError(
                f"beside: must be the verdict on the same program, but its {name} is {theirs}, and not {ours}"
            )


def _worth_showing(draw: Callable[[int | None], Scene], scene: Scene, verdict: Crash) -> tuple[Scene, int]:
    """A window of a run without a violation in which something is worth opening at, and where that is.

    A long transaction does not write within the first events, so later windows are looked at, too.
    """
    chosen = scene
    for window in range(_WINDOWS_MAX):
        found = interesting(chosen)
        if found is not None:
            return chosen, found
        at = (_BEFORE + _AFTER << window) + _BEFORE
        if at > verdict.crash_points:
            break
        chosen = draw(at)
    return scene, (scene["first"] + scene["last"]) // 2


def _column(shown: Shown, event: int) -> int:
    """The column of an event, or of the one that is shown nearest to it."""
    return shown.columns[min(max(event - shown.begin, 0), len(shown.columns) - 1)]


def _transactions(scene: Mapping[str, Any]) -> dict[int, dict[int, int]]:
    """The transaction of each core at each event of a window."""
    changes = {point["n"]: point["cores"] for point in scene["points"] if "cores" in point}
    now: dict[int, int] = {}
    at = {}
    for event in range(scene["first"], scene["last"] + 1):
        now = now | {core: transaction for core, transaction, _ in changes.get(event, ()) if transaction is not None}
        at[event] = now
    return at


def _program_steps(scene: Mapping[str, Any]) -> list[tuple[int, tuple[object, ...]]]:
    """What the program does in a window: the event, and what it does, in which transaction."""
    transactions = _transactions(scene)
    return [
        (
            mark["n"],
            (
                mark["core"],
                transactions[mark["n"]].get(mark["core"]),
                mark["kind"],
                mark.get("line"),
                mark.get("text"),
            ),
        )
        for mark in scene["marks"]
        if "core" in mark and (mark["kind"] in _PROGRAM or mark["kind"].startswith("transaction "))
    ]


def common_steps(scene: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The events of two windows in which the program does the same, in order, each event once."""
    ours, theirs = _program_steps(scene), _program_steps(other)
    matcher = SequenceMatcher(None, [key for _, key in ours], [key for _, key in theirs], autojunk=False)
    common: list[tuple[int, int]] = []
    for block in matcher.get_matching_blocks():
        for place in range(block.size):
            pair = ours[block.a + place][0], theirs[block.b + place][0]
            if not common or (pair[0] > common[-1][0] and pair[1] > common[-1][1]):
                common.append(pair)
    return common


def common_axis(scene: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[int, list[int]]]:
    """The first event that is shown of each of two windows, and the column of each event from there on.

    Events in which the program does the same lie in the same column. Between two of them, the design that has more
    events takes a column for each, and those of the other are spread over them. What only one window has, before the
    first common step or after the last one, is left out.
    """
    steps = common_steps(scene, other)
    if not steps:
        raise InputError("beside: the program does nothing in the window of one design that it does in the other's")
    begin = (1, 1) if scene["first"] == other["first"] == 1 else steps[0]
    tail = min(window["last"] - end for end, window in zip(steps[-1], (scene, other), strict=True))
    end = (steps[-1][0] + tail + 1, steps[-1][1] + tail + 1)
    edges = [begin, *(step for step in steps if min(step[0] - begin[0], step[1] - begin[1]) > 0), end]
    columns: tuple[list[int], list[int]] = ([], [])
    at = 0
    for here, there in pairwise(edges):
        counts = [after - before for before, after in zip(here, there, strict=True)]
        wide = max(counts)
        for column, count in zip(columns, counts, strict=True):
            column.extend(at + place * wide // count for place in range(count))
        at += wide
    return [(begin[0], columns[0]), (begin[1], columns[1])]


def _other_window(draw: Callable[[int | None], Scene], scene: Scene, event: int) -> Scene:
    """The window of another design in which the program does what it does in `scene`.

    Where that is, is not known beforehand: events of two designs do not correspond. It is approached by the numbers of
    transactions.
    """
    if scene["first"] == 1:
        return draw(None)
    at, best = event, None
    for _ in range(_WINDOWS_MAX):
        other = draw(at)
        steps = common_steps(scene, other)
        if steps:
            best = other
            here, there = min(steps, key=lambda step: abs(step[0] - event))
            aim = there + event - here
        else:
            ours, theirs = (_center(window) for window in (scene, other))
            aim = max(1, at * (2 * ours + 1) // (2 * theirs + 1))
        if abs(aim - at) <= _AFTER // 2:
            break
        at = aim
    if best is None:
        raise InputError("beside: the window of the other design in which the program is as far was not found")
    return best


def _center(scene: Mapping[str, Any]) -> int:
    """The number of the transaction in the middle of a window."""
    return max(_transactions(scene)[(scene["first"] + scene["last"]) // 2].values(), default=0)
