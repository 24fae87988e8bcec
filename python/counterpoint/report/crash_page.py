"""`crash.html`: an interactive picture of one crash, without a network, and its window as a trace for Perfetto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from ..contract.results import Crash
from ..system import units
from ..verbs import catalogue
from . import attack_words, colours
from .templates import template

_SHAPE = ("transactions", "tx_size", "footprint", "cores", "schedule")
"""The options in which a smaller run differs from the run in which it was found."""


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


def render(scene: Mapping[str, Any], verdict: Crash) -> str:
    """The page of a scene, as `api.scene` gives it, of the run that `verdict` is about."""
    first, last = scene["first"], scene["last"]
    asked = scene["at_event"]
    # "<" cannot end the script in which the document lies.
    document = json.dumps(scene, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return template("crash.html").render(
        title=f"{scene['design']} on {PurePath(scene['workload']).name}",
        outcome=outcome(verdict),
        provisos=verdict.provisos,
        attacks=verdict.attacks,
        words=attack_words,
        scene=document,
        open=(first + last) // 2 if asked is None else asked,
        first=first,
        last=last,
        seed=scene["seed"],
        variant=scene["variant"],
        secret=verdict.secret,
        encrypted=scene["counters"] is not None,
        split=scene["counters"] == "split",
        engine=catalogue.engine_version(),
        colours=colours,
        light=lambda colour: colour,
        dark=lambda colour: colours.DARK[colour],
    )


def outcome(verdict: Crash) -> str:
    """How many crashes failed, in a sentence."""
    crashes = units.count_of(verdict.crash_points, "crash", "es")
    if verdict.holds is None:
        return "Nothing was judged: the exploration ended before power failed after a store of the program."
    if verdict.holds:
        leaked = " and nothing leaked" if verdict.secret else ""
        if verdict.left_out is not None:
            leaked = f", but the running machine leaked {units.count_of(verdict.left_out.count, 'time')} beside them"
        return f"Of {crashes} that were tried, every one recovered{leaked}."
    failed = verdict.crash_points - verdict.recovered
    if failed:
        return f"{units.number(failed)} of {crashes} that were tried failed."
    if verdict.recovery_causes:
        return f"Of {crashes} that were tried every one recovered, but not where power failed again during recovery."
    return f"Of {crashes} that were tried none failed, yet a rule was broken."


def trace(scene: Mapping[str, Any]) -> dict[str, Any]:
    """The window as Perfetto and chrome://tracing read it: a process for each lane, and one for the verdict."""
    return {"displayTimeUnit": "ns", "traceEvents": list(_trace_events(scene))}


def _trace_events(scene: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    lanes, first, times = scene["lanes"], scene["first"], scene["ns"]
    crash = len(lanes) + 1
    for lane, name in enumerate([*lanes, "a crash"], start=1):
        yield {"ph": "M", "name": "process_name", "pid": lane, "args": {"name": name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": lane, "args": {"sort_index": lane}}
    for mark in scene["marks"]:
        arguments = {"event": mark["n"]}
        if "line" in mark:
            arguments["line"] = hex(mark["line"])
        if "text" in mark:
            arguments["what"] = mark["text"]
        place = {"pid": mark["lane"] + 1, "tid": mark.get("unit", int(mark.get("block", False)))}
        name = f"{mark['kind']} (counters)" if mark.get("block") and "span" in mark else mark["kind"]
        common = {"name": name, "args": arguments, **place}
        if "span" in mark:
            begin, end = mark["span"]
            yield {"ph": "X", "ts": begin / 1e3, "dur": (end - begin) / 1e3, **common}
        else:
            yield {"ph": "i", "s": "t", "ts": times[mark["n"] - first] / 1e3, **common}
    queue = lanes.index("WPQ") + 1
    for time, entries in zip(times, scene["queued"], strict=True):
        yield {"ph": "C", "ts": time / 1e3, "pid": queue, "name": "entries", "args": {"entries": entries}}
    verdicts = [point for point in scene["points"] if "verdict" in point]
    ends = [times[point["n"] - first] for point in verdicts[1:]] + [times[-1]] if verdicts else []
    for point, end in zip(verdicts, ends, strict=True):
        verdict, begin = scene["verdicts"][point["verdict"]], times[point["n"] - first]
        rules = sorted({scene["violations"][place]["rule"] for place in verdict["violations"]})
        arguments = {"event": point["n"], "rules": ", ".join(rules)}
        name = "recovers" if verdict["recovers"] else "a rule is broken"
        yield {
            "ph": "X",
            "ts": begin / 1e3,
            "dur": (end - begin) / 1e3,
            "pid": crash,
            "tid": 0,
            "name": name,
            "args": arguments,
        }
