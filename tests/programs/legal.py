"""Explores the legal states of a program of this folder with `counterpoint crash --explore legal`.

prove.py, which has recorded the program, knows from rules of its own which of its forms fails in a legal state. Of the
broken form a memory must fail, and a cause must name the line that its source marks; of the fixed form none may fail,
even if `recover` runs twice.
"""

from __future__ import annotations

from pathlib import Path

import corpus
from raw import require

import counterpoint
from counterpoint.contract.results import Cause, Crash

DESIGNS = ("unencrypted", "secpm")
"""Plaintext memory, and a design whose lines cannot be separated from their counters."""


def explored(binary: Path, trace: Path) -> Crash:
    """What is found in the legal states of a program's trace, which is the same on each design."""
    once = f"{binary} recover {{pool}}"
    # A broken form may be wrong without any power failure.
    broken = trace.stem == "broken"
    recover = once if broken else f"{once} && {once}"
    found = [
        counterpoint.crash(design, trace, explore="legal", recover=recover, recover_timeout=20, no_preflight=broken)
        for design in DESIGNS
    ]
    first = findings(found[0])
    for design, verdict in zip(DESIGNS[1:], found[1:], strict=True):
        require(findings(verdict) == first, f"{design} has {findings(verdict)}, and {DESIGNS[0]} {first}")
    return found[0]


def findings(verdict: Crash) -> dict[str, object]:
    """What a verdict says of the program, whatever the design."""
    return {
        "points": verdict.crash_points,
        "memories": verdict.distinct_states,
        "failed": verdict.violation_count,
        "causes": [(cause.kind, cause.count, sorted(places(cause))) for cause in verdict.causes or ()],
    }


def places(cause: Cause) -> set[str]:
    """The places of the stores that a cause names."""
    lost = [place for line in cause.lost for place in (line.stored, line.needed_before)]
    named = (*lost, cause.begins_at, cause.ends_at, *(line.stored for line in cause.kept))
    return {Path(place.place).name for place in named if place is not None}


def told(verdict: Crash) -> str:
    """The counts of a verdict."""
    return f"{verdict.violation_count} of {verdict.distinct_states} memories at {verdict.crash_points} points"


def agrees(program: corpus.Program, out: Path) -> str:
    """Explores both forms, whose binaries and traces are in a folder."""
    broken, fixed = (explored(out / f"{program.name}-{form}", out / f"{form}.trace") for form in ("broken", "fixed"))
    require(not broken.holds, "no legal memory of the broken form fails")
    causes = broken.causes or ()
    marked = f"{program.path.name}:{program.line}"
    named = [number for number, cause in enumerate(causes, 1) if marked in places(cause)]
    found = sorted({place for cause in causes for place in places(cause)})
    require(named != [], f"line {program.line} is marked, and the causes name {found}")
    sentences = [f"{cause.kind}: {cause.sentence}" for cause in causes]
    require(len(causes) == 1, f"one bug has {len(causes)} causes: {sentences}")
    require(fixed.holds is True, f"{told(fixed)} of the fixed form fail: {fixed.violations[:1]}")
    cause = causes[named[0] - 1]
    return f"the engine's: {told(broken)} fail, cause {named[0]} of {len(causes)}, {cause.kind}; {told(fixed)}"
