"""Tables of recoverability by stages of a transaction (secpm, Tables 1 and 2), measured by crashing at every event.

The words are the paper's. Contents or counters are *wrong* where the stage is writing them, so that a crash finds some
of them old; *unknown* where a crash finds some lost that a fence had covered; *correct* elsewhere. A stage is
recoverable if the program's recovery restores the state before or after the transaction from every crash in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..contract.results import Part, StageTally
from ..verbs import api
from .declared import RecoverabilitySpec
from .model import Table

HEADER = (
    "stage",
    "",
    "log content",
    "log counter",
    "data content",
    "data counter",
    "recoverable",
    "crashes",
    "unrecoverable",
)


def table(spec: RecoverabilitySpec) -> Table:
    """The paper's row and the measured row of each stage."""
    tallies = [tally for workload in spec.workloads for tally in _crash(spec, workload)]
    rows: list[tuple[str, ...]] = []
    for stage, cells in spec.published.items():
        found = [tally for tally in tallies if tally.stage == stage.lower()]
        rows += [(stage, "paper", *cells, "", ""), (stage, "measured", *_cells(found))]
    return Table(spec.title, HEADER, tuple(rows))


def _crash(spec: RecoverabilitySpec, workload: str) -> Sequence[StageTally]:
    return api.crash(
        spec.design,
        workload,
        machine=spec.machine,
        variant="published",
        transactions=spec.transactions,
        set=dict(spec.set),
        stages=True,
        shrink=False,
        blame=False,
    ).stages


def _cells(found: Sequence[StageTally]) -> list[str]:
    """A row: contents and counters of log and data, and whether recovery restores the program's state."""
    log = _sum([tally.log for tally in found])
    data = _sum([tally.data for tally in found])
    words = [word.capitalize() for part in (log, data) for word in (part.content, part.counter or "-")]
    unrecoverable = sum(tally.unrecoverable for tally in found)
    counted = sum(tally.crash_points for tally in found)
    return [*words, "No" if unrecoverable else "Yes", f"{counted:,}", f"{unrecoverable:,}"]


def _sum(parts: Sequence[Part | None]) -> Part:
    """The sums over all programs."""
    known = [part for part in parts if part is not None]
    return Part(
        lines=sum(part.lines for part in known),
        pending=sum(part.pending for part in known),
        content_lost=sum(part.content_lost for part in known),
        counter_lost=sum(part.counter_lost or 0 for part in known),
    )
