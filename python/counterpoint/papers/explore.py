"""The search over all decisions of some papers together: steps 1 to 5 of `docs/calibration.md`.

The same seed gives the same points in the same order: what is proposed depends only on the answers before, batches have
a fixed size, and their answers come in the order of the questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from .._engine import InputError
from ..searches.propose import Parzen
from ..searches.space import Point, changed
from . import crossvalidate, descent
from .crossvalidate import CrossValidation
from .decisions import DecisionSpec
from .pool import Evaluate, Objective, Pool, Space

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the programs. The search evaluates with the first; what it chooses from is evaluated with all."""

BATCH = 8
"""Points that are proposed together. More lets workers share more simulations; fewer learns sooner."""

_START_SHARE, _CONFIRM_SHARE = 0.3, 0.25
"""Shares of the budget."""

_RANKS = 10
"""How many of the best points of each objective are confirmed if the budget has room."""

_BACK_SHARE = 0.3
"""How often a changed decision goes back to what is shipped."""

_TRIES = 64
_PROPOSALS_FACTOR = 4
"""A search ends after this many times its budget in proposals, however many of them the engine refuses."""

_NEAREST = 100
"""Of how many of the best points the chosen one is."""


def check_libraries() -> None:
    """Checks that the libraries of the search are installed.

    Raises:
        InputError: they are not.
    """
    try:
        import optuna  # noqa: F401
        import scipy.stats.qmc  # noqa: F401
    except ImportError:
        raise InputError(
            "the search needs SciPy and Optuna, which are not installed: pip install 'counterpoint[calibrate]'"
        ) from None


def explore(
    space: Space,
    evaluate: Evaluate,
    claims: Sequence[str],
    *,
    known: Point | None = None,
    budget: int,
    seed: int,
    seeds: Sequence[int] = SEEDS,
) -> tuple[Pool, CrossValidation | None]:
    """The search, its cross-validation and the descent, for any function that evaluates; None where everything is
    refused. The descent begins at a `known` good point if that is better than what was found. `budget` is the number of
    evaluations of each paper with one seed."""
    pool = Pool(space, evaluate, seeds)
    _Search(pool, crossvalidate.objectives(claims), budget * len(space.own), seed).run()
    validation = crossvalidate.cross_validate(pool, claims)
    if validation is None:
        return pool, None
    # The folds stay as they are: the descent looks at all claims, those that a fold leaves out among them.
    objective = Objective(frozenset(claims), validation.weight)
    begins = (descent.crossed(pool, objective, validation.best), known or space.start)
    descent.descend(pool, objective, descent.better(pool, objective, begins))
    best = pool.ranking(objective, confirmed=True).plainest(descent.NOTHING, _NEAREST)
    return pool, validation if best is None else replace(validation, best=best)


class _Search:
    """Fills a pool with what it evaluates, against a budget."""

    def __init__(self, pool: Pool, objectives: Sequence[Objective], budget: int, seed: int) -> None:
        self._pool, self._objectives, self._budget, self._seed = pool, objectives, budget, seed
        self._begin = (pool.space.shipped, pool.space.start)
        self._spent = 0

    def run(self) -> None:
        self._start(round(_START_SHARE * self._budget))
        self._refine(self._budget - round(_CONFIRM_SHARE * self._budget))
        self._confirm()

    def _evaluate(self, points: Sequence[Point], *, confirmed: bool = False) -> None:
        self._spent += self._pool.evaluate(points, confirmed=confirmed)

    def _start(self, until: int) -> None:
        self._evaluate(self._begin)
        points = spread(self._pool.space, self._seed, max(2, until))
        while self._spent < until and (batch := list(islice(points, BATCH))):
            self._evaluate(batch)

    def _refine(self, until: int) -> None:
        proposed, turn, idle = 0, 0, 0
        most = _PROPOSALS_FACTOR * self._budget
        while self._spent < until and proposed < most and idle < len(self._objectives):
            objective = self._objectives[turn % len(self._objectives)]
            batch = _Proposals(self._pool, objective, random.Random(f"{self._seed}/{turn}")).batch()
            idle = 0 if batch else idle + 1
            self._evaluate(batch)
            proposed += len(batch)
            turn += 1

    def _confirm(self) -> None:
        """Evaluates with all seeds: the first two points and the best of each objective always, of which few differ;
        then as many more as the budget allows."""
        tops = [self._pool.ranking(objective, confirmed=False).top(_RANKS) for objective in self._objectives]
        self._evaluate(self._begin, confirmed=True)
        self._evaluate([top[0][1] for top in tops if top], confirmed=True)
        for rank in range(1, _RANKS):
            for top in tops:
                if rank < len(top) and self._spent < self._budget:
                    self._evaluate([top[rank][1]], confirmed=True)


