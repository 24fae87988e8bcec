# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""The auditors' verdicts on crashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import behaviour
from .checks import Place


@dataclass(frozen=True, slots=True)
class Exercised:
    """How much of the machine a crash run exercised. A crash test without one of these says nothing about it.

    Attributes:
        evictions: dirty lines that were evicted from the caches.
        counter_misses: counter cache misses that fetched the block.
        wpq_full: number of times that a write found the write pending queue full.
        reencryptions: number of page re-encryptions.
    """

    evictions: int
    counter_misses: int
    wpq_full: int
    reencryptions: int


Rule: TypeAlias = Literal[
    "line",
    "atomicity",
    "durability",
    "plaintext",
    "pad_reuse",
    "tweak_reuse",
    "structure",
    "false_alarm",
    "integrity",
    "battery",
    "recovery",
    "timed-out",
]
"""The rule that was broken (model.md section 9). `line`: a line does not decrypt to a value that it must have;
`atomicity`: the transaction in flight is only partly there; `durability`: a committed transaction is missing;
`plaintext`: program data left the chip unencrypted; `pad_reuse`: a pad was used for two different plaintexts;
`tweak_reuse`: lines without counters: the same ciphertext stands at two addresses; `structure`: the recovered structure
breaks its own invariants; `false_alarm`: a boot, or a read after it, refuses memory that was not tampered with;
`integrity`: memory that an attacker has changed is accepted; `battery`: what must leave after power loss needs more
than the battery supports; `recovery`: the user's own recovery fails; `timed-out`: it does not end in time."""


