"""`sweep`: the runs of a matrix, into a store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.errors import Interrupted
from ..system.units import count_of, machines, printable
from . import options, screen
from .written import Files

if TYPE_CHECKING:
    from rich.table import Table

    from ..runs import sweeps

SOME_FAILED = 1

_SHOWN_MAX = 20
"""Different sentences in the table of failures."""


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The sweep, see docs/sweep.md.")],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE.duckdb", help="Keep results here; default NAME.duckdb."),
    ] = None,
    workers: options.Processes = 0,
    cluster: options.ClusterAddress = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Only continue: the store must exist and hold exactly this sweep.")
    ] = False,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
) -> None:
    """Compute every run of a sweep that its store does not have."""
    from ..runs import sweeps

    files = Files(csv, parquet)
    options.check_workers(workers, cluster)
    with screen.progress("reading the sweep") as reading:
        plan = sweeps.plan(spec, reading)
    with sweeps.open_store(plan, store, resume=resume) as opened:
        found = len(opened.known(plan.requests))
        screen.note(f"{found} of {count_of(len(plan.requests), 'run')} are in the store '{opened.path}'")
        try:
            with screen.sweep_progress("sweeping") as progress:
                report = sweeps.compute(plan, opened, workers=workers, cluster=cluster, progress=progress)
        except Interrupted as stop:
            assert stop.sweep
            kept, runs = stop.sweep.found + stop.sweep.computed, count_of(stop.sweep.runs, "run")
            screen.stop_interrupted(f"{kept} of {runs} are in the store '{opened.path}'; the same command continues")
        files.write(lambda: opened.rows(plan.name))
    if as_json:
        screen.print_json(report.to_dict())
    else:
        screen.output().print(_summary(report))
        if report.failures:
            screen.output().print(_failures(report))
    if report.failures:
        raise typer.Exit(SOME_FAILED)


def _summary(report: sweeps.SweepReport) -> str:
    lines = [
        f"{printable(report.name)}: {count_of(report.points, 'point')}, {count_of(report.runs, 'run')}: "
        f"{report.found} found, {report.computed} computed, {len(report.failures)} failed",
        machines(report.machines),
        f"store: {printable(str(report.store))}",
    ]
    return "\n".join(lines)


def _failures(report: sweeps.SweepReport) -> Table:
    counted = Counter(failure.sentence for failure in report.failures).most_common()
    from rich.table import Table

    table = Table("runs", "what failed", title="Failures", title_justify="left", box=None)
    for sentence, runs in counted[:_SHOWN_MAX]:
        table.add_row(str(runs), printable(sentence))
    if len(counted) > _SHOWN_MAX:
        rest = sum(runs for _, runs in counted[_SHOWN_MAX:])
        table.add_row(str(rest), f"{len(counted) - _SHOWN_MAX} other reasons; all are in the store")
    return table
