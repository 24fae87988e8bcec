# Written by `make contract` from the options in crates/engine/src/api/request/options.rs; do not edit.
"""The options of each call: the keywords of the functions, the options of the commands and the keys of requests.

A function takes `**options: Unpack[...]` of one of these types, and so does the command of the same name
(`cli.options.takes`). None, or leaving an option out, means the default. The function annotated beside a type checks a
value and converts it for the request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypedDict

from .request import (
    Size,
    Span,
    Variant,
    assignments,
    check_leave_out,
    check_name,
    check_names,
    check_points,
    count,
    counts,
    flag,
    path,
    size,
    sizes,
    span,
    switch,
)

TYPED = (
    "variant",
    "seed",
    "machine",
    "set",
    "tx_size",
    "cores",
    "footprint",
    "warmup",
    "fault",
    "recover",
    "recover_prints",
    "recover_timeout",
    "no_preflight",
    "leave_out",
    "omit_annotations",
    "explore",
    "schedule",
    "states",
    "watch_reads",
    "sector",
    "allow_truncated",
    "serial",
    "transactions",
    "nested_depth",
    "attack",
    "at_event",
)
"""The options of a printed crash command, in this order: first what is run, last where power fails."""


class MachineOptions(TypedDict, total=False):
    """The options of every simulation, also of memory lines.

    Attributes:
        variant: `"hardened"` (default) or `"published"`.
        machine: a preset's name or the path of a TOML file; default the first design's preset.
        set: machine values to change, `{"controller.wpq_entries": 64}` or `["controller.wpq_entries=64"]`.
        seed: seed of every random stream.
    """

    variant: Annotated[Variant | None, check_name]
    machine: Annotated[str | os.PathLike[str] | None, path]
    set: Annotated[Mapping[str, object] | Iterable[str] | None, assignments]
    seed: Annotated[int | None, count]


class CommonOptions(MachineOptions, total=False):
    """The options of every simulation of a program: those of `MachineOptions`, and these.

    Attributes:
        transactions: measured transactions per core.
        warmup: transactions per core before measuring begins.
        footprint: bytes of populated structure, the total over all cores.
        allow_truncated: replay the good part of a trace that is cut off.
        serial: run the threads of a recorded program on one core, in the one order that was recorded.
    """

    transactions: Annotated[int | None, count]
    warmup: Annotated[int | None, count]
    footprint: Annotated[Size | None, size]
    allow_truncated: Annotated[bool, flag]
    serial: Annotated[bool, flag]


class RunOptions(CommonOptions, total=False):
    """The options of a single simulation: those of `CommonOptions`, and the two that `compare` takes lists of.

    Attributes:
        tx_size: bytes of user data in a transaction, a multiple of 64.
        cores: cores, one program instance each; an instance of a recorded program has as many as it has threads.
    """

    tx_size: Annotated[Size | None, size]
    cores: Annotated[int | None, count]


class SingleRunOptions(RunOptions, total=False):
    """The options of `run`: those of `RunOptions`, and these.

    Attributes:
        leave_out: what to leave out of the program, one of `ANNOTATIONS` or `PROGRAM_STEPS`; for designs whose programs
            have it.
        timeline: file that gets every stage's events, readable by Perfetto.
        by_line: report what each source line of a recorded program costs, if the recording has source lines; not
            together with `timeline`.
        window: report the figures over time, in windows of this length: a number of nanoseconds, or a text as in
            `10us`.
    """

    leave_out: Annotated[str | None, check_leave_out]
    timeline: Annotated[str | os.PathLike[str] | None, path]
    by_line: Annotated[bool, flag]
    window: Annotated[Span | None, span]


class ReplayOptions(RunOptions, total=False):
    """The options of `replay`: those of `RunOptions`, and these.

    Attributes:
        by_line: report what each source line of a recorded program costs, if the recording has source lines; not
            together with `timeline`.
    """

    by_line: Annotated[bool, flag]


class LineOptions(CommonOptions, total=False):
    """The options of `replay_lines`: those of `CommonOptions`, where transactions change nothing, and these.

    Attributes:
        trace_clock_mhz: frequency of the clock whose cycles the trace has; default 1000, one cycle per nanosecond.
        requests: file that gets a row of CSV for each request: when it was sent and answered, and what it waited for.
        timeline: file that gets every stage's events, readable by Perfetto.
        window: report the figures over time, in windows of this length: a number of nanoseconds, or a text as in
            `10us`.
    """

    trace_clock_mhz: Annotated[int | None, count]
    requests: Annotated[str | os.PathLike[str] | None, path]
    timeline: Annotated[str | os.PathLike[str] | None, path]
    window: Annotated[Span | None, span]


class AnnotationOptions(RunOptions, total=False):
    """The options of `annotations`: those of `RunOptions`, and these, as for `crash`.

    Attributes:
        points: `"all"`, or how many events to crash after, spread over the run. Default: all.
        recover: a shell command that does the recovery of a recorded program. It runs on files with the memory that a
            boot finds at each crash point, and exits with 0 if it recovers. `{pool}` in it stands for the path of the
            first file of the trace, `{folder}` for the folder with all of them, `{marks}` for a file with the marks
            that the program had set, one a line, and `{event}` for the number of the crash point.
        recover_prints: the program recovers only if the last line that the command prints contains this text, too. A
            recovery that calls `exit(0)` before anything is checked then does not count as success.
        recover_timeout: time limit in seconds for one such command; default 60.
        recover_jobs: how many such commands run at a time, at most one for each processor, which is the default. The
            verdict does not depend on it.
        recover_folder: where the temporary folder for these files is created; default the system's temporary folder.
    """

    points: Annotated[int | str | None, check_points]
    recover: Annotated[str | None, check_name]
    recover_prints: Annotated[str | None, check_name]
    recover_timeout: Annotated[int | None, count]
    recover_jobs: Annotated[int | None, count]
    recover_folder: Annotated[str | os.PathLike[str] | None, path]


class CheckOptions(MachineOptions, total=False):
    """The options of `check`: those of `MachineOptions`, which need a design, and these.

    Attributes:
        allow_truncated: check the good part of a trace that is cut off.
        mark: the text of marks that the program sets; at each of them, every store must be durable.
        wrappers: names of functions that only flush or fence, besides the usual ones: findings are shown at the line
            that calls them.
    """

    allow_truncated: Annotated[bool, flag]
    mark: Annotated[str | None, check_name]
    wrappers: Annotated[Iterable[str] | None, check_names]


class ProveOptions(MachineOptions, total=False):
    """The options of `prove`: those of `MachineOptions`, and these.

    Attributes:
        operations: most operations of a program, 1 to 12, on each core; default 3.
        lines: most lines of a program, 1 to 4; default 2.
        cores: number of cores, 1 to 3, that share all lines, each with a program of its own; default 1.
        steps: names of the operations that programs have, as in `"store"`; default all that programs of the design use.
        places: groups of lines that programs use, as in `"AB"`, instead of those that are usual for `lines`.
        timings: names of the timings under which each program is run; default all.
        nested: also cut power again after each step of the recovery from every distinct state.
        fault: the name of a mechanism of the design to switch off, one of `faults()`.
        attack: what an attacker does to the media: names of attacks, or `"all"`.
        forms: names of forms of programs: only programs that designs of these forms can run, too.
        beginning: only programs that begin with these operations, as in `"store A; clwb A"`.
        all_failing: list every program that fails, and not only the smallest for each rule.
        workers: how many programs are judged at a time, at most one for each processor; 0 (default) is one for each.
            The verdict does not depend on it.
    """

    operations: Annotated[int | None, count]
    lines: Annotated[int | None, count]
    cores: Annotated[int | None, count]
    steps: Annotated[Iterable[str] | None, check_names]
    places: Annotated[Iterable[str] | None, check_names]
    timings: Annotated[Iterable[str] | None, check_names]
    nested: Annotated[bool, flag]
    fault: Annotated[str | None, check_name]
    attack: Annotated[Iterable[str] | None, check_names]
    forms: Annotated[Iterable[str] | None, check_names]
    beginning: Annotated[str | None, check_name]
    all_failing: Annotated[bool, flag]
    workers: Annotated[int | None, count]


class DistinguishOptions(MachineOptions, total=False):
    """The options of `distinguish`: those of `MachineOptions`, and these.

    Attributes:
        other_variant: the reading of the second design, if it is not that of the first one: `"hardened"` or
            `"published"`.
        operations: most operations of a program, 1 to 12; default 3.
        lines: most lines of a program, 1 to 4; default 2.
        steps: names of the operations that programs have, as in `"store"`; default all that programs of both designs
            use.
        places: groups of lines that programs use, as in `"AB"`, instead of those that are usual for `lines`.
        timings: names of the timings under which each program is run; default all.
        nested: also cut power again after each step of the recovery from every distinct state.
        attack: what an attacker does to the media: names of attacks, or `"all"`.
        workers: how many programs are judged at a time, at most one for each processor; 0 (default) is one for each.
            The result does not depend on it.
    """

    other_variant: Annotated[Variant | None, check_name]
    operations: Annotated[int | None, count]
    lines: Annotated[int | None, count]
    steps: Annotated[Iterable[str] | None, check_names]
    places: Annotated[Iterable[str] | None, check_names]
    timings: Annotated[Iterable[str] | None, check_names]
    nested: Annotated[bool, flag]
    attack: Annotated[Iterable[str] | None, check_names]
    workers: Annotated[int | None, count]


class RecoveryOptions(TypedDict, total=False):
    """The options of `recovery`.

    Attributes:
        variant: `"hardened"` (default) or `"published"`.
        machine: a preset's name or the path of a TOML file; default the first design's preset.
        set: machine values to change, `{"controller.wpq_entries": 64}` or `["controller.wpq_entries=64"]`.
        cores: cores, whose caches a battery may have to drain.
        memory: capacities of the device: one, several, or a comma list; an empty list is that of the machine.
        cache: capacities of the counter cache, and as much again of the cache of MACs and nodes; default the machine's.
        line_ns: time for each line in the papers' arithmetic, in ns; default 100.
    """

    variant: Annotated[Variant | None, check_name]
    machine: Annotated[str | os.PathLike[str] | None, path]
    set: Annotated[Mapping[str, object] | Iterable[str] | None, assignments]
    cores: Annotated[int | None, count]
    memory: Annotated[Size | Iterable[Size] | None, sizes]
    cache: Annotated[Size | Iterable[Size] | None, sizes]
    line_ns: Annotated[int | None, count]


class SceneOptions(RunOptions, total=False):
    """The options of `scene`: those of `RunOptions`, and these.

    Attributes:
        at_event: the event to look at; default the beginning of the run.
        schedule: number of the schedule; default that of the machine itself.
        fault: the name of a mechanism of the design to switch off, one of `faults()`.
        leave_out: what to leave out of the program, one of `ANNOTATIONS` or `PROGRAM_STEPS`; for designs whose programs
            have it.
        omit_annotations: numbers of annotations to leave out of a recorded program, from 0.
    """

    at_event: Annotated[int | None, count]
    schedule: Annotated[int | None, count]
    fault: Annotated[str | None, check_name]
    leave_out: Annotated[str | None, check_leave_out]
    omit_annotations: Annotated[Iterable[int] | None, counts]


class CrashOptions(RunOptions, total=False):
    """The options of `crash`: those of `RunOptions`, and these.

    Attributes:
        points: `"all"`, or how many events to crash after, spread over the run. Default: all.
        at_event: crash after this event only; not together with `points`.
        from_mark: crash only after the first mark of a recorded program with this text; not together with `at_event`.
        to_mark: crash only before the first mark with this text, or the first after that of `from_mark`.
        nested: cut power again after every step of the recovery, for every durable state that the crashes leave; with
            `recover` and `explore` "legal", in a recording of the command on every memory from which it recovers.
        nested_depth: how many times in a row, 1 to 4; 1 if only `nested` is given.
        fault: the name of a mechanism of the design to switch off, one of `faults()`.
        leave_out: what to leave out of the program, one of `ANNOTATIONS` or `PROGRAM_STEPS`; for designs whose programs
            have it.
        omit_annotations: numbers of annotations to leave out of a recorded program, from 0.
        explore: `"schedule"` (default), the one that this machine and seed give; `"schedules"`, that and others, which
            prefetches at random moments disturb; or `"legal"`: at every fence of the program every durable state that
            the persistency model and the rules of the hardware allow. A recorded program needs `recover` for that, and
            `at_event` is then the number of a record of its trace.
        states: legal states, as far as recovery can distinguish them, that are judged at one fence before the rest is
            bounded and sampled; of a recorded program, memories that are tried at one crash point before the rest is
            bounded.
        schedules: how many schedules; default 16.
        schedule: number of one schedule; 0 (default) is that of the machine itself.
        attack: what an attacker does to the media: names of attacks, or `"all"`. One change of each kind is tried in
            each durable state, with and without another power cut during the boot, and before each access of the
            running machine to memory.
        attack_every: attack one of so many distinct states and accesses; default each.
        stages: count the crashes by the stage of the transaction in flight; needs every event of one schedule.
        shrink: look for the smallest run that breaks the same rules. It needs every event as a crash point, and is then
            the default.
        blame: if a rule is broken, find out whether the program, the design or the annotations are wrong; the default.
        recover: a shell command that does the recovery of a recorded program. It runs on files with the memory that a
            boot finds at each crash point, and exits with 0 if it recovers. `{pool}` in it stands for the path of the
            first file of the trace, `{folder}` for the folder with all of them, `{marks}` for a file with the marks
            that the program had set, one a line, and `{event}` for the number of the crash point.
        no_preflight: do not run the command first on memory of which nothing is lost, as the program finds it and as it
            leaves it. A command that fails there is refused.
        recover_prints: the program recovers only if the last line that the command prints contains this text, too. A
            recovery that calls `exit(0)` before anything is checked then does not count as success.
        recover_timeout: time limit in seconds for one such command; default 60.
        recover_jobs: how many such commands run at a time, at most one for each processor, which is the default. The
            verdict does not depend on it.
        watch_reads: for `explore="legal"`: at crash points with more legal states than `states`, also run the command
            under Valgrind, which records what it reads. One run then decides all states in which that is the same. Such
            a run takes half a second or more; off by default.
        sector: for `explore` "legal": the files of the recorded program are on a disk that writes sectors of so many
            bytes whole: 512 or 4096. Default: they are on persistent memory, of which eight aligned bytes become
            durable together.
        stop_after: end the exploration with this many memories on which the command fails; default none.
        time_budget: end the exploration after so many seconds; default none.
        workers: how many threads judge power failures during recovery and attacks, at most one for each processor; 0
            (default) is one for each. The verdict does not depend on it.
        recover_folder: where the temporary folder for these files is created; default the system's temporary folder.
        recover_keep: a folder in which the files of the first failure are kept.
        wrappers: for a recorded program: names of functions that only flush or fence, besides the usual ones; causes
            and violations are shown at the line that calls them.
    """

    points: Annotated[int | str | None, check_points]
    at_event: Annotated[int | None, count]
    from_mark: Annotated[str | None, check_name]
    to_mark: Annotated[str | None, check_name]
    nested: Annotated[bool, flag]
    nested_depth: Annotated[int | None, count]
    fault: Annotated[str | None, check_name]
    leave_out: Annotated[str | None, check_leave_out]
    omit_annotations: Annotated[Iterable[int] | None, counts]
    explore: Annotated[Literal["schedule", "schedules", "legal"] | None, check_name]
    states: Annotated[int | None, count]
    schedules: Annotated[int | None, count]
    schedule: Annotated[int | None, count]
    attack: Annotated[Iterable[str] | None, check_names]
    attack_every: Annotated[int | None, count]
    stages: Annotated[bool, flag]
    shrink: Annotated[bool | None, switch]
    blame: Annotated[bool | None, switch]
    recover: Annotated[str | None, check_name]
    no_preflight: Annotated[bool, flag]
    recover_prints: Annotated[str | None, check_name]
    recover_timeout: Annotated[int | None, count]
    recover_jobs: Annotated[int | None, count]
    watch_reads: Annotated[bool, flag]
    sector: Annotated[int | None, count]
    stop_after: Annotated[int | None, count]
    time_budget: Annotated[int | None, count]
    workers: Annotated[int | None, count]
    recover_folder: Annotated[str | os.PathLike[str] | None, path]
    recover_keep: Annotated[str | os.PathLike[str] | None, path]
    wrappers: Annotated[Iterable[str] | None, check_names]
