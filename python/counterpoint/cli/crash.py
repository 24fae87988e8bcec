"""`crash`: power lost after events of a run, recovery, and the auditors' verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import api
from ..errors import Interrupted
from ..report import prepare_folder, write_json
from . import options, screen, tables

VIOLATED = 1


def crash(
    design: options.DesignName,
    workload: options.WorkloadName,
    points: options.Points = None,
    at_event: Annotated[
        int | None,
        typer.Option("--at-event", metavar="N", parser=options.whole_number, help="Crash after this event alone."),
    ] = None,
    nested: Annotated[bool, typer.Option("--nested", help="Cut power again after every step of recovery.")] = False,
    machine: options.MachineName = None,
    set_: options.Set = None,
    tx_size: options.TxSize = None,
    transactions: options.Transactions = None,
    warmup: options.Warmup = None,
    cores: options.Cores = None,
    footprint: options.Footprint = None,
    seed: options.Seed = None,
    variant: options.VariantName = None,
    allow_truncated: options.AllowTruncated = False,
    leave_out: options.LeaveOut = None,
    no_shrink: Annotated[
        bool, typer.Option("--no-shrink", help="Do not look for smaller runs that break the same rules.")
    ] = False,
    no_blame: Annotated[bool, typer.Option("--no-blame", help="Do not find out who is to blame.")] = False,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Cut power after every event, recover, and prove or refute that nothing was lost or leaked."""
    if out is not None:
        prepare_folder(out)
    interrupted = False
    try:
        with screen.progress(f"crashing {design} on {workload}") as progress:
            verdict = api.crash(
                design,
                workload,
                points=points,
                at_event=at_event,
                nested=nested,
                machine=machine,
                set=set_,
                tx_size=tx_size,
                transactions=transactions,
                warmup=warmup,
                cores=cores,
                footprint=footprint,
                seed=seed,
                variant=variant,
                allow_truncated=allow_truncated,
                leave_out=leave_out,
                shrink=False if no_shrink else None,
                blame=not no_blame,
                progress=progress,
            )
    except Interrupted as stop:
        if stop.verdict is None:
            raise
        verdict, interrupted = stop.verdict, True
    if as_json:
        screen.print_json(verdict.to_dict())
    else:
        screen.output().print(tables.verdict(verdict))
    if out is not None:
        screen.note(f"verdict: {write_json(verdict.to_dict(), out / 'crash.json')}")
    if interrupted:
        screen.stop_interrupted(f"{verdict.crash_points} crash points were tried")
    if not verdict.holds:
        raise typer.Exit(VIOLATED)
