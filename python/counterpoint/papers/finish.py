"""The finish: the best point is measured as the figures are, and so is each point that may hold more.

The search simulates fewer transactions than some figures, with one seed, and its score hardly tells a claim that is
just missed from one that just holds. So the best point is measured at full length over all seeds, where a claim holds
if its interval meets what is published. Where it misses a claim, what the presets have is measured, too, and each
single change of little cost with which that claim holds in the search. One of them is taken if more claims hold with
it. From there the same again, until nothing more holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from . import sensitivity
from .crossvalidate import mean_of
from .evaluate import Outcome
from .model import Claim
from .pool import Joint, Objective, Point, Pool

LITTLE = 0.01
"""How much less than the best point a change may be worth at the scale of the search."""

Piece: TypeAlias = tuple[str, Point, Point]
"""A paper with shared choices and its own."""

Measure: TypeAlias = Callable[[Sequence[Piece]], Sequence[Outcome]]
"""Measures papers as their figures are, over all seeds."""


@dataclass(frozen=True)
class Finalist:
    """A point as measured at full length over all seeds.

    Attributes:
        joint: the point.
        claims: of all papers.
        score: their mean score.
    """

    joint: Joint
    claims: tuple[Claim, ...]
    score: float

    @property
    def held(self) -> int:
        """How many claims hold."""
        return sum(claim.holds for claim in self.claims)


def finish(
    pool: Pool, objective: Objective, point: Joint, measure: Measure, *, known: Joint | None = None
) -> tuple[Finalist, ...]:
    """What was measured at full length, the best first: that with most claims that hold, and of equals the first point
    and then that with the best score; nothing where the engine refuses the point at full length. A `known` good point
    competes if the first one misses a claim."""
    full = _FullLength(pool, measure)
    best = full.of([point]).get(point)
    while best is not None:
        missed = {claim.id for claim in best.claims if not claim.holds}
        if not missed:
            break
        others = [] if known is None else [known]
        tried = full.of([*others, *promising(pool, objective, best.joint, missed)]).values()
        first = max(tried, key=_order, default=best)
        if first.held <= best.held:
            break
        best = first
    chosen = None if best is None else best.joint
    return tuple(sorted(full.found.values(), key=lambda one: (one.joint == chosen, *_order(one)), reverse=True))


def promising(pool: Pool, objective: Objective, point: Joint, missed: Collection[str]) -> list[Joint]:
    """Single changes that cost little and meet one of some claims, of each decision the best, with the seed of the
    search."""
    sensitivity.sensitivity(pool, point)
    least = pool.value(objective, point) - LITTLE
    found = []
    for which, spec in enumerate(pool.space.decisions):
        changed = [pool.space.changed(point, which, place) for place in range(len(spec.range))]
        meeting = [
            joint
            for joint in changed
            if joint != point
            and pool.value(objective, joint) >= least
            and any(claim.holds and claim.id in missed for claim in pool.claims(joint))
        ]
        if meeting:
            found.append(max(meeting, key=lambda joint: pool.value(objective, joint)))
    return found


class _FullLength:
    """Points as measured at full length; each paper with the same choices is measured once."""

    def __init__(self, pool: Pool, measure: Measure) -> None:
        self.found: dict[Joint, Finalist] = {}
        self._space, self._measure = pool.space, measure
        self._known: dict[Piece, Outcome] = {}

    def of(self, joints: Sequence[Joint]) -> dict[Joint, Finalist]:
        """Some points, without those that the engine refuses."""
        pieces = [piece for joint in joints for piece in self._space.pieces(joint)]
        missing = [piece for piece in dict.fromkeys(pieces) if piece not in self._known]
        self._known.update(zip(missing, self._measure(missing) if missing else (), strict=True))
        for joint in joints:
            outcomes = [self._known[piece] for piece in self._space.pieces(joint)]
            if not any(outcome.refused for outcome in outcomes):
                scores = {claim: score for outcome in outcomes for claim, score in outcome.scores.items()}
                claims = tuple(claim for outcome in outcomes for claim in outcome.claims)
                self.found[joint] = Finalist(joint, claims, mean_of(scores, scores))
        return {joint: self.found[joint] for joint in joints if joint in self.found}


def _order(one: Finalist) -> tuple[int, float]:
    return one.held, one.score
