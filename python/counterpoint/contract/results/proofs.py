# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""Verdicts over all small programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
        operations: number of operations.
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
class ProofHost:
    """The cost of a proof.

    Attributes:
        seconds: wall-clock seconds.
        programs_per_second: programs judged per second, each under all timings.
        runs_per_second: runs judged per second: one for each program and timing.
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
        operations: most operations of a program.
        steps: the operations that programs have.
        places: the lines that programs have.
        groups: the groups of these lines: a program uses all lines of one of them.
        timings: the timings under which each program was run.
        programs: number of programs.
        failing: number of programs that break a rule under one of the timings.
        crash_points: number of judged power failures.
        nested_points: number of judged power failures during recovery.
        distinct_states: number of distinct durable states, those of each run counted for themselves.
        lengths: the same by the number of operations.
        counterexamples: the smallest program for each rule that is broken, the smallest of all first.
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
    steps: tuple[str, ...]
    places: tuple[PlaceUsed, ...]
    groups: tuple[str, ...]
    timings: tuple[TimingUsed, ...]
    programs: int
    failing: int
    crash_points: int
    nested_points: int
    distinct_states: int
    lengths: tuple[LengthTally, ...]
    counterexamples: tuple[CounterExample, ...]
    exercised: Exercised
    coverage: str
    interrupted: bool
    internal_errors: tuple[str, ...]
    host: ProofHost
    document: Mapping[str, Any] = field(repr=False, compare=False)
    parts: Mapping[str, Any] | None = None
