"""`prove`: every small program, power lost after each event, and whether all of them hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import typer

from ..contract.options import ProveOptions
from ..verbs.proofs import prove as judge
from . import options, screen
from .crash import VIOLATED

if TYPE_CHECKING:
    from ..contract.results import Proof


@options.takes(ProveOptions, but=("machine", "workers"))
def prove(
    design: options.DesignName,
    own_machine: options.SmallMachine = None,
    at_a_time: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
    **given: Unpack[ProveOptions],
) -> None:
    """Try every small program, and prove or refute that no power failure in any of them loses or leaks anything."""
    options.check_workers(at_a_time)
    options.prepare_out(out)
    given |= {"machine": own_machine, "workers": at_a_time}
    proof, interrupted = screen.kept_of(
        f"proving {design}", lambda progress: judge(design, progress=progress, **given), lambda stop: stop.proof
    )
    if as_json:
        screen.print_json(proof.to_dict())
    else:
        from . import proof_table

        screen.output().print(proof_table.proof(proof), crop=False)
    if out is not None:
        _write(proof, out, draw=not interrupted)
    if interrupted:
        screen.stop_interrupted(f"{proof.programs} programs were judged")
    if proof.holds is False:
        raise typer.Exit(VIOLATED)


def _write(proof: Proof, out: Path, *, draw: bool) -> None:
    """Writes the verdict, and the crash of the smallest program that fails as a page."""
    from ..report import drawable, write_crash_page, write_json

    screen.note(f"verdict: {write_json(proof.to_dict(), out / 'proof.json')}")
    if not (proof.counterexamples and draw):
        return
    from ..verbs.proofs import counterexample

    with screen.progress(f"drawing {proof.counterexamples[0].program}") as progress:
        crash = counterexample(proof, progress=progress)
        if drawable(crash):
            screen.note(f"page: {write_crash_page(crash, out)}")
