# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What a simulation measured. Durations are in ns, energy in nJ, sizes in bytes, unless a name says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import behaviour


@dataclass(frozen=True, slots=True)
class Latency:
    """Transaction latency in nanoseconds.

    Attributes:
        mean: mean latency.
        p50: median latency.
        p90: 90th percentile of the latency (nearest rank, as the other percentiles).
        p99: 99th percentile of the latency.
        p999: 99.9th percentile of the latency.
        max: largest latency.
    """

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class LatencyClass:
    """A class of a histogram of times.

    Attributes:
        from_ns: the shortest time of the class, in nanoseconds.
        below_ns: the time above the longest one of the class, in nanoseconds.
        count: how many there are.
    """

    from_ns: float
    below_ns: float
    count: int


@dataclass(frozen=True, slots=True)
class Modules:
    """Figures of the modules of a device, all together.

    Attributes:
        media_reads: media lines read.
        media_writes: media lines written.
        read_modify_writes: media lines of which a part was read before the whole was written.
        buffer_hits: reads that a buffer answered.
        merged_writes: writes that merged in a buffer with others of their media line.
        translation_misses: accesses of the media whose entry of the address indirection table was not in its cache.
        write_amplification: bytes that the media have written over those that the controller has; None if it has
            written nothing. The effective write ratio (EWR) is its inverse.
    """

    media_reads: int
    media_writes: int
    read_modify_writes: int
    buffer_hits: int
    merged_writes: int
    translation_misses: int
    write_amplification: float | None


@dataclass(frozen=True, slots=True)
class Nvm:
    """Device figures.

    Attributes:
        reads: number of lines read.
        writes: number of lines written of all kinds.
        data_writes: number of data lines written, without the log.
        log_writes: number of undo-log lines written. The log writes of a trace cannot be recognised and count as data.
        counter_writes: number of counter blocks written.
        mac_writes: number of lines of MACs written; those that lie beside their lines move with these.
        tree_writes: number of nodes of the integrity tree written.
        table_writes: number of lines of the shadow table written.
        write_bytes: bytes written. Fewer than those of the lines if only the counters of a block that changed are
            written (`controller.counter_write`).
        data_reads: number of data lines read.
        counter_reads: number of counter blocks read.
        mac_reads: number of lines of MACs read.
        tree_reads: number of nodes of the integrity tree read.
        read_bytes: bytes read.
        energy_nj: energy, including background.
        max_line_writes: number of writes of the line that was written most often.
        max_data_writes: number of writes of the data line that was written most often.
        max_counter_writes: number of writes of the counter block that was written most often.
        max_mac_writes: number of writes of the line of MACs that was written most often.
        max_tree_writes: number of writes of the tree node that was written most often.
        max_table_writes: number of writes of the line of the shadow table that was written most often.
        endured_runs: how often what was measured can be repeated, on the same lines, until one of them has been written
            `wear.endurance_writes` times; with the wear levelling of the machine, whose moves count as writes. Null if
            nothing was written.
        lifetime_years: the time that this takes, in years.
        even_lifetime_years: that time if all writes were spread evenly over all lines of the device: the most that any
            wear levelling can reach.
        gap_moves: lines that wear levelling has moved. These are reads and writes of the device beside those that are
            counted here; their time and energy are counted.
        write_interruptions: writes that reads have stopped while their banks programmed them.
        flipped_bits: bits that writes have changed. A line that was never written holds zeros; one that a program found
            populated and nothing has read counts as its plaintext. Null without bytes.
        data_flip_share: bits that a write of a data line changes, log included, over the 512 that it has: the mean.
            Null without such writes, and without bytes.
        row_hits: accesses that found their row open.
        bank_busy_ns: time that banks were busy, summed over all banks.
        modules: figures of the modules; None if the device has none.
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
    endured_runs: float | None
    lifetime_years: float | None
    even_lifetime_years: float | None
    gap_moves: int
    write_interruptions: int
    flipped_bits: int | None
    data_flip_share: float | None
    row_hits: int
    bank_busy_ns: float
    modules: Modules | None


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy by part. The first four together are `nvm.energy_nj`.

    Attributes:
        array_read_nj: reading bits from the arrays into row buffers, in nJ.
        array_write_nj: programming bits of the arrays, in nJ.
        row_buffer_nj: moving bits between row buffers and the bus, in nJ.
        background_nj: background, in nJ.
        metadata_nj: what of the first three is for lines that hold no data: counter blocks, lines of MACs, tree nodes
            and lines of the shadow table. Moves of wear levelling are not among it, whatever they move.
        aes_nj: making pads in the memory controller, in nJ: 64 bytes each, with `eadr.aes_pj_per_byte` (sepencr section
            V-C). Not in `nvm.energy_nj`.
        mac_nj: computing MACs and hashes in the memory controller, in nJ: AES runs over 64 bytes for each, with the
            same value. Not in `nvm.energy_nj`.
    """

    array_read_nj: float
    array_write_nj: float
    row_buffer_nj: float
    background_nj: float
    metadata_nj: float
    aes_nj: float
    mac_nj: float


