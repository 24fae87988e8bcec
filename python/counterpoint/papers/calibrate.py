"""The search over what papers leave open, for all claims of the papers that cite a simulator together.

`evaluate` measures claims, `search` looks for points that meet them, `crossvalidate` chooses among these the one that
predicts best what it was not fitted to, `descent` puts together which single changes of it are better, `finish`
measures the last few at full length, and `sensitivity` varies each decision around where this ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from .._engine import InputError
from ..contract.request import count
from ..runs.store import Store
from ..system.errors import Interrupted
from ..verbs import api
from . import crossvalidate, descent, finish, sensitivity
from .crossvalidate import CrossValidation
from .decisions import DecisionSpec, Simulator, simulators
from .declared import PAPERS, paper
from .defaults import BUDGET
from .evaluate import Asked, Outcome, Simulations, judged_claims
from .finish import Finalist, Piece
from .model import Claim
from .pool import Ask, Evaluate, Joint, Objective, Point, Pool, Space
from .reproduce import kept_in, names_of, set_now
from .search import Plan, check_libraries, search
from .sensitivity import Varied

_VARIATIONS = 2
"""How often every decision is varied, for the progress: around the best point and around the presets; more often where
single changes lead on."""

BUDGET_MIN, BUDGET_MAX = 10, 100_000
_NEAREST = 100
"""Of how many of the best points the chosen one is."""

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of the programs. The search evaluates with the first; what it chooses from is evaluated with all."""


@dataclass(frozen=True)
class Calibration:
    """The search of the papers that cite a simulator.

    Attributes:
        simulator: what they cite.
        pool: everything that was evaluated.
        validation: which weight of the prior predicts best, and the chosen point.
        finalists: what was measured at full length, the chosen point first.
        varied: every choice of every decision around the chosen point.
        settings: what was simulated, in words, by paper.
        budget: evaluations of each paper that the search was given.
        seed: of the search.
    """

    simulator: Simulator
    pool: Pool
    validation: CrossValidation
    finalists: tuple[Finalist, ...]
    varied: tuple[Varied, ...]
    settings: Mapping[str, str]
    budget: int
    seed: int

    @property
    def space(self) -> Space:
        """What was searched."""
        return self.pool.space

    @property
    def chosen(self) -> Joint:
        """The chosen point."""
        return self.validation.best

    @property
    def evaluated(self) -> int:
        """How many evaluations there are, without refused ones."""
        return sum(not outcome.refused for outcome in self.pool.outcomes.values())

    @property
    def refused(self) -> list[tuple[Ask, str]]:
        """What the engine refused, and why."""
        return [(ask, outcome.refused) for ask, outcome in self.pool.outcomes.items() if outcome.refused]

    def score(self, joint: Joint) -> float | None:
        """The mean score of all claims at a point, over all seeds; None where the engine refuses it."""
        scores = self.pool.joint_scores(joint, confirmed=True)
        return None if scores is None else crossvalidate.mean_of(scores, scores)

    def claims(self, joint: Joint) -> list[Claim]:
        """The claims as measured at a point with the seed of the search; nothing where the engine refuses it."""
        return self.pool.claims(joint)

    def best(self, count: int) -> list[Joint]:
        """The best points under the chosen weight, of those that were evaluated with all seeds."""
        claims = frozenset(claim.id for claim in self.claims(self.chosen))
        ranking = self.pool.ranking(Objective(claims, self.validation.weight), confirmed=True)
        return [joint for _, joint in ranking.top(count)]

    def to_dict(self) -> dict[str, Any]:
        """The document, as `calibrate --json` prints it."""
        return {
            "simulator": self.simulator.name,
            "papers": list(self.space.own),
            "settings": dict(self.settings),
            "budget": self.budget,
            "seed": self.seed,
            "seeds": list(self.pool.seeds),
            "decisions": [
                {
                    "paper": name or None,
                    "key": spec.name,
                    "range": [spec.plain(choice) for choice in spec.range],
                    "start": spec.plain(spec.start),
                    "shipped": spec.plain(spec.shipped),
                    "chosen": spec.plain(spec.range[place]),
                    "reason": spec.reason,
                }
                for name, spec, place in self.by_decision(self.chosen)
            ],
            "points": {name: self._point(joint) for name, joint in self.named().items()},
            "cross_validation": {
                "weight": self.validation.weight,
                "predicted": {str(one): self.validation.predicted(one) for one in self.validation.weights},
                "fitted": {str(one): self.validation.fitted(one) for one in self.validation.weights},
                "folds": [
                    {
                        "left_out": fold.left_out,
                        "weight": fold.weight,
                        "fitted": fold.fitted,
                        "predicted": fold.predicted,
                        "values": self._values(fold.best),
                    }
                    for fold in self.validation.folds
                ],
            },
            "finish": [
                {
                    "values": self._values(one.joint),
                    "held": one.held,
                    "score": one.score,
                    "claims": _measured(one.claims),
                }
                for one in self.finalists
            ],
            "sensitivity": [
                {
                    "key": each.spec.name,
                    "value": each.spec.plain(each.spec.range[each.place]),
                    "papers": list(each.outcomes),
                    "scores": each.scores,
                    "claims": _measured(claim for outcome in each.outcomes.values() for claim in outcome.claims),
                    "refused": each.refused or None,
                }
                for each in self.varied
            ],
            "evaluations": [
                {
                    "paper": ask.paper,
                    "seed": ask.seed,
                    "values": dict(values_of(self.space, ask.paper, ask.shared, ask.own)),
                    "scores": dict(outcome.scores),
                    "claims": _measured(outcome.claims),
                    "refused": outcome.refused or None,
                }
                for ask, outcome in self.pool.outcomes.items()
            ],
        }

    def named(self) -> dict[str, Joint]:
        """The points that a reader looks for."""
        return {"shipped": self.space.shipped, "start": self.space.start, "chosen": self.chosen}

    def by_decision(self, joint: Joint) -> list[tuple[str, Any, int]]:
        """Each decision with its paper, which is empty for shared ones, and the number of its choice at a point."""
        papers = [*("" for _ in self.space.shared), *(name for name, own in self.space.own.items() for _ in own)]
        return list(zip(papers, self.space.decisions, self.space.flat(joint), strict=True))

    def _point(self, joint: Joint) -> dict[str, Any]:
        return {
            "values": self._values(joint),
            "score": self.score(joint),
            "departures": self.space.departures(joint),
            "claims": _measured(self.claims(joint)),
        }

    def _values(self, joint: Joint) -> dict[str, dict[str, Any]]:
        return {name: dict(values_of(self.space, name, shared, own)) for name, shared, own in self.space.pieces(joint)}


