"""The search: candidates are proposed, judged, and learned from, until there are enough or no more.

Everything that is computed is kept in a store under the key of what was asked, and what is proposed depends only on the
goals, their seed and the answers. So the same call repeats a search from its store, and continues one that was killed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from .._engine import InputError
from ..contract.request import count
from ..runs.computing import Computer, computing
from ..runs.matrix import leaves
from ..verbs import api
from ..verbs.comparison import seed_numbers
from ..verbs.interval import check_seeds
from . import goals as goals_file
from .front import front, vector
from .goals import Goals, Spec
from .judge import Judge, check
from .outcome import Points, Reference, SearchReport
from .propose import BATCH, ENUMERATED_MAX, Everything, Genetic, Proposer, Told
from .rules import Learner, unsound
from .space import Candidate, Point, candidate
from .verdict import Judged

_LEARNED_AT_ONCE = 4
"""Rules that are learned from one batch, at most."""

_AUDITED = 256
"""Candidates of each rule that are tested in the end."""


def search(
    goals: Spec | Goals,
    store: str | os.PathLike[str] | None = None,
    *,
    seeds: int = 1,
    workers: int = 0,
    cluster: str | None = None,
    progress: api.Progress | None = None,
) -> SearchReport:
    """Looks for the designs that reach some goals best and survive every crash that is tried.

    Args:
        goals: the goals, see `docs/search.md`.
        store: the DuckDB file of everything that is computed; default the name of the goals with `.duckdb`, in the
            current folder.
        seeds: with how many seeds the front and the known designs are measured in the end, from that of the goals on;
            what is on the front is decided with the first. Figures of several are means with intervals.
        workers: processes that compute; 0 is one per processor, and there are never more. The results do not depend
            on it.
        cluster: address of a Dask scheduler whose workers compute instead.
        progress: told how many candidates are judged, and how many the search looks at.

    Raises:
        InputError: bad input, in one sentence.
        EngineError: the engine has a fault of its own.
        Interrupted: Ctrl-C; what was computed is in the store.
    """
    count("workers", workers)
    check_seeds(seeds)
    asked = goals if isinstance(goals, Goals) else goals_file.load(goals)
    path = Path(f"{asked.name}.duckdb" if store is None else store)
    with computing(path, workers=workers, cluster=cluster) as computer:
        report = _Search(asked, path, computer, progress).result()
        return report if seeds == 1 else _over_seeds(report, seeds, Judge(asked, computer))


def _over_seeds(report: SearchReport, seeds: int, judge: Judge) -> SearchReport:
    """The same, with the figures of the front and of known designs over several seeds."""
    goals = report.goals
    numbers = seed_numbers(seeds, goals.run.get("seed"))
    shown = [*report.front, *(one.judged for one in report.references if one.judged.figures)]
    candidates = list(dict.fromkeys(one.candidate for one in shown))
    over = {one.figure: one.over for one in goals.limits} | {one.figure: one.over for one in goals.objectives}
    found = judge.over_seeds(candidates, numbers, over)
    return replace(report, seeds=tuple(numbers), intervals=dict(zip(candidates, found, strict=True)))


class _Search:
    """A search under way."""

    def __init__(self, asked: Goals, path: Path, computer: Computer, progress: api.Progress | None) -> None:
        self._goals, self._path, self._computer, self._progress = asked, path, computer, progress
        self._judge = Judge(asked, computer)
        self._tried: dict[Point, Candidate | str | None] = {}
        """What became of each point: its candidate; why the engine refuses it; None if another stands for it."""
        self._unfit: dict[str, str] = {}
        self._judged: dict[Candidate, Judged] = {}
        self._points: dict[Candidate, Point] = {}
        self._proven: list[Judged] = []
        self._learner = Learner(asked.space, self._judge, self._valid, self._passed, asked.seed)

    def result(self) -> SearchReport:
        """Searches."""
        references = self._references()
        first = self._known_points(references)
        self._judge.known = frozenset(one.key for point in first if (one := self._valid(point)) is not None)
        proposer, complete = self._proposer(first)
        while batch := proposer.batch(self._goals.candidates - self._valid_ones()):
            self._points |= {one: point for point, one in batch}
            judged = self._look_at([one for _, one in batch])
            proposer.tell([self._told(one) for one in judged])
        self._audit()
        return SearchReport(
            goals=self._goals,
            store=self._path,
            judged=tuple(self._judged.values()),
            tiers=tuple(tier.name for tier in self._judge.tiers),
            rules=tuple(rule for rule in self._learner.rules if rule.covers),
            references=references,
            unfit=self._unfit,
            points=self._points_tried(),
            complete=complete,
            computed=self._computer.computed,
        )

    def _points_tried(self) -> Points:
        """How many points were tried so far, and what became of them."""
        refused = Counter(fate for fate in self._tried.values() if isinstance(fate, str))
        return Points(len(self._tried), list(self._tried.values()).count(None), dict(refused.most_common()))

    def _references(self) -> tuple[Reference, ...]:
        """Known designs, each with the promise of the goals, on the machine of the goals."""
        goals = self._goals
        found: list[tuple[str, Candidate]] = []
        for name in goals.references:
            try:
                one = candidate(name, goals.space.variant, goals.promise.stated)
                check(goals, one)
                found.append((name, one))
            except InputError as error:
                self._unfit[name] = str(error)
        judged = self._judge.judge([one for _, one in found])
        return tuple(Reference(name, one) for (name, _), one in zip(found, judged, strict=True))

    def _proposer(self, first: Sequence[Point]) -> tuple[Proposer, bool]:
        """Who proposes, and whether that is every candidate of the space."""
        space = self._goals.space
        if space.size <= ENUMERATED_MAX:
            some = list(islice(self._all(), self._goals.candidates + 1))
            if len(some) <= self._goals.candidates:
                return Everything(iter(some)), True
        return Genetic(space, self._valid, len(self._goals.objectives), self._goals.seed, first), False

    def _known_points(self, references: Sequence[Reference]) -> list[Point]:
        """Known designs whose parts the space has, on the machine of the goals as far as it has that."""
        goals = self._goals
        found: list[Point] = []
        for known in (one.judged.candidate for one in references):
            machine = check(goals, known)["machine"]
            point = goals.space.mended(goals.space.nearest({**known.values, **dict(leaves(machine))}))
            made = self._valid(point)
            if made is not None and made.parts == known.parts:
                found.append(point)
        return found

    def _all(self) -> Iterator[tuple[Point, Candidate]]:
        seen: set[Candidate] = set()
        for point in self._goals.space.points():
            if self._goals.space.mended(point) != point:
                self._tried[point] = None
                continue
            one = self._valid(point)
            if one is not None and one not in seen:
                seen.add(one)
                yield point, one

    def _valid(self, point: Point) -> Candidate | None:
        """What a point makes; None if the engine refuses it, or another point stands for it."""
        if point not in self._tried:
            try:
                one = self._goals.space.candidate(point)
                check(self._goals, one)
                self._tried[point] = one
            except InputError as error:
                self._tried[point] = str(error)
        fate = self._tried[point]
        return fate if isinstance(fate, Candidate) else None

    def _valid_ones(self) -> int:
        return sum(one.state != "refused" for one in self._judged.values())

    def _passed(self) -> list[tuple[Point, Candidate]]:
        """What has passed tests so far."""
        return [(self._points[one], one) for one, judged in self._judged.items() if judged.passed]

    def _look_at(self, batch: Sequence[Candidate]) -> list[Judged]:
        """Judges a batch, except for what a rule rules out, and learns from what is refuted."""
        ruled = {one: rule for one in batch if (rule := self._learner.covering(one)) is not None}
        judged = self._judge.judge([one for one in batch if one not in ruled], self._proven)
        self._proven = front([*self._proven, *judged], self._goals.objectives)
        found = {one.candidate: one for one in judged}
        for one, rule in ruled.items():
            rule.covers.append(one)
            found[one] = Judged(one, "ruled out", why=str(rule), counterexample=rule.example)
        self._judged |= {one: found[one] for one in batch}
        self._learn([found[one] for one in batch])
        if self._progress is not None:
            self._progress(self._valid_ones(), self._goals.candidates)
        return [found[one] for one in batch]

    def _learn(self, batch: Sequence[Judged]) -> None:
        learned = 0
        for one in batch:
            if one.failed is None or learned == _LEARNED_AT_ONCE or self._learner.covering(one.candidate) is not None:
                continue
            rule = self._learner.learn(self._points[one.candidate], one.candidate, one.failed, one.counterexample)
            learned += rule is not None

    def _told(self, judged: Judged) -> Told:
        left = len(self._judge.tiers) - judged.tiers_passed
        infeasible = judged.excess if judged.passed else 1.0 + left
        return Told(vector(judged, self._goals.objectives), infeasible)

    def _audit(self) -> None:
        """Tests the rules again, and judges what was ruled out by one that does not hold."""
        while wrong := unsound(self._learner.rules, self._judge, _AUDITED):
            again = list(chain.from_iterable(rule.covers for rule in wrong))
            self._learner.rules = [rule for rule in self._learner.rules if rule not in wrong]
            for start in range(0, len(again), BATCH):
                self._look_at(again[start : start + BATCH])
