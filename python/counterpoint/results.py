"""The engine's answers with Python types.

Durations are in ns, energy in nJ and sizes in bytes unless a name says otherwise.

Every type is built from the JSON document by its annotations, so a key stands here once. A key that the engine adds
is kept in `to_dict()` and does no harm here; one that is missing is the engine's fault and says so.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ._engine import EngineError
from .source_lines import LineCost

T = TypeVar("T")


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
        reads: line reads, of data and of counters.
        writes: line writes, of data, log and counters.
        data_writes: line writes of user data and structure.
        log_writes: line writes of the undo log.
        counter_writes: writes of counter blocks; those asked for are these and the coalesced ones.
        write_bytes: bytes written.
        data_reads: line reads of data and log.
        counter_reads: reads of counter blocks.
        read_bytes: bytes read.
        energy_nj: energy in nJ.
        max_line_writes: writes of the line written most, the wear that ends a device without levelling.
        row_hits: accesses that found their row open.
        bank_busy_ns: time in ns in which banks were busy, the sum over banks.
    """

    reads: int
    writes: int
    data_writes: int
    log_writes: int
    counter_writes: int
    write_bytes: int
    data_reads: int
    counter_reads: int
    read_bytes: int
    energy_nj: float
    max_line_writes: int
    row_hits: int
    bank_busy_ns: float


@dataclass(frozen=True, slots=True)
class CounterCache:
    """The counter cache; `hit_rate` is between 0 and 1, None without accesses."""

    hits: int | None
    misses: int | None
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
    """One level of the hierarchy, summed over its caches; the latency is that of its accesses, in ns."""

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
class Stats:
    """Everything a run measured.

    Attributes:
        transactions: measured transactions, over all cores.
        simulated_ns: measured time in ns.
        instructions: instructions committed.
        transaction_latency_ns: latency in ns.
        throughput_tps: transactions per second of simulated time.
        l1_access_latency_ns: mean time in ns from when a load or store first asks a first-level cache until its line is
            there, misses and the wait of a store for the hardware's log included (easy-pm, Figure 7); None without
            accesses.
        reencryptions: pages encrypted anew because a minor counter overflowed.
    """

    transactions: int
    simulated_ns: float
    instructions: int
    transaction_latency_ns: Latency
    throughput_tps: float
    nvm: Nvm
    counter_cache: CounterCache
    wpq: Wpq
    cache: tuple[CacheLevel, ...]
    l1_access_latency_ns: float | None
    core: Core
    reencryptions: int
    crypto: Crypto
    at_crash: AtCrash
    host: Host


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation.

    Attributes:
        machine: the machine's name.
        tx_size: bytes of user data in a transaction; None for a trace.
        footprint: bytes of populated structure; None for a trace.
        config_digest: the same for the same configuration.
        engine_build: digest of the engine's sources; None in documents of engines that did not tell.
        event_digest: the same for the same sequence of events.
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
    engine_build: str | None
    event_digest: str
    stats: Stats
    sites: tuple[LineCost, ...] | None
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Run:
        """The run that a document of `run --json` describes; older ones do not name the engine's build."""
        return build(cls, cls._laid_out(document))

    @classmethod
    def is_in(cls, document: Mapping[str, Any]) -> bool:
        """Whether a document that did not come from the engine just now is one that `from_dict` takes."""
        return fits(cls, cls._laid_out(document))

    @staticmethod
    def _laid_out(document: Mapping[str, Any]) -> dict[str, Any]:
        return {"engine_build": None, "sites": None, **document, "stats": document, "document": document}

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))


