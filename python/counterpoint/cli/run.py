"""`run`: one simulation and all its figures, or the same one with several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from .._engine import InputError
from ..contract.options import SingleRunOptions
from ..contract.printed import Runs
from ..contract.request import request
from ..system.errors import Interrupted
from ..verbs import api, frames, lines, over_time
from ..verbs.comparison import seeds_of
from . import line_runs, options, screen
from .written import Files

if TYPE_CHECKING:
    from ..contract.results import Run

_OF_ONE_RUN = {
    "timeline": "--timeline",
    "by_line": "--by-line",
    "window": "--window",
    "requests": "--requests",
}
"""What is of one run, by option."""


@options.takes(SingleRunOptions)
def run(
    design: options.DesignName,
    workload: options.WorkloadName,
    top: options.Top = options.TOP,
    trace_clock: options.TraceClock = None,
    requests: options.Requests = None,
    seeds: options.Seeds = None,
    figures: options.Figures = None,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
    **given: Unpack[SingleRunOptions],
) -> None:
    """Simulate one design on one workload or trace; of a trace of memory lines, controller and device alone."""
    several = seeds_of(1 if seeds is None else seeds, given.get("seed"))
    files = Files(csv, parquet, figures)
    if lines.is_line_trace(workload):
        taken = line_runs.asked(given, trace_clock, requests)
        _check_one(len(several), {**taken})
        line_runs.run(design, workload, len(several), figures, as_json, files, taken)
        return
    line_runs.check_unused(trace_clock, requests)
    windows = given.get("window") is not None
    if figures is not None and not windows:
        raise InputError("--figures draws figures over time; give it --window, as in 10us")
    if len(several) > 1:
        _over_seeds(design, workload, several, as_json, files, given)
        return
    with screen.progress(f"{design} on {workload}") as progress:
        result = api.run(design, workload, progress=progress, **given)
    if as_json:
        screen.print_json(result.to_dict())
    else:
        from . import over_time_table, run_table, site_table

        screen.output().print(run_table.one_run(result))
        if result.sites is not None:
            screen.output().print(site_table.site_table([result], top))
        if result.windows is not None:
            screen.output().print(over_time_table.table(result.windows))
    files.write(lambda: over_time.over_time(result) if windows else frames.frame([result]), drawn=lambda: result)


def _check_one(seeds: int, given: Mapping[str, Any]) -> None:
    """Refuses several seeds with what is of one run."""
    for name, flag in _OF_ONE_RUN.items():
        if seeds > 1 and given.get(name):
            raise InputError(f"{flag} is of one run; leave out --seeds")


def _over_seeds(
    design: str, workload: str, seeds: list[dict[str, int]], as_json: bool, files: Files, given: SingleRunOptions
) -> None:
    """The same run with each seed, as means with intervals; as JSON all of them."""
    _check_one(len(seeds), {**given})
    asked = [request(SingleRunOptions, design, workload, {**given, **seed}) for seed in seeds]
    interrupted = False
    try:
        with screen.progress(f"{design} on {workload}") as progress:
            runs: list[Run] = api.simulate(asked, progress=progress)
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    if as_json:
        screen.print_json(Runs(tuple(runs)).to_dict())
    elif runs:
        from . import run_table

        screen.output().print(run_table.over_seeds(runs))
    if runs:
        files.write(lambda: frames.frame(runs))
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")
