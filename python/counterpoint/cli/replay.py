"""`replay`: a recorded program on designs."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import api
from ..errors import Interrupted
from ..frame import check_baseline
from . import options, screen
from .compare import show


def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A pmemcheck store log, plain or zstd.")],
    designs: options.Designs = None,
    baseline: options.Baseline = None,
    machine: options.MachineName = None,
    set_: options.Set = None,
    transactions: options.Transactions = None,
    warmup: options.Warmup = None,
    seed: options.Seed = None,
    variant: options.VariantName = None,
    allow_truncated: options.AllowTruncated = False,
    workers: options.Workers = 0,
    as_json: options.Json = False,
) -> None:
    """Replay a recorded program on designs; without -d on every design."""
    names = options.names(designs) or [design.name for design in api.designs()]
    chosen = check_baseline(names, baseline)
    interrupted = False
    try:
        with screen.progress("replaying") as progress:
            runs = api.replay(
                trace,
                names,
                machine=machine,
                set=set_,
                transactions=transactions,
                warmup=warmup,
                seed=seed,
                variant=variant,
                allow_truncated=allow_truncated,
                workers=workers,
                progress=progress,
            )
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    show(runs, chosen, as_json)
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")
