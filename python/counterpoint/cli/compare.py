"""`compare`: designs on workloads, normalised to one of them, as a table and a report."""

from __future__ import annotations

import shlex
import sys

from .. import api
from ..errors import Interrupted
from ..frame import check_baseline, frame
from ..report import prepare_folder, write_report
from ..results import Run
from . import options, screen, tables


def compare(
    designs: options.Designs = None,
    workloads: options.Workloads = None,
    baseline: options.Baseline = None,
    machine: options.MachineName = None,
    set_: options.Set = None,
    tx_size: options.TxSizes = None,
    transactions: options.Transactions = None,
    warmup: options.Warmup = None,
    cores: options.CoreCounts = None,
    footprint: options.Footprint = None,
    seed: options.Seed = None,
    variant: options.VariantName = None,
    allow_truncated: options.AllowTruncated = False,
    workers: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Compare designs on workloads; without arguments the SecPM family on the five workloads of its papers at 1 KiB."""
    names = options.names(designs) or list(api.COMPARE_DESIGNS)
    chosen = check_baseline(names, baseline)
    options.check_workers(workers)
    if out is not None:
        prepare_folder(out)
    interrupted = False
    try:
        with screen.progress("simulating") as progress:
            runs = api.run_matrix(
                names,
                options.names(workloads),
                machine=machine,
                set=set_,
                tx_size=options.sizes(tx_size),
                cores=options.core_counts(cores),
                transactions=transactions,
                warmup=warmup,
                footprint=footprint,
                seed=seed,
                variant=variant,
                allow_truncated=allow_truncated,
                workers=workers,
                progress=progress,
            )
    except Interrupted as stop:
        runs, interrupted = stop.runs, True
    show(runs, chosen, as_json)
    if out is not None and runs:
        page = write_report(frame(runs, chosen), out, command=shlex.join(["counterpoint", *sys.argv[1:]]))
        screen.note(f"report: {page}")
    if interrupted:
        screen.stop_interrupted(f"{len(runs)} simulations were finished")


def show(runs: list[Run], baseline: str, as_json: bool) -> None:
    """Runs as tables normalised to `baseline`, or as one JSON document."""
    if as_json:
        screen.print_json({"schema": 1, "runs": [run.to_dict() for run in runs]})
    elif runs:
        screen.output().print(tables.comparison(frame(runs, baseline)))
