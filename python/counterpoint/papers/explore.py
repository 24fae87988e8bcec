"""The search over all decisions of some papers together: steps 1 to 5 of `docs/calibration.md`.

The same seed gives the same points in the same order: what is proposed depends only on the answers before, batches have
a fixed size, and their answers come in the order of the questions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from .._engine import InputError
from ..searches.propose import Parzen
from ..searches.space import Point, changed
from . import crossvalidate, descent
from .crossvalidate import CrossValidation, paper_of
from .decisions import DecisionSpec
from .pool import CONFIRMED, LONG, NOTHING, SHORT, Evaluate, Level, Objective, Pool, Space

BATCH = 8
"""Points that are proposed together. More lets workers share more simulations; fewer learns sooner."""

_START_SHARE = 0.3
"""Share of the budget."""

HALVED = 4
"""Of so many evaluations in short, one is repeated at more length, and of so many of these one with all seeds."""

_RANKS = 20
"""How many of the best points of each objective are looked at with more, if there is room."""

_BACK_SHARE = 0.3
"""How often a changed decision goes back to what is shipped."""

_TRIES = 64
_PROPOSALS_FACTOR = 4
"""A search ends after this many times its budget in proposals, however many of them the engine refuses."""

_NEAREST = 100
"""Of how many of the best points the chosen one is."""

_PROFILED = 0.1
"""How much worse than the best point one with another shared choice may be for a descent to begin there."""


@dataclass(frozen=True)
class Explored:
    """What a search found.

    Attributes:
        pool: everything that was evaluated.
        validation: which weight of the prior predicts best, and the chosen point; None where everything is refused.
        ends: where descents ended.
    """

    pool: Pool
    validation: CrossValidation | None
    ends: tuple[Point, ...] = ()


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
    budget: int,
    seed: int,
    conditions: Sequence[str] = (),
) -> Explored:
    """The search, its cross-validation and the descents, for any function that evaluates. `budget` is the number of
    evaluations of each paper in short. `conditions` are looked for as claims, and never left out."""
    pool = Pool(space, evaluate)
    scored, held = (
        crossvalidate.objectives(claims, conditions=conditions, holding=holding)
        for holding in (0.0, crossvalidate.HOLDING)
    )
    _Search(pool, scored, held, budget * len(space.own), seed).run()
    validation = crossvalidate.cross_validate(pool, claims, conditions=conditions)
    if validation is None:
        return Explored(pool, None)
    # A fold is a whole search that does not see what it leaves out, so it ends with a descent, too.
    ends = []
    for fold in validation.under(validation.weight):
        objective = crossvalidate.without(fold.left_out, claims, conditions, fold.weight)
        ends.append(_descend(pool, objective, fold.best, space.start, thorough=False))
        descent.draw_alike(pool, objective, ends[-1], paper_of(fold.left_out), seed)
    validation = crossvalidate.cross_validate(pool, claims, conditions=conditions)
    assert validation is not None, "there was one among fewer points"
    # From here on the folds stay as they are: what follows looks at all claims.
    objective = crossvalidate.of_all(claims, conditions, validation.weight)
    ends.append(_descend(pool, objective, validation.best, space.start))
    ends += _profile(pool, objective, ends[-1])
    best = pool.ranking(objective, CONFIRMED).plainest(NOTHING, _NEAREST)
    if best is not None:
        validation = replace(validation, best=best)
    return Explored(pool, validation, tuple(dict.fromkeys(ends)))


def _descend(
    pool: Pool, objective: Objective, point: Point, *others: Point, kept: Sequence[int] = (), thorough: bool = True
) -> Point:
    """A descent from a point, from the same with what papers did best with elsewhere, or from one of some others."""
    begins = (descent.crossed(pool, objective, point), point, *others)
    return descent.descend(pool, objective, descent.better(pool, objective, begins, LONG), kept, thorough=thorough)


def _profile(pool: Pool, objective: Objective, point: Point) -> list[Point]:
    """Where descents end that keep another choice of a shared decision, for each choice with which something good is
    known: with that choice, other values may be right for the others, which no single change shows."""
    least = pool.value(objective, point, LONG) - _PROFILED
    ends = []
    for which, spec in enumerate(pool.space.shared):
        for choice in range(len(spec.rows)):
            known = None if choice == point[which] else _best_with(pool, objective, which, choice)
            if known is not None and pool.value(objective, known, LONG) >= least:
                ends.append(_descend(pool, objective, known, kept=[which], thorough=False))
    return ends


def _best_with(pool: Pool, objective: Objective, which: int, choice: int) -> Point | None:
    """The best point with a choice of a shared decision, of those that were evaluated at more length if any was."""
    for level in (LONG, SHORT):
        found = pool.ranking(objective, level).best_with(which, choice)
        if found is not None:
            pool.evaluate([found], LONG)
            return found
    return None


class _Search:
    """Fills a pool with what it evaluates, against a budget: in short by score, which says which way leads on, and with
    more by what holds, too."""

    def __init__(
        self, pool: Pool, scored: Sequence[Objective], held: Sequence[Objective], budget: int, seed: int
    ) -> None:
        self._pool, self._scored, self._held, self._budget, self._seed = pool, scored, held, budget, seed
        self._begin = (pool.space.shipped, pool.space.start)
        self._spent = 0

    def run(self) -> None:
        self._start(round(_START_SHARE * self._budget))
        self._refine(self._budget)
        self._look_closer(self._scored, SHORT, LONG, self._budget // HALVED)
        self._look_closer(self._held, LONG, CONFIRMED, self._budget // HALVED**2 * len(CONFIRMED.groups))

    def _evaluate(self, points: Sequence[Point]) -> None:
        self._spent += self._pool.evaluate(points, SHORT)

    def _start(self, until: int) -> None:
        self._evaluate(self._begin)
        points = spread(self._pool.space, self._seed, max(2, until))
        while self._spent < until and (batch := list(islice(points, BATCH))):
            self._evaluate(batch)

    def _refine(self, until: int) -> None:
        proposed, turn, idle = 0, 0, 0
        most = _PROPOSALS_FACTOR * self._budget
        while self._spent < until and proposed < most and idle < len(self._scored):
            objective = self._scored[turn % len(self._scored)]
            batch = _Proposals(self._pool, objective, random.Random(f"{self._seed}/{turn}")).batch()
            idle = 0 if batch else idle + 1
            self._evaluate(batch)
            proposed += len(batch)
            turn += 1

    def _look_closer(self, objectives: Sequence[Objective], known: Level, level: Level, budget: int) -> None:
        """Evaluates what is best at one level at the next: the first two points and the best of each objective always,
        of which few differ; then as many more as the budget allows."""
        rankings = [self._pool.ranking(objective, known) for objective in objectives]
        tops = [ranking.top(_RANKS) for ranking in rankings]
        first = [*self._begin, *(top[0][1] for top in tops if top)]
        self._pool.evaluate(first, level)
        spent = 0
        for rank in range(1, _RANKS):
            for top in tops:
                if rank < len(top) and spent < budget:
                    spent += self._pool.evaluate([top[rank][1]], level)


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
        self._ranking = pool.ranking(objective, SHORT)
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
        known = self._pool.refused(point) or not self._pool.missing([point], SHORT)
        return not known and point not in self._batch
