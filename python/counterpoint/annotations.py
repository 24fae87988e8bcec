"""The check that a program's annotations suffice, and that it needs each of them.

Selective counter-atomicity rests on the programmer (counter-atomicity section 4.3): what is not marked `CounterAtomic`,
and whose counters no `counter_cache_writeback` covers, may be lost. So does hardware logging (easy-pm section III-A):
what no `flush_data` names need not be durable when its transaction ends. So the complete program is crashed everywhere,
and then the same program without each of its annotations. If the complete one loses nothing, its annotations suffice;
one that can be left out without any crash ending worse is superfluous.
"""

# No `from __future__ import annotations`: its name would hide the function's.

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from . import api
from .errors import Interrupted
from .options import AnnotationOptions, RunOptions, part
from .request import ANNOTATIONS, ANNOTATIONS_OF, request
from .results import Crash, Violation

#: Annotations that only a program with its own log has: one without a log changes nothing in place.
_IN_PLACE = "mutate-counter-cache-writeback"
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
        first: the violation at the earliest event, None where there is none.
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
            sufficient=crash.holds,
            first=min(crash.violations, key=lambda violation: violation.crash_event, default=None),
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
        name: one of `ANNOTATIONS`.
        stage: the stage of the transaction that it is in: `prepare`, `mutate` or `commit`.
        verdict: `needed`; `superfluous`, if leaving it out changes no verdict; `absent`, if the program has none there.
        without: what crashing the program without it showed; None if it is absent.
    """

    name: str
    stage: str
    verdict: str
    without: Outcome | None


@dataclass(frozen=True, slots=True)
class Annotations:
    """Whether the annotations of a program suffice on a design, and which of them it needs.

    Attributes:
        complete: what crashing the complete program showed.
        annotations: each annotation, in program order.
        seconds: what the check took on this computer.
    """

    design: str
    variant: str
    workload: str
    seed: int
    complete: Outcome
    annotations: tuple[Annotation, ...]
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
            "host": {"seconds": self.seconds},
        }


def annotations_of(design: str | os.PathLike[str]) -> Mapping[str, str]:
    """The annotations of the programs that a design runs, each with its stage; may be empty."""
    return ANNOTATIONS_OF.get(api.form_of(design) or "", {})


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
        workload: name of a workload.
        progress: told how much is done, over all the runs.
        **options: see `AnnotationOptions`.

    Raises:
        InputError: bad input, in one sentence, before the work begins.
        Interrupted: Ctrl-C; its `annotations` is over those that were finished, None if the complete program was not.
    """
    started = time.monotonic()
    has_log = {work.name: work.has_log for work in api.workloads()}.get(os.fspath(workload), True)
    known = annotations_of(design)
    present = [name for name in known if has_log or name != _IN_PLACE]
    # One crash of one transaction: bad input, and a design without annotations, are refused now rather than after the
    # first run.
    # Refuses an option that does not exist, which would otherwise be dropped below.
    request(AnnotationOptions, design, workload, options)
    run, points = part(RunOptions, options), options.get("points")
    brief: RunOptions = {**run, "transactions": 1, "warmup": 0}
    first = next(iter(present or ANNOTATIONS))
    api.crash(design, workload, points=1, leave_out=first, blame=False, **brief)
    crashes: dict[str | None, Crash] = {}
    try:
        for done, name in enumerate((None, *present)):
            share = _part(progress, done, 1 + len(present))
            crashes[name] = api.crash(
                design, workload, points=points, leave_out=name, shrink=False, blame=False, progress=share, **run
            )
    except Interrupted:
        finished = _judge(crashes, known, present, started) if None in crashes else None
        raise Interrupted(annotations=finished) from None
    return _judge(crashes, known, present, started)


def _judge(
    crashes: dict[str | None, Crash], known: Mapping[str, str], present: list[str], started: float
) -> Annotations:
    """The verdicts over the programs that were crashed; None stands for the complete one."""
    whole = crashes[None]
    complete = Outcome.of(whole)
    found = []
    for name, stage in known.items():
        if name not in present:
            found.append(Annotation(name, stage, "absent", None))
        elif name in crashes:
            without = Outcome.of(crashes[name])
            found.append(Annotation(name, stage, "needed" if without.differs(complete) else "superfluous", without))
    seconds = time.monotonic() - started
    return Annotations(
        whole.design, whole.variant, whole.workload, whole.seed, complete, tuple(found), round(seconds, 3)
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
        "verdict": annotation.verdict,
        "crash_points": without and without.crash_points,
        "recovered": without and without.recovered,
        "rules": list(without.rules) if without else [],
        "first": without and _first(without),
    }


def _first(outcome: Outcome) -> dict[str, Any] | None:
    return None if outcome.first is None else {key: getattr(outcome.first, key) for key in _FIRST_KEYS}
