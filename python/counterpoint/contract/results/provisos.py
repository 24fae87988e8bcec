"""What a verdict on a recorded program rests on beside the trace, in sentences."""

from __future__ import annotations

from collections.abc import Iterable


class RestsOn:
    """A result that rests on more than the trace of a program.

    Attributes:
        assumed: what was assumed of the program that its trace does not say; None if nothing was.
        lacks: what the trace lacks of what the program did, in sentences.
    """

    __slots__ = ()

    assumed: str | None
    lacks: tuple[str, ...]

    @property
    def provisos(self) -> tuple[str, ...]:
        """What it rests on beside the trace: what was assumed, and what the trace lacks."""
        return provisos(self.assumed, self.lacks)


def provisos(assumed: str | None, lacks: Iterable[str]) -> tuple[str, ...]:
    """What was assumed, and what the trace lacks, each with the word that says which it is."""
    told = [] if assumed is None else [f"Assumed: {assumed}"]
    return (*told, *(f"Not in the trace: {sentence}" for sentence in lacks))
