"""Synthetic decisions, and papers whose scores follow from a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from counterpoint.papers.decisions import DecisionSpec
from counterpoint.papers.evaluate import Outcome
from counterpoint.papers.pool import Ask, Space

Formula = Callable[[str, Mapping[str, int], int], Mapping[str, float] | str]
"""Scores of the claims of a paper by its choices and the first seed, or why the engine refuses them."""


def decision(name: str, choices: int, start: int = 0, shipped: int | None = None) -> DecisionSpec:
    rows = tuple((number,) for number in range(choices))
    return DecisionSpec((f"x.{name}",), rows, f"x.{name}", rows[start], None if shipped is None else rows[shipped], "")


def names(spec: DecisionSpec) -> str:
    return spec.name.removeprefix("x.")


class Papers:
    """Evaluates by a formula; keeps what it was asked."""

    def __init__(self, space: Space, formula: Formula) -> None:
        self.space, self.formula = space, formula
        self.asked: list[Ask] = []
        self.batches: list[int] = []

    def __call__(self, asked: Sequence[Ask]) -> list[Outcome]:
        self.asked += asked
        self.batches.append(len(asked))
        return [self._outcome(ask) for ask in asked]

    def _outcome(self, ask: Ask) -> Outcome:
        chosen = {names(spec): place for spec, place in zip(self.space.decisions_of(ask.paper), ask.point, strict=True)}
        found = self.formula(ask.paper, chosen, ask.seeds[0])
        return Outcome({}, found) if isinstance(found, str) else Outcome(found)
