"""Figures of a run under the names that other memory simulators print theirs.

The names are those of DRAMsim3 1.0 (`src/simple_stats.cc`), Ramulator 2 (`generic_dram_system.cpp`,
`generic_dram_controller.cpp`) and ChampSim (`src/plain_printer.cc`). A statistic has a value only where a figure of the
run means the same; the others are listed. What counts requests counts those of the trace or the caches, and what counts
commands or rows counts all accesses of the device, also those for counters, MACs and trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..contract.results import LineRun, Run

Tool: TypeAlias = Literal["dramsim3", "ramulator", "champsim"]
"""A simulator whose names are known."""

_LINE_BYTES = 64


@dataclass(frozen=True)
class Statistic:
    """A statistic of another simulator.

    Attributes:
        name: as it prints it.
        value: None where no figure of the run means the same.
        told: what it says of it; empty where it says nothing.
    """

    name: str
    value: float | str | None
    told: str = ""


@dataclass(frozen=True)
class Section:
    """Statistics that stand together.

    Attributes:
        title: what stands above them; empty for what has no title.
        rows: the statistics.
    """

    title: str
    rows: tuple[Statistic, ...]

    @property
    def known(self) -> tuple[Statistic, ...]:
        """Those that have a value."""
        return tuple(row for row in self.rows if row.value is not None)


@dataclass(frozen=True)
class PeerStatistics:
    """A run under the names of another simulator.

    Attributes:
        tool: the simulator.
        design: the design of the run.
        sections: the statistics, in its order.
        never: names that no run has a figure for.
    """

    tool: Tool
    design: str
    sections: tuple[Section, ...]
    never: tuple[str, ...]

    @property
    def without(self) -> tuple[str, ...]:
        """The names without a figure, each once."""
        of_run = (row.name.strip() for part in self.sections for row in part.rows if row.value is None)
        return tuple(dict.fromkeys([*of_run, *self.never]))

    def value(self, name: str, section: int = 0) -> float | str | None:
        """The value of a statistic in one section."""
        return next((row.value for row in self.sections[section].rows if row.name.strip() == name), None)


@dataclass(frozen=True)
class _Channel:
    """What a channel of the device did."""

    read: int
    written: int
    read_hits: int
    write_hits: int


@dataclass(frozen=True)
class _Figures:
    """What statistics are made of; `cycles` and what is in cycles are None where no clock is given.

    `requests` are the reads and writes that somebody waited for: None where only accesses of the device are known.
    """

    design: str
    channels: tuple[_Channel, ...]
    simulated_ns: float
    nanojoules: float
    queued: float
    requests: tuple[int, int] | None = None
    mhz: int | None = None
    read_ns: float | None = None
    forwarded: int = 0
    cores: Sequence[Statistic] = field(default=())

    @property
    def cycles(self) -> int | None:
        """How long it took."""
        return None if self.mhz is None else round(self.simulated_ns * self.mhz / 1_000)

    @property
    def read_cycles(self) -> float | None:
        """The mean latency of a read."""
        return None if self.mhz is None or self.read_ns is None else self.read_ns * self.mhz / 1_000

    @property
    def alone(self) -> tuple[int, int] | None:
        """The requests of the one channel; None where there are several, whose requests are not told apart."""
        return self.requests if len(self.channels) == 1 else None


def peer_statistics(run: Run | LineRun, tool: Tool) -> PeerStatistics:
    """The figures of a run under the names of another simulator."""
    figures = _of_lines(run) if isinstance(run, LineRun) else _of_program(run)
    sections, never = _TOOLS[tool](figures)
    return PeerStatistics(tool, figures.design, tuple(sections), never)


def _channels(run: Run | LineRun) -> tuple[_Channel, ...]:
    found = run.channels if isinstance(run, LineRun) else run.stats.channels
    return tuple(_Channel(one.reads, one.writes, one.read_row_hits, one.row_hits - one.read_row_hits) for one in found)


def _of_lines(run: LineRun) -> _Figures:
    return _Figures(
        design=run.design,
        channels=_channels(run),
        simulated_ns=run.simulated_ns,
        nanojoules=run.nvm.energy_nj,
        queued=run.wpq.mean_occupancy,
        requests=(run.reads, run.writes),
        mhz=run.trace_clock_mhz,
        read_ns=run.read_latency_ns,
        forwarded=run.forwarded_reads,
    )


def _of_program(run: Run) -> _Figures:
    stats = run.stats
    return _Figures(
        design=run.design,
        channels=_channels(run),
        simulated_ns=stats.simulated_ns,
        nanojoules=stats.nvm.energy_nj,
        queued=stats.wpq.mean_occupancy,
        forwarded=stats.wpq.forwarded_reads,
        cores=tuple(_core(run)),
    )


def _core(run: Run) -> Iterator[Statistic]:
    """ChampSim's lines of the core and its caches."""
    stats = run.stats
    ipc = stats.core.ipc
    cycles = None if not ipc else round(stats.instructions / ipc)
    told = None if ipc is None else f"{ipc:.4g} instructions: {stats.instructions} cycles: {cycles}"
    yield Statistic("CPU 0 cumulative IPC", told)
    for level, name in zip(stats.cache, ("cpu0_L1D", "cpu0_L2C", "LLC"), strict=False):
        told = f"{level.hits + level.misses:10d} HIT: {level.hits:10d} MISS: {level.misses:10d}"
        yield Statistic(f"{name} TOTAL        ACCESS", told)