@dataclass(frozen=True, slots=True)
class LineAt:
    """Where a recorded program touched a line last.

    Attributes:
        file: path of the file that the line belongs to.
        offset: offset of the line in it.
        stored: where the program stored to it last.
        flushed: where it has flushed it since; None if it has not.
    """

    file: str
    offset: int
    stored: Place
    flushed: Place | None


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation as reported: the auditors' finding, the steps of recoveries after which power failed again, and how
    to reproduce it.

    Attributes:
        rule: the rule that was broken.
        crash_event: power fails after this event, counted from 1.
        core: the core that is affected, if there is one.
        transaction: the transaction of that core that was in flight, or would have been next.
        stage: the stage of the transaction: "prepare", "mutate" or "commit"; None between transactions and if it is
            unknown.
        line: the line that is affected; in JSON, its byte address.
        explanation: what happened, in sentences.
        nested_event: power fails again after this step of the recovery, counted from 1; None if it does not.
        nested_events: the step for each time that power fails again, in order: a step of the recovery, then of the
            recovery from that, and so on.
        schedule: the schedule; 0 is the undisturbed one; None if a legal state of no schedule breaks the rule.
        reproduce: the command line that shows it again.
        lines: the lines of a recorded program that it is about: that of the rule, or those of which the command was not
            given what the program had stored last; some of them, the newest first. Empty where the trace does not have
            places.
        lost_lines: how many there are.
    """

    rule: Rule
    crash_event: int
    core: int | None
    transaction: int | None
    stage: str | None
    line: int | None
    explanation: str
    nested_event: int | None
    nested_events: tuple[int, ...]
    schedule: int | None
    reproduce: str
    lines: tuple[LineAt, ...]
    lost_lines: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Leaks of the running machine in events that are no crash points: how many there are, and the first of them.

    Attributes:
        count: how many there are.
        first: the first of them.
    """

    count: int
    first: Violation


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The smallest run that was found to break a rule, and where.

    Attributes:
        rule: the rule that was broken.
        transactions: number of transactions of each core.
        tx_size: bytes of user data in a transaction.
        footprint: bytes of the populated structures, in total over all cores.
        cores: number of cores.
        crash_event: the event of the smaller run after which power fails, counted from 1: the earliest one at which the
            rule is broken.
        nested_event: the event of the recovery after which power fails again; None if it does not.
        schedule: the schedule, as in a violation.
        explanation: what happened, in sentences.
        reproduce: the command line that shows it again.
        tried: number of smaller runs that were explored.
        minimal: whether the search ended because every next smaller run holds, and not because it took too long.
    """

    rule: Rule
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


BlameWho: TypeAlias = Literal["program", "design", "annotations", "assumption", "machine"]
"""Who is to blame for a violation. `program`: the program: it fails without any encryption, or left out a necessary
step of its protocol; `design`: the design; `annotations`: the annotations that the programmer must add for the design;
`assumption`: what was assumed of a recorded program without annotations; `machine`: the machine: it loses what it has
told programs is durable."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is to blame, and why.

    Attributes:
        who: who is to blame.
        why: what was run to find out, and what it showed, in sentences.
    """

    who: BlameWho
    why: str


@dataclass(frozen=True, slots=True)
class Part(behaviour.Part):
    """Counts over a transaction's log or its data at all crash points: each line counts once at each of them.

    Attributes:
        lines: number of lines.
        pending: lines that the stage must write and whose content is not there yet.
        content_lost: lines whose durable content is older than the newest completed fence over them requires, or is
            unknown.
        counter_lost: lines whose durable counter is not the one that the durable content was encrypted with; None
            without counters.
    """

    lines: int
    pending: int
    content_lost: int
    counter_lost: int | None


@dataclass(frozen=True, slots=True)
class StageTally(behaviour.StageTally):
    """The crash points at which a transaction was in one stage. With several cores, a point counts for each of them in
    it.

    Attributes:
        stage: "prepare", "mutate" or "commit".
        crash_points: number of crash points in the stage.
        failed: crash points after which a rule was broken.
        unrecoverable: crash points after which the program's recovery left its heap neither as before nor as after a
            transaction: the opposite of the tables' "recoverable". The program may recover although another rule is
            broken, most often about pads.
        log: the lines of the transaction's log entry; None if caches are in the persistence domain.
        data: the lines that it writes in place; None if caches are in the persistence domain.
    """

    stage: str
    crash_points: int
    failed: int
    unrecoverable: int
    log: Part | None
    data: Part | None


@dataclass(frozen=True, slots=True)
class WatchedReads:
    """What was decided by what the user's own recovery reads.

    Attributes:
        runs: number of runs whose reads were watched.
        classes: number of classes of states that were decided: a class agrees on all that the command reads.
        points: number of crash points at which all legal states were decided so.
    """

    runs: int
    classes: int
    points: int


@dataclass(frozen=True, slots=True)
class NestedRecoveries:
    """Power that failed again in recorded runs of the user's own recovery.

    Attributes:
        recorded: number of runs of the command that were recorded, each on another image from which it recovers.
        stored: number of recorded runs that stored something.
        explored: number of recordings that were explored: of those that do the same, one.
        unknown: number of recorded runs that could not be explored, because their recordings do not have all that they
            have done.
        images: number of different images that power failures in them leave, counted for each recording.
        failed: number of these images on which the command failed.
        timed_out: number of these images on which it had not ended in time.
    """

    recorded: int
    stored: int
    explored: int
    unknown: int
    images: int
    failed: int
    timed_out: int


@dataclass(frozen=True, slots=True)
class Recoveries:
    """The runs of the user's own recovery.

    Attributes:
        command: the command that was run.
        timeout_seconds: seconds after which a run of the command counts as failed.
        images: number of different memory images that the crash points leave.
        runs: number of runs of the command: fewer than images if some were judged in another exploration.
        failed: number of images on which the command failed.
        timed_out: number of images on which it had not ended in time.
        watched: what watching its reads has decided; None if they were not watched.
        nested: what power that failed again in its runs has shown; None if it did not.
    """

    command: str
    timeout_seconds: int
    images: int
    runs: int
    failed: int
    timed_out: int
    watched: WatchedReads | None
    nested: NestedRecoveries | None


CauseOutcome: TypeAlias = Literal["failed", "timed-out"]
"""How a recovery that does not succeed ends. `failed`: with an exit code that says so, or by a signal; `timed-out`: not
in time."""


CauseKind: TypeAlias = Literal[
    "missing-flush",
    "stored-after-flush",
    "missing-fence",
    "non-temporal-not-fenced",
    "counter-not-durable",
    "counter-ahead",
    "order-within-line",
    "order-between-lines",
    "torn-store",
    "not-atomic",
    "wrong-recovery",
]
"""What a program lacks. `missing-flush`: a flush of what was stored; `stored-after-flush`: another flush of a line that
was stored to again after its flush; `missing-fence`: a fence after the flush; `non-temporal-not-fenced`: a fence after
a store past the caches; `counter-not-durable`: a write-back of the counter: the data is durable, and its counter is
not; `counter-ahead`: the data: its counter is durable, and what the line held before does not decrypt with it;
`order-within-line`: another order of two stores to one line: the second must not be durable without the first, and
hardware keeps their order as it is; `order-between-lines`: another order of two lines: the first is durable, or may be,
before the second, which it needs; `torn-store`: a store of at most eight aligned bytes: of a larger one, a part can be
durable; `not-atomic`: an update that is atomic: between two of its stores the program does not recover, with nothing
lost; `wrong-recovery`: a recovery from what the program has stored, with nothing lost."""


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that was lost.

    Attributes:
        file: the file that it belongs to.
        offset: its offset in that file.
        thread: the thread that stored to it last.
        stored: where that was.
        called_at: `file:line` of the call of the function that this is in; None if the trace or debug information does
            not have it.
        missing: what the line lacks.
        flushed: where it was flushed last; None if it was not.
        fenced_by: the locked instruction that fences it by chance; None if there is none.
        needed_before: the store that was kept, and before which the missing flush or fence had to come; None if it was
            none.
    """

    file: str
    offset: int
    thread: int
    stored: Place
    called_at: str | None
    missing: CauseKind
    flushed: Place | None
    fenced_by: Place | None
    needed_before: Place | None


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line that was kept.

    Attributes:
        file: the file that it belongs to.
        offset: its offset in that file.
        stored: where it was stored to last.
    """

    file: str
    offset: int
    stored: Place


@dataclass(frozen=True, slots=True)
class Cause:
    """What failing images have in common.

    Attributes:
        outcome: how the recovery from these images ends.
        kind: what the program lacks.
        count: number of different images that fail for it.
        at_event: the first of them: the record of the trace before which power failed.
        before: the fence, flush or store before which power failed; None at a mark and at the end of the program.
        begins_at: the store from which on the program does not recover, with nothing lost; None if it recovers there,
            or if it did not before any store.
        ends_at: the store that mends that; None if none does.
        lost: the lines whose loss is needed for that image to fail; at most 8. None if it need lack nothing.
        lost_lines: how many there were.
        kept: the lines that were kept without being surely durable; at most 8, the newest first.
        kept_lines: how many there were.
        sentence: all of this in a sentence.
    """

    outcome: CauseOutcome
    kind: CauseKind
    count: int
    at_event: int
    before: Place | None
    begins_at: Place | None
    ends_at: Place | None
    lost: tuple[LostLine, ...]
    lost_lines: int
    kept: tuple[KeptLine, ...]
    kept_lines: int
    sentence: str


@dataclass(frozen=True, slots=True)
class RecoveryCause:
    """Why images fail that power failing again leaves, in the recovery.

    Attributes:
        after: when power failed before that, for the first of these images: the record of the program's trace, then
            those of the recordings of its recoveries.
        cause: the cause; its records and places are those of the recovery.
    """

    after: tuple[int, ...]
    cause: Cause


@dataclass(frozen=True, slots=True)
class LineLosses:
    """What memories lack of a place.

    Attributes:
        stored: where the program stored last what they lack.
        flushed: where it has flushed it since; None if it has not.
        failed: number of different memories without it that fail.
        recovered: number of different memories without it from which the program recovers.
        similarity: how well its lack explains the failures, from 0 to 1 (Ochiai's coefficient): 1 if exactly the
            memories without it fail.
        schedule: the schedule of the first memory without it that fails.
        at_event: the event of that schedule after which power fails for it.
    """

    stored: Place
    flushed: Place | None
    failed: int
    recovered: int
    similarity: float
    schedule: int
    at_event: int


AttackKind: TypeAlias = Literal[
    "spoof",
    "splice",
    "replay",
    "replay-with-mac",
    "replay-with-counter",
    "replay-page",
    "replay-subtree",
    "rollback",
    "erase",
]
"""What the attacker does. `spoof`: changes a bit of a unit; `splice`: exchanges two units of a kind; data lines with
their MACs; `replay`: puts back an older version of a unit; `replay-with-mac`: puts back an older version of a line with
the MAC that it had; `replay-with-counter`: puts back an older version of a line with the MAC and the counter block that
it had; `replay-page`: puts back a page as it once was: lines, MACs, counter block and the nodes above it;
`replay-subtree`: puts back a tree node with everything below it: nodes, counter blocks, MACs and lines; `rollback`:
puts back everything on the media as it once was; `erase`: makes a unit look as if it had never been written."""


AttackTarget: TypeAlias = Literal["data", "counter", "mac", "tree", "table", "shadow", "several"]
"""What the attacker changes. `data`: data lines; `counter`: counter blocks; `mac`: lines of MACs; `tree`: tree nodes;
`table`: lines of the shadow table; `shadow`: lines of the shadow cache, and of its metadata; `several`: units of
several kinds."""


AttackMoment: TypeAlias = Literal["power-off", "before-cut-boot", "after-cut-boot", "after-restart", "running"]
"""When the attacker changes the media. `power-off`: power is off; the machine boots undisturbed; `before-cut-boot`:
power is off, and it fails again during the boot that follows; `after-cut-boot`: power has failed again during an
undisturbed boot; the next boot is undisturbed; `after-restart`: the machine has booted undisturbed, the lines that had
been restored from the shadow cache have been stored to again, and power fails again; the next boot is undisturbed;
`running`: between two events, while the machine runs."""


AttackOutcome: TypeAlias = Literal["accepted", "late", "detected", "denied", "harmless"]
"""What becomes of an attack. `accepted`: wrong plaintext is given to the program, and no check fails; `late`: a check
fails, but after wrong plaintext has been given to the program; `detected`: a check fails before any wrong plaintext is
used; `denied`: a check fails although everything would have been read right: the attacker has made memory unavailable;
`harmless`: everything is read right."""


@dataclass(frozen=True, slots=True)
class AttackExample:
    """An attack, described.

    Attributes:
        crash_event: the event after which power fails, or after which the running machine is attacked.
        told: what the attacker does and what becomes of it.
    """

    crash_event: int
    told: str


@dataclass(frozen=True, slots=True)
class AttackRow:
    """What became of the attacks of one kind.

    Attributes:
        attack: what the attacker does.
        target: what is changed.
        when: when.
        verdict: the worst that has become of it.
        attacked: number of attacked states.
        accepted: attacks that give the program wrong bytes and that nothing notices.
        late: attacks that a check finds after wrong bytes have been used.
        detected: attacks that a check finds before anything wrong is used.
        denied: attacks that make memory refused although all of it would have been read right.
        harmless: attacks after which everything is read right.
        example: the first attack of this kind with the worst outcome.
    """

    attack: AttackKind
    target: AttackTarget
    when: AttackMoment
    verdict: AttackOutcome
    attacked: int
    accepted: int
    late: int
    detected: int
    denied: int
    harmless: int
    example: AttackExample


@dataclass(frozen=True, slots=True)
class Watched:
    """What an attacker learns who changes nothing and compares what crosses the bus: where the same bytes come again at
    the same address, the plaintext is the same.

    Attributes:
        blocks: blocks of 16 bytes of data lines that crossed the bus.
        repeated: those whose bytes had crossed it before at the same address.
        stored: whether these are the blocks that modules stored, because they encrypt and the bus has plaintext.
        example: the first of them, if there is one.
    """

    blocks: int
    repeated: int
    stored: bool
    example: AttackExample | None


@dataclass(frozen=True, slots=True)
class Attacks:
    """What became of all attacks.

    Attributes:
        attacked: number of attacked states: each kind of attack on each durable state counts.
        states: number of durable states that were attacked.
        accesses: number of accesses before which the running machine was attacked.
        rows: the attacks by kind.
        watched: what whoever only watches the bus learns.
        coverage: what was covered, in a sentence or two.
    """

    attacked: int
    states: int
    accesses: int
    rows: tuple[AttackRow, ...]
    watched: Watched
    coverage: str


@dataclass(frozen=True, slots=True)
class CrashHost:
    """The cost of the exploration.

    Attributes:
        seconds: wall-clock seconds.
        points_per_second: crash points judged per second.
    """

    seconds: float
    points_per_second: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Crash(behaviour.Crash):
    """The report of a crash exploration.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        fault: the name of the mechanism that is switched off, if any.
        workload: workload name or trace.
        seed: seed of every random stream.
        request: what was asked for, with the defaults of its run stated: `design` and `workload`, and those options of
            `crash` on which the verdict depends. Paths are as they were given.
        holds: whether every rule held and the auditors agree with the boot; None if nothing was judged, because the
            exploration was ended before the first crash point that follows a store.
        crash_points: number of judged power failures.
        nested_points: number of judged power failures during recovery; those that leave the same state count once.
        distinct_states: number of distinct durable states among the power failures.
        recovered: number of crash points after which every rule held.
        exercised: what the run exercised.
        coverage: what was covered, in a sentence or two.
        assumed: what was assumed of a recorded program that its trace does not say; None if nothing was.
        lacks: what the trace of a recorded program lacks of what it did, in sentences; empty for a workload.
        secret: whether the design promises secrecy, so that leaks were checked.
        bus_in_the_clear: whether lines cross the bus in the clear, because modules encrypt: leaks were checked, and
            watched, in what is stored.
        interrupted: whether the user interrupted the exploration or the analysis after it: the report covers what was
            finished.
        out_of_time: whether the time budget ended the exploration, or the analysis after it.
        violations: the first violations of each rule and line, explained: an example of each rule, those first that
            lost data, then the others in the same order.
        violation_count: number of violations, explained or not.
        left_out: leaks of the running machine in events that are no crash points, which do not count; None if there
            were none.
        shrunk: for the first rules of `violations`, the smallest run that still breaks them; empty if no rule was
            broken or shrinking was not requested.
        blame: who is to blame; None if every rule held or the analysis was not requested.
        stages: counts of Prepare, Mutate and Commit, if requested and if programs keep logs; otherwise empty.
        recoveries: the runs of the user's own recovery; None if there was none.
        causes: why images fail, for the legal states of a recorded program, the first found first; None for other
            explorations.
        recovery_causes: why images fail that power failing again during the user's own recovery leaves, in that
            recovery; empty without.
        by_line: what the images that fail lack, by places of the recorded program, those first that explain the
            failures best; None without places, without a recovery of the user's own, and for legal states.
        attacks: what an attacker achieved, if there was one; None otherwise.
        internal_errors: disagreements between the auditors and a real boot: faults of this program, not of the design.
        host: the cost of the exploration.
        parts: the parts of a design that is not built in.
        document: the document it was made from.
    """

    design: str
    variant: str
    fault: str | None
    workload: str
    seed: int
    request: Mapping[str, Any]
    holds: bool | None
    crash_points: int
    nested_points: int
    distinct_states: int
    recovered: int
    exercised: Exercised
    coverage: str
    assumed: str | None
    lacks: tuple[str, ...]
    secret: bool
    bus_in_the_clear: bool
    interrupted: bool
    out_of_time: bool
    violations: tuple[Violation, ...]
    violation_count: int
    left_out: LeftOut | None
    shrunk: tuple[Shrunk, ...]
    blame: Blame | None
    stages: tuple[StageTally, ...]
    recoveries: Recoveries | None
    causes: tuple[Cause, ...] | None
    recovery_causes: tuple[RecoveryCause, ...]
    by_line: tuple[LineLosses, ...] | None
    attacks: Attacks | None
    internal_errors: tuple[str, ...]
    host: CrashHost
    document: Mapping[str, Any] = field(repr=False, compare=False)
    parts: Mapping[str, Any] | None = None
