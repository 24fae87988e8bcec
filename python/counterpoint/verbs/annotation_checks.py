"""The check that a program's annotations suffice, and that it needs each of them.

Selective counter-atomicity rests on the programmer (counter-atomicity section 4.3): what is not marked `CounterAtomic`,
and whose counters no `counter_cache_writeback` covers, may be lost. So does hardware logging (easy-pm section III-A):
what no `flush_data` names need not be durable when its transaction ends. So the complete program is crashed everywhere,
and then the same program without each of its annotations. If the complete one loses nothing, its annotations suffice;
one that can be left out without any crash ending worse is superfluous. A recorded program has the annotations that it
has made itself; each source line with one is left out in turn.
"""

# No `from __future__ import annotations`: its name would hide the function's.

import dataclasses
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from .. import _engine
from .._engine import InputError
from ..contract.options import AnnotationOptions, CrashOptions
from ..contract.request import ANNOTATIONS, ANNOTATIONS_OF, completes, part, request
from ..contract.results import Crash, Violation
from ..contract.results.provisos import RestsOn
from ..system.errors import Interrupted
from ..system.paths import checked_text, is_file
from . import api, catalogue

#: Annotations that only a program with its own log has: one without a log changes nothing in place.
_IN_PLACE = "mutate-counter-cache-writeback"
#: The form of the programs of designs that need annotations of counters.
_ANNOTATED = "annotated"
#: The keys of a first violation in a document.
_FIRST_KEYS = ("rule", "crash_event", "transaction", "stage", "line", "explanation", "reproduce")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What crashing one form of a program showed.

    Attributes:
        crash_points: power failures tried.
        recovered: crashes after which everything held.
        rules: rules that were broken, in alphabetical order.
        sufficient: no rule was broken, and the auditors agree with the boot.
        first: the first of `Crash.violations`, None where there is none.
    """

    crash_points: int
    recovered: int
    rules: tuple[str, ...]
    sufficient: bool
    first: Violation | None

    @classmethod
    def of(cls, crash: Crash) -> "Outcome":
        """What programs are compared by: the rules broken, and the crashes that are not recovered from."""
        return cls(
            crash_points=crash.crash_points,
            recovered=crash.recovered,
            rules=tuple(sorted({violation.rule for violation in crash.violations})),
            sufficient=crash.holds is not False,
            first=next(iter(crash.violations), None),
        )

    def differs(self, other: "Outcome") -> bool:
        """Whether other rules were broken, or another number of crashes was not recovered from.

        Numbers of crash points are not compared: a program without one of its annotations has fewer events.
        """
        failed = self.crash_points - self.recovered, other.crash_points - other.recovered
        return failed[0] != failed[1] or self.rules != other.rules or self.sufficient != other.sufficient


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation of the program.

    Attributes:
        name: one of `ANNOTATIONS`; of a recorded program `counter-atomic` or `counter-writeback`.
        stage: the stage of the transaction that it is in: `prepare`, `mutate` or `commit`; None in a recorded program.
        place: the source line of a recorded program, as `file:line`, or the symbol or address; None in a workload.
        verdict: `needed`; `superfluous`, if leaving it out changes no verdict; `absent`, if the program has none there.
        without: what crashing the program without it showed; None if it is absent.
    """

    name: str
    stage: str | None
    place: str | None
    verdict: str
    without: Outcome | None


