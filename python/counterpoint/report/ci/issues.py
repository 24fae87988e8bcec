"""What a check or a crash exploration found, as services for continuous integration see it: issues at source lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from ...contract.results import Cause, Check, Crash, Finding, LostLine, Place, Violation
from ...contract.results.checks import FindingKind
from ...contract.results.provisos import provisos
from ...system import units
from ...system.paths import file_and_line, is_file
from ...verbs.review import Review

Level: TypeAlias = Literal["error", "warning"]

_OPERATION: Mapping[str, tuple[str, ...]] = {
    "not-ordered": ("time",),
    "flushed-twice": ("flush", "es"),
    "clean-flush": ("flush", "es"),
    "volatile-flush": ("flush", "es"),
    "idle-fence": ("fence",),
}
"""What a finding of a kind counts; others count stores."""

_AT_FLUSH = ("missing-fence", "stored-after-flush")
"""Causes that are shown where the line was flushed."""


@dataclass(frozen=True)
class At:
    """A place in the program.

    Attributes:
        place: as text.
        file: the source file; None if it is not known.
        line: the line in it, from 1.
        function: the function; None if it is not known.
    """

    place: str
    file: str | None = None
    line: int | None = None
    function: str | None = None


@dataclass(frozen=True)
class Issue:
    """Something that was found.

    Attributes:
        rule: the kind of finding, or the rule that was broken.
        level: whether it is about correctness.
        fails: whether it decides the verdict.
        message: what was found, in sentences.
        at: where; None if it is in no program.
        related: other places, each with what it is.
        means: what the rule means, where that is known.
    """

    rule: str
    level: Level
    fails: bool
    message: str
    at: At | None
    related: tuple[tuple[str, At], ...] = ()
    means: str | None = None

    @property
    def title(self) -> str:
        """The rule, and where it was broken."""
        where = None if self.at is None else self.at.function or self.at.place
        return self.rule if where is None else f"{self.rule} in {where}"


@dataclass(frozen=True)
class Verdict:
    """What a command found.

    Attributes:
        command: its name.
        subject: what it was about.
        artifact: the trace that it was about; None without one.
        holds: the verdict; None if nothing was judged.
        summary: the verdict in a sentence.
        issues: what was found.
        passed: what was looked for and not found.
        errors: why the verdict cannot be trusted.
        notes: what else there is to say, in sentences.
    """

    command: str
    subject: str
    artifact: str | None
    holds: bool | None
    summary: str
    issues: tuple[Issue, ...]
    passed: tuple[str, ...]
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def of_check(reviewed: Review) -> Verdict:
    """What a check found."""
    found = reviewed.found
    issues = tuple(_finding(one, reviewed.counts(one)) for one in found.findings)
    kinds = {one.kind for one in (*found.findings, *reviewed.left_out["of_other_class"])}
    return Verdict(
        command="check",
        subject=units.name_of(found.trace),
        artifact=found.trace,
        holds=found.holds,
        summary=_summary(found, issues),
        issues=issues,
        passed=tuple(kind for kind in get_args(FindingKind) if kind not in kinds),
        notes=(*reviewed.told, *provisos(None, found.lacks)),
    )


def of_crash(verdict: Crash) -> Verdict:
    """What a crash exploration found: its causes if it has any, else its violations, one for each rule and place."""
    issues = [_cause(one, (), verdict.violations) for one in verdict.causes or ()]
    issues += [_cause(one.cause, one.after, verdict.violations) for one in verdict.recovery_causes]
    issues = issues or list(_violations(verdict.violations))
    crashes = units.count_of(verdict.crash_points, "crash", "es")
    summary = {
        None: "Nothing was judged.",
        True: f"Holds: every one of {crashes} recovered.",
        False: f"Does not hold: {units.count_of(verdict.violation_count, 'violation')} in {crashes}.",
    }[verdict.holds]
    if verdict.internal_errors:
        summary = "No verdict: the auditors disagree with a boot."
    blamed = () if verdict.blame is None else (f"To blame: the {verdict.blame.who}. {verdict.blame.why}",)
    return Verdict(
        command="crash",
        subject=f"{verdict.design} ({verdict.variant}) on {units.name_of(verdict.workload)}",
        artifact=verdict.workload if is_file(verdict.workload) else None,
        holds=verdict.holds,
        summary=summary,
        issues=tuple(issues),
        passed=(f"power failures: {verdict.crash_points}",) if verdict.holds else (),
        errors=verdict.internal_errors,
        notes=(*blamed, verdict.coverage, *verdict.provisos),
    )


def _summary(found: Check, issues: Sequence[Issue]) -> str:
    failing = sum(one.fails for one in issues)
    others = len(issues) - failing
    besides = f"; {units.count_of(others, 'other finding')}" if others else ""
    verdict = "Holds" if found.holds else f"Does not hold: {units.count_of(failing, 'finding')}"
    return f"{verdict}{besides}."


def _at(place: Finding | Place) -> At | None:
    if place.source is None and (place.function, place.object) == (None, None):
        return None
    if place.source is None:
        return At(place.place, function=place.function)
    file, line = file_and_line(place.source)
    return At(place.place, file, line, place.function)


def _finding(finding: Finding, fails: bool) -> Issue:
    other = {"overtaken by this store": finding.later, "fenced only by this instruction": finding.fenced_by}
    count = units.count_of(finding.count, *_OPERATION.get(finding.kind, ("store",)))
    cost = "" if finding.cost_ns is None else f" Without, the program takes {units.time(finding.cost_ns)} less."
    return Issue(
        rule=finding.kind,
        level="error" if finding.correctness else "warning",
        fails=fails,
        message=f"{finding.sentence} {count}, first in record {finding.example.record} of the trace.{cost}",
        at=_at(finding),
        related=_related(other),
        means=finding.sentence.removesuffix(finding.detail or "").rstrip(),
    )


def _related(places: Mapping[str, Place | None]) -> tuple[tuple[str, At], ...]:
    found = ((told, None if place is None else _at(place)) for told, place in places.items())
    return tuple((told, at) for told, at in found if at is not None)


def _cause(cause: Cause, after: Sequence[int], violations: Sequence[Violation]) -> Issue:
    """A cause in the program, or, where power has failed before at the records `after`, in its recovery."""
    failures = (*after, cause.at_event)
    shown = (one.reproduce for one in violations if (one.crash_event, *one.nested_events) == failures)
    again = next(shown, None)
    at, related = _lost(cause.lost[0]) if cause.lost else _stretch(cause)
    before = _related({"power failed before this": cause.before if at != cause.before else None})
    return Issue(
        rule=cause.kind,
        level="error",
        fails=True,
        message=("When power fails again, in the recovery: " if after else "")
        + cause.sentence
        + ("" if again is None else f"\nReproduce: {again}"),
        at=None if at is None else _at(at),
        related=(*related, *before),
    )


def _lost(line: LostLine) -> tuple[Place, tuple[tuple[str, At], ...]]:
    """Where a lost line is shown, and the other places that it has to do with."""
    places = {
        "stored here": line.stored,
        "flushed here": line.flushed,
        "fenced only by this instruction": line.fenced_by,
        "needed before this store": line.needed_before,
    }
    shown = "flushed here" if line.missing in _AT_FLUSH and line.flushed is not None else "stored here"
    at = places.pop(shown) or line.stored
    return at, _related(places)


def _stretch(cause: Cause) -> tuple[Place | None, tuple[tuple[str, At], ...]]:
    """Where the program begins not to recover, with nothing lost, and what mends it."""
    return cause.begins_at or cause.before, _related({"mended by this store": cause.ends_at})


def _violations(violations: Sequence[Violation]) -> Iterator[Issue]:
    first: dict[tuple[str, At | None], Issue] = {}
    more: dict[tuple[str, At | None], int] = {}
    for one in violations:
        line = one.lines[0] if one.lines else None
        at = None if line is None else _at(line.stored)
        key: tuple[str, At | None] = (one.rule, at)
        more[key] = more.get(key, -1) + 1
        first.setdefault(
            key,
            Issue(
                rule=one.rule,
                level="error",
                fails=True,
                message=f"{one.explanation}\nReproduce: {one.reproduce}",
                at=at,
                related=_related({"flushed here": None if line is None else line.flushed}),
            ),
        )
    for key, issue in first.items():
        others = f"\n{units.count_of(more[key], 'more violation')} of this rule here." if more[key] else ""
        yield replace(issue, message=issue.message + others)