def calibrate(
    asked: str | Sequence[str] = "all",
    *,
    budget: int = BUDGET,
    seed: int = 1,
    store: str | os.PathLike[str] | None = None,
    workers: int = 0,
    progress: api.Progress | None = None,
) -> tuple[Calibration, ...]:
    """Searches what papers leave open for the values that predict their claims best, for each simulator that they cite.

    Args:
        asked: a paper, several, or `"all"`. Papers that cite the same simulator are always searched together.
        budget: evaluations of each paper; what the engine refuses does not count, and the variation of each decision
            around the chosen point comes after it.
        seed: of the search: the same seed evaluates the same points in the same order.
        store: the file that keeps the simulations, so that a search that was stopped goes on; without, they are
            forgotten.
        workers: processes that simulate; 0 is one per processor, and there are never more. The results do not depend
            on it.
        progress: told how much is done, in hundredths of an evaluation.

    Raises:
        InputError: there is no such paper, a library is missing, or the store is no good.
        EngineError: a simulation failed.
        Interrupted: Ctrl-C; what was finished is in the store.
    """
    cited = cited_by(asked)
    count("seed", seed)
    if not BUDGET_MIN <= count("budget", budget) <= BUDGET_MAX:
        raise InputError(f"budget is {budget}; it must be a whole number from {BUDGET_MIN} to {BUDGET_MAX}")
    check_libraries()
    told = _Told(progress, [space_of(simulator) for simulator in cited], budget)
    with ExitStack() as stack:
        opened = stack.enter_context(Store(stack.enter_context(kept_in(store))))
        try:
            return tuple(_calibrate(simulator, budget, seed, opened, workers, told) for simulator in cited)
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise Interrupted from None


def cited_by(asked: str | Sequence[str]) -> list[Simulator]:
    """The simulators that papers cite.

    Raises:
        InputError: there is no such paper.
    """
    given = [asked] if isinstance(asked, str) else list(asked)
    names = {name for one in given or ["all"] for name in names_of(one, PAPERS)}
    return [simulator for simulator in simulators() if names & set(simulator.papers)]


def space_of(simulator: Simulator) -> Space:
    """What is searched for a simulator."""
    own = {name: tuple(spec for spec in paper(name).decisions if not spec.simulator) for name in simulator.papers}
    return Space(simulator.decisions, own)


def _preset(space: Space) -> Joint:
    """What the presets of the papers have: what an earlier search chose. The start of a decision whose range does not
    have it."""

    def place(name: str, spec: DecisionSpec) -> int:
        now = set_now(name, spec)
        return spec.place(now if now in spec.range else spec.start)

    first = next(iter(space.own))
    shared = tuple(place(first, spec) for spec in space.shared)
    return Joint(shared, tuple(tuple(place(name, spec) for spec in own) for name, own in space.own.items()))