@dataclass(frozen=True, slots=True)
class Channel:
    """Figures of one channel.

    Attributes:
        reads: line reads of all kinds.
        writes: line writes of all kinds.
        row_hits: accesses that found their row open.
        read_row_hits: reads among them.
        banks_busy_ns: time during which banks worked on accesses, summed over its banks, in nanoseconds.
    """

    reads: int
    writes: int
    row_hits: int
    read_row_hits: int
    banks_busy_ns: float


@dataclass(frozen=True, slots=True)
class Bank:
    """Figures of one bank.

    Attributes:
        channel: the channel of the bank.
        rank: the rank in the channel.
        reads: line reads of all kinds.
        writes: line writes of all kinds.
        row_hits: accesses that found their row open.
        read_row_hits: reads among them.
        busy_ns: time during which the bank worked on accesses or these waited for their command, in nanoseconds.
    """

    channel: int
    rank: int
    reads: int
    writes: int
    row_hits: int
    read_row_hits: int
    busy_ns: float


@dataclass(frozen=True, slots=True)
class CounterCache:
    """Counter cache figures. A lookup is a hit, a miss or a secondary miss.

    Attributes:
        hits: lookups that found the block; None without a counter cache.
        misses: lookups that did not find the block, and fetched it; None without a counter cache.
        secondary_misses: lookups that did not find the block because it was already being fetched: its miss register
            answers them when it arrives. Null without a counter cache.
        hit_rate: hits over lookups; None without lookups.
        evictions: number of blocks evicted; None without a counter cache.
    """

    hits: int | None
    misses: int | None
    secondary_misses: int | None
    hit_rate: float | None
    evictions: int | None


@dataclass(frozen=True, slots=True)
class Wpq:
    """Write pending queue figures.

    Attributes:
        admitted: number of entries admitted.
        counter_writes_coalesced: number of counter entries that were removed because a newer one replaced them.
        full_stall_ns: time during which a write waited for a slot.
        mean_occupancy: mean number of entries.
        forwarded_reads: number of reads answered from the queue, or from a write that was not in it yet.
    """

    admitted: int
    counter_writes_coalesced: int
    full_stall_ns: float
    mean_occupancy: float
    forwarded_reads: int


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """One cache level.

    Attributes:
        level: level, 1 to 3.
        hits: number of accesses that the level served.
        misses: number of accesses that the level passed on. The first level's include secondary misses: accesses to a
            line that a miss register already waits for.
        mean_latency_ns: mean latency of its hits; None without hits.
    """

    level: int
    hits: int
    misses: int
    mean_latency_ns: float | None


@dataclass(frozen=True, slots=True)
class Core:
    """All cores together.

    Attributes:
        ipc: instructions per cycle and core; None if no time was measured.
        fence_stall_ns: time that fences stalled commit, summed over all cores.
    """

    ipc: float | None
    fence_stall_ns: float


@dataclass(frozen=True, slots=True)
class Crypto:
    """Figures of the encryption.

    Attributes:
        pads: number of pads made.
        aes_busy_ns: time that AES circuits spent on pads, summed over all circuits.
    """

    pads: int
    aes_busy_ns: float


