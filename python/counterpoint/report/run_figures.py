"""The figures of one run in readable form, in groups: what the screen and notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..system import units

if TYPE_CHECKING:
    from ..contract.results import CounterCache, Integrity, Nvm, Run, Stats


OVER_SEEDS = (
    ("transactions", "throughput per second", "throughput_tps", units.number),
    ("transactions", "latency, mean", "transaction_latency_ns_mean", units.time),
    ("transactions", "latency, median", "transaction_latency_ns_p50", units.time),
    ("transactions", "latency, 99th percentile", "transaction_latency_ns_p99", units.time),
    ("transactions", "latency, longest", "transaction_latency_ns_max", units.time),
    ("device", "line writes", "nvm_writes", units.number),
    ("device", "data writes", "nvm_data_writes", units.number),
    ("device", "log writes", "nvm_log_writes", units.number),
    ("device", "counter writes", "nvm_counter_writes", units.number),
    ("device", "line reads", "nvm_reads", units.number),
    ("device", "counter reads", "nvm_counter_reads", units.number),
    ("device", "energy in nJ", "nvm_energy_nj", lambda nj: units.number(nj or None)),
    ("counters", "counter cache hits", "counter_cache_hit_rate", units.percent),
    ("counters", "pages re-encrypted", "reencryptions", units.number),
    ("integrity", "metadata cache hits", "integrity_hit_rate", units.percent),
    ("pipe", "instructions per cycle", "core_ipc", units.ratio),
    ("pipe", "waiting for fences", "core_fence_stall_ns", units.time),
    ("pipe", "waiting for the write queue", "wpq_full_stall_ns", units.time),
    ("simulation", "simulated", "simulated_ns", units.time),
)
"""The figures of a run with several seeds: group, name, column of the frame, and how a value is shown. A machine
without figures of energy has zeros."""


class Figures:
    """Names and values in groups."""

    def __init__(self) -> None:
        """No figures yet."""
        self.groups: dict[str, list[tuple[str, str]]] = {}
        self._begun = ""

    def group(self, name: str) -> None:
        """Begins a group; it is there if anything is added to it."""
        self._begun = name

    def add(self, name: str, value: str) -> None:
        """Adds a figure, if it has a value."""
        if value != units.NOTHING:
            self.groups.setdefault(self._begun, []).append((name, value))


def title(run: Run, seeds: str | None = None) -> tuple[str, str]:
    """What was run, and on what, in one line each."""
    size = "" if run.tx_size is None else f", {units.size(run.tx_size)} transactions"
    footprint = "" if run.footprint is None else f", {units.size(run.footprint)} footprint"
    return (
        f"{run.design} ({run.variant}) on {units.name_of(run.workload)}",
        f"machine {run.machine}{size}{footprint}, {units.count_of(run.cores, 'core')}, "
        + (seeds or f"seed {run.seed}"),
    )


def figures_of(run: Run) -> Figures:
    """The main figures of one run."""
    stats = run.stats
    figures = Figures()
    figures.group("transactions")
    figures.add("done", units.number(stats.transactions))
    if stats.transactions:
        figures.add("throughput", f"{units.number(stats.throughput_tps)} per second")
        latency = stats.transaction_latency_ns
        figures.add(
            "latency",
            f"{units.time(latency.mean)} mean, {units.time(latency.p50)} median, "
            f"{units.time(latency.p99)} 99th percentile, {units.time(latency.max)} longest",
        )
    if stats.recorded is not None:
        figures.group("recorded program")
        for name, count, each in (
            ("fences", stats.recorded.fences, stats.recorded.ns_per_fence),
            ("marks", stats.recorded.marks, stats.recorded.ns_per_mark),
        ):
            figures.add(name, units.number(count) + (f", {units.time(each)} each" if count else ""))
    _device(figures, stats)
    _counters(figures, stats)
    _pipe(figures, stats)
    figures.group("simulation")
    figures.add("simulated", units.time(stats.simulated_ns))
    figures.add("took", f"{stats.host.seconds:.2f} s on this computer")
    return figures


def _device(figures: Figures, stats: Stats) -> None:
    nvm = stats.nvm
    figures.group("device")
    figures.add(
        "line writes",
        f"{units.number(nvm.writes)}: {units.number(nvm.data_writes)} data, {units.number(nvm.log_writes)} log, "
        f"{units.number(nvm.counter_writes)} counters" + (_protection(nvm) if stats.integrity else ""),
    )
    figures.add(
        "line reads",
        f"{units.number(nvm.reads)}: {units.number(nvm.counter_reads)} of them counters"
        + (f", {units.number(nvm.mac_reads)} MACs, {units.number(nvm.tree_reads)} tree" if stats.integrity else ""),
    )
    if nvm.reads + nvm.writes and stats.simulated_ns:
        figures.add("banks", _banks(stats))
    if len(stats.channels) > 1 and nvm.reads + nvm.writes:
        figures.add("channels", _channels(stats))
    if nvm.writes:
        worn = units.count_of(nvm.max_line_writes, "write") + (_wear(nvm) if stats.integrity else "")
        figures.add("most-written line", worn)
        figures.add("lifetime", _lifetime(nvm))
        if nvm.data_flip_share is not None:
            figures.add("bits changed per data write", units.percent(nvm.data_flip_share))
    figures.add("energy", f"{units.number(nvm.energy_nj / 1e3)} µJ" if nvm.energy_nj else units.NOTHING)


def _banks(stats: Stats) -> str:
    """How many banks were used, and how busy the busiest was."""
    used = sum(bank.reads + bank.writes > 0 for bank in stats.banks)
    number, busiest = max(enumerate(stats.banks), key=lambda numbered: numbered[1].busy_ns)
    share = units.percent(busiest.busy_ns / stats.simulated_ns)
    return f"{used} of {len(stats.banks)} used; the busiest, bank {number}, for {share} of the time"


def _channels(stats: Stats) -> str:
    """The share of each channel in what was read and written."""
    lines = [channel.reads + channel.writes for channel in stats.channels]
    return ", ".join(units.percent(of / sum(lines)) for of in lines) + " of all reads and writes"


def _counters(figures: Figures, stats: Stats) -> None:
    """What counters cost, and what protects integrity."""
    coalesced = stats.wpq.counter_writes_coalesced
    asked = stats.nvm.counter_writes + coalesced
    figures.group("counters")
    figures.add("counter cache hits", units.percent(stats.counter_cache.hit_rate))
    figures.add("counter cache misses", _misses(stats.counter_cache))
    if asked:
        removed = f"{units.number(coalesced)} of {units.number(asked)}"
        figures.add("writes removed in the queue", f"{removed} ({units.percent(coalesced / asked)})")
    figures.add("pages re-encrypted", units.number(stats.reencryptions))
    if stats.integrity is not None:
        figures.group("integrity")
        figures.add("metadata cache hits", units.percent(stats.integrity.hit_rate))
        figures.add("metadata cache misses", _misses(stats.integrity))
        figures.add("MACs computed and checked", units.number(stats.integrity.macs))
        figures.add("hashes of the tree", units.number(stats.integrity.hashes))


def _pipe(figures: Figures, stats: Stats) -> None:
    figures.group("pipe")
    figures.add("instructions per cycle", units.ratio(stats.core.ipc))
    figures.add("waiting for fences", units.time(stats.core.fence_stall_ns))
    figures.add("waiting for the write queue", units.time(stats.wpq.full_stall_ns))
    figures.add("write queue occupancy", f"{units.ratio(stats.wpq.mean_occupancy)} entries")
    for level in stats.cache:
        accesses = level.hits + level.misses
        name = f"L{str(level.level).lstrip('L')} hits"
        figures.add(name, units.percent(level.hits / accesses if accesses else None))
    latency_ns = stats.l1_access_latency_ns
    figures.add("L1 access latency", units.NOTHING if latency_ns is None else f"{units.ratio(latency_ns)} ns")


def _misses(cache: CounterCache | Integrity) -> str:
    """The misses of a cache: those that fetched the block, and those while it was being fetched."""
    if cache.misses is None or cache.secondary_misses is None:
        return units.number(cache.misses)
    return f"{units.number(cache.misses)} fetched, {units.number(cache.secondary_misses)} secondary"


def _protection(nvm: Nvm) -> str:
    """The writes that protect integrity, by kind."""
    kinds = ((nvm.mac_writes, "MACs"), (nvm.tree_writes, "tree"), (nvm.table_writes, "table"))
    return "".join(f", {units.number(count)} {kind}" for count, kind in kinds)


def _lifetime(nvm: Nvm) -> str:
    """Until the first line is worn out, and what the best levelling could make of that."""
    if nvm.lifetime_years is None:
        return units.NOTHING
    moves = f"; {units.count_of(nvm.gap_moves, 'line')} moved" if nvm.gap_moves else ""
    return f"{units.years(nvm.lifetime_years)}, {units.years(nvm.even_lifetime_years)} if all lines wear alike{moves}"


def _wear(nvm: Nvm) -> str:
    """The writes of the most-written line of each kind that was written."""
    kinds = (
        (nvm.max_data_writes, "data"),
        (nvm.max_counter_writes, "counters"),
        (nvm.max_mac_writes, "MACs"),
        (nvm.max_tree_writes, "tree"),
        (nvm.max_table_writes, "table"),
    )
    return ": " + ", ".join(f"{units.number(most)} {kind}" for most, kind in kinds if most)
