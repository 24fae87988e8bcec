"""`replay`: a recorded program, or a trace of memory lines, on designs."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import InputError, api, lines
from ..errors import Interrupted
from ..frame import check_baseline
from . import options, screen
from .compare import show
from .line_table import line_table
from .site_table import site_table


def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace of any known format, plain or compressed.")],
    designs: options.Designs = None,
    baseline: options.Baseline = None,
    machine: options.MachineName = None,
    set_: options.Set = None,
    transactions: options.Transactions = None,
    warmup: options.Warmup = None,
    seed: options.Seed = None,
    variant: options.VariantName = None,
    allow_truncated: options.AllowTruncated = False,
    trace_clock: Annotated[
        int | None,
        typer.Option(
            "--trace-clock",
            metavar="MHZ",
            parser=options.whole_number,
            help="Clock of the cycles of a trace of memory lines; default 1000.",
        ),
    ] = None,
    by_line: options.ByLine = False,
    top: options.Top = options.TOP,
    workers: options.Workers = 0,
    as_json: options.Json = False,
) -> None:
    """Replay a trace on designs; without -d on every design."""
    names = options.names(designs) or [design.name for design in api.designs()]
    chosen = check_baseline(names, baseline)
    options.check_workers(workers)
    if lines.is_line_trace(trace):
        if by_line:
            raise InputError("--by-line: a trace of memory lines has no program")
        interrupted = False
        try:
            with screen.progress("replaying") as progress:
                found = lines.replay_lines(
                    trace,
                    names,
                    trace_clock_mhz=trace_clock,
                    machine=machine,
                    set=set_,
                    seed=seed,
                    variant=variant,
                    workers=workers,
                    progress=progress,
                )
        except Interrupted as stop:
            found, interrupted = stop.lines, True
        if as_json:
            screen.print_json({"schema": 1, "kind": "lines", "runs": [run.to_dict() for run in found]})
        elif found:
            screen.output().print(line_table(found))
        if interrupted:
            screen.stop_interrupted(f"{len(found)} replays were finished")
        return
    if trace_clock is not None:
        raise InputError("--trace-clock: only a trace of memory lines has cycles")
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
                by_line=by_line,
                workers=workers,
                progress=progress,
            )
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    show(runs, chosen, as_json)
    if by_line and runs and not as_json:
        screen.output().print(site_table(runs, top))
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")
