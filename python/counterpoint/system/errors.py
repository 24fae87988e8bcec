"""Exceptions that a caller may have to catch, besides the engine's `InputError` and `EngineError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contract.results import Crash, Distinction, LineRun, Proof, Run
    from ..runs.sweeps import SweepReport
    from ..verbs.annotation_checks import Annotations
    from ..verbs.litmus_suite import LitmusReport


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an engine call; what was finished is kept.

    Attributes:
        runs: the simulations that were finished, in the order of the requests.
        lines: the replays of a trace of memory lines that were finished, in the order of the designs.
        verdict: for a crash run, the verdict over the points tried so far.
        annotations: for a check of annotations, the verdicts over those that were finished.
        litmus: for litmus tests, the report over the rows that were finished.
        proof: for a proof, the verdict over the programs that were judged.
        distinction: for a comparison of two designs, the differences on the programs that were judged.
        sweep: for a sweep, the report so far; what was finished is in its store.
    """

    def __init__(
        self,
        runs: Sequence[Run] = (),
        verdict: Crash | None = None,
        annotations: Annotations | None = None,
        litmus: LitmusReport | None = None,
        sweep: SweepReport | None = None,
        lines: Sequence[LineRun] = (),
        proof: Proof | None = None,
        distinction: Distinction | None = None,
    ) -> None:
        """Keeps what was finished."""
        super().__init__("interrupted")
        self.runs = list(runs)
        self.verdict = verdict
        self.annotations = annotations
        self.litmus = litmus
        self.sweep = sweep
        self.lines = list(lines)
        self.proof = proof
        self.distinction = distinction
