"""The order in which runs are computed, on which only time depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def place_in_memory(request: Mapping[str, Any]) -> tuple[str, ...]:
    """A sort key that puts runs with the same populated memory next to each other."""
    names = ("workload", "machine", "tx_size", "footprint", "cores", "seed", "warmup")
    program = [text for text in request.get("set", ()) if text.startswith("program.")]
    return (*(str(request.get(name, "")) for name in names), *program)


def in_order(requests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The names of requests in the order in which to compute them.

    Long runs, which fill the caches of a processor, are spread evenly over the others, so that seldom two of them
    disturb each other; the longer ones come first, so that no process is left with one at the end. Among runs of one
    length, those with the same populated memory are next to each other.
    """
    work = {name: _transactions(request) for name, request in requests.items()}
    ordered = sorted(requests, key=lambda name: (-work[name], place_in_memory(requests[name])))
    longest = max(work.values(), default=0)
    long = [name for name in ordered if 2 * work[name] > longest]
    return _spread(long, ordered[len(long) :], work)


def _spread(long: Sequence[str], short: Sequence[str], work: Mapping[str, int]) -> list[str]:
    """Both in one order, in which each has at any place about the same share of its work behind it."""
    of_long, of_short = (sum(work[name] for name in names) for names in (long, short))
    merged: list[str] = []
    done = 0
    rest = list(reversed(short))
    done_short = 0
    for name in long:
        while rest and done * of_short > done_short * of_long:
            merged.append(rest.pop())
            done_short += work[merged[-1]]
        merged.append(name)
        done += work[name]
    return merged + rest[::-1]


def _transactions(request: Mapping[str, Any]) -> int:
    """How many transactions a run has on all cores, as far as the request says it."""
    counts = [request.get(name, 0) for name in ("transactions", "warmup")]
    cores = request.get("cores", 1)
    return sum(counts) * cores if all(isinstance(count, int) for count in (*counts, cores)) else 0
