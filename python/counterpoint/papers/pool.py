"""What a search has evaluated, and the best of it by an objective.

Papers that are searched together share some decisions and have others of their own. With the same shared choices any
evaluation of one paper goes with any of another, so the pool keeps evaluations paper by paper and puts them together.

Evaluations have levels, from a few transactions with one seed to the figures as they are: many points are looked at
with little, and what is best there is looked at with more (successive halving).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Any, NamedTuple, TypeAlias

from ..searches.space import Point, changed, values_at
from .decisions import DecisionSpec
from .declared import Scale
from .evaluate import Outcome
from .model import Claim

NOTHING = 0.001
"""A smaller difference of two values says nothing: other seeds make a larger one."""

HELD = 1.0
"""The score of a claim that holds; that of one that is missed is less."""

DIGITS = 9
"""Scores that agree to so many digits are equal; sums differ in the last ones with their order."""


class Piece(NamedTuple):
    """A paper with choices for the decisions that bear on it, the shared ones first."""

    paper: str
    point: Point


class Ask(NamedTuple):
    """One evaluation: a paper with choices, how much is simulated, and the seeds that are judged together."""

    paper: str
    point: Point
    scale: Scale
    seeds: tuple[int, ...]


Evaluate: TypeAlias = Callable[[Sequence[Ask]], Sequence[Outcome]]

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the programs."""


class Level(NamedTuple):
    """How well a point is known.

    Attributes:
        scale: how much is simulated.
        groups: seeds, those that are judged together in one group; the score is the mean over the groups.
    """

    scale: Scale
    groups: tuple[tuple[int, ...], ...]


SHORT = Level("short", (SEEDS[:1],))
LONG = Level("calibration", (SEEDS[:1],))
CONFIRMED = Level("calibration", tuple((seed,) for seed in SEEDS))
WHOLE = Level("full", (SEEDS[:1],))
FIGURES = Level("full", (SEEDS,))
"""As the figures are: claims hold by their intervals."""


