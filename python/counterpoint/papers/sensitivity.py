"""How each claim depends on each decision: one decision changed at a time, all others as chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..searches.space import Point
from .decisions import DecisionSpec
from .evaluate import Outcome
from .pool import SHORT, Pool, first_ask


@dataclass(frozen=True)
class Varied:
    """A decision with one of its choices, all others as chosen.

    Attributes:
        spec: the decision.
        place: the choice, by its number.
        outcomes: of the papers that have the decision.
    """

    spec: DecisionSpec
    place: int
    outcomes: Mapping[str, Outcome]

    @property
    def refused(self) -> str:
        """Why the engine refuses it; empty if it does not."""
        return next((outcome.refused for outcome in self.outcomes.values() if outcome.refused), "")

    @property
    def scores(self) -> dict[str, float]:
        """The scores of the claims of these papers; empty where the engine refuses it."""
        if self.refused:
            return {}
        return {claim: score for outcome in self.outcomes.values() for claim, score in outcome.scores.items()}


def sensitivity(pool: Pool, chosen: Point) -> tuple[Varied, ...]:
    """Every choice of every decision, in short; what is missing is evaluated."""
    space = pool.space
    return tuple(
        Varied(
            space.decisions[which],
            place,
            {
                piece.paper: pool.outcomes[first_ask(piece, SHORT)]
                for piece in space.pieces(point)
                if space.owners[which] in ("", piece.paper)
            },
        )
        for which, place, point in pool.variations(chosen)
    )
