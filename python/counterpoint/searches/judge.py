"""Judges candidates: the cheapest crash tests first, then figures, then all other crash tests of those that matter.

A candidate that a proven one beats, or that is beyond a limit, is passed over once its figures are known: the tests
that remain could not bring it to the front. So is one that has the figures of a proven one, if that is at least as
plain, unless it is a known design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..contract.commands import crash_command
from ..contract.spec_files import Over
from ..runs.answers import Answer
from ..runs.computing import Computer
from ..runs.matrix import run_request as run_request_of
from ..verbs import api
from ..verbs.interval import Estimate, estimate_of_all
from . import figures
from .front import dominates, vector
from .goals import Goals
from .ladder import CrashTest, Tier, tiers
from .space import Candidate
from .verdict import Counterexample, Judged


class Judge:
    """Judges candidates for some goals."""

    def __init__(self, goals: Goals, computer: Computer) -> None:
        """Nothing is computed yet."""
        self.goals, self._computer = goals, computer
        self.tiers: tuple[Tier, ...] = tiers(goals)
        self.known: frozenset[str] = frozenset()
        """The keys of candidates that are known designs; those are tested to the end even if others are as good."""
        self._points: dict[Candidate, int] = {}

    def judge(self, candidates: Sequence[Candidate], proven: Sequence[Judged] | None = None) -> list[Judged]:
        """What becomes of each candidate, in order.

        Args:
            candidates: all different.
            proven: candidates that hold; what need not be tested beside them, or is beyond a limit, is passed over.
                None to test everything to the end.
        """
        found = self.tested(candidates, range(1))
        left = [one for one in candidates if one not in found]
        for one, (runs, refused) in zip(left, list(self.measured(left)), strict=True):
            if refused:
                found[one] = Judged(one, "refused", 1, self._points[one], refused)
            else:
                found[one] = self._measured(one, runs, proven is not None)
        going = [found[one] for one in left if found[one].state == "holds"]
        while going:
            first, going = (going, []) if proven is None else self._first(going, proven, found)
            ended = self._ended(first)
            found |= {one.candidate: one for one in ended}
            if proven is not None:
                proven = [*proven, *(one for one in ended if one.qualifies)]
        return [found[one] for one in candidates]

    def _first(
        self, measured: Sequence[Judged], proven: Sequence[Judged], found: dict[Candidate, Judged]
    ) -> tuple[list[Judged], list[Judged]]:
        """Those to test now, which none of the others may make unnecessary, and those to come back to.

        What is passed over goes to `found`.
        """
        objectives = self.goals.objectives
        first: list[Judged] = []
        later: list[Judged] = []
        for one in sorted(measured, key=lambda one: (vector(one, objectives), *plainness(one.candidate))):
            better = self._better(one, proven)
            if better:
                found[one.candidate] = replace(one, state="passed over", why=better)
            else:
                (later if self._better(one, first) else first).append(one)
        return first, later

    def _better(self, one: Judged, others: Iterable[Judged]) -> str:
        """Why a candidate need not be tested beside others: one beats it, or is as good and as plain; else nothing."""
        place = vector(one, self.goals.objectives)
        for other in others:
            beside = vector(other, self.goals.objectives)
            if dominates(beside, place):
                return f"beaten by {other.candidate.name}"
            is_as_plain = len(other.candidate.sets) <= len(one.candidate.sets)
            if beside == place and is_as_plain and one.candidate.key not in self.known:
                return f"as good as {other.candidate.name}"
        return ""

    def _ended(self, measured: Sequence[Judged]) -> list[Judged]:
        """What becomes of candidates that have figures in the tests that are left."""
        failed = self.tested([one.candidate for one in measured], range(1, len(self.tiers)))
        return [
            failed.get(one.candidate)
            or replace(one, tiers_passed=len(self.tiers), crash_points=self._points[one.candidate])
            for one in measured
        ]

    def survived(self, one: Candidate) -> int:
        """The power failures that a candidate has survived in its tests."""
        return self._points.get(one, 0)

    def fails(self, test: CrashTest, candidates: Sequence[Candidate]) -> list[str | None]:
        """The first rule that each candidate breaks in a test; empty if it breaks none, None if the test is refused."""
        variant = self.goals.space.variant
        answers = self._computer.ask("crash", [test.request(one, variant) for one in candidates])
        return [None if isinstance(answer, str) else self._broken(answer) for answer in answers]

    def _broken(self, document: Mapping[str, Any]) -> str:
        """The first rule that was broken; empty if everything held."""
        if document["internal_errors"]:
            return "internal"
        return next((str(found["rule"]) for found in self._violations(document)), "")

    def _violations(self, document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """What was broken.

        What leaks beside the crash points of a sample is no promise kept, either, and neither is an attack that
        succeeds, where the goals promise integrity: the engine holds a design only to what it protects itself.
        """
        left_out = document.get("left_out")
        found = [*document["violations"], *([left_out["first"]] if left_out else [])]
        return found + _succeeding(document) if self.goals.promise.integrity else found

    def _counterexample(self, test: CrashTest, document: Mapping[str, Any]) -> Counterexample | None:
        """What showed that a test is failed: the smallest run, else the first violation."""
        for found in (*document["shrunk"], *self._violations(document)):
            return Counterexample(
                test=test.tier,
                workload=test.workload,
                rule=found["rule"],
                explanation=found["explanation"],
                command=found["reproduce"],
                transactions=found.get("transactions"),
                event=found["crash_event"],
            )
        return None

    def tested(self, candidates: Sequence[Candidate], numbers: Iterable[int] | None = None) -> dict[Candidate, Judged]:
        """Those that do not pass every test of some tiers, by default of all, and why not."""
        variant = self.goals.space.variant
        found: dict[Candidate, Judged] = {}
        for number in range(len(self.tiers)) if numbers is None else numbers:
            tier = self.tiers[number]
            if number == 0:
                self._points |= dict.fromkeys(candidates, 0)
            left = [one for one in candidates if one not in found]
            asked = [test.request(one, variant) for one in left for test in tier.tests]
            answers = iter(self._computer.ask("crash", asked))
            for one in left:
                judged = self._tier(one, number, [next(answers) for _ in tier.tests])
                if judged is not None:
                    found[one] = judged
        return self._explained(found)

    def _tier(self, one: Candidate, number: int, answers: Sequence[Answer]) -> Judged | None:
        """What becomes of a candidate with the answers to the tests of a tier; None if it goes on.

        Some tests may not fit it, but one must.
        """
        refusals = [answer for answer in answers if isinstance(answer, str)]
        if len(refusals) == len(answers):
            return Judged(one, "refused", number, self._points[one], refusals[0])
        for test, answer in zip(self.tiers[number].tests, answers, strict=True):
            if isinstance(answer, str):
                continue
            if self._broken(answer):
                return Judged(one, "refuted", number, self._points[one], failed=test)
            self._points[one] += _points(answer)
        return None

    def _explained(self, found: Mapping[Candidate, Judged]) -> dict[Candidate, Judged]:
        """The same with a counterexample for each that was refuted."""
        variant = self.goals.space.variant
        refuted = [(one, judged.failed) for one, judged in found.items() if judged.failed is not None]
        answers = self._computer.ask("crash", [test.request(one, variant, explained=True) for one, test in refuted])
        explained = dict(found)
        for (one, test), answer in zip(refuted, answers, strict=True):
            judged = found[one]
            explained[one] = Judged(
                one,
                "refuted",
                judged.tiers_passed,
                judged.crash_points,
                failed=test,
                counterexample=None if isinstance(answer, str) else self._counterexample(test, answer),
            )
        return explained

    def measured(
        self, candidates: Sequence[Candidate], goals: Goals | None = None
    ) -> Iterator[tuple[list[figures.Figures], str]]:
        """The figures of each workload, those of the recovery in each; a sentence where the engine refuses one.

        Of goals that differ in how programs run, if they are given.
        """
        goals = goals or self.goals
        asked = [run_request(goals, one, workload) for one in candidates for workload in goals.workloads]
        runs = self._computer.ask("run", asked)
        boots = self._computer.ask("recovery", [_recovery_request(goals, one) for one in candidates])
        each = len(goals.workloads)
        for place, boot in enumerate(boots):
            answers = [*runs[place * each : (place + 1) * each], boot]
            refused = next((answer for answer in answers if isinstance(answer, str)), "")
            yield ([], refused) if refused else (_figures(answers), "")

    def over_seeds(
        self, candidates: Sequence[Candidate], seeds: Sequence[int], figures_of: Mapping[str, Over]
    ) -> list[dict[str, Estimate]]:
        """Figures of candidates over seeds, by name, without those that a run lacks.

        Args:
            candidates: all that the engine takes.
            seeds: of the runs; the crash tests keep theirs.
            figures_of: the names, each with how the workloads make one number.
        """
        values: list[dict[str, list[float | None]]] = [{name: [] for name in figures_of} for _ in candidates]
        for seed in seeds:
            goals = replace(self.goals, run={**self.goals.run, "seed": seed})
            for found, (runs, refused) in zip(values, self.measured(candidates, goals), strict=True):
                for name, how in figures_of.items():
                    found[name].append(None if refused else figures.over(name, runs, how))
        return [
            {name: value for name, of in found.items() if (value := estimate_of_all(of)) is not None}
            for found in values
        ]

    def _measured(self, one: Candidate, runs: Sequence[figures.Figures], is_limited: bool) -> Judged:
        """A candidate with its figures: it holds so far, or is passed over because it is beyond a limit."""
        goals = self.goals
        found = {each.figure: figures.over(each.figure, runs, each.over) for each in goals.objectives}
        excess = sum(limit.excess(figures.over(limit.figure, runs, limit.over)) for limit in goals.limits)
        excess += sum(value is None for value in found.values())
        for each in goals.limits:
            found.setdefault(each.figure, figures.over(each.figure, runs, each.over))
        judged = Judged(one, "holds", 1, self._points[one], figures=found, excess=excess)
        if not excess or not is_limited:
            return judged
        lacking = [name for name, value in found.items() if value is None]
        why = f"it has no figure {', '.join(lacking)}" if lacking else "beyond the limits"
        return replace(judged, state="passed over", why=why)


def plainness(one: Candidate) -> tuple[int, str]:
    """An order of candidates by how many values they set on the base."""
    return len(one.sets), one.name


def run_request(goals: Goals, one: Candidate, workload: str) -> dict[str, Any]:
    """The engine's request for the figures of a candidate."""
    sets = [*goals.run.get("set", ()), *one.sets]
    return run_request_of(one.base, workload, {"variant": goals.space.variant, **goals.run, "set": sets})


