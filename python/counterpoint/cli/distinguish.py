"""`distinguish`: two designs on the same small programs, and the smallest on which they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Unpack

import typer

from ..contract.options import DistinguishOptions
from ..verbs.proofs import distinguish as compared
from . import options, screen


@options.takes(DistinguishOptions, but=("machine", "workers"))
def distinguish(
    design: options.DesignName,
    other: Annotated[str, typer.Argument(metavar="DESIGN", help="The one to tell it apart from.")],
    own_machine: options.SmallMachine = None,
    at_a_time: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
    **given: Unpack[DistinguishOptions],
) -> None:
    """Run every small program on two designs, and show the smallest on which they differ."""
    options.check_workers(at_a_time)
    options.prepare_out(out)
    given |= {"machine": own_machine, "workers": at_a_time}
    found, interrupted = screen.kept_of(
        f"comparing {design} with {other}",
        lambda progress: compared(design, other, progress=progress, **given),
        lambda stop: stop.distinction,
    )
    if as_json:
        screen.print_json(found.to_dict())
    else:
        from . import distinction_table

        screen.output().print(distinction_table.distinction(found), crop=False)
    if out is not None:
        _write(found.to_dict(), out)
    if interrupted:
        screen.stop_interrupted(f"{found.programs} programs were judged")


def _write(document: dict[str, object], out: Path) -> None:
    from ..report import write_json

    screen.note(f"differences: {write_json(document, out / 'distinction.json')}")