def _dramsim3(of: _Figures) -> tuple[Iterable[Section], tuple[str, ...]]:
    """A section for each channel, as DRAMsim3 prints them; what is of all channels is in that of the first."""
    found = []
    gb_per_s = None
    if of.requests is not None and of.simulated_ns:
        gb_per_s = sum(of.requests) * _LINE_BYTES / of.simulated_ns
    for number, channel in enumerate(of.channels):
        first = number == 0
        reads, writes = (None, None) if of.alone is None else of.alone
        watts = of.nanojoules / of.simulated_ns if of.simulated_ns else None
        rows = [
            Statistic("num_cycles", of.cycles, "Number of DRAM cycles"),
            Statistic("num_reads_done", reads, "Number of read requests issued"),
            Statistic("num_writes_done", writes, "Number of read requests issued"),
            Statistic(
                "num_write_buf_hits", of.forwarded if len(of.channels) == 1 else None, "Number of write buffer hits"
            ),
            Statistic("num_read_row_hits", channel.read_hits, "Number of read row buffer hits"),
            Statistic("num_write_row_hits", channel.write_hits, "Number of write row buffer hits"),
            Statistic("num_read_cmds", channel.read, "Number of READ/READP commands"),
            Statistic("num_write_cmds", channel.written, "Number of WRITE/WRITEP commands"),
        ]
        if first:
            rows += [
                Statistic("average_bandwidth", gb_per_s, "Average bandwidth"),
                Statistic("total_energy", of.nanojoules * 1_000, "Total energy (pJ)"),
                Statistic("average_power", None if watts is None else watts * 1_000, "Average power (mW)"),
                Statistic("average_read_latency", of.read_cycles, "Average read request latency"),
            ]
        found.append(Section(f"Channel {number}", tuple(rows)))
    return found, _NEVER_DRAMSIM3


_NEVER_DRAMSIM3 = (
    *("num_epochs", "num_act_cmds", "num_pre_cmds", "num_ondemand_pres", "num_ref_cmds", "num_refb_cmds"),
    *("num_srefe_cmds", "num_srefx_cmds", "hbm_dual_cmds", "act_energy", "read_energy", "write_energy", "ref_energy"),
    *("refb_energy", "all_bank_idle_cycles", "rank_active_cycles", "sref_cycles", "act_stb_energy", "pre_stb_energy"),
    *("sref_energy", "read_latency", "interarrival_latency", "average_interarrival"),
)


def _ramulator(of: _Figures) -> tuple[Iterable[Section], tuple[str, ...]]:
    """What Ramulator 2 has of its memory system, then of the controller of each channel."""
    reads, writes = (None, None) if of.requests is None else of.requests
    system = (
        Statistic("memory_system_cycles", of.cycles),
        Statistic("total_num_read_requests", reads),
        Statistic("total_num_write_requests", writes),
        Statistic("total_num_other_requests", None if of.requests is None else 0),
    )
    found = [Section("MemorySystem", system)]
    for number, channel in enumerate(of.channels):
        alone = of.alone
        known = len(of.channels) == 1
        sum_of_reads = None
        if alone is not None and of.read_cycles is not None:
            sum_of_reads = round(of.read_cycles * alone[0])
        rows = (
            Statistic(f"row_hits_{number}", channel.read_hits + channel.write_hits),
            Statistic(f"read_row_hits_{number}", channel.read_hits),
            Statistic(f"write_row_hits_{number}", channel.write_hits),
            Statistic(f"num_read_reqs_{number}", None if alone is None else alone[0]),
            Statistic(f"num_write_reqs_{number}", None if alone is None else alone[1]),
            Statistic(f"num_other_reqs_{number}", None if alone is None else 0),
            Statistic(f"write_queue_len_avg_{number}", of.queued if known else None),
            Statistic(f"read_latency_{number}", sum_of_reads),
            Statistic(f"avg_read_latency_{number}", of.read_cycles if known else None),
        )
        found.append(Section(f"Controller: Channel {number}", rows))
    return found, _NEVER_RAMULATOR


_NEVER_RAMULATOR = (
    *(
        "row_misses",
        "row_conflicts",
        "read_row_misses",
        "read_row_conflicts",
        "write_row_misses",
        "write_row_conflicts",
    ),
    *("read_row_hits_core", "read_row_misses_core", "read_row_conflicts_core", "queue_len", "read_queue_len"),
    *("write_queue_len", "priority_queue_len", "queue_len_avg", "read_queue_len_avg", "priority_queue_len_avg"),
)


def _champsim(of: _Figures) -> tuple[Iterable[Section], tuple[str, ...]]:
    """Core and caches, where a program ran, and the rows that each channel found open."""
    found = [Section("Region of Interest Statistics", tuple(of.cores))] if of.cores else []
    for number, channel in enumerate(of.channels):
        rows = (
            Statistic("RQ ROW_BUFFER_HIT", channel.read_hits),
            Statistic("  ROW_BUFFER_MISS", channel.read - channel.read_hits),
            Statistic("WQ ROW_BUFFER_HIT", channel.write_hits),
            Statistic("  ROW_BUFFER_MISS ", channel.written - channel.write_hits),
        )
        found.append(Section(f"Channel {number}", rows))
    never = _NEVER_CHAMPSIM if of.cores else (*_CORE_CHAMPSIM, *_NEVER_CHAMPSIM)
    return found, never


_CORE_CHAMPSIM = ("cumulative IPC", "TOTAL ACCESS")
_NEVER_CHAMPSIM = (
    *("AVG DBUS CONGESTED CYCLE", "FULL", "Branch Prediction Accuracy", "Branch type MPKI"),
    *("LOAD ACCESS", "RFO ACCESS", "PREFETCH ACCESS", "WRITE ACCESS", "TRANSLATION ACCESS", "PREFETCH REQUESTED"),
    "AVERAGE MISS LATENCY",
)

_TOOLS = {"dramsim3": _dramsim3, "ramulator": _ramulator, "champsim": _champsim}
