"""`replay`: a recorded program, or a trace of memory lines, on designs."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from .._engine import InputError
from ..contract.options import LineOptions, MachineOptions, ReplayOptions
from ..contract.printed import LineRuns
from ..contract.request import part
from ..system.errors import Interrupted
from ..verbs import api, catalogue, comparison, frames, lines
from . import options, screen
from .compare import show
from .written import Files


@options.takes(ReplayOptions, but=("footprint", "tx_size", "cores"))
def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="A trace of any known format, plain or compressed.")],
    designs: options.Designs = None,
    baseline: options.Baseline = None,
    trace_clock: options.TraceClock = None,
    requests: options.Requests = None,
    top: options.Top = options.TOP,
    workers: options.Workers = 0,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
    **given: Unpack[ReplayOptions],
) -> None:
    """Replay a trace on designs; without -d on every design."""
    names = options.names(designs) or [design.name for design in catalogue.designs()]
    chosen = comparison.baseline_of(names, baseline)
    options.check_workers(workers)
    files = Files(csv, parquet)
    if lines.is_line_trace(trace):
        taken = part(MachineOptions, given)
        of_programs = [
            name for name, value in given.items() if name not in taken and value is not None and value is not False
        ]
        if of_programs:
            flag = of_programs[0].replace("_", "-")
            raise InputError(f"--{flag}: a trace of memory lines has no program")
        asked = part(LineOptions, {**taken, "trace_clock_mhz": trace_clock, "requests": requests})
        _replay_lines(trace, names, workers, as_json, files, asked)
        return
    if trace_clock is not None:
        raise InputError("--trace-clock: only a trace of memory lines has cycles")
    if requests is not None:
        raise InputError("--requests: only a trace of memory lines has requests of its own")
    interrupted = False
    try:
        with screen.progress("replaying") as progress:
            runs = api.replay(trace, names, workers=workers, progress=progress, **given)
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    show(runs, chosen, as_json)
    if given.get("by_line") and runs and not as_json:
        from .site_table import site_table

        screen.output().print(site_table(runs, top))
    if runs:
        files.write(lambda: frames.frame(runs, chosen))
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")


def _replay_lines(
    trace: str,
    names: list[str],
    workers: int,
    as_json: bool,
    files: Files,
    given: LineOptions,
) -> None:
    interrupted = False
    try:
        with screen.progress("replaying") as progress:
            found = lines.replay_lines(trace, names, workers=workers, progress=progress, **given)
    except Interrupted as stop:
        found, interrupted = stop.lines, True
    if as_json:
        screen.print_json(LineRuns("lines", tuple(found)).to_dict())
    elif found:
        from .line_table import line_table

        screen.output().print(line_table(found))
    if found:
        files.write(lambda: frames.line_frame(found))
        if requests := given.get("requests"):
            screen.note(f"requests: {requests}")
    if interrupted:
        screen.stop_interrupted(f"{len(found)} replays were finished")