@dataclass(frozen=True, slots=True)
class Exercised:
    """How much a crash run met of what makes crashes hard: counts over the uncrashed run."""

    evictions: int
    counter_misses: int
    wpq_full: int
    reencryptions: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule broken after a crash.

    Attributes:
        rule: `line`, `atomicity`, `durability`, `plaintext`, `pad_reuse`, `structure`, `battery` or `recovery`.
        crash_event: power was lost after this event.
        nested_event: and again after this step of the recovery, counted from 1; None if it was not.
        nested_events: the same for each time that it was lost again, first to last: a step of the recovery, of the
            recovery from that, and so on.
        schedule: in this schedule, 0 that of the machine by itself; None where a legal state of no schedule breaks it.
        core: the core concerned.
        transaction: the transaction in flight or concerned.
        stage: `prepare`, `mutate` or `commit`, where that transaction was; None where it has no stages or none is
            concerned.
        line: address of the line concerned.
        explanation: what happened, in words.
        reproduce: the command line that shows it again.
    """

    rule: str
    crash_event: int
    nested_event: int | None
    nested_events: tuple[int, ...]
    schedule: int | None
    core: int | None
    transaction: int | None
    stage: str | None
    line: int | None
    explanation: str
    reproduce: str


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest run that was found to break a rule, and where.

    Attributes:
        rule: the rule, as in `Violation`.
        transactions: transactions of each core.
        tx_size: bytes of user data in a transaction.
        footprint: bytes of populated structure, the total over all cores.
        cores: cores.
        crash_event: the earliest event of that run after which a power failure breaks the rule.
        nested_event: and again after this step of the recovery, counted from 1; None if power fails only once.
        schedule: as in `Violation`.
        explanation: what happened, in words.
        reproduce: the command line that shows it.
        tried: smaller runs that were explored.
        minimal: every next smaller run that the search knows holds; False where the search took too long.
    """

    rule: str
    transactions: int
    tx_size: int
    footprint: int
    cores: int
    crash_event: int
    nested_event: int | None
    schedule: int | None
    explanation: str
    reproduce: str
    tried: int
    minimal: bool


@dataclass(frozen=True, slots=True)
class Blame:
    """The verdict told apart.

    Attributes:
        who: `program`, `design` or `annotations`.
        why: what was run to find out and what it showed, in words.
    """

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """The log entry of a transaction, or the lines that it writes in place: each line counts at each crash point.

    Attributes:
        pending: those that the stage is to write and that do not hold it yet.
        content_lost: those whose durable content is older than the newest completed fence demands, or unknown.
        counter_lost: those whose durable counter is not the one that the content was encrypted with; None without
            encryption.
    """

    lines: int
    pending: int
    content_lost: int
    counter_lost: int | None

    @property
    def content(self) -> str:
        """In the words of Table 1 of secpm: `wrong` while it is written, `correct`, or `unknown` if it may be lost."""
        return self._cell(self.content_lost)

    @property
    def counter(self) -> str | None:
        """The same of the counters; None without encryption."""
        return None if self.counter_lost is None else self._cell(self.counter_lost)

    def _cell(self, lost: int) -> str:
        return "wrong" if self.pending else "unknown" if lost else "correct"


@dataclass(frozen=True, slots=True)
class StageTally:
    """The crashes while a transaction was in one stage: a row of Table 1 of secpm.

    Attributes:
        stage: `prepare`, `mutate` or `commit`.
        crash_points: how many; with several cores, one for each core in that stage.
        failed: those after which a rule was broken.
        unrecoverable: those after which the program's recovery did not restore the state before or after a transaction.
        log: the lines of its log entry; None where caches are in the persistence domain.
        data: the lines that it writes in place; None likewise.
    """

    stage: str
    crash_points: int
    failed: int
    unrecoverable: int
    log: Part | None
    data: Part | None

    @property
    def recoverable(self) -> bool:
        """The program recovers from all of them."""
        return self.unrecoverable == 0


@dataclass(frozen=True, slots=True)
class Recoveries:
    """What the user's own recovery was run on.

    Attributes:
        command: the command.
        timeout_seconds: seconds after which a run of it had failed.
        images: different images of memory that the crash points left.
        runs: runs of the command: fewer than images where another exploration of the call had judged some of them.
        failed: images on which it failed.
    """

    command: str
    timeout_seconds: int
    images: int
    runs: int
    failed: int


@dataclass(frozen=True, slots=True)
class CrashHost:
    """The crash run itself on this computer."""

    seconds: float
    points_per_second: float | None


