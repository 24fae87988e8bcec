"""What a caller may have to catch, beside the engine's own `InputError` and `EngineError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .annotations import Annotations
    from .lines import LineRun
    from .litmus import LitmusReport
    from .results import Crash, Run
    from .sweeps import SweepReport


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during an engine call; what was finished is kept.

    Attributes:
        runs: the simulations that were finished, in the order in which they were asked for.
        lines: the same of a trace of memory lines.
        verdict: of a crash run, the verdict over the points tried so far.
        annotations: of a check of annotations, the verdicts over those that were finished.
        litmus: of litmus tests, the report over the rows that were finished.
        sweep: of a sweep, the report so far; what was finished is in its store.
    """

    def __init__(
        self,
        runs: Sequence[Run] = (),
        verdict: Crash | None = None,
        annotations: Annotations | None = None,
        litmus: LitmusReport | None = None,
        sweep: SweepReport | None = None,
        lines: Sequence[LineRun] = (),
    ) -> None:
        """Keeps what was finished."""
        super().__init__("interrupted")
        self.runs = list(runs)
        self.verdict = verdict
        self.annotations = annotations
        self.litmus = litmus
        self.sweep = sweep
        self.lines = list(lines)