def check(goals: Goals, one: Candidate) -> dict[str, Any]:
    """Checks that the engine takes a candidate; the complete configuration that it has.

    Raises:
        InputError: it does not.
    """
    return api.resolve_request(run_request(goals, one, goals.workloads[0]))


def _recovery_request(goals: Goals, one: Candidate) -> dict[str, Any]:
    options = {name: goals.run[name] for name in ("machine", "cores") if name in goals.run}
    sets = [*goals.run.get("set", ()), *one.sets]
    return {"variant": goals.space.variant, **options, "design": one.base, "set": sets, "measure": False}


def _succeeding(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The attacks after which a program has used wrong bytes, by kind, as violations."""
    attacks, request = document["attacks"], document["request"]
    return [
        {
            "rule": "integrity",
            "explanation": row["example"]["told"],
            "crash_event": row["example"]["crash_event"],
            "transactions": request["transactions"],
            "reproduce": crash_command({**request, "at_event": row["example"]["crash_event"]}),
        }
        for row in (attacks["rows"] if attacks else [])
        if row["accepted"] or row["late"]
    ]


def _points(document: Mapping[str, Any]) -> int:
    return int(document["crash_points"] + document["nested_points"])


def _figures(answers: Sequence[Answer]) -> list[figures.Figures]:
    *runs, boot = (answer for answer in answers if not isinstance(answer, str))
    of_boot = figures.of_recovery(boot)
    return [{**figures.of_run(run), **of_boot} for run in runs]
