"""The search over all decisions of some papers together.

1. *Start*: what the simulator ships, where decisions were before any claim was looked at, and points of a scrambled
   Sobol sequence, which fill the space evenly.
2. *Refinement*, in batches: one half of a batch comes from a tree-structured Parzen estimator (Optuna), which fits the
   better and the worse points each with a density over all decisions and proposes where their ratio is high; the other
   half is the best point with one or two decisions changed. The objectives take turns: all claims, and all but those of
   one figure, each under every weight of the prior, so that every fold of the cross-validation is searched as hard.
3. *Confirmation*: the search evaluates with one seed; the best points of each objective are evaluated with all seeds,
   and only points that were compete in the end.

The same seed gives the same points in the same order: what is proposed depends only on what was told before, batches
have a fixed size, and their results are told in the order in which they were asked for.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .._engine import InputError
from .decisions import DecisionSpec
from .pool import Joint, Objective, Point, Pool, Ranking

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


@dataclass(frozen=True)
class Plan:
    """How a search goes.

    Attributes:
        objectives: that take turns; the first is the one over all claims.
        budget: evaluations of a paper with one seed, over all papers.
        seed: of the points.
    """

    objectives: Sequence[Objective]
    budget: int
    seed: int


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


def search(pool: Pool, plan: Plan) -> None:
    """Fills a pool with what it evaluates."""
    spending = _Spending(pool)
    confirming = round(_CONFIRM_SHARE * plan.budget)
    _start(pool, plan, spending, round(_START_SHARE * plan.budget))
    _refine(pool, plan, spending, plan.budget - confirming)
    _confirm(pool, plan, spending, plan.budget)


class _Spending:
    """Evaluations that were done, against a budget."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.spent = 0

    def tell(self, joints: Sequence[Joint], seeds: Sequence[int]) -> None:
        """Evaluates points."""
        self.spent += self._pool.tell(self._pool.missing(joints, seeds))


def _start(pool: Pool, plan: Plan, spending: _Spending, until: int) -> None:
    first = pool.seeds[:1]
    spending.tell([pool.space.shipped, pool.space.start], first)
    points = spread(pool, plan.seed, max(2, until))
    while spending.spent < until:
        batch = list(islice(points, BATCH))
        if not batch:
            return
        spending.tell(batch, first)


def spread(pool: Pool, seed: int, count: int) -> Iterator[Joint]:
    """Points that fill the space evenly: a scrambled Sobol sequence over the choices of each decision."""
    from scipy.stats import qmc

    specs = pool.space.decisions
    if not specs:
        return
    sequence = qmc.Sobol(len(specs), scramble=True, rng=seed)
    for row in sequence.random_base2((count - 1).bit_length()):
        yield pool.space.joint(
            min(int(share * len(spec.range)), len(spec.range) - 1) for share, spec in zip(row, specs, strict=True)
        )


def _refine(pool: Pool, plan: Plan, spending: _Spending, until: int) -> None:
    proposed, turn = 0, 0
    idle = 0
    while spending.spent < until and proposed < _PROPOSALS_FACTOR * plan.budget and idle < len(plan.objectives):
        objective = plan.objectives[turn % len(plan.objectives)]
        batch = _Proposals(pool, objective, random.Random(f"{plan.seed}/{turn}")).batch()
        idle = 0 if batch else idle + 1
        spending.tell(batch, pool.seeds[:1])
        proposed += len(batch)
        turn += 1


def _confirm(pool: Pool, plan: Plan, spending: _Spending, until: int) -> None:
    """Evaluates with all seeds: the first two points and the best of each objective always, of which few differ; then
    as many more as the budget allows."""
    tops = [pool.ranking(objective, confirmed=False).top(_RANKS) for objective in plan.objectives]
    spending.tell([pool.space.shipped, pool.space.start], pool.seeds)
    spending.tell([top[0][1] for top in tops if top], pool.seeds)
    for rank in range(1, _RANKS):
        for top in tops:
            if rank < len(top) and spending.spent < until:
                spending.tell([top[rank][1]], pool.seeds)


