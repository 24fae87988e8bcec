"""`recovery`: what the recovery of designs costs, by size of memory and of the metadata caches."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from ..contract.options import RecoveryOptions
from ..contract.printed import Recoveries
from ..verbs import recoveries
from . import options, screen


@options.takes(RecoveryOptions)
def recovery(
    designs: Annotated[
        list[str], typer.Argument(metavar="DESIGN", help="Names, see `counterpoint designs`, or design files.")
    ],
    as_json: options.Json = False,
    **given: Unpack[RecoveryOptions],
) -> None:
    """What recovery costs: lines read and written, MACs, hashes, time, and the bytes on the chip that it relies on."""
    with screen.progress("recovering") as progress:
        found = recoveries.recovery(options.names(designs) or [], progress=progress, **given)
    if as_json:
        screen.print_json(Recoveries(tuple(found)).to_dict())
    else:
        from .recovery_table import recovery_table

        screen.output().print(recovery_table(found))
