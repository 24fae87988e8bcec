"""Judges candidates: the crash tests first, then, of those that pass all, the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..answers import Answer
from . import figures
from .computing import Computer
from .goals import Goals, Limit, Objective
from .ladder import CrashTest, Tier, tiers
from .space import Candidate

State: TypeAlias = Literal["holds", "refuted", "ruled out", "refused"]
"""What became of a candidate: it passed every test; it failed one; a learnt rule covers it; the engine refuses it."""


@dataclass(frozen=True)
class Counterexample:
    """A power failure that a candidate does not survive, in the smallest run that was found.

    Attributes:
        test: the tier of the test that it failed.
        workload: the program.
        rule: the rule that is broken, as in `results.Violation`.
        explanation: what happens, in words.
        command: the command line that shows it.
        transactions: of the smallest run.
        event: power fails after this one.
    """

    test: str
    workload: str
    rule: str
    explanation: str
    command: str
    transactions: int | None
    event: int


@dataclass(frozen=True)
class Judged:
    """A candidate and what became of it.

    Attributes:
        tiers_passed: how many tiers of tests it has passed.
        crash_points: power failures that it has survived.
        why: why it is refused; which rule rules it out.
        failed: the test that it failed.
        counterexample: what showed that.
        figures: those that goals name, by name; empty unless it holds.
        excess: by how much it is beyond the limits.
    """

    candidate: Candidate
    state: State
    tiers_passed: int = 0
    crash_points: int = 0
    why: str = ""
    failed: CrashTest | None = None
    counterexample: Counterexample | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    excess: float = 0.0

    @property
    def qualifies(self) -> bool:
        """It holds, and is within all limits."""
        return self.state == "holds" and self.excess == 0.0


class Judge:
    """Judges candidates for some goals."""

    def __init__(self, goals: Goals, computer: Computer) -> None:
        """Nothing is computed yet."""
        self.goals, self._computer = goals, computer
        self.tiers: tuple[Tier, ...] = tiers(goals)
        self.figure_names: list[str] = []
        self._points: dict[Candidate, int] = {}

    def judge(self, candidates: Sequence[Candidate]) -> list[Judged]:
        """What becomes of each candidate, in order."""
        found = self.tested(candidates)
        held = [one for one in candidates if one not in found]
        measured = dict(zip(held, self.measured(held), strict=True))
        passed = self._points
        judged = []
        for one in candidates:
            if one in found:
                judged.append(found[one])
                continue
            runs, refused = measured[one]
            if refused:
                judged.append(Judged(one, "refused", len(self.tiers), passed[one], refused))
            else:
                judged.append(self._held(one, runs, passed[one]))
        return judged

    def survived(self, one: Candidate) -> int:
        """The power failures that a candidate has survived in its tests."""
        return self._points.get(one, 0)

    def fails(self, test: CrashTest, candidates: Sequence[Candidate]) -> list[str | None]:
        """The first rule that each candidate breaks in a test; empty if it breaks none, None if the test is refused."""
        variant = self.goals.space.variant
        answers = self._computer.ask("crash", [test.request(one, variant) for one in candidates])
        return [None if isinstance(answer, str) else _broken(answer) for answer in answers]

    def tested(self, candidates: Sequence[Candidate]) -> dict[Candidate, Judged]:
        """Those that do not pass every test, and why not."""
        variant = self.goals.space.variant
        self._points |= dict.fromkeys(candidates, 0)
        found: dict[Candidate, Judged] = {}
        for number, tier in enumerate(self.tiers):
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
            if _broken(answer):
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
                counterexample=None if isinstance(answer, str) else counterexample(test, answer),
            )
        return explained

    def measured(self, candidates: Sequence[Candidate]) -> Iterator[tuple[list[figures.Figures], str]]:
        """The figures of each workload, those of the recovery in each; a sentence where the engine refuses one."""
        goals = self.goals
        asked = [run_request(goals, one, workload) for one in candidates for workload in goals.workloads]
        runs = self._computer.ask("run", asked)
        boots = self._computer.ask("recovery", [_recovery_request(goals, one) for one in candidates])
        each = len(goals.workloads)
        for place, boot in enumerate(boots):
            answers = [*runs[place * each : (place + 1) * each], boot]
            refused = next((answer for answer in answers if isinstance(answer, str)), "")
            yield ([], refused) if refused else (_figures(answers), "")

    def _held(self, one: Candidate, runs: Sequence[figures.Figures], points: int) -> Judged:
        if not self.figure_names:
            self.figure_names = figures.names(runs)
        asked: Iterable[Objective | Limit] = (*self.goals.objectives, *self.goals.limits)
        found = {each.figure: figures.over(each.figure, runs, each.over) for each in self.goals.objectives}
        excess = sum(limit.excess(figures.over(limit.figure, runs, limit.over)) for limit in self.goals.limits)
        for each in asked:
            found.setdefault(each.figure, figures.over(each.figure, runs, each.over))
        excess += sum(found[each.figure] is None for each in self.goals.objectives)
        return Judged(one, "holds", len(self.tiers), points, figures=found, excess=excess)


def run_request(goals: Goals, one: Candidate, workload: str) -> dict[str, Any]:
    """The engine's request for the figures of a candidate."""
    options = {name: value for name, value in goals.run.items() if name != "set"}
    sets = [*goals.run.get("set", ()), *one.sets]
    return {"variant": goals.space.variant, **options, "design": one.base, "workload": workload, "set": sets}


def _recovery_request(goals: Goals, one: Candidate) -> dict[str, Any]:
    options = {name: goals.run[name] for name in ("machine", "cores") if name in goals.run}
    sets = [*goals.run.get("set", ()), *one.sets]
    return {"variant": goals.space.variant, **options, "design": one.base, "set": sets, "measure": False}


def counterexample(test: CrashTest, document: Mapping[str, Any]) -> Counterexample | None:
    """What showed that a test is failed: the smallest run, else the first violation."""
    for found in (*document["shrunk"], *document["violations"]):
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


def _broken(document: Mapping[str, Any]) -> str:
    """The first rule that was broken; empty if everything held."""
    if document["internal_errors"]:
        return "internal"
    if document["violation_count"]:
        return str(document["violations"][0]["rule"])
    return ""


def _points(document: Mapping[str, Any]) -> int:
    return int(document["crash_points"] + document["nested_points"])


def _figures(answers: Sequence[Answer]) -> list[figures.Figures]:
    *runs, boot = (answer for answer in answers if not isinstance(answer, str))
    of_boot = figures.of_recovery(boot)
    return [{**figures.of_run(run), **of_boot} for run in runs]