@dataclass(frozen=True, slots=True)
class Integrity:
    """Figures of MACs and the integrity tree.

    Attributes:
        hits: lookups that found a line of MACs or a tree node in its cache.
        misses: lookups that did not find it, and fetched it.
        secondary_misses: lookups that did not find it because it was already being fetched.
        hit_rate: hits over lookups; None without lookups.
        macs: MACs of data lines computed and checked.
        hashes: counter blocks and nodes hashed, to update the tree and to check it.
        writes_coalesced: queued lines of MACs and nodes that newer ones have replaced.
        alarms: checks that failed: none, because nobody tampers with memory in a run.
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
class DrainPart:
    """One part of the energy of a drain.

    Attributes:
        name: the cache that is drained, or the operation on drained lines.
        bytes: bytes of the part if everything were dirty.
        dirty_bytes: dirty bytes of the part.
        energy_mj: energy for the dirty bytes, in mJ.
        energy_all_dirty_mj: energy if everything were dirty, in mJ.
    """

    name: str
    bytes: int
    dirty_bytes: int
    energy_mj: float
    energy_all_dirty_mj: float


@dataclass(frozen=True, slots=True)
class AtCrash:
    """Cost of a power failure after the last transaction, when nothing is in flight and before the contents of the
    queues are written out. Nulls for designs whose caches do not survive.

    Attributes:
        dirty_fraction: share of the data slots of all caches that hold dirty lines.
        dirty_lines_fraction: share of the lines in the caches of which a copy is dirty; a line in several levels counts
            once. Null where the caches hold no line.
        drain_energy_mj: energy of draining what is dirty, in mJ, with the machine's constants.
        drain_energy_all_dirty_mj: energy of the drain if everything were dirty, in mJ (sepencr Table III).
        recovery_time_ns: time to restore this crash's dirty lines at boot on the simulated device; None without a
            shadow cache.
        recovery_time_paper_ns: time to read a full shadow cache by the paper's formula (sepencr section V-D); None
            without a shadow cache.
        parts: the parts of the energy: `l1`, `l2`, `l3`; `counter-cache` if there is one; `encryption` if lines are
            encrypted on battery. Empty if the other values are None.
    """

    dirty_fraction: float | None
    dirty_lines_fraction: float | None
    drain_energy_mj: float | None
    drain_energy_all_dirty_mj: float | None
    recovery_time_ns: float | None
    recovery_time_paper_ns: float | None
    parts: tuple[DrainPart, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """What the simulation cost the host. Only this part differs between two runs of one configuration.

    Attributes:
        seconds: wall-clock seconds of the simulation, without populating.
        instructions_per_second: simulated instructions per host second.
        memory_requests_per_second: device requests per host second.
        peak_rss_bytes: peak resident memory of the process, if the host reports it.
    """

    seconds: float
    instructions_per_second: float | None
    memory_requests_per_second: float | None
    peak_rss_bytes: int | None


@dataclass(frozen=True, slots=True)
class Recorded(behaviour.Recorded):
    """What a recorded program did, and the simulated time that one of it took on average.

    Attributes:
        fences: number of fences and deep syncs of all cores, without the fences of locked operations.
        marks: number of markers, whatever they say.
        other_accesses: number of loads and stores of memory that is not persistent, of all cores; None if the trace
            does not have them, and instructions stand for them.
        ns_per_fence: simulated time over fences; None without fences.
        ns_per_mark: simulated time over markers; None without markers.
        assumed: what was assumed of the program that its trace does not say; None if nothing was.
        lacks: what the trace lacks of what the program did, in sentences.
    """

    fences: int
    marks: int
    other_accesses: int | None
    ns_per_fence: float | None
    ns_per_mark: float | None
    assumed: str | None
    lacks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """Everything that a run measured.

    Attributes:
        transactions: measured transactions over all cores.
        simulated_ns: measured time, from the end of warm-up to the last core's last commit.
        instructions: instructions committed in the measured time.
        transaction_latency_ns: latency of a transaction.
        throughput_tps: transactions per simulated second, over all cores; None without transactions.
        transaction_latency_classes: the latencies of transactions, in classes: those that are not empty, in ascending
            order, each twice as wide as the one before.
        nvm: figures of the device.
        energy: energy by part.
        channels: figures of each channel of the device.
        banks: figures of each bank of the device.
        no_writes: why no write reached the device; None if one did.
        counter_cache: figures of the counter cache; nulls without encryption.
        wpq: figures of the write pending queue.
        cache: figures of each cache level.
        l1_access_latency_ns: mean time from the first request of a load or store to the first level until its line is
            there, from whatever source, including memory; None without accesses. Includes a store's wait for miss
            registers and for the log manager. A load that an older store of its core answers does not count.
        l1_access_latency_classes: the same times in classes, as those of `transaction_latency_classes`.
        core: figures of all cores together.
        reencryptions: number of page re-encryptions.
        crypto: figures of the encryption.
        integrity: figures of what protects integrity; None if nothing does.
        at_crash: what a power failure at the end would cost; nulls for designs that do not drain caches.
        host: what the simulation cost the host.
        recorded: what a recorded program did, whether or not it has transactions; absent for a workload.
    """

    transactions: int
    simulated_ns: float
    instructions: int
    transaction_latency_ns: Latency
    throughput_tps: float | None
    transaction_latency_classes: tuple[LatencyClass, ...]
    nvm: Nvm
    energy: Energy
    channels: tuple[Channel, ...]
    banks: tuple[Bank, ...]
    no_writes: str | None
    counter_cache: CounterCache
    wpq: Wpq
    cache: tuple[CacheLevel, ...]
    l1_access_latency_ns: float | None
    l1_access_latency_classes: tuple[LatencyClass, ...]
    core: Core
    reencryptions: int
    crypto: Crypto
    integrity: Integrity | None
    at_crash: AtCrash
    host: Host
    recorded: Recorded | None = None


@dataclass(frozen=True, slots=True)
class LineCost(behaviour.LineCost):
    """Counts and times of all operations that are shown for one place.

    Attributes:
        place: the place: `file:line`, otherwise `symbol+0x..`, otherwise `object+0x..`, otherwise an address.
        source: `file:line` with the whole path; None if debug information does not have it.
        function: function or symbol; None if neither debug information nor symbols have it.
        object: path of the object file; None if no file was mapped.
        loads: number of loads, each within a line.
        stores: number of stores, each within a line.
        flushes: number of lines that were flushed or written past the caches.
        fences: number of fences.
        flush_latency_ns: mean time from when a flush is sent to the caches until it is acknowledged; None without
            flushes.
        flush_latency_max_ns: longest time from when a flush is sent to the caches until it is acknowledged; None
            without flushes.
        waited_for_ns: time that fences of any line stalled commit because this line's operation was the last that they
            waited for.
        load_stall_ns: time that loads of this line stalled commit.
        fence_stall_ns: time that fences of this line stalled commit; the sum over all lines is the run's
            `fence_stall_ns`.
    """

    place: str
    source: str | None
    function: str | None
    object: str | None
    loads: int
    stores: int
    flushes: int
    fences: int
    flush_latency_ns: float | None
    flush_latency_max_ns: float | None
    waited_for_ns: float
    load_stall_ns: float
    fence_stall_ns: float


@dataclass(frozen=True, slots=True)
class Windows:
    """The figures of a run in windows of simulated time, from the begin of the simulation on, warm-up included. What
    happened in the windows is a list for each figure, with a value for each window, in order, without a gap: there may
    be thousands of them, and a name for each value would be most of a document.

    Attributes:
        window_ns: length of a window; the last one is cut where the simulation ends.
        measured_from_ns: when measuring began. What was before it is warm-up.
        line_bytes: bytes that a whole line moves on the bus, with what lies beside it.
        from_ns: when each window begins.
        instructions: instructions that the cores dispatched. A long computation counts where it was dispatched.
        transactions: transactions that ended.
        reads: lines of all kinds that banks began to read.
        writes: lines of all kinds that banks began to write.
        counter_reads: counter blocks among the reads.
        counter_writes: counter blocks among the writes.
        channel_lines: reads and writes of each channel, a list for each.
        counter_hits: lookups that found their block in the counter cache.
        counter_misses: lookups that did not find it, or found it being fetched.
        wpq_mean: mean number of entries of the write pending queue, over time.
        wpq_most: most entries that it had.
        fence_stall_ns: time that fences stalled commit, summed over all cores, where the stall ended.
    """

    window_ns: float
    measured_from_ns: float
    line_bytes: int
    from_ns: tuple[float, ...]
    instructions: tuple[int, ...]
    transactions: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    counter_reads: tuple[int, ...]
    counter_writes: tuple[int, ...]
    channel_lines: tuple[tuple[int, ...], ...]
    counter_hits: tuple[int, ...]
    counter_misses: tuple[int, ...]
    wpq_mean: tuple[float, ...]
    wpq_most: tuple[int, ...]
    fence_stall_ns: tuple[float, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Run(behaviour.Run):
    """One simulation's figures: `run --json`.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        workload: workload name or trace path.
        machine: the machine's name.
        seed: seed of every random stream.
        cores: number of cores.
        tx_size: bytes of user data in a transaction; None for a trace.
        footprint: bytes of the populated structures over all cores; None for a trace.
        config_digest: digest of the full configuration.
        engine_version: version of the engine.
        engine_build: digest of the engine's sources: 32 hexadecimal digits.
        event_digest: digest of every event of the run.
        stats: everything that a run measured.
        parts: the parts of a design that is not built in.
        set_by_design: the values of the machine that come from the design, as in `integrity.stop_loss = 8`.
        sites: what each source line of a recorded program cost, if requested.
        windows: the figures over time, if requested.
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
    document: Mapping[str, Any] = field(repr=False, compare=False)
    parts: Mapping[str, Any] | None = None
    set_by_design: str | None = None
    sites: tuple[LineCost, ...] | None = None
    windows: Windows | None = None
