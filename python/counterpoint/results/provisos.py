"""What a verdict on a recorded program rests on beside the trace, in sentences."""

from __future__ import annotations

from collections.abc import Iterable


def provisos(assumed: str | None, lacks: Iterable[str]) -> tuple[str, ...]:
    """What was assumed, and what the trace lacks, each with the word that says which it is."""
    told = [] if assumed is None else [f"Assumed: {assumed}"]
    return (*told, *(f"Not in the trace: {sentence}" for sentence in lacks))
