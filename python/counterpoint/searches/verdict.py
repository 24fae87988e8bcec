"""What becomes of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .ladder import CrashTest
from .space import Candidate

State: TypeAlias = Literal["holds", "passed over", "refuted", "ruled out", "refused"]
"""What became of a candidate: it passed every test; it passed the first ones, and is beaten, no better than a
proven one, or beyond a limit; it failed one; a learned rule covers it; the engine refuses it."""


@dataclass(frozen=True)
class Counterexample:
    """A power failure that a candidate does not survive, in the smallest run that was found.

    Attributes:
        test: the tier of the test that it failed.
        workload: the program.
        rule: the rule that is broken, as in `results.Violation`.
        explanation: what happens, in words.
        command: the command line that shows it.
        transactions: of the smallest run.
        event: power fails after this one.
    """

    test: str
    workload: str
    rule: str
    explanation: str
    command: str
    transactions: int | None
    event: int


@dataclass(frozen=True)
class Judged:
    """A candidate and what became of it.

    Attributes:
        tiers_passed: how many tiers of tests it has passed.
        crash_points: power failures that it has survived.
        why: why it is refused or passed over; which rule rules it out.
        failed: the test that it failed.
        counterexample: what showed that.
        figures: those that goals name, by name; empty unless it holds or is passed over.
        excess: by how much it is beyond the limits.
    """

    candidate: Candidate
    state: State
    tiers_passed: int = 0
    crash_points: int = 0
    why: str = ""
    failed: CrashTest | None = None
    counterexample: Counterexample | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    excess: float = 0.0

    @property
    def passed(self) -> bool:
        """It failed none of the tests that it had, and has figures."""
        return self.state in ("holds", "passed over")

    @property
    def qualifies(self) -> bool:
        """It holds, and is within all limits."""
        return self.state == "holds" and self.excess == 0.0