def values_of(space: Space, name: str, shared: Point, own: Point) -> list[tuple[str, Any]]:
    """The values that a paper has at a point, by key."""
    chosen = zip((*space.shared, *space.own[name]), (*shared, *own), strict=True)
    return [pair for spec, place in chosen for pair in spec.range[place]]


def _calibrate(simulator: Simulator, budget: int, seed: int, store: Store, workers: int, told: _Told) -> Calibration:
    space = space_of(simulator)
    simulate = Simulations(f"calibrate-{simulator.name}", store, workers)

    def evaluate(asks: Sequence[Ask]) -> list[Outcome]:
        asked = [Asked(ask.paper, tuple(values_of(space, *ask[:3])), ask.seed) for ask in asks]
        outcomes = simulate(asked, lambda share: told.within(share * len(asks)))
        told.add(sum(not outcome.refused for outcome in outcomes))
        return outcomes

    claims = [claim for name in space.own for claim in judged_claims(name)]
    known = _preset(space)
    pool, validation = explore(space, evaluate, claims, known=known, budget=budget, seed=seed)
    if validation is None:
        _, why = next(item for item in pool.outcomes.items() if item[1].refused)
        raise InputError(f"every point of the search of {simulator.name} is refused: {why.refused}")

    def measure(pieces: Sequence[Piece]) -> list[Outcome]:
        asked = [(piece[0], tuple(values_of(space, *piece))) for piece in pieces]
        return simulate.at_full_length(asked, pool.seeds)

    objective = Objective(frozenset(claims), validation.weight)
    finalists = finish.finish(pool, objective, validation.best, measure, known=known)
    if finalists:
        validation = replace(validation, best=finalists[0].joint)
        pool.tell(pool.missing([validation.best], pool.seeds))
    varied = sensitivity.sensitivity(pool, validation.best)
    told.finish(space, budget)
    settings = {name: _setting(name) for name in space.own}
    return Calibration(simulator, pool, validation, finalists, varied, settings, budget, seed)


def explore(
    space: Space,
    evaluate: Evaluate,
    claims: Sequence[str],
    *,
    known: Joint | None = None,
    budget: int,
    seed: int,
    seeds: Sequence[int] = SEEDS,
) -> tuple[Pool, CrossValidation | None]:
    """The search and its cross-validation, for any function that evaluates; None where everything is refused. The
    descent begins at a `known` good point if that is better than what was found."""
    pool = Pool(space, evaluate, seeds)
    plan = Plan(crossvalidate.objectives(claims), budget * len(space.own), seed)
    search(pool, plan)
    validation = crossvalidate.cross_validate(pool, claims)
    if validation is None:
        return pool, None
    # The folds stay as they are: the descent looks at all claims, those that a fold leaves out among them.
    objective = Objective(frozenset(claims), validation.weight)
    begins = (descent.crossed(pool, objective, validation.best), known or space.start)
    descent.descend(pool, objective, descent.better(pool, objective, begins))
    best = pool.ranking(objective, confirmed=True).plainest(descent.NOTHING, _NEAREST)
    return pool, validation if best is None else replace(validation, best=best)


class _Told:
    """Progress over several searches, in hundredths of an evaluation."""

    def __init__(self, progress: api.Progress | None, spaces: Iterable[Space], budget: int) -> None:
        self._progress = progress
        self._total = sum(_expected(space, budget) for space in spaces)
        self._before = 0
        self._done = 0
        self._shown = 0

    def within(self, evaluations: float) -> None:
        if self._progress:
            # Refused evaluations are known only after their batch; the bar does not go back for them.
            done = min(round(100 * (self._before + self._done + evaluations)), 100 * self._total)
            self._shown = max(self._shown, done)
            self._progress(self._shown, 100 * self._total)

    def add(self, evaluations: int) -> None:
        self._done += evaluations
        self.within(0)

    def finish(self, space: Space, budget: int) -> None:
        self._before += _expected(space, budget)
        self._done = 0
        self.within(0)


def _expected(space: Space, budget: int) -> int:
    varied = sum(
        sum(len(spec.range) - 1 for spec in own) + sum(len(spec.range) - 1 for spec in space.shared)
        for own in space.own.values()
    )
    return budget * len(space.own) + _VARIATIONS * varied


def _measured(claims: Iterable[Claim]) -> dict[str, Any]:
    return {claim.id: {"measured": claim.measured, "holds": claim.holds} for claim in claims}


def _setting(name: str) -> str:
    document = paper(name).document
    shared = {**document["full"], **document["calibration"]}
    return ", ".join(f"{key} {value}" for key, value in shared.items())
