"""`annotations`: the check that a program's annotations suffice, and that it needs each of them."""

# No `from __future__ import annotations`: its name would hide the function's.

import typer

from ..annotations import annotations, annotations_of
from ..errors import Interrupted
from . import options, screen, tables
from .crash import VIOLATED


def check(
    design: options.DesignName,
    workload: options.WorkloadName,
    points: options.Points = None,
    machine: options.MachineName = None,
    set_: options.Set = None,
    tx_size: options.TxSize = None,
    transactions: options.Transactions = None,
    warmup: options.Warmup = None,
    cores: options.Cores = None,
    footprint: options.Footprint = None,
    seed: options.Seed = None,
    variant: options.VariantName = None,
    as_json: options.Json = False,
) -> None:
    """Check that a program's annotations suffice, and what each of them is there for."""
    interrupted = False
    try:
        with screen.progress(f"crashing {design} on {workload} with and without annotations") as progress:
            found = annotations(
                design,
                workload,
                points=points,
                machine=machine,
                set=set_,
                tx_size=tx_size,
                transactions=transactions,
                warmup=warmup,
                cores=cores,
                footprint=footprint,
                seed=seed,
                variant=variant,
                progress=progress,
            )
    except Interrupted as stop:
        if stop.annotations is None:
            raise
        found, interrupted = stop.annotations, True
    if as_json:
        screen.print_json(found.to_dict())
    else:
        screen.output().print(tables.annotation_check(found), crop=False)
    if interrupted:
        screen.stop_interrupted(f"{len(found.annotations)} of {len(annotations_of(design))} annotations were left out")
    if not found.holds:
        raise typer.Exit(VIOLATED)
