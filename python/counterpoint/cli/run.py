"""`run`: one simulation, all its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import api
from . import options, screen, tables
from .site_table import site_table


def run(
    design: options.DesignName,
    workload: options.WorkloadName,
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
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="FILE", help="Write every stage's events for Perfetto."),
    ] = None,
    by_line: options.ByLine = False,
    top: options.Top = options.TOP,
    as_json: options.Json = False,
) -> None:
    """Simulate one design on one workload or trace."""
    with screen.progress(f"{design} on {workload}") as progress:
        result = api.run(
            design,
            workload,
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
            timeline=timeline,
            by_line=by_line,
            progress=progress,
        )
    if as_json:
        screen.print_json(result.to_dict())
    else:
        screen.output().print(tables.one_run(result))
        if result.sites is not None:
            screen.output().print(site_table([result], top))
