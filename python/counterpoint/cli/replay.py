"""`replay`: a recorded program, or a trace of memory lines, on designs."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from .._engine import InputError
from ..contract.options import ReplayOptions
from ..system.errors import Interrupted
from ..verbs import api, catalogue, comparison, frames, lines
from ..verbs.interval import check_seeds
from . import line_runs, options, screen
from .compare import show
from .peer_table import peer_text
from .written import Files


@options.takes(ReplayOptions, but=("footprint", "tx_size"))
def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace of any known format, plain or compressed.")],
    designs: options.Designs = None,
    baseline: options.Baseline = None,
    trace_clock: options.TraceClock = None,
    requests: options.Requests = None,
    top: options.Top = options.TOP,
    stats: options.PeerStats = None,
    seeds: options.Seeds = None,
    workers: options.Workers = 0,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
    **given: Unpack[ReplayOptions],
) -> None:
    """Replay a trace on designs; without -d on every design that runs on every machine."""
    names = options.names(designs) or catalogue.everywhere()
    chosen = comparison.baseline_of(names, baseline)
    options.check_workers(workers)
    several = check_seeds(1 if seeds is None else seeds)
    if stats is not None and as_json:
        raise InputError("--stats prints text, and --json the figures under their names here; give one of them")
    files = Files(csv, parquet)
    if lines.is_line_trace(trace):
        taken = line_runs.asked(given, trace_clock, requests)
        line_runs.replay(trace, names, (workers, several), (as_json, stats), files, taken)
        return
    line_runs.check_unused(trace_clock, requests)
    if several > 1:
        raise InputError("--seeds: a recorded program is replayed with one seed; compare takes several")
    interrupted = False
    try:
        with screen.progress("replaying") as progress:
            runs = api.replay(trace, names, workers=workers, progress=progress, **given)
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    if stats is None:
        show(runs, chosen, as_json)
    elif runs:
        screen.print_text(peer_text(runs, stats))
    if given.get("by_line") and runs and not as_json:
        from .site_table import site_table

        screen.output().print(site_table(runs, top))
    if runs:
        files.write(lambda: frames.frame(runs, chosen))
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")
