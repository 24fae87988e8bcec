"""The auditors' verdicts on crashes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .checks import Place
from .documents import build
from .provisos import RestsOn


@dataclass(frozen=True, slots=True)
class Exercised:
    """How much a crash run met of what makes crashes difficult: counts over the run without a crash."""

    evictions: int
    counter_misses: int
    wpq_full: int
    reencryptions: int


@dataclass(frozen=True, slots=True)
class LineAt:
    """Where a recorded program touched a line last.

    Attributes:
        file: the file that the line belongs to.
        offset: the offset of the line in that file.
        stored: where the program stored to it last.
        flushed: where it has flushed it since then; None if it has not.
    """

    file: str
    offset: int
    stored: Place
    flushed: Place | None


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule broken after a crash.

    Attributes:
        rule: `line`, `atomicity`, `durability`, `plaintext`, `pad_reuse`, `structure`, `false_alarm`, `integrity`,
            `battery`, `recovery` or `timed-out`.
        crash_event: power was lost after this event; in a legal state of a recorded program, before this record of its
            trace.
        nested_event: power was lost again after this step of the recovery, counted from 1; None if it was not.
        nested_events: the step for each time that power was lost again, in order: a step of the recovery, then of the
            recovery after that, and so on.
        schedule: in this schedule, 0 that of the machine by itself; None where a legal state of no schedule breaks it.
        core: the core concerned.
        transaction: the transaction in flight or concerned.
        stage: `prepare`, `mutate` or `commit`, where that transaction was; None where it has no stages or none is
            concerned.
        line: address of the line concerned.
        explanation: what happened, in words.
        reproduce: the command line that shows it again.
        lines: the lines of a recorded program that it is about, 8 at most, the one stored to last first: that of the
            rule, or those of which the own recovery was not given what the program had stored last.
        lost_lines: how many there are.
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
    lines: tuple[LineAt, ...]
    lost_lines: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Leaks of the running machine in events that are none of the crash points.

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
        rule: the rule, as in `Violation`.
        transactions: transactions of each core.
        tx_size: bytes of user data in a transaction.
        footprint: bytes of populated structure, the total over all cores.
        cores: cores.
        crash_event: the earliest event of that run after which a power failure breaks the rule.
        nested_event: power fails again after this step of the recovery, counted from 1; None if it fails only once.
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
    """What is to blame for a violation.

    Attributes:
        who: `program`, `design`, `annotations`, or `assumption`: what was assumed of a recorded program without
            annotations.
        why: what was run to find this out, and what it showed, in words.
    """

    who: str
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a transaction's log entry, or those that it writes in place, each counted at each crash point.

    Attributes:
        pending: lines that the stage has to write and that do not hold the new content yet.
        content_lost: lines whose durable content is older than the newest completed fence requires, or unknown.
        counter_lost: lines whose durable counter is not the one that the content was encrypted with; None without
            encryption.
    """

    lines: int
    pending: int
    content_lost: int
    counter_lost: int | None

    @property
    def content(self) -> str:
        """State of the content (secpm Table 1): `wrong` while it is written, `unknown` if lost, else `correct`."""
        return self._cell(self.content_lost)

    @property
    def counter(self) -> str | None:
        """State of the counters, as in Table 1 of secpm; None without encryption."""
        return None if self.counter_lost is None else self._cell(self.counter_lost)

    def _cell(self, lost: int) -> str:
        return "wrong" if self.pending else "unknown" if lost else "correct"


