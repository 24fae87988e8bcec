"""Who proposes what to look at next: every point in turn, or what Optuna learned from the answers so far.

`Genetic` is NSGA-II (Deb et al., 2002), for several figures; `Parzen` is a tree-structured Parzen estimator (Bergstra
et al., 2011), for one score. In NSGA-II what is refuted or beyond a limit counts as infeasible, the more so the sooner
it fails, and a feasible candidate beats every infeasible one. A point that the engine refuses is changed towards a
valid one, part by part, until it takes it. The same seed proposes the same points, given the same answers.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

from .._engine import InputError
from .space import Candidate, Dimension, Point, Space, changed

BATCH = 48
"""Candidates that are proposed together: the population of NSGA-II."""

ENUMERATED_MAX = 100_000
"""The largest number of points that are tried one by one."""

_IDLE_MAX = 2 * BATCH
"""After so many points in a row that bring nothing new, points are drawn at random instead."""

_DRAWS_MAX = 20_000
"""Points that are drawn at random until the engine takes one."""

_CONSTRAINT = "infeasible"

Valid = Callable[[Point], Candidate | None]


@dataclass(frozen=True)
class Told:
    """What became of a point.

    Attributes:
        values: objectives, less is better.
        infeasible: 0 for a candidate that qualifies; else how far from that it is.
    """

    values: tuple[float, ...]
    infeasible: float


class Proposer(Protocol):
    """Proposes candidates, and is told what became of them."""

    def batch(self, most: int) -> list[tuple[Point, Candidate]]:
        """New candidates, at most so many; none if there are no more."""
        ...

    def tell(self, answers: Sequence[Told]) -> None:
        """What became of the last batch, in order."""
        ...


class Everything:
    """Proposes every candidate of a space in turn."""

    def __init__(self, candidates: Iterator[tuple[Point, Candidate]]) -> None:
        """Proposes what it is given."""
        self._left = candidates

    def batch(self, most: int) -> list[tuple[Point, Candidate]]:
        """New candidates."""
        return list(islice(self._left, min(most, BATCH)))

    def tell(self, answers: Sequence[Told]) -> None:
        """Changes nothing."""


def study(goal: Literal["minimize", "maximize"], values: int, sampler: str, **options: Any) -> Any:
    """A study of Optuna, which must be installed, with one of its samplers; each point has so many values."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # What Optuna calls experimental is fixed by the version that the lock file has.
    with warnings.catch_warnings(action="ignore"):
        return optuna.create_study(directions=[goal] * values, sampler=getattr(optuna.samplers, sampler)(**options))


