# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What the replay of a trace of memory lines measured. Durations are in ns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import behaviour
from .runs import Bank, Channel, Crypto, Energy, Integrity, LatencyClass, Nvm, Windows, Wpq

LineFormat: TypeAlias = Literal["nvmain", "prospero", "dramsim2", "dramsim3", "ramulator"]
"""The format of a line trace, by its simulator. `nvmain`: `cycle R|W address data thread`, with or without a first line
`NVMV1`; `prospero`: `cycle R|W address size`, SST's text traces; `dramsim2`: `address P_FETCH|P_MEM_RD|P_MEM_WR|...
cycle`, and `IFETCH`: DRAMSim2's k6 and mase traces; `dramsim3`: `address READ|WRITE cycle`; `ramulator`: `LD|ST
address`, `R|W address` or `address R|W`."""


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """Response times in nanoseconds.

    Attributes:
        mean: mean.
        p50: median (nearest rank, as the other percentiles).
        p90: 90th percentile.
        p99: 99th percentile.
        p999: 99.9th percentile.
        max: the longest.
    """

    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True, slots=True)
class LineHost:
    """The cost of a simulation on the host.

    Attributes:
        seconds: wall-clock seconds of the simulation.
        requests_per_second: accesses per wall-clock second.
    """

    seconds: float
    requests_per_second: float | None


@dataclass(frozen=True, slots=True)
class LineRun(behaviour.Document):
    """The report of a line trace on a design. Times are in nanoseconds.

    Attributes:
        design: the design's name.
        variant: `published` or `hardened`.
        workload: path of the trace.
        format: the format of the trace.
        machine: the machine's name.
        seed: seed of the encryption keys and of made-up data.
        config_digest: digest of the configuration.
        engine_version: version of the engine.
        engine_build: digest of the engine's sources.
        trace_clock_mhz: clock of the trace's cycles in MHz.
        requests: number of accesses: reads and writes.
        reads: number of reads.
        writes: number of writes.
        folded: accesses whose address was folded into the device's.
        waited: accesses that were sent after their cycle, because there was no room for them or for one before them; in
            a trace without cycles, those that found no room.
        simulated_ns: time from the first access until everything is on the media.
        finish_ns: time from the first access until the last answer.
        requests_per_second: accesses per simulated second, from the first sent to the last answered; None without any.
        read_response_ns: time from the cycle of a read to its decrypted line; None without reads, or if the trace has
            no cycles.
        write_response_ns: time from the cycle of a write until it is in the persistence domain.
        read_latency_ns: mean time from the sending of a read to its decrypted line; None without reads.
        write_latency_ns: mean time from the sending of a write until it is in the persistence domain.
        media_write_latency_ns: mean time from the sending of a write until the media have programmed it, or a newer
            write of its line.
        media_reads: lines and counter blocks read from the media.
        counter_reads: counter blocks among the media reads.
        media_writes: lines and counter blocks written to the media.
        counter_writes: counter blocks among the media writes.
        counter_hits: lookups that found their block in the counter cache; None without one.
        counter_misses: lookups that did not find their block, and fetched it.
        counter_secondary_misses: lookups that did not find their block because it was already being fetched.
        counter_hit_rate: hits over these lookups.
        forwarded_reads: reads that were answered from the write pending queue or from a write that was not in it yet.
        read_latency_classes: the times of `read_latency_ns`, in classes: those that are not empty, in ascending order,
            each twice as wide as the one before.
        write_latency_classes: the times of `write_latency_ns`, in the same classes.
        nvm: figures of the device.
        energy: energy by part.
        channels: figures of each channel of the device.
        banks: figures of each bank of the device.
        wpq: figures of the write pending queue.
        crypto: figures of the encryption.
        integrity: figures of what protects integrity; None if nothing does.
        event_digest: digest of every event.
        host: the cost on the host.
        parts: the parts of a design that is not built in.
        set_by_design: the values of the machine that come from the design, as in `integrity.stop_loss = 8`.
        windows: the figures over time; absent unless they were requested.
        document: the document it was made from.
    """

    design: str
    variant: str
    workload: str
    format: LineFormat
    machine: str
    seed: int
    config_digest: str
    engine_version: str
    engine_build: str
    trace_clock_mhz: int
    requests: int
    reads: int
    writes: int
    folded: int
    waited: int
    simulated_ns: float
    finish_ns: float
    requests_per_second: float | None
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
    forwarded_reads: int
    read_latency_classes: tuple[LatencyClass, ...]
    write_latency_classes: tuple[LatencyClass, ...]
    nvm: Nvm
    energy: Energy
    channels: tuple[Channel, ...]
    banks: tuple[Bank, ...]
    wpq: Wpq
    crypto: Crypto
    integrity: Integrity | None
    event_digest: str
    host: LineHost
    document: Mapping[str, Any] = field(repr=False, compare=False)
    parts: Mapping[str, Any] | None = None
    set_by_design: str | None = None
    windows: Windows | None = None
