"""What a search has evaluated, and the best of it by an objective.

Papers that are searched together share some decisions and have others of their own. With the same shared choices any
evaluation of one paper goes with any of another, so the pool keeps evaluations paper by paper and puts them together.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeAlias

from .decisions import DecisionSpec
from .evaluate import Outcome
from .model import Claim

Point: TypeAlias = tuple[int, ...]
"""A choice for each of some decisions, by its number."""

DIGITS = 9
"""Scores that agree to so many digits are equal; sums differ in the last ones with their order."""


class Ask(NamedTuple):
    """One evaluation: a paper with choices, and a seed."""

    paper: str
    shared: Point
    own: Point
    seed: int


Evaluate: TypeAlias = Callable[[Sequence[Ask]], Sequence[Outcome]]


class Joint(NamedTuple):
    """Choices for everything that is searched together: shared ones, and each paper's own in their order."""

    shared: Point
    own: tuple[Point, ...]


@dataclass(frozen=True)
class Space:
    """What is searched together.

    Attributes:
        shared: decisions that all papers share.
        own: those of each paper.
    """

    shared: tuple[DecisionSpec, ...]
    own: Mapping[str, tuple[DecisionSpec, ...]]

    @cached_property
    def decisions(self) -> tuple[DecisionSpec, ...]:
        """All of them, the shared ones first."""
        return (*self.shared, *(spec for specs in self.own.values() for spec in specs))

    @cached_property
    def start(self) -> Joint:
        """Where each decision was before any claim was looked at."""
        return self.joint(spec.place(spec.start) for spec in self.decisions)

    @cached_property
    def shipped(self) -> Joint:
        """What the simulator ships; the start where it says nothing."""
        return self.joint(spec.place(spec.shipped or spec.start) for spec in self.decisions)

    def joint(self, places: Iterable[int]) -> Joint:
        """Choices from one number for each decision."""
        left = iter(places)
        shared = tuple(next(left) for _ in self.shared)
        return Joint(shared, tuple(tuple(next(left) for _ in specs) for specs in self.own.values()))

    def flat(self, joint: Joint) -> tuple[int, ...]:
        """One number for each decision."""
        return (*joint.shared, *(place for point in joint.own for place in point))

    def pieces(self, joint: Joint) -> Iterator[tuple[str, Point, Point]]:
        """Each paper with its choices."""
        for paper, own in zip(self.own, joint.own, strict=True):
            yield paper, joint.shared, own

    def bearing_on(self, paper: str) -> list[int]:
        """The places of the decisions that a paper has, among all."""
        first = len(self.shared)
        places = list(range(first))
        for name, specs in self.own.items():
            if name == paper:
                places += range(first, first + len(specs))
            first += len(specs)
        return places

    def changed(self, joint: Joint, which: int, place: int) -> Joint:
        """A point with another choice for one decision."""
        flat = self.flat(joint)
        return self.joint((*flat[:which], place, *flat[which + 1 :]))

    def departures(self, joint: Joint) -> int:
        """How many decisions depart from what the simulator ships."""
        return departures(self.decisions, self.flat(joint))


def departures(specs: Sequence[DecisionSpec], point: Point) -> int:
    """How many choices differ from what the simulator ships, of the decisions of which it ships one."""
    return sum(
        spec.shipped is not None and spec.place(spec.shipped) != place for spec, place in zip(specs, point, strict=True)
    )


@dataclass(frozen=True)
class Objective:
    """What a search makes large: the mean score of claims, less a price for departing from what is shipped.

    Attributes:
        claims: each counts alike.
        weight: the price of departing in all decisions.
    """

    claims: frozenset[str]
    weight: float

    def price(self, departed: int, space: Space) -> float:
        """What so many departures cost."""
        return self.weight * departed / max(len(space.decisions), 1)