class _Proposals:
    """What to evaluate next for an objective."""

    def __init__(self, pool: Pool, objective: Objective, chance: random.Random) -> None:
        self._pool, self._space, self._chance = pool, pool.space, chance
        self._ranking = pool.ranking(objective, confirmed=False)
        self._best = self._ranking.best() or pool.space.start
        self._batch: dict[Joint, None] = {}

    def batch(self) -> list[Joint]:
        """Up to `BATCH` new points; the papers take turns."""
        papers = list(self._space.own)
        learned = {paper: _Learned(self._space.shared, self._space.own[paper], self._chance) for paper in papers}
        for paper, each in learned.items():
            each.learn(self._ranking, paper)
        for number in range(BATCH):
            paper = papers[number % len(papers)]
            joint = self._completed(paper, learned[paper].propose()) if number // len(papers) % 2 == 0 else None
            if joint is None or not self._is_new(joint):
                joint = self._near(paper)
            if joint is not None:
                self._batch[joint] = None
        return list(self._batch)

    def _completed(self, paper: str, proposed: tuple[Point, Point] | None) -> Joint | None:
        """Choices for one paper with the best that the others have at its shared ones."""
        if proposed is None:
            return None
        shared, own = proposed
        return Joint(
            shared,
            tuple(
                own if name == paper else self._ranking.best_own(name, shared) or known
                for name, known in zip(self._space.own, self._best.own, strict=True)
            ),
        )

    def _near(self, paper: str) -> Joint | None:
        """The best point with one or two decisions changed, of those that bear on a paper."""
        specs = self._space.decisions
        bearing = [place for place in self._space.bearing_on(paper) if len(specs[place].range) > 1]
        for _ in range(_TRIES if bearing else 0):
            flat = list(self._space.flat(self._best))
            for place in self._chance.sample(bearing, min(self._chance.choice((1, 2)), len(bearing))):
                flat[place] = self._other(specs[place], flat[place])
            joint = self._space.joint(flat)
            if self._is_new(joint):
                return joint
        return None

    def _other(self, spec: DecisionSpec, place: int) -> int:
        shipped = None if spec.shipped is None else spec.place(spec.shipped)
        if shipped is not None and shipped != place and self._chance.random() < _BACK_SHARE:
            return shipped
        return self._chance.choice([other for other in range(len(spec.range)) if other != place])

    def _is_new(self, joint: Joint) -> bool:
        known = self._pool.refused(joint) or not self._pool.missing([joint], self._pool.seeds[:1])
        return not known and joint not in self._batch


class _Learned:
    """A tree-structured Parzen estimator over the decisions that bear on one paper."""

    def __init__(self, shared: Sequence[DecisionSpec], own: Sequence[DecisionSpec], chance: random.Random) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self._split, self._seed = optuna, len(shared), chance.getrandbits(31)
        self._distributions: dict[str, Any] = {
            str(place): optuna.distributions.IntDistribution(0, len(spec.range) - 1)
            if spec.is_ordered
            else optuna.distributions.CategoricalDistribution(range(len(spec.range)))
            for place, spec in enumerate((*shared, *own))
        }
        self._study: Any = None

    def learn(self, ranking: Ranking, paper: str) -> None:
        """Takes what is known of a paper; what the engine refuses counts as worse than all else."""
        known = ranking.with_others(paper)
        worst = min(known.values(), default=0.0)
        known |= dict.fromkeys(ranking.refused[paper], worst - 1)
        with warnings.catch_warnings():
            # What Optuna calls experimental is fixed by the version that the lock file has.
            warnings.simplefilter("ignore")
            sampler = self._optuna.samplers.TPESampler(
                seed=self._seed, multivariate=True, constant_liar=True, n_startup_trials=0
            )
        self._study = self._optuna.create_study(direction="maximize", sampler=sampler)
        self._study.add_trials(
            [
                self._optuna.trial.create_trial(
                    params={str(place): number for place, number in enumerate((*shared, *own))},
                    distributions=self._distributions,
                    value=value,
                )
                for (shared, own), value in known.items()
            ]
        )

    def propose(self) -> tuple[Point, Point] | None:
        """Shared choices and a paper's own."""
        if not self._distributions or not self._study.trials:
            return None
        params = self._study.ask(self._distributions).params
        point = tuple(int(params[str(place)]) for place in range(len(self._distributions)))
        return point[: self._split], point[self._split :]
