"""The finish: where the best point misses a claim that a single change meets, both are measured as the figures are.

The search simulates fewer transactions than the figures, with one seed, and its score hardly tells a claim that is just
missed from one that just holds. So where a claim is missed at the best point and holds with one decision changed, at
little cost, the change is measured at full length over all seeds, where a claim holds if its interval meets what is
published. It is taken if more claims hold with it. From there the same again, until nothing more holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def finish(pool: Pool, objective: Objective, point: Joint, measure: Measure) -> tuple[Finalist, ...]:
    """What was measured at full length, the best first: that with most claims that hold, and of equals the first point
    and then that with the best score; nothing where no single change promises more."""
    known: dict[Piece, Outcome] = {}
    found: dict[Joint, Finalist] = {}
    best = point
    while tried := [joint for joint in promising(pool, objective, best) if joint not in found]:
        asked = [best, *tried]
        missing = dict.fromkeys(piece for joint in asked for piece in pool.space.pieces(joint) if piece not in known)
        known.update(zip(missing, measure(list(missing)), strict=True))
        found |= {one.joint: one for joint in asked for one in _finalists(pool, joint, known)}
        if best not in found:
            break
        first = max((found[joint] for joint in tried if joint in found), key=_order, default=found[best])
        if first.held <= found[best].held:
            break
        best = first.joint
    return tuple(sorted(found.values(), key=lambda one: (one.joint == best, *_order(one)), reverse=True))


def promising(pool: Pool, objective: Objective, point: Joint) -> list[Joint]:
    """Single changes that cost little and meet a claim that a point misses, of each decision the best, with the seed of
    the search."""
    sensitivity.sensitivity(pool, point)
    missed = {claim.id for claim in pool.claims(point) if not claim.holds}
    least = pool.value(objective, point) - LITTLE
    found = []
    for which, spec in enumerate(pool.space.decisions):
        changed = [pool.space.changed(point, which, place) for place in range(len(spec.range))]
        meeting = [
            joint
            for joint in changed
            if pool.value(objective, joint) >= least
            and any(claim.holds and claim.id in missed for claim in pool.claims(joint))
        ]
        if meeting:
            found.append(max(meeting, key=lambda joint: pool.value(objective, joint)))
    return found


def _finalists(pool: Pool, joint: Joint, known: dict[Piece, Outcome]) -> list[Finalist]:
    """A point as measured; nothing where the engine refuses it at full length."""
    outcomes = [known[piece] for piece in pool.space.pieces(joint)]
    if any(outcome.refused for outcome in outcomes):
        return []
    scores = {claim: score for outcome in outcomes for claim, score in outcome.scores.items()}
    return [Finalist(joint, tuple(claim for one in outcomes for claim in one.claims), mean_of(scores, scores))]


def _order(one: Finalist) -> tuple[int, float]:
    return one.held, one.score