class Pool:
    """Evaluations, in the order in which they were asked for."""

    def __init__(self, space: Space, evaluate: Evaluate, seeds: Sequence[int]) -> None:
        """The first seed is the one of the search; a point is confirmed once it is evaluated with all."""
        self.space, self.seeds = space, tuple(seeds)
        self.outcomes: dict[Ask, Outcome] = {}
        self._evaluate = evaluate

    def missing(self, joints: Iterable[Joint], seeds: Sequence[int]) -> list[Ask]:
        """What is not yet evaluated of some points."""
        asked = (Ask(*piece, seed) for joint in joints for piece in self.space.pieces(joint) for seed in seeds)
        return [ask for ask in dict.fromkeys(asked) if ask not in self.outcomes]

    def tell(self, asked: Sequence[Ask]) -> int:
        """Evaluates; returns how many evaluations it took, without those that the engine refused."""
        told = self._evaluate(asked) if asked else ()
        self.outcomes.update(zip(asked, told, strict=True))
        return sum(not outcome.refused for outcome in told)

    def refused(self, joint: Joint) -> bool:
        """Whether the engine refuses a point for one of the papers."""
        asked = (Ask(*piece, self.seeds[0]) for piece in self.space.pieces(joint))
        return any(ask in self.outcomes and self.outcomes[ask].refused for ask in asked)

    def scores(self, piece: tuple[str, Point, Point], *, confirmed: bool) -> Mapping[str, float] | None:
        """The score of each claim of a paper, the mean over all seeds or that of the search's; None if not known."""
        seeds = self.seeds if confirmed else self.seeds[:1]
        found = [self.outcomes.get(Ask(*piece, seed)) for seed in seeds]
        known = [outcome.scores for outcome in found if outcome is not None and not outcome.refused]
        if len(known) < len(seeds):
            return None
        return {claim: sum(each[claim] for each in known) / len(known) for claim in known[0]}

    def joint_scores(self, joint: Joint, *, confirmed: bool) -> dict[str, float] | None:
        """The scores of all papers' claims at a point."""
        found: dict[str, float] = {}
        for piece in self.space.pieces(joint):
            scores = self.scores(piece, confirmed=confirmed)
            if scores is None:
                return None
            found |= scores
        return found

    def value(self, objective: Objective, joint: Joint) -> float:
        """Of a point with the seed of the search; the least there is where the engine refuses it."""
        scores = self.joint_scores(joint, confirmed=False)
        if scores is None:
            return float("-inf")
        met = sum(scores[claim] for claim in objective.claims) / len(objective.claims)
        return round(met - objective.price(self.space.departures(joint), self.space), DIGITS)

    def claims(self, joint: Joint) -> list[Claim]:
        """The claims as measured at a point with the seed of the search; none of a paper that was not evaluated, or
        whose values the engine refuses."""
        asked = [Ask(*piece, self.seeds[0]) for piece in self.space.pieces(joint)]
        return [claim for ask in asked if ask in self.outcomes for claim in self.outcomes[ask].claims]

    def ranking(self, objective: Objective, *, confirmed: bool) -> Ranking:
        """The evaluations by an objective."""
        return Ranking(self, objective, confirmed=confirmed)


