"""The engine made quick, for tests of the Python package alone.

Runs are tiny on the real engine, whatever was asked for, and answered as what was asked for. Crashes have the
violations that are stated here, in the form of the engine's report of one crash.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from counterpoint import _engine

Progress = Callable[[int, int], object] | None

_run_many, _crash, _resolve = _engine.run_many, _engine.crash, _engine.resolve

#: What goes wrong first without an annotation: event, rule and stage. An empty one is superfluous.
_WITHOUT: dict[str | None, list[tuple[int, str, str]]] = {
    "prepare-counter-cache-writeback": [(417, "atomicity", "mutate"), (733, "structure", "commit")],
    "commit-counter-atomic": [(902, "durability", "commit")],
    "flush-data": [(611, "durability", "mutate")],
}


@cache
def form(design: str) -> str:
    """The form of the programs that a built-in design runs."""
    return str(json.loads(_engine.describe_design(design))["form"])


@cache
def _workloads() -> set[str]:
    return {workload["name"] for workload in json.loads(_engine.describe())["workloads"]}


def _tiny(asked: dict[str, Any]) -> dict[str, Any]:
    """A request for little, which the engine refuses where it refuses this one; every trace is a workload."""
    kept = {name: value for name, value in asked.items() if name not in ("timeline", "allow_truncated")}
    workload = asked["workload"] if asked["workload"] in _workloads() else "array"
    return {**kept, "workload": workload, "transactions": 3, "warmup": 0, "footprint": "512KiB"}


def resolve(request: str) -> str:
    """The request itself, where the engine takes it."""
    _resolve(json.dumps(_tiny(json.loads(request))))
    return request


def run_many(request: str, workers: int = 0, progress: Progress = None) -> str:
    runs = json.loads(request)["runs"]
    found = json.loads(_run_many(json.dumps({"runs": [_tiny(asked) for asked in runs]}), 1))["results"]
    for done, (asked, document) in enumerate(zip(runs, found, strict=True), start=1):
        document |= {"workload": asked["workload"], "transactions": asked.get("transactions", 10_000)}
        document["host"] = dict.fromkeys(document["host"], 1)
        if progress is not None:
            progress(done, len(runs))
    return json.dumps({"results": found})


replay = run_many


def run_document(asked: dict[str, Any]) -> dict[str, Any]:
    """The run that answers this request, the same each time."""
    (document,) = json.loads(run_many(json.dumps({"runs": [asked]})))["results"]
    return dict(document)


class Session:
    """Calls of `run_many`, whatever that is at the moment."""

    def __init__(self, bases_max: int = 4, bytes_max: int = 0) -> None:
        self.populations = 0

    def run_many(self, request: str, workers: int = 0, progress: Progress = None) -> str:
        return _engine.run_many(request, workers, progress)


def crash(request: str, progress: Progress = None) -> str:
    document = crash_document(json.loads(request))
    if progress is not None:
        progress(200, 200)
    return json.dumps(document)


def crash_document(asked: dict[str, Any]) -> dict[str, Any]:
    """A report as the engine gives it.

    `write-back` does not hold, and `sca` needs two of its three annotations, `easy-pm` its only one.
    """
    broken: list[tuple[int, str, str]] = []
    if asked["design"] == "write-back":
        # An example of each rule comes first.
        broken = [(517, "line", "mutate"), (90, "pad_reuse", "prepare")]
        broken += [(517 + n, "line", "mutate") for n in range(1, 6)]
    if form(asked["design"]) in ("annotated", "hardware-logged"):
        broken = _WITHOUT.get(asked.get("leave_out"), [])
    again = asked.get("nested") or "nested_depth" in asked
    nested = 3 if again and asked["design"] == "bbe" and asked.get("variant") == "published" else None
    if nested:
        broken = [(88, "pad_reuse", "commit")]
    nested_events = [nested, *range(1, asked.get("nested_depth", 1))] if nested else []
    if asked.get("fault"):
        broken = [(91, "line", "prepare")]
    violations = [
        {
            "rule": rule,
            "crash_event": event,
            "nested_event": nested,
            "nested_events": nested_events,
            "schedule": 0,
            "core": 0,
            "transaction": 1,
            "stage": stage,
            "line": 0x1240,
            "explanation": "The line was flushed and fenced, but its counter was still in the counter cache.",
            "lines": [],
            "lost_lines": 0,
            "reproduce": {"at_event": event},
        }
        for event, rule, stage in broken
    ]
    tiny = {**_tiny(asked), "points": 1, "shrink": False, "blame": False}
    for name in ("at_event", "stages", "nested", "nested_depth"):
        tiny.pop(name, None)
    report: dict[str, Any] = json.loads(_crash(json.dumps(tiny)))
    stated = {name: value for name, value in report["request"].items() if name not in ("points", "shrink", "blame")}
    return report | {
        "workload": asked["workload"],
        "request": {**stated, **asked},
        "holds": not violations,
        "crash_points": 1000,
        "nested_points": 640 if again else 0,
        "distinct_states": 321,
        "recovered": 1000 if nested else 1000 - len(violations),
        "coverage": "Power failed after each event of the run.",
        "violation_count": len(violations),
        "violations": violations,
        "stages": _stages(asked["design"]) if asked.get("stages") else [],
        "host": dict.fromkeys(report["host"], 1),
        "reproduce": _again(asked) | {"transactions": 2},
    }


def _again(asked: dict[str, Any]) -> dict[str, Any]:
    names = ("design", "workload", "leave_out", "fault")
    return {"seed": 1, **{name: asked[name] for name in names if name in asked}}


def _stages(design: str) -> list[dict[str, Any]]:
    """Table 1 of secpm for `write-back`, Table 2 for others; lines are not examined if caches persist."""

    def part(pending: int, counter_lost: int) -> dict[str, int | None]:
        of = None if design == "unencrypted" else counter_lost
        return {"lines": 500, "pending": pending, "content_lost": 0, "counter_lost": of}

    lost = 7 if design == "write-back" else 0
    rows = [
        ("prepare", 0, (40, 0), (0, 0)),
        ("mutate", lost, (0, lost), (30, lost)),
        ("commit", lost, (0, lost), (0, lost)),
    ]
    look = form(design) != "flush-free"
    return [
        {
            "stage": stage,
            "crash_points": 100,
            "failed": failed,
            "unrecoverable": failed,
            "log": part(*log) if look else None,
            "data": part(*data) if look else None,
        }
        for stage, failed, log, data in rows
    ]


def scene(request: str, progress: Progress = None) -> str:
    """A window of three events: a store, a flush that persists, and a fence after which `write-back` fails."""
    asked = json.loads(request)
    fails = asked["design"] == "write-back"
    event = asked.get("at_event")
    first = 1 if event is None else event - 1
    document = {
        "schema": 1,
        "design": asked["design"],
        "variant": asked.get("variant", "hardened"),
        "workload": asked["workload"],
        "seed": asked.get("seed", 1),
        "reproduce": _again(asked),
        "at_event": event,
        "first": first,
        "last": first + 2,
        "ns": [1.0, 2.0, 2.5],
        "queued": [0, 1, 1],
        "lanes": ["core 0", "caches", "counter cache", "AES", "WPQ", "device"],
        "marks": [
            {"n": first, "lane": 1, "kind": "store", "line": 64, "core": 0, "text": "8 bytes at offset 0"},
            {"n": first + 1, "lane": 3, "kind": "pad for a write", "line": 64, "unit": 0, "span": [1.5, 2.0]},
            {"n": first + 1, "lane": 4, "kind": "data persists", "line": 64, "bytes": "5a" * 64},
            {"n": first + 2, "lane": 0, "kind": "fence complete", "core": 0},
        ],
        "counters": "split",
        "cipher": "counter-mode",
        "persistent": False,
        "states": ["as flushed", "newer, in flight", "older", "reads as zero"],
        "contents": ["00" * 64],
        "lines": [{"address": 64, "role": "heap of core 0"}],
        "registers": [[["re-encryption status", "free"]]],
        "boots": [[{"text": "1 write drained to the media (1 of data, 0 of counters)"}]],
        "verdicts": [{"recovers": True, "violations": []}] + [{"recovers": False, "violations": [0]}] * fails,
        "violations": [
            {
                "rule": "line",
                "crash_event": first + 2,
                "core": 0,
                "transaction": 0,
                "stage": "prepare",
                "line": 64,
                "explanation": "Its counter </script><b>was lost</b>.",
            }
        ]
        * fails,
        "points": [
            {
                "n": first,
                "lines": [[0, 0, [0, 0], None, True, False, False, 0]],
                "registers": 0,
                "boot": 0,
                "verdict": 0,
            },
            {"n": first + 2, "lines": [[0, 3, [0, 0], [0, 1], False, True, False, 0]], "verdict": int(fails)},
        ],
        "internal_errors": [],
    }
    return json.dumps(document)
