"""`crash.html`: an interactive picture of one crash, without a network, and its window as a trace for Perfetto."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..contract.results import Crash, Shrunk
from ..system import units
from ..verbs import catalogue
from ..verbs.guarantees import SECRECY
from . import attack_words, colours
from .crash_scenes import Axis, Shown
from .templates import template


def render(axis: Axis) -> str:
    """The page of one run, or of two runs of the same program under one handle."""
    verdict = axis.shown[0].verdict
    designs = [_told(index, shown) for index, shown in enumerate(axis.shown)]
    page = {
        "open": axis.open,
        "designs": [
            {
                "name": design["name"],
                "scene": shown.scene,
                "begin": shown.begin,
                "columns": list(shown.columns),
            }
            for design, shown in zip(designs, axis.shown, strict=True)
        ],
    }
    # "<" cannot end the script in which the document lies.
    document = json.dumps(page, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    names = " and ".join(design["name"] for design in designs)
    return template("crash.html").render(
        title=f"{names} on {units.name_of(verdict.workload)}",
        headline=headline([shown.verdict for shown in axis.shown]),
        smaller="" if axis.smallest is None else _size(axis.smallest),
        several=len(designs) > 1,
        designs=designs,
        attacks=verdict.attacks,
        words=attack_words,
        document=document,
        engine=catalogue.engine_version(),
        colours=colours,
        light=lambda colour: colour,
        dark=lambda colour: colours.DARK[colour],
    )


def _told(index: int, shown: Shown) -> dict[str, Any]:
    """What the page says of a design and its window."""
    verdict, scene = shown.verdict, shown.scene
    return {
        "index": index,
        "name": name_of(verdict),
        "variant": scene["variant"],
        "seed": scene["seed"],
        "first": shown.begin,
        "last": shown.begin + len(shown.columns) - 1,
        "counters": scene["counters"],
        "secret": verdict.secret,
        "provisos": verdict.provisos,
    }


def name_of(verdict: Crash) -> str:
    """The design, and what of it or of its program was left out."""
    missing = [part for part in (verdict.fault, verdict.request.get("leave_out")) if part is not None]
    return f"{verdict.design} without {' and '.join(missing)}" if missing else verdict.design


def _size(run: Shrunk) -> str:
    """The size of a run."""
    return (
        f"{units.count_of(run.transactions, 'transaction')} of {units.size(run.tx_size)} in a footprint of "
        f"{units.size(run.footprint)}"
    )


def headline(verdicts: Sequence[Crash]) -> str:
    """What became of the power failures of one design, or of two, in a sentence."""
    fates = "; ".join(f"{name_of(verdict)} {_fate(verdict)}" for verdict in verdicts)
    return f"On {units.name_of(verdicts[0].workload)}, {fates}"


def _fate(verdict: Crash) -> str:
    """What became of the power failures of a design."""
    crashes = verdict.crash_points
    every = f"all {units.number(crashes)} power failures" if crashes != 1 else "the power failure that was tried"
    if verdict.holds is None:
        return "was not judged: no power failed after a store of the program"
    failed = crashes - verdict.recovered
    if failed:
        return f"fails after {units.number(failed)} of {units.count_of(crashes, 'power failure')}"
    if not verdict.holds:
        if verdict.recovery_causes or any(violation.nested_events for violation in verdict.violations):
            return f"recovers from {every}, but not where power fails again during recovery"
        leaks = all(violation.rule in SECRECY for violation in verdict.violations)
        return f"recovers from {every}, yet {'secrets leak' if leaks else 'a rule is broken'}"
    missed = sum(row.accepted for row in verdict.attacks.rows) if verdict.attacks is not None else 0
    if verdict.attacks is not None and missed:
        attacks = f"{units.number(missed)} of {units.count_of(verdict.attacks.attacked, 'attack')}"
        return f"recovers from {every}, but does not notice {attacks}"
    return f"recovers from {every}"


def outcome(verdict: Crash) -> str:
    """How many crashes failed, in a sentence."""
    crashes = units.count_of(verdict.crash_points, "crash", "es")
    were = "was" if verdict.crash_points == 1 else "were"
    if verdict.holds is None:
        return "Nothing was judged: the exploration ended before power failed after a store of the program."
    if verdict.holds:
        stored = " and nothing was stored in the clear" if verdict.bus_in_the_clear else " and nothing leaked"
        leaked = stored if verdict.secret else ""
        if verdict.left_out is not None:
            leaked = f", but the running machine leaked {units.count_of(verdict.left_out.count, 'time')} beside them"
        return f"Of {crashes} that {were} tried, every one recovered{leaked}."
    failed = verdict.crash_points - verdict.recovered
    if failed:
        return f"{units.number(failed)} of {crashes} that {were} tried failed."
    if verdict.recovery_causes:
        return f"Of {crashes} that {were} tried every one recovered, but not where power failed again during recovery."
    return f"Of {crashes} that {were} tried none failed, yet a rule was broken."


def trace(shown: Sequence[Shown]) -> dict[str, Any]:
    """The windows as Perfetto and chrome://tracing read them: a process for each lane, and one for the verdict."""
    events: list[dict[str, Any]] = []
    for window in shown:
        prefix = f"{name_of(window.verdict)}: " if len(shown) > 1 else ""
        events.extend(_trace_events(window.scene, prefix, sum(event["name"] == "process_name" for event in events)))
    return {"displayTimeUnit": "ns", "traceEvents": events}


def _trace_events(scene: Mapping[str, Any], prefix: str, before: int) -> Iterator[dict[str, Any]]:
    """The events of a window, after a number of processes that belong to others."""
    lanes, first, times = scene["lanes"], scene["first"], scene["ns"]
    crash = before + len(lanes) + 1
    for lane, name in enumerate([*lanes, "a crash"], start=before + 1):
        yield {"ph": "M", "name": "process_name", "pid": lane, "args": {"name": prefix + name}}
        yield {"ph": "M", "name": "process_sort_index", "pid": lane, "args": {"sort_index": lane}}
    for mark in scene["marks"]:
        arguments = {"event": mark["n"]}
        if "line" in mark:
            arguments["line"] = hex(mark["line"])
        if "text" in mark:
            arguments["what"] = mark["text"]
        place = {"pid": before + mark["lane"] + 1, "tid": mark.get("unit", int(mark.get("block", False)))}
        name = f"{mark['kind']} (counters)" if mark.get("block") and "span" in mark else mark["kind"]
        common = {"name": name, "args": arguments, **place}
        if "span" in mark:
            begin, end = mark["span"]
            yield {"ph": "X", "ts": begin / 1e3, "dur": (end - begin) / 1e3, **common}
        else:
            yield {"ph": "i", "s": "t", "ts": times[mark["n"] - first] / 1e3, **common}
    queue = before + lanes.index("WPQ") + 1
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
