"""Traces of memory lines (NVMain, DRAMsim3, Ramulator): no program, so they drive controller and device alone."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

from . import _engine, api
from .errors import Interrupted
from .options import LineOptions
from .paths import checked_text
from .request import count, request
from .results import build


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """Times in ns from the cycle of the trace to the answer, with the wait for earlier accesses.

    Attributes:
        p50: the median; it and `p99`, `p999` (99.9th percentile) are at most one part in a thousand too high.
    """

    mean: float
    p50: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True, slots=True)
class LineRun:
    """A trace of memory lines on a design.

    Attributes:
        format: `nvmain`, `dramsim3` or `ramulator`.
        trace_clock_mhz: frequency of the clock whose cycles the trace has.
        requests: accesses, the sum of reads and writes.
        folded: accesses whose address was folded into the device's memory.
        waited: accesses that were sent after their cycle, because there was no room in the controller for them or for
            one before them.
        simulated_ns: time from the first access until everything is on the media.
        finish_ns: time from the first access until the last answer.
        requests_per_second: in simulated time, up to the last answer.
        read_response_ns: time from the cycle of a read to its decrypted line; None without reads, or if the trace has
            no cycles.
        write_response_ns: time from the cycle of a write until it is in the persistence domain.
        read_latency_ns: mean time from the sending of a read, when there is room for it, to the decrypted line; None
            without reads.
        write_latency_ns: mean time from the sending of a write until it is in the persistence domain; None without
            writes.
        media_write_latency_ns: mean time until a write, or a newer one of its line, is on the media.
        counter_hits: lookups that found their block in the counter cache; None without one.
        counter_misses: lookups that did not, and fetched it.
        counter_secondary_misses: lookups that did not find their block because it was already being fetched.
        counter_hit_rate: hits over these lookups; None without lookups.
        document: the document it was made from.
    """

    design: str
    variant: str
    workload: str
    format: str
    machine: str
    seed: int
    trace_clock_mhz: int
    requests: int
    reads: int
    writes: int
    folded: int
    waited: int
    simulated_ns: float
    finish_ns: float
    requests_per_second: float
    read_response_ns: ResponseTimes | None
    write_response_ns: ResponseTimes | None
    read_latency_ns: float | None
    write_latency_ns: float | None
    media_write_latency_ns: float | None
    media_reads: int
    counter_reads: int
    media_writes: int
    counter_writes: int
    counter_hits: int | None
    counter_misses: int | None
    counter_secondary_misses: int | None
    counter_hit_rate: float | None
    event_digest: str
    document: Mapping[str, Any] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))


def is_line_trace(trace: str | os.PathLike[str]) -> bool:
    """Whether `trace` is a file of memory lines.

    Raises:
        InputError: the file cannot be read, or is not a trace.
    """
    return _engine.trace_kind(checked_text(os.fspath(trace), "trace")) == "lines"


def replay_lines(
    trace: str | os.PathLike[str],
    designs: Iterable[str | os.PathLike[str]] | None = None,
    *,
    workers: int = 0,
    progress: api.Progress | None = None,
    **options: Unpack[LineOptions],
) -> list[LineRun]:
    """Replays a trace of memory lines on designs, all on one machine.

    Args:
        trace: path of the trace, plain or compressed.
        designs: default every design.
        workers: simulations at a time; 0 is one per processor, and there are never more.
        progress: called with the number of bytes of the trace that are done, over all designs, and the total.
        **options: see `LineOptions`; the machine defaults to the first design's preset.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `lines` are the replays that were finished.
    """
    names = [design.name for design in api.designs()] if designs is None else list(designs)
    if not names:
        raise _engine.InputError("there is nothing to replay on: name at least one design")
    api.check_names(names)
    machine = api.machine_for(names, options.get("machine"))
    asked = [request(LineOptions, design, trace, {**options, "machine": machine}) for design in names]
    try:
        answer = json.loads(_engine.replay(json.dumps({"runs": asked}), count("workers", workers), progress))
    except _engine.Interrupted as stop:
        raise Interrupted(lines=_runs((api.finished(stop) or {}).get("results", []))) from None
    return _runs(answer["results"])


def _runs(results: Iterable[Mapping[str, Any]]) -> list[LineRun]:
    return [build(LineRun, {**result, "document": result}) for result in results if "error" not in result]
