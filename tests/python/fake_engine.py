"""A fake engine that answers at once with plausible figures, for tests of the Python package alone."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing
from collections.abc import Callable
from typing import Any

from counterpoint import _engine
from counterpoint._engine import InputError
from counterpoint.contract import results

Progress = Callable[[int, int], object] | None

# Data, log and counter writes, those removed, and latency, over the data writes and latency of `unencrypted`.
_DESIGNS: dict[str, tuple[float, float, float]] = {
    "unencrypted": (0.0, 0.0, 1.0),
    "ideal": (0.08, 0.0, 1.12),
    "write-back": (0.08, 0.0, 1.12),
    "write-through": (1.0, 0.0, 1.85),
    "secpm-workshop": (0.14, 0.86, 1.2),
    "secpm-no-cwr": (1.0, 0.0, 1.93),
    "secpm": (0.13, 0.87, 1.16),
    "sca": (0.1, 0.4, 1.14),
    "co-located-cc": (0.0, 0.0, 1.13),
    "hw-log": (1.0, 0.0, 1.6),
    "alc": (0.6, 0.0, 1.4),
    "easy-pm": (0.5, 0.0, 1.3),
    "adr": (0.0, 0.0, 1.8),
    "eadr": (0.0, 0.0, 1.0),
    "eadr-mc-cme": (0.05, 0.0, 1.07),
    "eadr-cme": (0.05, 0.0, 5.0),
    "eadr-all-operation": (0.05, 0.0, 1.07),
    "bbe": (0.05, 0.0, 1.07),
    "sepencr": (0.1, 0.0, 1.4),
}
#: Designs that write a line and its counter in one transfer.
_CO_LOCATED = ("co-located-cc",)
#: The form of the programs that a design runs, where it is not plain.
_FORMS = (
    {"sca": "annotated"}
    | dict.fromkeys(("hw-log", "alc", "easy-pm"), "hardware-logged")
    | dict.fromkeys(("eadr", "eadr-mc-cme", "eadr-cme", "eadr-all-operation", "bbe", "sepencr"), "flush-free")
)
#: The machines of designs, where it is not that of the SecPM paper.
_MACHINES = {"hardware-logged": "easy-pm", "flush-free": "sepencr"}
#: The annotations of each form.
_ANNOTATIONS = {
    "plain": (),
    "flush-free": (),
    "annotated": ("prepare-counter-cache-writeback", "mutate-counter-cache-writeback", "commit-counter-atomic"),
    "hardware-logged": ("flush-data",),
}
#: What goes wrong first without an annotation: event, rule and stage. An empty one is superfluous.
_WITHOUT: dict[str | None, list[tuple[int, str, str]]] = {
    "prepare-counter-cache-writeback": [(417, "atomicity", "mutate"), (733, "structure", "commit")],
    "commit-counter-atomic": [(902, "durability", "commit")],
    "flush-data": [(611, "durability", "mutate")],
}
_WORKLOADS = ("array", "queue", "hash", "btree", "rbtree", "chain-queue", "bplus-tree", "linked-list")

#: Values of machines that the validation changes.
_DECISIONS: dict[str, dict[str, Any]] = {
    "log": {"cfb_latency": "serial", "bucket_records": 16, "buckets": 256},
    "counters": {"organisation": "per-line"},
    "device": {"mapping": "line-interleaved", "write_recovery": "row-close"},
    "program": {"think_instructions": 8000},
}
_SEPENCR: dict[str, dict[str, Any]] = {
    "l1": {"size": "128KiB", "latency_cycles": 2},
    "l2": {"size": "1MiB", "latency_cycles": 8},
    "l3": {"size": "2MiB", "latency_cycles": 30},
    "eadr": {"cme_levels": 3, "xor_cycles": 1},
    "program": {"think_instructions": 8000, "footprint": "512KiB", "footprint_per_core": True},
}


def describe() -> str:
    return json.dumps(
        {
            "engine_version": "of-a-test",
            "engine_build": "f00d",
            "designs": [
                {
                    "name": name,
                    "summary": f"what {name} is",
                    "paper": "SecPM, section 3",
                    "machine": "sepencr" if name == "adr" else _MACHINES.get(_form(name), "secpm"),
                    "form": _form(name),
                    "variants": ["published", "hardened"],
                    "crash_consistent": name != "ideal",
                    "encrypted": name != "unencrypted",
                }
                for name in _DESIGNS
            ],
            "workloads": [
                {"name": name, "summary": f"what {name} does", "has_log": name != "linked-list"} for name in _WORKLOADS
            ],
            "machines": [
                {
                    "name": name,
                    "source": "Table 3",
                    "values": {
                        "name": name,
                        "controller": {"wpq_entries": 32, "counter_wpq_merging": False},
                        **(_SEPENCR if name == "sepencr" else _DECISIONS),
                    },
                }
                for name in ("secpm", "secpm-workshop", "easy-pm", "sepencr", "small")
            ],
            "faults": [
                {"name": "staging-register", "summary": "No register.", "designs": ["secpm-no-cwr", "secpm"]},
                {"name": "epoch-bits", "summary": "Stamps of one bit.", "designs": ["sepencr"]},
            ],
        }
    )


def describe_design(design: str) -> str:
    """One of those that `describe` gives, whatever that is at the moment."""
    for known in json.loads(_engine.describe())["designs"]:
        if known["name"] == design:
            return json.dumps(known)
    raise InputError(f"design '{design}' does not exist; the nearest is 'secpm'")


def _form(design: str) -> str:
    return _FORMS.get(design, "plain")


def resolve(request: str) -> str:
    asked = json.loads(request)
    _check(asked)
    return json.dumps(asked)


def run_many(request: str, workers: int = 0, progress: Progress = None) -> str:
    runs = json.loads(request)["runs"]
    for asked in runs:
        _check(asked)
    results = []
    for done, asked in enumerate(runs, start=1):
        results.append(run_document(asked))
        if progress is not None:
            progress(done, len(runs))
    return json.dumps({"results": results})


replay = run_many


class Session:
    """Calls of `run_many`, whatever that is at the moment."""

    def __init__(self, bases_max: int = 4, bytes_max: int = 0) -> None:
        self.populations = 0

    def run_many(self, request: str, workers: int = 0, progress: Progress = None) -> str:
        return _engine.run_many(request, workers, progress)


def crash(request: str, progress: Progress = None) -> str:
    asked = json.loads(request)
    _check(asked)
    if asked["design"] == "ideal":
        raise InputError("design 'ideal' makes no promise about crashes: it is an upper bound")
    known = _ANNOTATIONS[_form(asked["design"])]
    if "leave_out" in asked and asked["leave_out"] not in known:
        missing = asked["leave_out"] if known else "annotations"
        raise InputError(f"leave_out: design '{asked['design']}' runs programs without {missing}")
    if progress is not None:
        progress(200, 200)
    return json.dumps(crash_document(asked))


def _check(asked: dict[str, Any]) -> None:
    if asked["design"] not in _DESIGNS:
        raise InputError(f"design '{asked['design']}' does not exist; the nearest is 'secpm'")
    size = asked.get("tx_size", 1024)
    if not isinstance(size, int) or size % 64 or not size:
        raise InputError(f"tx_size is {size}; it must be a multiple of 64 from 64 to 1 MiB")


def run_document(asked: dict[str, Any]) -> dict[str, Any]:
    """A run with every key of the interface, the same for the same request."""
    design, workload, cores = asked["design"], asked["workload"], asked.get("cores", 1)
    size = asked.get("tx_size", 1024)
    counters, removed, slower = _DESIGNS[design]
    place = hashlib.sha256(str(workload).encode()).digest()[0] / 255
    transactions = asked.get("transactions", 10_000)
    data = round(transactions * (size / 64 + 3) * (1 + place / 4))
    log = round(transactions * (size / 64 + 1))
    wish = data + log
    latency = size * 1.7 * (1 + (slower - 1) * (0.8 + place / 3))
    written = round(wish * counters)
    document: dict[str, Any] = {
        "schema": 1,
        "design": design,
        "variant": asked.get("variant", "hardened"),
        "workload": workload,
        "machine": asked.get("machine", "secpm"),
        "seed": asked.get("seed", 1),
        "cores": cores,
        "tx_size": size,
        "footprint": 2**30,
        "config_digest": "c0ffee",
        "engine_version": "of-a-test",
        "engine_build": "f00d",
        "transactions": transactions,
        "simulated_ns": latency * transactions,
        "instructions": transactions * 2000,
        "event_digest": "deadbeef",
        "transaction_latency_ns": {
            "mean": latency,
            "p50": latency * 0.9,
            "p99": latency * 2,
            "max": latency * 4,
        },
        "throughput_tps": 1e9 / latency * cores**0.8,
        "nvm": {
            "reads": 4000 + round(1000 * counters),
            "writes": wish + written,
            "data_writes": data,
            "log_writes": log,
            "counter_writes": written,
            "write_bytes": (72 if design in _CO_LOCATED else 64) * (wish + written),
            "data_reads": 4000,
            "counter_reads": round(1000 * counters),
            "read_bytes": 64 * (4000 + round(1000 * counters)),
            "energy_nj": 12.5 * (wish + written),
            "max_line_writes": transactions,
            "max_data_writes": transactions,
            "max_counter_writes": round(transactions * counters),
            "row_hits": 1234,
            "bank_busy_ns": 1e6,
        },
        "counter_cache": {"hits": 900, "misses": 40, "secondary_misses": 60, "hit_rate": 0.9, "evictions": 7}
        if design != "unencrypted"
        else dict.fromkeys(("hits", "misses", "secondary_misses", "hit_rate", "evictions")),
        "wpq": {
            "admitted": wish + written,
            "counter_writes_coalesced": round(wish * removed),
            "full_stall_ns": 1e4,
            "mean_occupancy": 9.5,
        },
        "cache": [{"level": n, "hits": 100, "misses": 10, "mean_latency_ns": 2.0} for n in (1, 2, 3)],
        "l1_access_latency_ns": 20.0 * slower,
        "core": {"ipc": 0.8, "fence_stall_ns": 1e5},
        "reencryptions": 0,
        "crypto": {"pads": wish, "aes_busy_ns": 40.0 * wish},
        "integrity": None,
        "no_writes": None,
        "at_crash": _at_crash(asked),
        "host": {
            "seconds": 0.5,
            "instructions_per_second": 1e7,
            "memory_requests_per_second": 1e6,
            "peak_rss_bytes": 10**8,
        },
    }
    return _completed(results.Stats, document)


def _completed(of: Any, document: dict[str, Any]) -> dict[str, Any]:
    """The document with 0 for each number that its type has and it does not state."""
    hints = typing.get_type_hints(of)
    missing = {one.name: 0 for one in dataclasses.fields(of) if hints[one.name] in (int, float)}
    nested = {
        name: _completed(hints[name], value)
        for name, value in document.items()
        if isinstance(value, dict) and dataclasses.is_dataclass(hints.get(name))
    }
    return {**missing, **document, **nested}


def _at_crash(asked: dict[str, Any]) -> dict[str, Any]:
    """The cost of a power failure with half of the caches dirty and a quarter of the counter cache, as in Table III."""
    design = asked["design"]
    found: dict[str, Any] = dict.fromkeys(
        ("dirty_fraction", "drain_energy_mj", "drain_energy_all_dirty_mj", "recovery_time_ns", "recovery_time_paper_ns")
    )
    if _form(design) != "flush-free":
        return found | {"parts": []}
    sizes = {"l1": 2**17 * asked.get("cores", 1), "l2": 2**20, "l3": 2**21}
    for value in asked.get("set", ()):
        level, _, text = value.partition(".size=")
        if level in sizes and text:
            size = int(text.removesuffix("KiB")) * 1024
            sizes[level] = size * asked.get("cores", 1) if level == "l1" else size
    share = 2 if design == "sepencr" else 1
    data = sum(sizes.values()) // share
    shadowed = design in ("bbe", "sepencr")
    parts = [
        _part(name, size // share, size // share // 2, 11.839 if name == "l1" else 11.228)
        for name, size in sizes.items()
    ]
    if design != "eadr":
        parts.append(_part("counter-cache", 2**19, 2**17, 11.228))
    if design in ("bbe", "eadr-all-operation"):
        parts.append(_part("encryption", data, data // 2, 0.1928))
    lines = data // 64
    return {
        "dirty_fraction": 0.5,
        "drain_energy_mj": sum(part["energy_mj"] for part in parts),
        "drain_energy_all_dirty_mj": sum(part["energy_all_dirty_mj"] for part in parts),
        "recovery_time_ns": 100.0 * lines if shadowed else None,
        "recovery_time_paper_ns": 200.0 * lines if shadowed else None,
        "parts": parts,
    }


def _part(name: str, size: int, dirty: int, nj_per_byte: float) -> dict[str, Any]:
    return {
        "name": name,
        "bytes": size,
        "dirty_bytes": dirty,
        "energy_mj": dirty * nj_per_byte / 1e6,
        "energy_all_dirty_mj": size * nj_per_byte / 1e6,
    }


def crash_document(asked: dict[str, Any]) -> dict[str, Any]:
    """A report as the engine gives it.

    `write-back` does not hold, and `sca` needs two of its three annotations, `easy-pm` its only one.
    """
    broken: list[tuple[int, str, str]] = []
    if asked["design"] == "write-back":
        # An example of each rule comes first.
        broken = [(517, "line", "mutate"), (90, "pad_reuse", "prepare")]
        broken += [(517 + n, "line", "mutate") for n in range(1, 6)]
    if _ANNOTATIONS[_form(asked["design"])]:
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
    return {
        "schema": 1,
        "design": asked["design"],
        "variant": asked.get("variant", "hardened"),
        "fault": asked.get("fault"),
        "workload": asked["workload"],
        "seed": asked.get("seed", 1),
        "crash_points": 1000,
        "nested_points": 640 if again else 0,
        "distinct_states": 321,
        "recovered": 1000 if nested else 1000 - len(violations),
        "exercised": {"evictions": 12, "counter_misses": 5, "wpq_full": 3, "reencryptions": 2},
        "coverage": "Power failed after each event of the run.",
        "assumed": None,
        "lacks": [],
        "secret": True,
        "interrupted": False,
        "out_of_time": False,
        "violation_count": len(violations),
        "internal_errors": [],
        "violations": violations,
        "left_out": None,
        "shrunk": [],
        "blame": None,
        "stages": _stages(asked["design"]) if asked.get("stages") else [],
        **dict.fromkeys(("recoveries", "causes", "by_line", "attacks")),
        "host": {"seconds": 0.1, "points_per_second": 10_000.0},
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
    look = _form(design) != "flush-free"
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
            {"n": first + 1, "lane": 4, "kind": "data persists", "line": 64},
            {"n": first + 2, "lane": 0, "kind": "fence complete", "core": 0},
        ],
        "counters": "split",
        "states": ["as flushed", "newer, in flight", "older", "reads as zero", "does not decrypt", "in the clear"],
        "lines": [{"address": 64, "role": "heap of core 0"}],
        "registers": [[["re-encryption status", "free"]]],
        "boots": [[{"text": "1 write drained to the media (1 data, 0 counters)"}]],
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
            {"n": first, "lines": [[0, 0, [0, 0], None, True, False, False]], "registers": 0, "boot": 0, "verdict": 0},
            {"n": first + 2, "lines": [[0, 3, [0, 0], [0, 1], False, True, False]], "verdict": int(fails)},
        ],
        "internal_errors": [],
    }
    return json.dumps(document)
