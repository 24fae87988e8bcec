"""What a simulation measured.

Durations are in ns, energy in nJ and sizes in bytes unless a name says otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..source_lines import LineCost
from .documents import build, fits
from .provisos import RestsOn


@dataclass(frozen=True, slots=True)
class Latency:
    """Transaction latency in ns; None without transactions."""

    mean: float | None
    p50: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Nvm:
    """What reached the device.

    Attributes:
        reads: line reads of all kinds.
        writes: line writes of all kinds.
        data_writes: line writes of user data and structure.
        log_writes: line writes of the undo log.
        counter_writes: writes of counter blocks, without the coalesced ones.
        mac_writes: writes of lines of MACs; MACs beside their lines move with them.
        tree_writes: writes of nodes of the integrity tree.
        table_writes: writes of lines of the shadow table.
        write_bytes: bytes written.
        data_reads: line reads of data and log.
        counter_reads: reads of counter blocks.
        mac_reads: reads of lines of MACs.
        tree_reads: reads of nodes of the integrity tree.
        read_bytes: bytes read.
        energy_nj: energy in nJ.
        max_line_writes: writes of the line written most, the wear that ends a device without levelling.
        max_data_writes, max_counter_writes, max_mac_writes, max_tree_writes, max_table_writes: the same of data lines,
            counter blocks, lines of MACs, nodes and lines of the shadow table.
        row_hits: accesses that found their row open.
        bank_busy_ns: time in ns in which banks were busy, the sum over banks.
    """

    reads: int
    writes: int
    data_writes: int
    log_writes: int
    counter_writes: int
    mac_writes: int
    tree_writes: int
    table_writes: int
    write_bytes: int
    data_reads: int
    counter_reads: int
    mac_reads: int
    tree_reads: int
    read_bytes: int
    energy_nj: float
    max_line_writes: int
    max_data_writes: int
    max_counter_writes: int
    max_mac_writes: int
    max_tree_writes: int
    max_table_writes: int
    row_hits: int
    bank_busy_ns: float


@dataclass(frozen=True, slots=True)
class CounterCache:
    """The counter cache; None without one. A lookup is a hit, a miss or a secondary miss.

    Attributes:
        hits: lookups that found the block.
        misses: lookups that did not, and fetched it.
        secondary_misses: lookups that did not find the block because it was already being fetched.
        hit_rate: hits over lookups, between 0 and 1; None without lookups.
        evictions: blocks evicted.
    """

    hits: int | None
    misses: int | None
    secondary_misses: int | None
    hit_rate: float | None
    evictions: int | None


@dataclass(frozen=True, slots=True)
class Wpq:
    """The write pending queue.

    Attributes:
        admitted: entries admitted.
        counter_writes_coalesced: counter entries removed because a newer one of the same block came (CWR).
        full_stall_ns: time in ns that acks waited for a full queue.
        mean_occupancy: entries, averaged over time.
    """

    admitted: int
    counter_writes_coalesced: int
    full_stall_ns: float
    mean_occupancy: float


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """One level of the hierarchy, summed over its caches; the latency is that of its hits, in ns. The misses of the
    first level include secondary ones: accesses to a line that a miss register already waits for.
    """

    level: int | str
    hits: int
    misses: int
    mean_latency_ns: float | None


@dataclass(frozen=True, slots=True)
class Core:
    """The cores: instructions per cycle, and time in ns that fences held up commit."""

    ipc: float | None
    fence_stall_ns: float


@dataclass(frozen=True, slots=True)
class Integrity:
    """MACs and the integrity tree.

    Attributes:
        hits: lookups that found a line of MACs or a tree node in its cache.
        misses: lookups that did not, and fetched it.
        secondary_misses: lookups that did not find it because it was already being fetched; None in documents of older
            engines, whose `misses` include them.
        hit_rate: hits over lookups, between 0 and 1; None without lookups.
        macs: MACs of data lines computed and checked.
        hashes: counter blocks and nodes hashed, to update the tree and to check it.
        writes_coalesced: queued lines of MACs and nodes that newer ones have replaced.
        alarms: checks that failed; none, because nobody tampers with memory in a run.
    """

    hits: int
    misses: int
    secondary_misses: int
    hit_rate: float | None
    macs: int
    hashes: int
    writes_coalesced: int
    alarms: int


@dataclass(frozen=True, slots=True)
class Crypto:
    """The AES engine: pads made, and time in ns in which its circuits were busy, summed over them."""

    pads: int
    aes_busy_ns: float


@dataclass(frozen=True, slots=True)
class DrainPart:
    """A share of what a battery would do: a level of the caches, or the encryption of what leaves them.

    Attributes:
        name: `l1`, `l2`, `l3`, `counter-cache` or `encryption`.
        bytes: its capacity for data, over all caches of the level; of the encryption that of all levels.
        dirty_bytes: what of that holds data that the device does not have.
        energy_mj: energy in mJ for the dirty bytes.
        energy_all_dirty_mj: energy in mJ if all bytes were dirty.
    """

    name: str
    bytes: int
    dirty_bytes: int
    energy_mj: float
    energy_all_dirty_mj: float


@dataclass(frozen=True, slots=True)
class AtCrash:
    """What losing power after the last transaction would cost; None where a design drains no caches.

    Attributes:
        dirty_fraction: dirty share of the lines of the caches, between 0 and 1.
        drain_energy_mj: energy in mJ for what is dirty.
        drain_energy_all_dirty_mj: energy in mJ if every line were dirty (sepencr, Table III).
        recovery_time_ns: time in ns to bring back what was dirty, on the simulated device; None without a shadow cache.
        recovery_time_paper_ns: time in ns by the paper's formula, a fixed time for every line of the caches (sepencr,
            Figure 12); None without a shadow cache.
        parts: what the energy is made of; empty where a design drains no caches.
    """

    dirty_fraction: float | None
    drain_energy_mj: float | None
    drain_energy_all_dirty_mj: float | None
    recovery_time_ns: float | None
    recovery_time_paper_ns: float | None
    parts: tuple[DrainPart, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """The simulation itself on this computer; the only figures that differ from run to run."""

    seconds: float
    instructions_per_second: float | None
    memory_requests_per_second: float | None
    peak_rss_bytes: int | None


@dataclass(frozen=True, slots=True)
class Recorded(RestsOn):
    """What a recorded program did, whether or not it has transactions, and how long one of it took on average.

    Attributes:
        fences: fences, without those of locked operations.
        marks: markers of the program, whatever they say.
        ns_per_fence: simulated time over fences; None without fences.
        ns_per_mark: simulated time over markers; None without markers.
        assumed: what was assumed of the program that its trace does not say; None if nothing was.
        lacks: what the trace lacks of what the program did, in sentences.
    """

    fences: int
    marks: int
    ns_per_fence: float | None
    ns_per_mark: float | None
    assumed: str | None
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """Everything a run measured.

    Attributes:
        transactions: measured transactions, over all cores.
        simulated_ns: measured time in ns.
        instructions: instructions committed.
        transaction_latency_ns: latency in ns.
        throughput_tps: transactions per second of simulated time.
        no_writes: why no write reached the device; None if one did.
        l1_access_latency_ns: mean time in ns from when a load or store first asks a first-level cache until its line is
            there, misses and the wait of a store for the hardware's log included (easy-pm, Figure 7); None without
            accesses.
        reencryptions: pages re-encrypted because a minor counter overflowed.
        integrity: MACs and the integrity tree; None without them.
        recorded: what a recorded program did; None for a workload.
    """

    transactions: int
    simulated_ns: float
    instructions: int
    transaction_latency_ns: Latency
    throughput_tps: float
    nvm: Nvm
    no_writes: str | None
    counter_cache: CounterCache
    wpq: Wpq
    cache: tuple[CacheLevel, ...]
    l1_access_latency_ns: float | None
    core: Core
    reencryptions: int
    crypto: Crypto
    integrity: Integrity | None
    at_crash: AtCrash
    recorded: Recorded | None
    host: Host


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation.

    Attributes:
        machine: the machine's name.
        tx_size: bytes of user data in a transaction; None for a trace.
        footprint: bytes of populated structure; None for a trace.
        config_digest: digest of the configuration.
        engine_build: digest of the engine's sources.
        event_digest: digest of the sequence of events.
        stats: what was measured.
        sites: what each source line of a recorded program cost, the one waited for most first; None where nobody asked.
        document: the document it was made from.
    """

    design: str
    variant: str
    workload: str
    machine: str
    seed: int
    cores: int
    tx_size: int | None
    footprint: int | None
    config_digest: str
    engine_version: str
    engine_build: str
    event_digest: str
    stats: Stats
    sites: tuple[LineCost, ...] | None
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Run:
        """The run that a document of `run --json` describes."""
        return build(cls, cls._laid_out(document))

    @classmethod
    def is_in(cls, document: Mapping[str, Any]) -> bool:
        """Whether `from_dict` accepts a document, for example one from a file."""
        return fits(cls, cls._laid_out(document))

    @staticmethod
    def _laid_out(document: Mapping[str, Any]) -> dict[str, Any]:
        # Only recorded programs have them.
        stats = {"recorded": None, **document}
        return {"sites": None, **document, "stats": stats, "document": document}

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))
