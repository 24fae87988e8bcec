"""Rules that a search learns: parts with which a test fails, whatever the other parts are.

A rule comes from one refuted candidate. Every dimension is changed alone: where some change lets the test pass, what
the candidate has there is part of the cause. Then candidates that share the cause and are otherwise drawn at random are
tested, and with them those that have passed the search's tests so far. One that passes shows that the cause lacks
something: on the way from the refuted candidate to it, dimension by dimension, the one with which the test first passes
is added. The rule is kept once all of them fail.

So a rule is not proved, only tested. A search tests it again in the end, on candidates that it ruled out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .judge import Judge
from .ladder import CrashTest
from .space import PART, Candidate, Point, Space, Value, changed
from .verdict import Counterexample

DRAWN = 16
"""Candidates that share a cause and are tested before it becomes a rule."""

_CHANGES = 3
"""Choices of a dimension that are tried in place of that of the refuted candidate."""

_ROUNDS = 6
_TRIES = 40


@dataclass
class Rule:
    """What refutes every candidate that has it.

    Attributes:
        values: parts and machine values by key.
        test: the test that fails.
        broken: the rule of the auditors that is broken.
        example: what showed it first.
        tested: candidates that have these values and failed the test.
        covers: candidates that were ruled out.
    """

    values: Mapping[str, Value]
    test: CrashTest
    broken: str
    example: Counterexample | None
    tested: int
    covers: list[Candidate] = field(default_factory=list)

    def applies(self, one: Candidate) -> bool:
        """Whether it rules a candidate out."""
        return all(one.values.get(key) == value for key, value in self.values.items())

    def __str__(self) -> str:
        """The rule in words."""
        cause = " and ".join(f"{key.removeprefix(PART)} = {_shown(value)}" for key, value in self.values.items())
        return f"With {cause}, {self.test.workload} breaks the rule '{self.broken}', whatever else is chosen"


class Learner:
    """Learns rules from refuted candidates."""

    def __init__(
        self,
        space: Space,
        judge: Judge,
        valid: Callable[[Point], Candidate | None],
        passed: Callable[[], Iterable[tuple[Point, Candidate]]],
        seed: int,
    ) -> None:
        """Learns with a judge.

        Args:
            space: the points.
            judge: what tests candidates.
            valid: makes a candidate of a point if the engine takes it.
            passed: the candidates that have passed tests so far.
            seed: of what is drawn.
        """
        self._space, self._judge, self._valid, self._passed, self._seed = space, judge, valid, passed, seed
        self.rules: list[Rule] = []

    def covering(self, one: Candidate) -> Rule | None:
        """The first rule that rules a candidate out."""
        return next((rule for rule in self.rules if rule.applies(one)), None)

    def learn(self, point: Point, one: Candidate, test: CrashTest, example: Counterexample | None) -> Rule | None:
        """A rule from a refuted candidate; None if its cause could not be separated from the rest."""
        (broken,) = self._judge.fails(test, [one])
        if not broken:
            return None
        chance = random.Random(f"{self._seed}/{one.name}")
        cause = self._changed_alone(point, test, broken)
        tested: set[Candidate] = set()
        for _ in range(_ROUNDS):
            drawn = [*self._drawn(point, cause, chance), *self._passed_with(point, cause)]
            failing = self._fail_alike([other for _, other in drawn], test, broken)
            tested |= {other for (_, other), fails in zip(drawn, failing, strict=True) if fails}
            passing = next((at for (at, _), fails in zip(drawn, failing, strict=True) if not fails), None)
            if passing is None:
                return self._rule(one, cause, test, broken, example, tested)
            added = self._on_the_way(point, passing, test, broken)
            if added is None or added in cause:
                return None
            cause.add(added)
        return None

    def _rule(
        self,
        one: Candidate,
        cause: Iterable[int],
        test: CrashTest,
        broken: str,
        example: Counterexample | None,
        tested: set[Candidate],
    ) -> Rule | None:
        keys = [key for place in sorted(cause) for key in self._space.dimensions[place].keys]
        values = {key: one.values[key] for key in keys if key in one.values}
        if not values or not tested:
            return None
        rule = Rule(values, test, broken, example, len(tested))
        self.rules.append(rule)
        return rule

    def _changed_alone(self, point: Point, test: CrashTest, broken: str) -> set[int]:
        """The dimensions of which some other choice lets the test pass."""
        others = [(place, other) for place in self._bearing(test) for other in self._others(point, place)]
        candidates = [(place, self._valid(self._space.mended(at))) for place, at in others]
        known = [(place, one) for place, one in candidates if one is not None]
        fails = self._fail_alike([one for _, one in known], test, broken)
        return {place for (place, _), failed in zip(known, fails, strict=True) if not failed}

    def _bearing(self, test: CrashTest) -> list[int]:
        """The dimensions that a test sees."""
        return [
            place
            for place, one in enumerate(self._space.dimensions)
            if test.values or any(key.startswith(PART) for key in one.keys)
        ]

    def _others(self, point: Point, place: int) -> list[Point]:
        rows = len(self._space.dimensions[place].rows)
        others = [other for other in range(rows) if other != point[place]]
        return [changed(point, place, other) for other in others[:_CHANGES]]

    def _drawn(self, point: Point, cause: set[int], chance: random.Random) -> list[tuple[Point, Candidate]]:
        """Points that share the cause, otherwise at random, and what they make."""
        found: dict[Candidate, Point] = {}
        for _ in range(DRAWN * _TRIES):
            at = self._space.mended(
                tuple(
                    kept if place in cause else chance.randrange(len(one.rows))
                    for place, (kept, one) in enumerate(zip(point, self._space.dimensions, strict=True))
                )
            )
            one = self._valid(at) if all(at[place] == point[place] for place in cause) else None
            if one is not None:
                found.setdefault(one, at)
            if len(found) == DRAWN:
                break
        return [(at, one) for one, at in found.items()]

    def _passed_with(self, point: Point, cause: set[int]) -> list[tuple[Point, Candidate]]:
        """Those that share the cause among the candidates that have passed tests."""
        return [(at, one) for at, one in self._passed() if all(at[place] == point[place] for place in cause)]

    def _on_the_way(self, start: Point, end: Point, test: CrashTest, broken: str) -> int | None:
        """The dimension with whose change the test passes first, on the way from a point that fails to one that does
        not."""
        at = start
        steps: list[tuple[int, Candidate]] = []
        for place, choice in enumerate(end):
            if at[place] == choice:
                continue
            at = changed(at, place, choice)
            one = self._valid(at)
            if one is not None:
                steps.append((place, one))
        fails = self._fail_alike([one for _, one in steps], test, broken)
        return next((place for (place, _), failed in zip(steps, fails, strict=True) if not failed), None)

    def _fail_alike(self, candidates: Sequence[Candidate], test: CrashTest, broken: str) -> list[bool]:
        """Whether candidates fail a test by breaking the same rule; one that the test does not fit fails as well."""
        return [found is None or found == broken for found in self._judge.fails(test, candidates)]


def _shown(value: Value) -> str:
    return "[" + ", ".join(value) + "]" if isinstance(value, tuple) else str(value).lower()


def unsound(rules: Iterable[Rule], judge: Judge, most: int) -> list[Rule]:
    """The rules that rule out a candidate which passes their test; `most` candidates of each are tested."""
    found = []
    for rule in rules:
        step = max(1, len(rule.covers) // most)
        some = rule.covers[::step][:most]
        if any(broken == "" for broken in judge.fails(rule.test, some)):
            found.append(rule)
        else:
            rule.tested += len(some)
    return found