def spread(space: Space, seed: int, count: int) -> Iterator[Point]:
    """Points that fill the space evenly: a scrambled Sobol sequence over the choices of each decision."""
    from scipy.stats import qmc

    choices = [len(spec.rows) for spec in space.decisions]
    if not choices:
        return
    for row in qmc.Sobol(len(choices), scramble=True, rng=seed).random_base2((count - 1).bit_length()):
        yield tuple(min(int(share * most), most - 1) for share, most in zip(row, choices, strict=True))


class _Proposals:
    """What to evaluate next for an objective."""

    def __init__(self, pool: Pool, objective: Objective, chance: random.Random) -> None:
        self._pool, self._space, self._chance = pool, pool.space, chance
        self._ranking = pool.ranking(objective, confirmed=False)
        self._best = self._ranking.best() or pool.space.start
        self._batch: dict[Point, None] = {}

    def batch(self) -> list[Point]:
        """Up to `BATCH` new points; the papers take turns."""
        papers = list(self._space.own)
        learned = {paper: self._learned(paper) for paper in papers}
        for number in range(BATCH):
            paper = papers[number % len(papers)]
            point = self._completed(paper, learned[paper].propose()) if number // len(papers) % 2 == 0 else None
            if point is None or not self._is_new(point):
                point = self._near(paper)
            if point is not None:
                self._batch[point] = None
        return list(self._batch)

    def _learned(self, paper: str) -> Parzen:
        """What is known of a paper; what the engine refuses counts as worse than all else."""
        known = self._ranking.with_others(paper)
        worst = min(known.values(), default=0.0)
        known |= dict.fromkeys(self._ranking.refused[paper], worst - 1)
        return Parzen(self._space.decisions_of(paper), known, self._chance.getrandbits(31))

    def _completed(self, paper: str, proposed: Point | None) -> Point | None:
        """Choices for one paper with the best that the others have at its shared ones."""
        if proposed is None:
            return None
        split = len(self._space.shared)
        shared, point = proposed[:split], proposed[:split]
        for name, best in self._space.pieces(self._best):
            own = proposed[split:] if name == paper else self._ranking.best_own(name, shared) or best[split:]
            point += own
        return point

    def _near(self, paper: str) -> Point | None:
        """The best point with one or two decisions changed, of those that bear on a paper."""
        specs = self._space.decisions
        bearing = [place for place in self._space.bearing_on(paper) if len(specs[place].rows) > 1]
        for _ in range(_TRIES if bearing else 0):
            point = self._best
            for place in self._chance.sample(bearing, min(self._chance.choice((1, 2)), len(bearing))):
                point = changed(point, place, self._other(specs[place], point[place]))
            if self._is_new(point):
                return point
        return None

    def _other(self, spec: DecisionSpec, place: int) -> int:
        if spec.shipped is not None and spec.departs(place) and self._chance.random() < _BACK_SHARE:
            return spec.place(spec.shipped)
        return self._chance.choice([other for other in range(len(spec.rows)) if other != place])

    def _is_new(self, point: Point) -> bool:
        known = self._pool.refused(point) or not self._pool.missing([point])
        return not known and point not in self._batch