@dataclass(frozen=True)
class Space:
    """What is searched together. A point of it has a choice for each of `decisions`.

    Attributes:
        shared: decisions that all papers share.
        own: those of each paper.
    """

    shared: tuple[DecisionSpec, ...]
    own: Mapping[str, tuple[DecisionSpec, ...]]

    @cached_property
    def decisions(self) -> tuple[DecisionSpec, ...]:
        """All of them, the shared ones first."""
        return (*self.shared, *chain.from_iterable(self.own.values()))

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The paper of each decision; empty for shared ones."""
        return (*("" for _ in self.shared), *(name for name, own in self.own.items() for _ in own))

    @cached_property
    def start(self) -> Point:
        """Where each decision was before any claim was looked at."""
        return tuple(spec.place(spec.start) for spec in self.decisions)

    @cached_property
    def shipped(self) -> Point:
        """What the simulator ships; the start where it says nothing."""
        return tuple(spec.place(spec.shipped or spec.start) for spec in self.decisions)

    def bearing_on(self, paper: str) -> list[int]:
        """The places of the decisions that a paper has, among all."""
        return [place for place, owner in enumerate(self.owners) if owner in ("", paper)]

    def decisions_of(self, paper: str) -> tuple[DecisionSpec, ...]:
        """The decisions that a paper has."""
        return (*self.shared, *self.own[paper])

    def pieces(self, point: Point) -> Iterator[Piece]:
        """Each paper with its choices."""
        split = first = len(self.shared)
        for paper, own in self.own.items():
            last = first + len(own)
            yield Piece(paper, point[:split] + point[first:last])
            first = last

    def values(self, paper: str, point: Point) -> dict[str, Any]:
        """The values that a paper has with its choices, by key."""
        return values_at(self.decisions_of(paper), point)

    def departures(self, point: Point) -> int:
        """How many decisions depart from what the simulator ships."""
        return departures(self.decisions, point)


def departures(specs: Sequence[DecisionSpec], point: Point) -> int:
    """How many choices differ from what the simulator ships, of the decisions of which it ships one."""
    return sum(spec.departs(place) for spec, place in zip(specs, point, strict=True))


@dataclass(frozen=True)
class Objective:
    """What a search makes large: the mean over claims, less a price for departing from what is shipped.

    Attributes:
        claims: each counts alike.
        weight: the price of departing in all decisions.
        holding: what a claim that holds counts beside its score.
    """

    claims: frozenset[str]
    weight: float
    holding: float = 0.0

    def price(self, departed: int, space: Space) -> float:
        """What so many departures cost."""
        return self.weight * departed / max(len(space.decisions), 1)


class Pool:
    """Evaluations, in the order in which they were asked for."""

    def __init__(self, space: Space, evaluate: Evaluate) -> None:
        """An empty pool; `evaluate` answers what is asked."""
        self.space = space
        self.outcomes: dict[Ask, Outcome] = {}
        self._evaluate = evaluate

    def missing(self, points: Iterable[Point], level: Level) -> list[Ask]:
        """What is not yet evaluated of some points."""
        asked = (ask for point in points for piece in self.space.pieces(point) for ask in _asks(piece, level))
        return [ask for ask in dict.fromkeys(asked) if ask not in self.outcomes]

    def evaluate(self, points: Iterable[Point], level: Level) -> int:
        """Evaluates what is missing; returns how many evaluations it took, without those that the engine refused."""
        missing = self.missing(points, level)
        outcomes = self._evaluate(missing) if missing else ()
        self.outcomes.update(zip(missing, outcomes, strict=True))
        return sum(not outcome.refused for outcome in outcomes)

    def variations(self, point: Point, among: Collection[int] | None = None) -> list[tuple[int, int, Point]]:
        """A point with one decision changed, for every choice, evaluated in short: the decision, the choice and the
        point. `among` has the numbers of the decisions, if not all."""
        found = [
            (which, choice, changed(point, which, choice))
            for which, spec in enumerate(self.space.decisions)
            if among is None or which in among
            for choice in range(len(spec.rows))
        ]
        self.evaluate((varied for _, _, varied in found), SHORT)
        return found

    def refused(self, point: Point) -> bool:
        """Whether the engine refuses a point for one of the papers."""
        return any(outcome.refused for outcome in self._outcomes(point, SHORT))

    def scores(self, piece: Piece, level: Level, holding: float = 0.0) -> Mapping[str, float] | None:
        """The score of each claim of a paper, the mean over the groups of seeds, `holding` more where it holds; None
        if not known."""
        found = [self.outcomes.get(ask) for ask in _asks(piece, level)]
        known = [outcome.scores for outcome in found if outcome is not None and not outcome.refused]
        if len(known) < len(found):
            return None
        return {
            claim: sum(each[claim] + holding * (each[claim] == HELD) for each in known) / len(known)
            for claim in known[0]
        }

    def joint_scores(self, point: Point, level: Level, holding: float = 0.0) -> dict[str, float] | None:
        """The scores of all papers' claims at a point."""
        found: dict[str, float] = {}
        for piece in self.space.pieces(point):
            scores = self.scores(piece, level, holding)
            if scores is None:
                return None
            found |= scores
        return found

    def value(self, objective: Objective, point: Point, level: Level) -> float:
        """Of a point by an objective; the least there is where the engine refuses it."""
        scores = self.joint_scores(point, level, objective.holding)
        if scores is None:
            return float("-inf")
        met = sum(scores[claim] for claim in objective.claims) / len(objective.claims)
        return round(met - objective.price(self.space.departures(point), self.space), DIGITS)

    def claims(self, point: Point, level: Level) -> list[Claim]:
        """The claims as measured at a point with the first seeds; none of a paper that was not evaluated, or whose
        values the engine refuses."""
        return [claim for outcome in self._outcomes(point, level) for claim in outcome.claims]

    def ranking(self, objective: Objective, level: Level) -> Ranking:
        """The evaluations by an objective."""
        return Ranking(self, objective, level)

    def _outcomes(self, point: Point, level: Level) -> Iterator[Outcome]:
        """What is known of a point with the first seeds."""
        asked = (first_ask(piece, level) for piece in self.space.pieces(point))
        return (self.outcomes[ask] for ask in asked if ask in self.outcomes)


def first_ask(piece: Piece, level: Level) -> Ask:
    """What is asked of a paper with choices at a level, with its first seeds."""
    return Ask(*piece, level.scale, level.groups[0])


def _asks(piece: Piece, level: Level) -> list[Ask]:
    return [Ask(*piece, level.scale, seeds) for seeds in level.groups]