@dataclass(frozen=True, slots=True)
class StageTally:
    """The crashes while a transaction was in one stage: a row of Table 1 of secpm.

    Attributes:
        stage: `prepare`, `mutate` or `commit`.
        crash_points: how many; with several cores, one for each core in that stage.
        failed: crashes after which a rule was broken.
        unrecoverable: crashes after which the program's recovery did not restore the state before or after a
            transaction.
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
class WatchedReads:
    """What was decided by what the user's own recovery reads.

    Attributes:
        runs: runs of the command whose reads were watched.
        classes: classes of states that were decided: a class agrees on all that the command reads.
        points: crash points with more legal states than are tried one by one, at which all were decided so.
    """

    runs: int
    classes: int
    points: int


@dataclass(frozen=True, slots=True)
class Recoveries:
    """The runs of the user's own recovery.

    Attributes:
        command: the command.
        timeout_seconds: time limit of a run in seconds.
        images: different images of memory that the crash points left; of a command that is told of marks or events,
            different cases.
        runs: runs of the command: fewer than images where another exploration of the call had judged some of them.
        failed: images on which it failed.
        timed_out: images on which it had not ended in time, and was killed.
        watched: what watching its reads has decided; None if they were not watched.
    """

    command: str
    timeout_seconds: int
    images: int
    runs: int
    failed: int
    timed_out: int
    watched: WatchedReads | None


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that a failing memory lacks.

    Attributes:
        file: the file that it belongs to.
        offset: the offset of the line in that file.
        thread: the thread that stored to it last.
        stored: where that was.
        missing: what the line lacks, as `Cause.kind`.
        flushed: where it was flushed last; None where it was not.
        fenced_by: the locked instruction that fences it by chance, for another purpose; None where there is none.
        needed_before: the kept store before which the flush or fence that is missing had to come; None where there is
            none.
    """

    file: str
    offset: int
    thread: int
    stored: Place
    missing: str
    flushed: Place | None
    fenced_by: Place | None
    needed_before: Place | None


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line that a failing memory has, although nothing made it surely durable.

    Attributes:
        file: the file that it belongs to.
        offset: the offset of the line in that file.
        stored: where it was stored to last.
    """

    file: str
    offset: int
    stored: Place


@dataclass(frozen=True, slots=True)
class Cause:
    """Why memories of a recorded program fail.

    Attributes:
        outcome: how the recovery from them ends: `failed` or `timed-out`.
        kind: `missing-flush`, `stored-after-flush`, `missing-fence`, `non-temporal-not-fenced`, `counter-not-durable`,
            `counter-ahead`, or `nothing-lost` where the program does not recover from what it has made durable itself.
        count: how many different memories fail for it.
        at_event: the record of the trace before which power failed for the first of them.
        before: the fence or flush at which that was; None at the end of the program.
        lost: the lines that the first of them lacks; 8 at most.
        lost_lines: how many these are.
        kept: the lines that it has without being surely durable, the newest first; 8 at most.
        kept_lines: how many these are.
        sentence: all of this in a sentence.
    """

    outcome: str
    kind: str
    count: int
    at_event: int
    before: Place | None
    lost: tuple[LostLine, ...]
    lost_lines: int
    kept: tuple[KeptLine, ...]
    kept_lines: int
    sentence: str


@dataclass(frozen=True, slots=True)
class LineLosses:
    """What memories lack of a place of a recorded program.

    Attributes:
        stored: where the program stored last what they lack.
        flushed: where it has flushed it since; None where it has not.
        failed: how many different memories without it fail.
        recovered: from how many different memories without it the program recovers.
        similarity: how well its lack explains the failures, from 0 to 1 (Ochiai's coefficient): 1 where exactly the
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


@dataclass(frozen=True, slots=True)
class AttackExample:
    """An attack, described.

    Attributes:
        crash_event: the event after which power fails, or after which the running machine is attacked.
        told: what the attacker does, and what becomes of it.
    """

    crash_event: int
    told: str


@dataclass(frozen=True, slots=True)
class AttackRow:
    """What became of the attacks of one kind.

    Attributes:
        attack: what the attacker does: `spoof`, `splice`, `replay`, `replay-with-mac`, `replay-with-counter`,
            `replay-page`, `replay-subtree`, `rollback` or `erase`.
        target: what he changes: `data`, `counter`, `mac`, `tree`, `table`, `shadow` or `several`.
        when: `power-off`; `before-cut-boot`: power is off, and he cuts it again during the boot; `after-cut-boot`: he
            has cut power during a boot; `after-restart`: power has failed again in the next power cycle; or `running`.
        verdict: the worst of the outcomes that follow: `accepted`, `late`, `detected`, `denied` or `harmless`.
        attacked: attacked states.
        accepted: attacks that give the program wrong bytes and that nothing notices.
        late: attacks that a check finds after wrong bytes have been used.
        detected: attacks that a check finds before anything wrong is used.
        denied: attacks that make memory refused although all of it would have been read right.
        harmless: attacks after which everything is read right.
        example: the first attack of this kind with the worst outcome.
    """

    attack: str
    target: str
    when: str
    verdict: str
    attacked: int
    accepted: int
    late: int
    detected: int
    denied: int
    harmless: int
    example: AttackExample


@dataclass(frozen=True, slots=True)
class Attacks:
    """What an attacker achieved who changed the media.

    Attributes:
        attacked: attacks.
        states: durable states that were attacked.
        accesses: accesses to memory before which the running machine was attacked.
        rows: the attacks by kind.
        coverage: what was covered, in a sentence or two.
    """

    attacked: int
    states: int
    accesses: int
    rows: tuple[AttackRow, ...]
    coverage: str


@dataclass(frozen=True, slots=True)
class CrashHost:
    """The crash run itself on this computer."""

    seconds: float
    points_per_second: float | None


@dataclass(frozen=True, slots=True)
class Crash(RestsOn):
    """The auditors' verdict over every crash tried.

    Attributes:
        fault: the mechanism that was switched off, one of `faults()`; None if none was.
        crash_points: power failures tried.
        nested_points: power failures tried during recoveries.
        distinct_states: different durable states met.
        recovered: crashes after which everything held.
        coverage: what was covered, in a sentence or two.
        assumed: what was assumed of a recorded program that its trace does not say; None if nothing was.
        lacks: what the trace of a recorded program lacks of what it did, in sentences.
        secret: the design promises secrecy, so that leaks were looked for.
        interrupted: Ctrl-C ended the exploration, or the search for what follows from it; this is what was finished.
        out_of_time: the time budget ended the exploration, or the search for what follows from it.
        violations: what did not hold: the first of each rule and line, explained. An example of each rule comes first;
            lost data comes before a leaked secret, and then what happens earlier before what happens later.
        violation_count: how many violations there were, explained or not.
        left_out: leaks of the running machine in events that are none of the crash points, which do not count; None if
            there were none.
        shrunk: the smallest runs that were found to break the first rules broken; empty where nothing was shrunk.
        stages: the crashes by the stage of the transaction in flight; empty where nobody asked, or without logs.
        blame: who is to blame; None where everything held, or nobody asked.
        recoveries: what the user's own recovery was run on; None where there was none.
        causes: why memories fail, for the legal states of a recorded program; None for other explorations.
        by_line: what the memories that fail lack, by places of the recorded program, those first that explain the
            failures best; None without places or without a recovery of the user's own, and for legal states.
        attacks: what an attacker achieved; None where there was none.
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
    assumed: str | None
    lacks: tuple[str, ...]
    secret: bool
    interrupted: bool
    out_of_time: bool
    violations: tuple[Violation, ...]
    violation_count: int
    left_out: LeftOut | None
    internal_errors: tuple[str, ...]
    shrunk: tuple[Shrunk, ...]
    stages: tuple[StageTally, ...]
    blame: Blame | None
    recoveries: Recoveries | None
    causes: tuple[Cause, ...] | None
    by_line: tuple[LineLosses, ...] | None
    attacks: Attacks | None
    host: CrashHost
    document: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """No rule was broken, and the auditors agree with the boot."""
        return self.violation_count == 0 and not self.internal_errors

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Crash:
        """The verdict that a document of `crash --json` describes."""
        return build(cls, {**document, "document": document})

    @property
    def examples(self) -> tuple[Violation, ...]:
        """One violation of each rule that was broken: the first ones of `violations`."""
        first = {violation.rule: violation for violation in reversed(self.violations)}
        return tuple(violation for violation in self.violations if first[violation.rule] is violation)

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        return copy.deepcopy(dict(self.document))
