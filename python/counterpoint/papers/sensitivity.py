"""How each claim depends on each decision: one decision changed at a time, all others as chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .decisions import DecisionSpec
from .evaluate import Outcome
from .pool import Ask, Joint, Pool, Space


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


def asked(space: Space, chosen: Joint, seed: int) -> dict[tuple[int, int], list[Ask]]:
    """The evaluations for every choice of every decision, by the places of the decision and the choice."""
    found: dict[tuple[int, int], list[Ask]] = {}
    for which, spec in enumerate(space.decisions):
        papers = {paper for paper in space.own if which in space.bearing_on(paper)}
        for place in range(len(spec.range)):
            changed = space.changed(chosen, which, place)
            found[which, place] = [Ask(*piece, seed) for piece in space.pieces(changed) if piece[0] in papers]
    return found


def sensitivity(pool: Pool, chosen: Joint) -> tuple[Varied, ...]:
    """Every choice of every decision, with the seed of the search; what is missing is evaluated."""
    wanted = asked(pool.space, chosen, pool.seeds[0])
    missing = dict.fromkeys(ask for asks in wanted.values() for ask in asks if ask not in pool.outcomes)
    pool.tell(list(missing))
    return tuple(
        Varied(pool.space.decisions[which], place, {ask.paper: pool.outcomes[ask] for ask in asks})
        for (which, place), asks in wanted.items()
    )