@dataclass(frozen=True, slots=True)
class Annotations(RestsOn):
    """Whether the annotations of a program suffice on a design, and which of them it needs.

    Attributes:
        complete: what crashing the complete program showed.
        annotations: each annotation, in program order.
        assumed, lacks: as in `Crash`, of the complete program.
        seconds: what the check took on this computer.
    """

    design: str
    variant: str
    workload: str
    seed: int
    complete: Outcome
    annotations: tuple[Annotation, ...]
    assumed: str | None
    lacks: tuple[str, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """The complete program's annotations suffice."""
        return self.complete.sufficient

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        complete = dataclasses.asdict(self.complete)
        return {
            "schema": 1,
            "design": self.design,
            "variant": self.variant,
            "workload": self.workload,
            "seed": self.seed,
            "complete": complete | {"rules": list(self.complete.rules), "first": _first(self.complete)},
            "annotations": [_document(annotation) for annotation in self.annotations],
            "assumed": self.assumed,
            "lacks": list(self.lacks),
            "host": {"seconds": self.seconds},
        }


def annotations_of(design: str | os.PathLike[str]) -> Mapping[str, str]:
    """The annotations of the programs that a design runs, each with its stage; may be empty."""
    return ANNOTATIONS_OF.get(catalogue.form_of(design) or "", {})


@completes(AnnotationOptions)
def annotations(
    design: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    *,
    progress: api.Progress | None = None,
    **options: Unpack[AnnotationOptions],
) -> Annotations:
    """Crashes a program, and the same program without each of its annotations.

    Args:
        design: name of a design whose programs have annotations.
        workload: name of a workload, or path of the trace of a program that has annotations.
        progress: told how much is done, over all the runs.
        **options: see `AnnotationOptions`.

    Raises:
        InputError: bad input, in one sentence, before the work begins.
        Interrupted: Ctrl-C; its `annotations` is over those that were finished, None if the complete program was not.
    """
    started = time.monotonic()
    # Refuses an option that does not exist, which would otherwise be dropped below.
    request(AnnotationOptions, design, workload, options)
    given = part(CrashOptions, options)
    logged = {work.name: work.has_log for work in catalogue.workloads()}.get(os.fspath(workload))
    recorded = logged is None and is_file(Path(workload))
    asked = _of_trace(design, workload, given) if recorded else _of_workload(design, has_log=logged is not False)
    present = [number for number, one in enumerate(asked) if one.without is not None]
    if not recorded:
        # One crash of one transaction: bad input, and a design without annotations, are refused now rather than after
        # the first run.
        first = asked[present[0]].name if present else next(iter(ANNOTATIONS))
        brief: CrashOptions = {**given, "transactions": 1, "warmup": 0, "points": 1, "blame": False, "leave_out": first}
        api.crash(design, workload, **brief)
    crashes: dict[int | None, Crash] = {}
    try:
        for done, number in enumerate((None, *present)):
            left_out: CrashOptions = {} if number is None else asked[number].without or {}
            run: CrashOptions = {**given, "shrink": False, "blame": False, **left_out}
            crashes[number] = api.crash(design, workload, progress=_part(progress, done, 1 + len(present)), **run)
    except Interrupted:
        finished = _judge(crashes, asked, started) if None in crashes else None
        raise Interrupted(annotations=finished) from None
    return _judge(crashes, asked, started)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An annotation, and the options of `crash` that leave it out; None if the program does not have it."""

    name: str
    stage: str | None
    place: str | None
    without: CrashOptions | None


def _of_workload(design: str | os.PathLike[str], *, has_log: bool) -> list[_Asked]:
    """The annotations of the programs that a design runs."""
    return [
        _Asked(name, stage, None, {"leave_out": name} if has_log or name != _IN_PLACE else None)
        for name, stage in annotations_of(design).items()
    ]


def _of_trace(design: str | os.PathLike[str], trace: str | os.PathLike[str], given: CrashOptions) -> list[_Asked]:
    """The annotations of a recorded program, by source line."""
    path = checked_text(os.fspath(trace), "trace")
    asked = {"trace": path, "allow_truncated": bool(given.get("allow_truncated"))}
    found = json.loads(_engine.annotations(json.dumps(asked)))["annotations"]
    if catalogue.form_of(design) != _ANNOTATED:
        raise InputError(
            f"design '{os.fspath(design)}' does not use the annotations of a recorded program, as 'sca' does"
        )
    if not found:
        raise InputError(f"{path}: the recorded program has no annotations (counterpoint_program.h defines them)")
    return [_Asked(one["name"], None, one["place"], {"omit_annotations": one["numbers"]}) for one in found]


def _judge(crashes: Mapping[int | None, Crash], asked: list[_Asked], started: float) -> Annotations:
    """The verdicts over the programs that were crashed; None stands for the complete one."""
    whole = crashes[None]
    complete = Outcome.of(whole)
    found = []
    for number, one in enumerate(asked):
        if one.without is None:
            found.append(Annotation(one.name, one.stage, one.place, "absent", None))
        elif number in crashes:
            without = Outcome.of(crashes[number])
            verdict = "needed" if without.differs(complete) else "superfluous"
            found.append(Annotation(one.name, one.stage, one.place, verdict, without))
    seconds = time.monotonic() - started
    return Annotations(
        design=whole.design,
        variant=whole.variant,
        workload=whole.workload,
        seed=whole.seed,
        complete=complete,
        annotations=tuple(found),
        assumed=whole.assumed,
        lacks=whole.lacks,
        seconds=round(seconds, 3),
    )


def _part(progress: api.Progress | None, done: int, parts: int) -> Callable[[int, int], object] | None:
    """Progress of one of several runs of equal length, as progress of all of them."""
    if progress is None:
        return None
    return lambda now, total: progress(done * total + now, parts * total)


def _document(annotation: Annotation) -> dict[str, Any]:
    without = annotation.without
    return {
        "name": annotation.name,
        "stage": annotation.stage,
        "place": annotation.place,
        "verdict": annotation.verdict,
        "crash_points": without and without.crash_points,
        "recovered": without and without.recovered,
        "rules": list(without.rules) if without else [],
        "first": without and _first(without),
    }


def _first(outcome: Outcome) -> dict[str, Any] | None:
    return None if outcome.first is None else {key: getattr(outcome.first, key) for key in _FIRST_KEYS}