@dataclass(frozen=True, slots=True)
class Crash:
    """The auditors' verdict over every crash tried.

    Attributes:
        fault: the mechanism that was switched off, one of `faults()`; None if none was.
        crash_points: power failures tried.
        nested_points: power failures tried during recoveries.
        distinct_states: different durable states met.
        recovered: crashes after which everything held.
        coverage: what was covered, in a sentence or two.
        secret: the design promises secrecy, so that leaks were looked for.
        interrupted: Ctrl-C ended the exploration, or the search for what follows from it; this is what was finished.
        violations: what did not hold: the first of each rule and line, explained.
        violation_count: how many violations there were, explained or not.
        shrunk: the smallest runs that were found to break the first rules broken; empty where nothing was shrunk.
        stages: the crashes by the stage of the transaction in flight; empty where nobody asked, or without logs.
        blame: who is to blame; None where everything held, or nobody asked.
        recoveries: what the user's own recovery was run on; None where there was none.
        internal_errors: where the auditors and a real boot disagree: a fault of Counterpoint, not of the design.
        document: the document it was made from.
    """

    design: str
    variant: str
    fault: str | None
    workload: str
    seed: int
    crash_points: int
    nested_points: int
    distinct_states: int
    recovered: int
    exercised: Exercised
    coverage: str
    secret: bool
    interrupted: bool
    violations: tuple[Violation, ...]
    violation_count: int
    internal_errors: tuple[str, ...]
    shrunk: tuple[Shrunk, ...]
    stages: tuple[StageTally, ...]
    blame: Blame | None
    recoveries: Recoveries | None
    host: CrashHost
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """No rule was broken, and the auditors agree with the boot."""
        return self.violation_count == 0 and not self.internal_errors

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Crash:
        """The verdict that a document of `crash --json` describes; older ones lack what came later."""
        later: dict[str, Any] = {"shrunk": [], "stages": [], "blame": None, "recoveries": None}
        later |= {"secret": True, "interrupted": False}
        return build(cls, {**later, **document, "document": document})

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))


@dataclass(frozen=True, slots=True)
class Design:
    """A design that exists.

    Attributes:
        paper: paper and section it comes from.
        machine: the preset used when none is named.
        form: the form of the program that it runs: `plain`, `annotated`, `hardware-logged` or `flush-free`.
        variants: readings that are built.
        crash_consistent: `crash` accepts it.
        encrypted: it encrypts at all.
    """

    name: str
    summary: str
    paper: str
    machine: str | None
    form: str
    variants: tuple[str, ...]
    crash_consistent: bool
    encrypted: bool


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that exists; `has_log` is whether it writes an undo log."""

    name: str
    summary: str
    has_log: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """A mechanism that `crash` can switch off.

    Attributes:
        summary: what is switched off, in a sentence.
        designs: the designs that have the mechanism, in one reading at least.
    """

    name: str
    summary: str
    designs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine preset: the paper table it comes from, and every value."""

    name: str
    source: str
    values: dict[str, Any]


_hints = cache(get_type_hints)


def build(cls: type[T], document: Mapping[str, Any]) -> T:
    """A dataclass from a document, by its annotations."""
    values = {}
    described: Any = cls
    for name, hint in _hints(described).items():
        if name not in document:
            raise EngineError(f"the engine's answer has no key '{name}' for {cls.__name__}")
        values[name] = _convert(hint, document[name])
    return cls(**values)


def _convert(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if dataclasses.is_dataclass(part) or get_origin(part) is tuple]
        return _convert(parts[0], value) if parts and value is not None else value
    if get_origin(hint) is tuple:
        return tuple(_convert(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        return build(hint, value)  # type: ignore[arg-type]
    return value


def fits(hint: Any, value: Any) -> bool:
    """Whether a value of JSON is what a type says; an object may hold more than the type."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(fits(part, value) for part in get_args(hint))
    if hint is type(None):
        return value is None
    if hint is int or hint is float:
        kinds = int if hint is int else int | float
        # A number that no float holds, or none at all, comes from a document that was altered.
        return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if hint is str or hint is bool:
        return isinstance(value, hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(fits(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        described: Any = hint
        named = _hints(described).items()
        return isinstance(value, Mapping) and all(name in value and fits(part, value[name]) for name, part in named)
    return True
