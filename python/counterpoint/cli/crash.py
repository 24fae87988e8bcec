"""`crash`: power lost after events of a run, recovery, and the auditors' verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import api
from ..errors import Interrupted
from ..report import drawable, prepare_folder, write_crash_page, write_json
from ..request import RunOptions
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
    nested_depth: Annotated[
        int | None,
        typer.Option(
            "--nested-depth", metavar="N", parser=options.whole_number, help="Do so N times in a row, 1 to 4."
        ),
    ] = None,
    fault: Annotated[
        str | None, typer.Option("--fault", metavar="FAULT", help="Switch a mechanism of the design off.")
    ] = None,
    explore: Annotated[
        str | None,
        typer.Option(
            "--explore",
            metavar="schedule|schedules|legal",
            help="The simulated schedule, others beside it, or every legal state.",
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option("--states", metavar="N", parser=options.whole_number, help="Legal states to judge at a fence."),
    ] = None,
    schedules: Annotated[
        int | None,
        typer.Option("--schedules", metavar="N", parser=options.whole_number, help="Schedules to explore."),
    ] = None,
    schedule: Annotated[
        int | None,
        typer.Option("--schedule", metavar="N", parser=options.whole_number, help="Explore this schedule."),
    ] = None,
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
    stages: Annotated[
        bool, typer.Option("--stages", help="Tally crashes by the stage of the transaction in flight.")
    ] = False,
    no_shrink: Annotated[
        bool, typer.Option("--no-shrink", help="Do not look for smaller runs that break the same rules.")
    ] = False,
    no_blame: Annotated[bool, typer.Option("--no-blame", help="Do not find out who is to blame.")] = False,
    recover: Annotated[
        str | None,
        typer.Option(
            "--recover",
            metavar="COMMAND",
            help="Run this on {pool}, the memory that a boot of a recorded program finds.",
        ),
    ] = None,
    recover_timeout: Annotated[
        int | None,
        typer.Option(
            "--recover-timeout",
            metavar="SECONDS",
            parser=options.whole_number,
            help="Time for a run of it; default 60.",
        ),
    ] = None,
    recover_jobs: Annotated[
        int | None,
        typer.Option(
            "--recover-jobs",
            metavar="N",
            parser=options.whole_number,
            help="Such commands at a time; default one for each processor.",
        ),
    ] = None,
    recover_folder: Annotated[
        Path | None,
        typer.Option("--recover-dir", metavar="DIR", help="Where the temporary folder for {pool} is made."),
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Cut power after every event, recover, and prove or refute that nothing was lost or leaked."""
    options.say_fewer("--recover-jobs", recover_jobs)
    if out is not None:
        prepare_folder(out)
    options_of_run: RunOptions = {
        "machine": machine,
        "set": set_,
        "tx_size": tx_size,
        "transactions": transactions,
        "warmup": warmup,
        "cores": cores,
        "footprint": footprint,
        "seed": seed,
        "variant": variant,
        "allow_truncated": allow_truncated,
    }
    interrupted = False
    try:
        with screen.progress(f"crashing {design} on {workload}") as progress:
            verdict = api.crash(
                design,
                workload,
                points=points,
                at_event=at_event,
                nested=nested,
                nested_depth=nested_depth,
                fault=fault,
                explore=explore,
                states=states,
                schedules=schedules,
                schedule=schedule,
                leave_out=leave_out,
                stages=stages,
                shrink=False if no_shrink else None,
                blame=not no_blame,
                recover=recover,
                recover_timeout=recover_timeout,
                recover_jobs=recover_jobs,
                recover_folder=recover_folder,
                recover_keep=out if recover is not None else None,
                progress=progress,
                **options_of_run,
            )
    except Interrupted as stop:
        if stop.verdict is None:
            raise
        verdict, interrupted = stop.verdict, True
    if as_json:
        screen.print_json(verdict.to_dict())
    else:
        screen.output().print(tables.verdict(verdict), crop=False)
    if out is not None:
        screen.note(f"verdict: {write_json(verdict.to_dict(), out / 'crash.json')}")
    if out is not None and not drawable(verdict):
        screen.note("no picture: what was found is legal, and of no schedule that could be drawn")
    elif out is not None and not interrupted:
        with screen.progress(f"drawing {design} on {workload}") as progress:
            page = write_crash_page(
                verdict,
                out,
                workload=workload,
                at_event=at_event if verdict.crash_points else None,
                schedule=schedule,
                leave_out=leave_out,
                progress=progress,
                **options_of_run,
            )
        screen.note(f"page: {page}")
        screen.note(f"trace for Perfetto: {page.with_name('crash.trace.json')}")
    if interrupted:
        screen.stop_interrupted(f"{verdict.crash_points} crash points were tried")
    if not verdict.holds:
        raise typer.Exit(VIOLATED)
