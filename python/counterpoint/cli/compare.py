"""`compare`: designs on workloads, normalised to one of them, as a table and a report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack

from .._engine import InputError
from ..contract.options import CommonOptions, RecoveryOptions
from ..contract.printed import Guarantee, Runs
from ..contract.request import assignments, part
from ..system.errors import Interrupted
from ..verbs import api, comparison, frames, guarantees, lines, recoveries
from ..verbs.interval import check_seeds
from . import line_runs, options, screen
from .written import Files

if TYPE_CHECKING:
    from ..contract.results import RecoveryCost, Run


@options.takes(CommonOptions)
def compare(
    designs: options.Designs = None,
    workloads: options.Workloads = None,
    baseline: options.Baseline = None,
    tx_size: options.TxSizes = None,
    cores: options.CoreCounts = None,
    trace_clock: options.TraceClock = None,
    seeds: options.Seeds = None,
    workers: options.Workers = 0,
    out: options.Out = None,
    figures: options.Figures = None,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
    **given: Unpack[CommonOptions],
) -> None:
    """Compare designs on workloads; without arguments the SecPM family on the five workloads of its papers at 1 KiB."""
    names = options.names(designs) or list(comparison.COMPARE_DESIGNS)
    chosen = comparison.baseline_of(names, baseline)
    options.check_workers(workers)
    several = check_seeds(1 if seeds is None else seeds)
    options.prepare_out(out)
    files = Files(csv, parquet, figures)
    command = shlex.join(["counterpoint", *sys.argv[1:]])
    works = options.names(workloads)
    if traces := _line_traces(works or ()):
        taken = line_runs.asked({**given, "tx_size": tx_size, "cores": cores}, trace_clock, None)
        line_runs.compare(traces, names, chosen, workers, several, as_json, files, (out, command), taken)
        return
    line_runs.check_unused(trace_clock, None)
    interrupted = False
    shows_all = as_json or out is not None or files.asked
    try:
        with screen.progress("simulating") as progress:
            matrix = partial(
                comparison.run_matrix,
                names,
                works,
                tx_size=options.sizes(tx_size),
                cores=options.core_counts(cores),
                seeds=several,
                workers=workers,
                progress=progress,
            )
            runs = _simulated(matrix, given, shows_all)
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    costs = _recoveries(names, runs, part(RecoveryOptions, given))
    variant, stated = given.get("variant") or "hardened", given.get("set") or ()
    known = [] if interrupted else guarantees.guarantees(names, variant, set=stated)
    show(runs, chosen, as_json, costs, known)
    if out is not None and runs:
        from ..report import write_report

        page = write_report(
            frames.frame(runs, chosen),
            out,
            command=command,
            recoveries=costs,
            guarantees=known,
        )
        screen.note(f"report: {page}")
    if runs:
        files.write(lambda: frames.frame(runs, chosen))
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")


def _simulated(matrix: Callable[..., list[Run]], given: CommonOptions, shows_all: bool) -> list[Run]:
    """The runs; without contents of lines if only tables on the screen show them: no figure there depends on them.

    Args:
        matrix: `run_matrix` with everything but its common options.
        given: those options.
        shows_all: whether all figures are shown.
    """
    if not shows_all:
        try:
            # What is stated comes later, and wins.
            return matrix(**{**given, "set": [*assignments("set", api.TIMING_ONLY), *(given.get("set") or ())]})
        except InputError:
            # Something needs contents, or is wrong also with them.
            pass
    return matrix(**given)


def _line_traces(works: Sequence[str]) -> list[str]:
    """The workloads, if they are traces of memory lines.

    Raises:
        InputError: some are, and some are not.
    """
    found = [work for work in works if lines.is_line_trace(work)]
    if found and len(found) < len(works):
        raise InputError(f"{found[0]}: programs and traces of memory lines cannot be compared with each other")
    return found


def _recoveries(names: list[str], runs: list[Run], given: RecoveryOptions) -> list[RecoveryCost]:
    """What recovery costs, if one of the designs protects integrity."""
    protecting = {run.design for run in runs if run.stats.integrity is not None}
    cores = max((run.cores for run in runs), default=1)
    given["cores"] = cores
    return recoveries.compared(names, protecting, **given)


def show(
    runs: list[Run],
    baseline: str,
    as_json: bool,
    costs: list[RecoveryCost] | None = None,
    known: list[Guarantee] | None = None,
) -> None:
    """Runs as tables normalised to `baseline`, or as one JSON document; with costs of recovery and guarantees, if there
    are any."""
    if as_json:
        of_recovery = None if costs is None else tuple(costs)
        screen.print_json(Runs(tuple(runs), of_recovery, None if known is None else tuple(known)).to_dict())
    elif runs:
        from . import recovery_table
        from .comparison_table import comparison

        screen.output().print(
            comparison(frames.compared(runs, baseline), known or ()), *recovery_table.summary(costs or [])
        )