def distributions(dimensions: Sequence[Dimension]) -> dict[str, Any]:
    """The choices of dimensions, as Optuna has them."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    return {
        str(place): IntDistribution(0, len(one.rows) - 1)
        if one.is_ordered
        else CategoricalDistribution(range(len(one.rows)))
        for place, one in enumerate(dimensions)
    }


class Parzen:
    """A tree-structured Parzen estimator, which makes one value large.

    It fits the better and the worse points each with a density over all dimensions, and proposes where their ratio is
    high.
    """

    def __init__(self, dimensions: Sequence[Dimension], known: Mapping[Point, float], seed: int) -> None:
        """Needs Optuna; learns from the points that are known."""
        from optuna.trial import create_trial

        options = {"multivariate": True, "constant_liar": True, "n_startup_trials": 0}
        self._study = study("maximize", 1, "TPESampler", seed=seed, **options)
        self._distributions = distributions(dimensions)
        for point, value in known.items():
            parameters = _parameters(point)
            self._study.add_trial(create_trial(params=parameters, distributions=self._distributions, value=value))

    def propose(self) -> Point | None:
        """A point; None where nothing is known."""
        return _point(self._study.ask(self._distributions)) if self._distributions and self._study.trials else None


class Genetic:
    """NSGA-II over the choices of each dimension."""

    def __init__(self, space: Space, valid: Valid, objectives: int, seed: int, first: Sequence[Point] = ()) -> None:
        """Needs Optuna.

        Args:
            space: where to search.
            valid: makes a candidate of a point.
            objectives: the number of figures that are made less.
            seed: of everything that is drawn.
            first: points to begin with.

        Raises:
            InputError: it is not installed.
        """
        try:
            self._study = study(
                "minimize",
                objectives,
                "NSGAIISampler",
                population_size=BATCH,
                seed=seed,
                constraints_func=lambda trial: trial.user_attrs[_CONSTRAINT],
            )
        except ImportError:
            raise InputError(
                "a search of a space that is too large to try every point needs Optuna, which is not installed: "
                "pip install 'counterpoint[search]'"
            ) from None
        self._distributions = distributions(space.dimensions)
        self._space, self._valid = space, valid
        self._chance = random.Random(seed)
        for point in first:
            self._study.enqueue_trial(_parameters(point))
        self._known: dict[Candidate, None] = {}
        self._points: dict[Candidate, Point] = {}
        self._trials: dict[Candidate, Any] = {}
        self._batch: list[Candidate] = []
        self._is_sparse = False

    def batch(self, most: int) -> list[tuple[Point, Candidate]]:
        """New candidates; what NSGA-II proposes again is dropped."""
        wanted = min(most, BATCH)
        found: dict[Candidate, Point] = {}
        self._trials, idle = {}, 0
        while len(found) < wanted and idle < _IDLE_MAX:
            trial = self._study.ask(self._distributions)
            proposed = _point(trial)
            near = self._near(proposed)
            if near is None or near[1] in self._known or near[1] in found:
                # The population has each candidate once.
                self._drop(trial)
                idle += 1
                continue
            point, one = near
            found[one], idle = point, 0
            self._trials[one] = trial if point == proposed else self._instead(trial, point)
        self._fill(found, wanted)
        self._known |= dict.fromkeys(found)
        self._batch = list(found)
        return [(point, one) for one, point in found.items()]

    def tell(self, answers: Sequence[Told]) -> None:
        """Tells the population."""
        for one, told in zip(self._batch, answers, strict=True):
            self._trials[one].set_user_attr(_CONSTRAINT, (told.infeasible,))
            with warnings.catch_warnings(action="ignore"):
                self._study.tell(self._trials[one], list(told.values))

    def _drop(self, trial: Any) -> None:
        from optuna.trial import TrialState

        self._study.tell(trial, state=TrialState.FAIL)

    def _instead(self, trial: Any, point: Point) -> Any:
        """A trial of another point than the one that was proposed."""
        if trial is not None:
            self._drop(trial)
        self._study.enqueue_trial(_parameters(point))
        return self._study.ask(self._distributions)

    def _near(self, point: Point) -> tuple[Point, Candidate] | None:
        """The point, or if the engine refuses it, one on the way to a valid one; None if none is known."""
        at = self._space.mended(point)
        one = self._valid(at)
        goal = at if one is not None else self._some_valid()
        if goal is None:
            return None
        places = [place for place, choice in enumerate(goal) if at[place] != choice]
        self._chance.shuffle(places)
        for place in places:
            at = self._space.mended(changed(at, place, goal[place]))
            one = self._valid(at)
            if one is not None:
                break
        if one is None:
            at, one = goal, self._valid(goal)
        if one is None:
            return None
        self._points.setdefault(one, at)
        return at, one

    def _some_valid(self) -> Point | None:
        """A valid point: drawn at random at first, later one of those that were found."""
        if len(self._points) < BATCH and not self._is_sparse:
            for _ in range(_DRAWS_MAX):
                point = self._drawn()
                if self._valid(point) is not None:
                    return point
            # Drawing finds none; the next draws would not either.
            self._is_sparse = True
        return self._chance.choice(list(self._points.values())) if self._points else None

    def _drawn(self) -> Point:
        return self._space.mended(tuple(self._chance.randrange(len(one.rows)) for one in self._space.dimensions))

    def _fill(self, found: dict[Candidate, Point], wanted: int) -> None:
        """Draws what is missing at random."""
        for _ in range(_IDLE_MAX * BATCH):
            if len(found) >= wanted:
                break
            near = self._near(self._drawn())
            if near is not None and near[1] not in self._known and near[1] not in found:
                point, one = near
                found[one] = point
                self._trials[one] = self._instead(None, point)


def _parameters(point: Point) -> dict[str, int]:
    return {str(place): choice for place, choice in enumerate(point)}


def _point(trial: Any) -> Point:
    return tuple(int(trial.params[str(place)]) for place in range(len(trial.params)))
