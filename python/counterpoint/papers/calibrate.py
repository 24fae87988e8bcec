"""The search over what papers leave open, for all claims of the papers that cite a simulator together.

`evaluate` measures claims, `explore` looks for points that meet them, `crossvalidate` chooses among these the one that
predicts best what it was not fitted to, `descent` puts together which single changes of it are better, `finish`
measures the last few at full length, and `sensitivity` varies each decision around where this ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._engine import InputError
from ..contract.request import count
from ..runs.computing import Computer, computing
from ..searches.space import Point
from ..verbs import api
from . import crossvalidate, finish, sensitivity
from .asking import set_now
from .crossvalidate import CrossValidation
from .decisions import DecisionSpec, Simulator, simulators
from .declared import PAPERS, paper
from .defaults import BUDGET
from .evaluate import Outcome, Setting, conditions_of, judged_claims, simulate
from .explore import HALVED, check_libraries, explore
from .finish import Finalist
from .model import Claim
from .pool import CONFIRMED, DIGITS, LONG, SEEDS, SHORT, Ask, Evaluate, Piece, Pool, Space, first_ask
from .reproduce import names_of
from .sensitivity import Varied

_VARIATIONS = 2
"""How often every decision is varied, for the progress; more often where changes lead on."""

_CLOSER = 1 + 1 / HALVED + len(SEEDS) / HALVED**2
"""How many evaluations there are for each in short, with those at more length."""

BUDGET_MIN, BUDGET_MAX = 10, 100_000


@dataclass(frozen=True)
class Calibration:
    """The search of the papers that cite a simulator.

    Attributes:
        simulator: what they cite.
        pool: everything that was evaluated.
        validation: which weight of the prior predicts best, and the chosen point.
        finalists: what was measured at full length, the chosen point first.
        before: what the presets had when it began, measured alike; None where the engine refuses it at full length.
        varied: every choice of every decision around the chosen point.
        settings: what was simulated, in words, by paper.
        budget: evaluations of each paper that the search was given.
        seed: of the search.
    """

    simulator: Simulator
    pool: Pool
    validation: CrossValidation
    finalists: tuple[Finalist, ...]
    before: Finalist | None
    varied: tuple[Varied, ...]
    settings: Mapping[str, str]
    budget: int
    seed: int

    @property
    def space(self) -> Space:
        """What was searched."""
        return self.pool.space

    @property
    def chosen(self) -> Point:
        """The chosen point."""
        return self.validation.best

    @property
    def evaluated(self) -> int:
        """How many evaluations there are, without refused ones."""
        return len(self.pool.outcomes) - len(self.refused)

    @property
    def refused(self) -> list[tuple[Ask, str]]:
        """What the engine refused, and why."""
        return [(ask, outcome.refused) for ask, outcome in self.pool.outcomes.items() if outcome.refused]

    def score(self, point: Point) -> float | None:
        """The mean score of all claims at a point, over all seeds; None where the engine refuses it."""
        scores = self.pool.joint_scores(point, CONFIRMED)
        return None if scores is None else crossvalidate.mean_of(scores, scores)

    def claims(self, point: Point) -> list[Claim]:
        """The claims as measured at a point in short; nothing where the engine refuses it."""
        return self.pool.claims(point, SHORT)

    def best(self, count: int) -> list[Point]:
        """The best points under the chosen weight, of those that were evaluated with all seeds."""
        claims = [claim.id for claim in self.claims(self.chosen)]
        ranking = self.pool.ranking(crossvalidate.of_all(claims, (), self.validation.weight), CONFIRMED)
        return [point for _, point in ranking.top(count)]

    def alone(self, name: str) -> tuple[Point, Outcome]:
        """What fits the claims of one paper best, whatever that costs other papers, of equals the chosen point: its
        choices, with the shared ones first, and what came of them at more length."""
        chosen, _ = self.together(name)
        known = {
            ask.point: outcome
            for ask, outcome in self.pool.outcomes.items()
            if ask == first_ask(Piece(name, ask.point), LONG) and not outcome.refused
        }

        def order(point: Point) -> tuple[float, bool]:
            scores = known[point].scores
            return round(crossvalidate.mean_of(scores, scores), DIGITS), point == chosen

        best = max(known, key=order)
        return best, known[best]

    def together(self, name: str) -> tuple[Point, Outcome]:
        """The same at the chosen point."""
        piece = next(piece for piece in self.space.pieces(self.chosen) if piece.paper == name)
        return piece.point, self.pool.outcomes[first_ask(piece, LONG)]

    @property
    def named(self) -> dict[str, Point]:
        """The points that a reader looks for."""
        return {"shipped": self.space.shipped, "start": self.space.start, "chosen": self.chosen}

    def by_decision(self, point: Point) -> list[tuple[str, DecisionSpec, int]]:
        """Each decision with its paper, which is empty for shared ones, and the number of its choice at a point."""
        return list(zip(self.space.owners, self.space.decisions, point, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """The document, as `calibrate --json` prints it."""
        return {
            "simulator": self.simulator.name,
            "papers": list(self.space.own),
            "settings": dict(self.settings),
            "budget": self.budget,
            "seed": self.seed,
            "seeds": list(SEEDS),
            "decisions": [
                {
                    "paper": name or None,
                    "key": spec.name,
                    "range": list(map(spec.plain, spec.rows)),
                    "start": spec.plain(spec.start),
                    "shipped": spec.plain(spec.shipped),
                    "chosen": spec.plain(spec.rows[place]),
                    "reason": spec.reason,
                }
                for name, spec, place in self.by_decision(self.chosen)
            ],
            "points": {
                name: {
                    "values": self._values(point),
                    "score": self.score(point),
                    "departures": self.space.departures(point),
                    "claims": _measured(self.claims(point)),
                }
                for name, point in self.named.items()
            },
            "cross_validation": self._cross_validation(),
            "finish": [self._finalist(one) for one in self.finalists],
            "before": None if self.before is None else self._finalist(self.before),
            **self._evaluations(),
        }

    def _finalist(self, one: Finalist) -> dict[str, Any]:
        return {
            "values": self._values(one.point),
            "held": one.held,
            "score": one.score,
            "claims": _measured(one.claims),
        }

    def _cross_validation(self) -> dict[str, Any]:
        validation = self.validation
        return {
            "weight": validation.weight,
            "predicted": {str(one): validation.predicted(one) for one in validation.weights},
            "fitted": {str(one): validation.fitted(one) for one in validation.weights},
            "folds": [
                {
                    "left_out": fold.left_out,
                    "weight": fold.weight,
                    "fitted": fold.fitted,
                    "predicted": fold.predicted,
                    "alike": len(fold.alike),
                    "values": self._values(fold.best),
                }
                for fold in validation.folds
            ],
        }

    def _evaluations(self) -> dict[str, Any]:
        return {
            "sensitivity": [
                {
                    "key": each.spec.name,
                    "value": each.spec.plain(each.spec.rows[each.place]),
                    "papers": list(each.outcomes),
                    "scores": each.scores,
                    "claims": _measured(claim for outcome in each.outcomes.values() for claim in outcome.claims),
                    "refused": each.refused or None,
                }
                for each in self.varied
            ],
            "evaluations": [
                {
                    "paper": paper,
                    "scale": scale,
                    "seeds": list(seeds),
                    "values": self.space.values(paper, point),
                    "scores": dict(outcome.scores),
                    "claims": _measured(outcome.claims),
                    "refused": outcome.refused or None,
                }
                for (paper, point, scale, seeds), outcome in self.pool.outcomes.items()
            ],
        }

    def _values(self, point: Point) -> dict[str, dict[str, Any]]:
        return {name: self.space.values(name, part) for name, part in self.space.pieces(point)}


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
        budget: evaluations of each paper in short; what the engine refuses does not count, and what is looked at with
            more comes after it.
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
    spaces = {simulator: space_of(simulator) for simulator in cited}
    meter = _Meter(progress, sum(_expected(space, budget) for space in spaces.values()))
    with computing(store, workers=workers) as computer:
        return tuple(
            _calibrate(one, space, budget, seed, _simulating(space, computer, meter), meter)
            for one, space in spaces.items()
        )


def repeated(simulator: Simulator, known: Mapping[Ask, Outcome], *, budget: int, seed: int = 1) -> Calibration:
    """A search whose evaluations are known (`evaluations`), without a simulation.

    Raises:
        InputError: it asks for another one: the search or its claims are not what they were.
    """
    space = space_of(simulator)

    def evaluate(asked: Sequence[Ask]) -> list[Outcome]:
        for ask in asked:
            if ask not in known:
                raise InputError(f"no evaluation is known of {ask.paper} with {space.values(ask.paper, ask.point)}")
        return [known[ask] for ask in asked]

    return _calibrate(simulator, space, budget, seed, evaluate, _Meter(None, 0))


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


def _preset(space: Space) -> Point:
    """What the presets of the papers have; the start of a decision whose range does not have it."""
    first = next(iter(space.own))
    now = [set_now(name or first, spec) for name, spec in zip(space.owners, space.decisions, strict=True)]
    return tuple(
        spec.place(row if row in spec.rows else spec.start) for row, spec in zip(now, space.decisions, strict=True)
    )


def _simulating(space: Space, computer: Computer, meter: _Meter) -> Evaluate:
    """Evaluates by simulating, with progress."""

    def evaluate(asked: Sequence[Ask]) -> list[Outcome]:
        settings = [Setting(ask.paper, space.values(ask.paper, ask.point), ask.seeds, ask.scale) for ask in asked]
        outcomes = simulate(computer, settings, lambda done, total: meter.show(len(asked) * done / total))
        meter.done += sum(not outcome.refused for outcome in outcomes)
        meter.show()
        return outcomes

    return evaluate


def _calibrate(
    simulator: Simulator, space: Space, budget: int, seed: int, evaluate: Evaluate, meter: _Meter
) -> Calibration:
    end = meter.done + _expected(space, budget)
    claims = [claim for name in space.own for claim in judged_claims(name)]
    conditions = [one for name in space.own for one in conditions_of(name)]
    found = explore(space, evaluate, claims, budget=budget, seed=seed, conditions=conditions)
    pool, validation = found.pool, found.validation
    if validation is None:
        why = next(outcome.refused for outcome in pool.outcomes.values() if outcome.refused)
        raise InputError(f"every point of the search of {simulator.name} is refused: {why}")

    objective = crossvalidate.of_all(claims, conditions, validation.weight)
    finalists = finish.finish(pool, objective, validation.best, found.ends)
    if finalists:
        validation = replace(validation, best=finalists[0].point)
        pool.evaluate([validation.best], CONFIRMED)
    before = finish.measured(pool, _preset(space))
    varied = sensitivity.sensitivity(pool, validation.best)
    meter.done = end
    meter.show()
    settings = {name: _setting(name) for name in space.own}
    return Calibration(simulator, pool, validation, finalists, before, varied, settings, budget, seed)


class _Meter:
    """Progress over several searches: evaluations that are done, told in hundredths."""

    def __init__(self, progress: api.Progress | None, expected: int) -> None:
        self._progress, self._total = progress, 100 * expected
        self.done = 0
        self._shown = 0

    def show(self, within: float = 0.0) -> None:
        """Tells how much is done, with a part of the next batch."""
        if self._progress:
            # Refused evaluations are known only after their batch; the bar does not go back for them.
            self._shown = max(self._shown, min(round(100 * (self.done + within)), self._total))
            self._progress(self._shown, self._total)


def _expected(space: Space, budget: int) -> int:
    varied = sum(len(spec.rows) - 1 for name in space.own for spec in space.decisions_of(name))
    return round(_CLOSER * budget) * len(space.own) + _VARIATIONS * varied


def _measured(claims: Iterable[Claim]) -> dict[str, Any]:
    return {claim.id: {"measured": claim.measured, "holds": claim.holds} for claim in claims}


def _setting(name: str) -> str:
    """What is simulated, in words: of the figures, and what differs in short and at more length."""
    document = paper(name).document

    def told(table: Mapping[str, Any]) -> str:
        return ", ".join(f"{key} {value}" for key, value in table.items() if not isinstance(value, (dict, list)))

    return (
        f"{told(document['full'])}; in short {told(document['short'])}; at more length {told(document['calibration'])}"
    )
