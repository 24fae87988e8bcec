# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""Verdicts over all small programs, and where two designs differ on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from . import behaviour
from .verdicts import Exercised, Rule


@dataclass(frozen=True, slots=True)
class PlaceUsed:
    """A line of the programs.

    Attributes:
        name: its name.
        address: its byte address.
        meaning: what it has in common with line A.
    """

    name: str
    address: int
    meaning: str


@dataclass(frozen=True, slots=True)
class TimingUsed:
    """A timing under which each program was run.

    Attributes:
        name: its name.
        meaning: what is different in it.
        set: what of the machine is changed.
        failing: number of programs that break a rule under it.
    """

    name: str
    meaning: str
    set: tuple[str, ...]
    failing: int


@dataclass(frozen=True, slots=True)
class LengthTally:
    """The programs of one length.

    Attributes:
        operations: number of operations, of all cores together.
        programs: number of programs.
        failing: number of programs that break a rule under one of the timings.
        crash_points: number of judged power failures.
        nested_points: number of judged power failures during recovery.
        distinct_states: number of distinct durable states, those of each run counted for themselves.
    """

    operations: int
    programs: int
    failing: int
    crash_points: int
    nested_points: int
    distinct_states: int


@dataclass(frozen=True, slots=True)
class CounterExample:
    """The smallest program that breaks a rule, the first of its length in the order in which programs are tried.

    Attributes:
        rule: the rule that is broken.
        programs: number of programs that break it.
        program: the smallest of them, as a workload that `crash` takes.
        operations: number of its operations.
        timing: the timing under which it breaks the rule.
        crash_event: power fails after this event, counted from 1.
        nested_event: power fails again after this step of the recovery, counted from 1; None if it does not.
        explanation: what happened, in sentences.
        reproduce: the command line that shows it.
    """

    rule: Rule
    programs: int
    program: str
    operations: int
    timing: str
    crash_event: int
    nested_event: int | None
    explanation: str
    reproduce: str


@dataclass(frozen=True, slots=True)
class FailingProgram:
    """A program that fails, where all of them are listed.

    Attributes:
        program: the program, without the waits that a timing may add.
        timings: the timings under which it breaks a rule.
    """

    program: str
    timings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProofHost:
    """The cost of a proof.

    Attributes:
        seconds: wall-clock seconds.
        programs_per_second: programs judged per second, each under all timings.
        runs_per_second: runs judged per second.
    """

    seconds: float
    programs_per_second: float | None
    runs_per_second: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Proof(behaviour.Proof):
    """The report of a proof over all small programs.

    Attributes:
        design: the design's name.
        variant: the reading of the design's paper.
        fault: the name of the mechanism that is switched off, if any.
        machine: machine, by name.
        seed: seed of every random stream.
        request: what was asked for, with the defaults stated: those options of `prove` on which the verdict depends.
            Paths are as they were given.
        holds: whether every rule held in every program; None if the proof was interrupted before it found a program
            that fails.
        operations: most operations of a program, on each core.
        cores: number of cores that share the lines, each with a program of its own.
        forms: the forms whose contracts programs keep to: that of the design, and those that were named.
        steps: the operations that programs have.
        places: the lines that programs have.
        groups: the groups of these lines: a program uses all lines of one of them.
        timings: the timings under which each program was run.
        programs: number of programs.
        runs: number of runs: of each program, one for each timing, and for several cores one for each order that the
            timing has.
        failing: number of programs that break a rule under one of the timings.
        crash_points: number of judged power failures.
        nested_points: number of judged power failures during recovery.
        distinct_states: number of distinct durable states, those of each run counted for themselves.
        lengths: the same by the number of operations.
        counterexamples: the smallest program for each rule that is broken, the smallest of all first.
        failures: every program that fails, in the order in which programs are tried; None if they are not listed.
        exercised: what the runs exercised.
        coverage: what was covered, and what was not, in sentences.
        interrupted: whether the user interrupted: the report covers what was finished.
        internal_errors: disagreements between the auditors and a real boot: faults of this program, not of the design.
        host: the cost of the proof.
        parts: the parts of a design that is not built in.
        document: the document it was made from.
    """

    design: str
    variant: str
    fault: str | None
    machine: str
    seed: int
    request: Mapping[str, Any]
    holds: bool | None
    operations: int
    cores: int
    forms: tuple[str, ...]
    steps: tuple[str, ...]
    places: tuple[PlaceUsed, ...]
    groups: tuple[str, ...]
    timings: tuple[TimingUsed, ...]
    programs: int
    runs: int
    failing: int
    crash_points: int
    nested_points: int
    distinct_states: int
    lengths: tuple[LengthTally, ...]
    counterexamples: tuple[CounterExample, ...]
    failures: tuple[FailingProgram, ...] | None
    exercised: Exercised
    coverage: str
    interrupted: bool
    internal_errors: tuple[str, ...]
    host: ProofHost
    document: Mapping[str, Any] = field(repr=False, compare=False)
    parts: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StandsFor:
    """What a design does in the place of an operation that its own programs do not have.

    Attributes:
        operation: the operation.
        becomes: what is done in its place; None: it is left out.
    """

    operation: str
    becomes: str | None


