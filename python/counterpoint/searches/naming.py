"""Names of candidates that say what they are: the known design that each is nearest to, and what differs from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..contract.request import literal
from ..system import units
from .space import Candidate, Value

_ID = re.compile(r"\b(c[0-9a-f]{9})\b(,?)")

_BRIEF = 3
"""A brief name states at most so many values."""


class Names:
    """The names of some candidates. Two of them have the same name only if they are the same machine."""

    def __init__(self, known: Mapping[str, Mapping[str, Value]], candidates: Iterable[Candidate]) -> None:
        """Names candidates by known designs, of which the first of those that are equally near is taken.

        Args:
            known: the parts of designs, by their names.
            candidates: those that are named.
        """
        self._known = known
        some = list(candidates)
        keys = {key for one in some for key in one.machine}
        last = [key.rpartition(".")[2] for key in keys]
        self._short = {
            key: short if last.count(short) == 1 else key for key in keys for short in [key.rpartition(".")[2]]
        }
        self._by_id = {one.name: one for one in some}

    def of(self, candidate: Candidate) -> str:
        """The name of a candidate."""
        design, said = self._told(candidate)
        return f"{design} with {', '.join(said)}" if said else design

    def brief(self, candidate: Candidate) -> str:
        """The name of a candidate, where one of many parts would be longer than the sentence around it."""
        design, said = self._told(candidate)
        others = len(said) - len(candidate.machine)
        if len(said) <= _BRIEF:
            return self.of(candidate)
        return f"{design} with {units.count_of(others, 'other part')}" if others else f"{design} on another machine"

    def _told(self, candidate: Candidate) -> tuple[str, list[str]]:
        """The nearest known design, and what a candidate has instead: parts first, then values of the machine."""
        design, parts = min(self._known.items(), key=lambda each: len(_differing(candidate.parts, each[1])))
        said = [
            f"{key} {_value(candidate.parts[key])}" if key in candidate.parts else f"no {key}"
            for key in _differing(candidate.parts, parts)
        ]
        return design, said + [
            f"{self._short.get(key, key)} {_value(value)}" for key, value in candidate.machine.items()
        ]

    def in_words(self, text: str) -> str:
        """A text with names in the place of the digests of candidates."""

        def name(found: re.Match[str]) -> str:
            one = self._by_id.get(found[1])
            # Names have commas in them.
            return found[0] if one is None else self.of(one) + found[2].replace(",", ";")

        return _ID.sub(name, text)


def _differing(parts: Mapping[str, Value], known: Mapping[str, Value]) -> list[str]:
    """The parts in which two designs differ."""
    return [key for key in dict.fromkeys([*parts, *known]) if parts.get(key) != known.get(key)]


def _value(value: Value) -> str:
    return "+".join(value) or "none" if isinstance(value, tuple) else literal(value)