class Ranking:
    """The evaluations of a pool by an objective."""

    def __init__(self, pool: Pool, objective: Objective, level: Level) -> None:
        """Puts a value on every paper with choices that was evaluated at a level."""
        self._space, self._objective = pool.space, objective
        self._split = len(pool.space.shared)
        self._values: dict[str, dict[Point, dict[Point, float]]] = {paper: {} for paper in pool.space.own}
        """By paper, shared choices and the paper's own."""
        self.refused: dict[str, list[Point]] = {paper: [] for paper in pool.space.own}
        for (paper, point, scale, seeds), outcome in pool.outcomes.items():
            if (scale, seeds) != (level.scale, level.groups[0]):
                continue
            scores = pool.scores(Piece(paper, point), level, objective.holding)
            if scores is not None:
                shared, own = point[: self._split], point[self._split :]
                self._values[paper].setdefault(shared, {})[own] = self._value(paper, scores, own)
            elif outcome.refused:
                self.refused[paper].append(point)

    def _value(self, paper: str, scores: Mapping[str, float], own: Point) -> float:
        met = sum(value for claim, value in scores.items() if claim in self._objective.claims)
        return met / len(self._objective.claims) - self._price(self._space.own[paper], own)

    def _price(self, specs: Sequence[DecisionSpec], point: Point) -> float:
        return self._objective.price(departures(specs, point), self._space)

    def best(self) -> Point | None:
        """The best point."""
        return next((point for _, point in self.top(1)), None)

    def best_with(self, which: int, choice: int) -> Point | None:
        """The best point with a choice of a shared decision."""
        found = self._top(1, [shared for shared in self._shared if shared[which] == choice])
        return found[0][1] if found else None

    def plainest(self, within: float, of: int) -> Point | None:
        """The point that departs least from what is shipped, and then from the start: one of the best `of` points, with
        a value at most `within` below the best."""
        top = self.top(of)
        near = [point for value, point in top if value >= top[0][0] - within]
        return min(near, key=lambda point: _order(self._space.decisions, 0, point)) if near else None

    def best_own(self, paper: str, shared: Point) -> Point | None:
        """A paper's best choices of its own with some shared ones."""
        return next(iter(self._first(1, paper, self._values[paper].get(shared, {}))), None)

    def top_own(self, paper: str, count: int) -> list[Point]:
        """What a paper did best with of its own, whatever the shared choices were; the best first."""
        best: dict[Point, float] = {}
        for known in self._values[paper].values():
            for own, value in known.items():
                best[own] = max(value, best.get(own, value))
        return self._first(count, paper, best)

    def top(self, count: int) -> list[tuple[float, Point]]:
        """The best points with their values, the best first; of equals, what departs least from what is shipped."""
        return self._top(count, self._shared)

    @property
    def _shared(self) -> list[Point]:
        """The shared choices that were evaluated with any paper."""
        return list(dict.fromkeys(shared for paper in self._space.own for shared in self._values[paper]))

    def _top(self, count: int, among: Iterable[Point]) -> list[tuple[float, Point]]:
        """The best points with one of some shared choices."""
        found: list[tuple[float, Point]] = []
        papers = list(self._space.own)
        for shared in among:
            known = [self._values[paper].get(shared, {}) for paper in papers]
            if not all(known):
                continue
            price = self._price(self._space.shared, shared)
            for own in product(*(self._first(count, *one) for one in zip(papers, known, strict=True))):
                value = sum(values[point] for values, point in zip(known, own, strict=True)) - price
                found.append((value, (*shared, *chain.from_iterable(own))))
        return heapq.nsmallest(count, found, key=lambda one: _order(self._space.decisions, *one))

    def with_others(self, paper: str) -> dict[Point, float]:
        """Each evaluation of a paper with the value of the best point that has it; where another paper has not been
        evaluated with its shared choices, with the mean over the choices where it has."""
        others = {
            name: {shared: max(known.values()) for shared, known in self._values[name].items()}
            for name in self._space.own
            if name != paper
        }
        means = {name: sum(best.values()) / len(best) for name, best in others.items() if best}
        return {
            (*shared, *own): value
            - self._price(self._space.shared, shared)
            + sum(best.get(shared, means.get(name, 0.0)) for name, best in others.items())
            for shared, known in self._values[paper].items()
            for own, value in known.items()
        }

    def _first(self, count: int, paper: str, values: Mapping[Point, float]) -> list[Point]:
        """The best choices of a paper's own by their values."""
        specs = self._space.own[paper]
        return heapq.nsmallest(count, values, key=lambda own: _order(specs, values[own], own))


def _order(specs: Sequence[DecisionSpec], value: float, point: Point) -> tuple[float, int, int, Point]:
    """An order of points by value, of equals by departures from what is shipped, and then from the start."""
    moved = sum(spec.place(spec.start) != place for spec, place in zip(specs, point, strict=True))
    return -round(value, DIGITS), departures(specs, point), moved, point