@dataclass(frozen=True, slots=True)
class DesignTried:
    """One of two designs that are compared.

    Attributes:
        design: the design's name.
        parts: the parts of a design that is not built in; None for others.
        variant: the reading of the design's paper.
        form: the form of its own programs.
        stand_ins: what it does in the place of operations that its own programs do not have.
        failing: number of programs that break a rule under one of the timings.
    """

    design: str
    parts: Mapping[str, Any] | None
    variant: str
    form: str
    stand_ins: tuple[StandsFor, ...]
    failing: int


@dataclass(frozen=True, slots=True)
class TimingShared:
    """A timing under which each program was run on both designs.

    Attributes:
        name: its name.
        meaning: what is different in it.
        first: what of the machine is changed for the first design; nothing where it would make no difference.
        second: the same for the second design.
    """

    name: str
    meaning: str
    first: tuple[str, ...]
    second: tuple[str, ...]


Differs: TypeAlias = Literal["first-fails", "second-fails", "states", "writes"]
"""In what two designs differ. `first-fails`: a power failure breaks a rule on the first design, and none does on the
second, under the same timing; `second-fails`: a power failure breaks a rule on the second design, and none does on the
first, under the same timing; `states`: what boots after power failures show of the program's lines, under all timings
together; `writes`: how many lines are written to memory by the end of the run, under the same timing."""


@dataclass(frozen=True, slots=True)
class OnlyState:
    """A state that only one of two designs leaves.

    Attributes:
        state: what a boot shows of the program's lines: `A=2 B=0` is what operation 2 left in A, and what B held before
            the program; `A=0+2` has words of both, and `A=?` what was never stored there. `refused`: the boot, or a
            read after it, refuses memory.
        timing: the first timing under which a power failure leaves it.
        program: the program as it runs under that timing, as a workload that `crash` takes.
        crash_event: the first event of that run after which a power failure leaves it, counted from 1.
    """

    state: str
    timing: str
    program: str
    crash_event: int


@dataclass(frozen=True, slots=True)
class Written:
    """The number of lines that a run has written to memory by its end, when the queues have been written out.

    Attributes:
        data: data lines.
        log: lines of the log that hardware writes.
        counters: counter blocks.
        macs: lines of MACs.
        tree: nodes of the integrity tree.
        table: lines of the shadow table.
    """

    data: int
    log: int
    counters: int
    macs: int
    tree: int
    table: int


@dataclass(frozen=True, slots=True)
class DesignOutcome:
    """What one design does with a program.

    Attributes:
        holds: whether every rule holds under the timing of the row.
        rule: the rule that is broken first; None if none is.
        crash_event: power fails after this event, counted from 1; None if no rule is broken.
        nested_event: power fails again after this step of the recovery, counted from 1; None if it does not.
        explanation: what happened, in sentences; None if no rule is broken.
        states: what boots show of the program's lines under the timing of the row, written as in `only`.
        only: the states that the other design leaves under none of the timings, in a row about states.
        written: the lines that are written to memory by the end of the run.
        reproduce: the command line that shows it.
    """

    holds: bool
    rule: Rule | None
    crash_event: int | None
    nested_event: int | None
    explanation: str | None
    states: tuple[str, ...]
    only: tuple[OnlyState, ...]
    written: Written
    reproduce: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The smallest program on which two designs differ in one way, the first of its length in the order in which
    programs are tried.

    Attributes:
        differs: in what they differ.
        programs: number of programs on which they differ so.
        program: the smallest of them, as a workload that `crash` takes.
        operations: number of its operations, without the waits that a timing adds.
        timing: the first timing under which they differ so.
        first: what the first design does.
        second: what the second design does.
    """

    differs: Differs
    programs: int
    program: str
    operations: int
    timing: str
    first: DesignOutcome
    second: DesignOutcome


@dataclass(frozen=True, slots=True, repr=False)
class Distinction(behaviour.Distinction):
    """The report of two designs on the same small programs.

    Attributes:
        design: the first design.
        other: the second design.
        machine: machine, by name.
        seed: seed of every random stream.
        request: what was asked for, with the defaults stated: those options of `distinguish` on which the result
            depends. Paths are as they were given.
        differ: whether the designs differ on some program; None if the comparison was interrupted before it found one.
        operations: most operations of a program.
        steps: the operations that programs have.
        places: the lines that programs have.
        groups: the groups of these lines: a program uses all lines of one of them.
        timings: the timings under which each program was run.
        programs: number of programs that were run on both designs.
        crash_points: number of judged power failures, on both designs together.
        nested_points: number of judged power failures during recovery, on both designs together.
        differences: the smallest program for each way in which they differ.
        coverage: what was covered, and what was not, in sentences.
        interrupted: whether the user interrupted: the report covers what was finished.
        internal_errors: disagreements between the auditors and a real boot: faults of this program, not of the designs.
        host: the cost of the comparison.
        document: the document it was made from.
    """

    design: DesignTried
    other: DesignTried
    machine: str
    seed: int
    request: Mapping[str, Any]
    differ: bool | None
    operations: int
    steps: tuple[str, ...]
    places: tuple[PlaceUsed, ...]
    groups: tuple[str, ...]
    timings: tuple[TimingShared, ...]
    programs: int
    crash_points: int
    nested_points: int
    differences: tuple[Difference, ...]
    coverage: str
    interrupted: bool
    internal_errors: tuple[str, ...]
    host: ProofHost
    document: Mapping[str, Any] = field(repr=False, compare=False)