class Ranking:
    """The evaluations of a pool by an objective."""

    def __init__(self, pool: Pool, objective: Objective, *, confirmed: bool) -> None:
        """Puts a value on every evaluation of a paper."""
        self._space, self._objective = pool.space, objective
        self.values: dict[str, dict[Point, dict[Point, float]]] = {paper: {} for paper in pool.space.own}
        self.refused: dict[str, list[tuple[Point, Point]]] = {paper: [] for paper in pool.space.own}
        for paper, shared, own, seed in pool.outcomes:
            if seed != pool.seeds[0]:
                continue
            scores = pool.scores((paper, shared, own), confirmed=confirmed)
            if scores is not None:
                self.values[paper].setdefault(shared, {})[own] = self._value(paper, scores, own)
            elif pool.outcomes[Ask(paper, shared, own, seed)].refused:
                self.refused[paper].append((shared, own))

    def _value(self, paper: str, scores: Mapping[str, float], own: Point) -> float:
        met = sum(value for claim, value in scores.items() if claim in self._objective.claims)
        return met / len(self._objective.claims) - self._price(self._space.own[paper], own)

    def _price(self, specs: Sequence[DecisionSpec], point: Point) -> float:
        return self._objective.price(departures(specs, point), self._space)

    def best(self) -> Joint | None:
        """The best point."""
        return next((joint for _, joint in self.top(1)), None)

    def plainest(self, within: float, of: int) -> Joint | None:
        """The point that departs least from what is shipped, and then from the start: one of the best `of` points, with
        a value at most `within` below the best."""
        top = self.top(of)
        near = [joint for value, joint in top if value >= top[0][0] - within]
        return min(near, key=lambda joint: self._joint_order(0, joint)) if near else None

    def best_own(self, paper: str, shared: Point) -> Point | None:
        """A paper's best choices of its own with some shared ones."""
        known = self.values[paper].get(shared)
        return min(known, key=lambda own: self._order(paper, known[own], own)) if known else None

    def top_own(self, paper: str, count: int) -> list[Point]:
        """What a paper did best with of its own, whatever the shared choices were; the best first."""
        best: dict[Point, float] = {}
        for known in self.values[paper].values():
            for own, value in known.items():
                best[own] = max(value, best.get(own, value))
        return heapq.nsmallest(count, best, key=lambda own: self._order(paper, best[own], own))

    def top(self, count: int) -> list[tuple[float, Joint]]:
        """The best points with their values, the best first; of equals, what departs least from what is shipped."""
        found: list[tuple[float, Joint]] = []
        papers = list(self._space.own)
        for shared in dict.fromkeys(shared for paper in papers for shared in self.values[paper]):
            known = [self.values[paper].get(shared, {}) for paper in papers]
            if not all(known):
                continue
            tops = [
                heapq.nsmallest(count, values, key=lambda own, p=paper, v=values: self._order(p, v[own], own))  # type: ignore[misc]
                for paper, values in zip(papers, known, strict=True)
            ]
            price = self._price(self._space.shared, shared)
            for own in product(*tops):
                value = sum(values[point] for values, point in zip(known, own, strict=True)) - price
                found.append((value, Joint(shared, own)))
        return heapq.nsmallest(count, found, key=lambda one: self._joint_order(*one))

    def with_others(self, paper: str) -> dict[tuple[Point, Point], float]:
        """Each evaluation of a paper with the value of the best point that has it; where another paper has not been
        evaluated with its shared choices, with the mean over the choices where it has."""
        others = {name: self._best_by_shared(name) for name in self._space.own if name != paper}
        means = {name: sum(best.values()) / len(best) for name, best in others.items() if best}
        return {
            (shared, own): value
            - self._price(self._space.shared, shared)
            + sum(best.get(shared, means.get(name, 0.0)) for name, best in others.items())
            for shared, known in self.values[paper].items()
            for own, value in known.items()
        }

    def _best_by_shared(self, paper: str) -> dict[Point, float]:
        return {shared: max(known.values()) for shared, known in self.values[paper].items()}

    def _order(self, paper: str, value: float, own: Point) -> tuple[float, int, int, Point]:
        specs = self._space.own[paper]
        return -round(value, DIGITS), departures(specs, own), _moved(specs, own), own

    def _joint_order(self, value: float, joint: Joint) -> tuple[float, int, int, Joint]:
        flat = self._space.flat(joint)
        specs = self._space.decisions
        return -round(value, DIGITS), departures(specs, flat), _moved(specs, flat), joint


def _moved(specs: Sequence[DecisionSpec], point: Point) -> int:
    """How many choices differ from the start."""
    return sum(spec.place(spec.start) != place for spec, place in zip(specs, point, strict=True))
