"""Tables of recoverability by stages of a transaction (secpm, Tables 1 and 2), measured by crashing at every event."""

from __future__ import annotations

from .declared import RecoverabilitySpec
from .model import Table

HEADER = ("stage", "", "log content", "log counter", "data content", "data counter", "recoverable")


def table(spec: RecoverabilitySpec) -> Table:
    """What the paper says of each stage, and what was found."""
    return Table(spec.title, HEADER, tuple((stage, "paper", *cells) for stage, cells in spec.published.items()))
