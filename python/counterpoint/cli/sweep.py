"""`sweep`: the runs of a matrix, into a store."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..system.errors import Interrupted
from ..system.units import count_of, figure, machines, name_of, printable
from . import options, screen
from .written import Files

if TYPE_CHECKING:
    from rich.table import Table

    from ..runs import sweeps

SOME_FAILED = 1

_SHOWN_MAX = 20
"""Different sentences in the table of failures."""

_POINTS_MAX = 40
"""Points in the table over seeds."""


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="The sweep, see docs/sweep.md.")],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE.duckdb", help="Keep results here; default NAME.duckdb."),
    ] = None,
    seeds: options.Seeds = None,
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
        plan = sweeps.plan(spec, reading, seeds=1 if seeds is None else seeds)
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
        if report.over_seeds:
            screen.output().print(_over_seeds(report))
        if report.failures:
            screen.output().print(_failures(report))
    if report.failures:
        raise typer.Exit(SOME_FAILED)


def _summary(report: sweeps.SweepReport) -> str:
    lines = [
        f"{printable(report.name)}: {count_of(report.points, 'point')}, {count_of(report.runs, 'run')}: "
        f"{report.found} found, {report.computed} computed, {len(report.failures)} failed",
        machines(report.machines),
        _seeds(report),
        f"store: {printable(str(report.store))}",
    ]
    return "\n".join(lines)


def _seeds(report: sweeps.SweepReport) -> str:
    if report.over_seeds:
        return "Figures are means over the seeds ± half of the 95 % interval."
    return "Each point has one seed, and no interval; --seeds N runs more."


def _over_seeds(report: sweeps.SweepReport) -> Table:
    """Points over their seeds: the values of the axes, and the main figures with their intervals."""
    from rich.table import Table

    from ..runs.over_seeds import FIGURES, as_estimate

    points = report.over_seeds
    axes = list(points[0].values)
    shown = [name for name in FIGURES if any(name in one.figures for one in points)]
    table = Table(title="Over the seeds", title_justify="left", box=None, pad_edge=False)
    for place, name in enumerate([*axes, *shown]):
        table.add_column(name.replace("_", " "), justify="right" if place >= len(axes) else "left", header_style="dim")
    for one in points[:_POINTS_MAX]:
        cells = [printable(name_of(str(value))) for value in one.values.values()]
        figures = [one.figures.get(name) for name in shown]
        table.add_row(*cells, *("-" if value is None else as_estimate(value).shown(figure) for value in figures))
    if len(points) > _POINTS_MAX:
        table.caption = f"{count_of(len(points) - _POINTS_MAX, 'point')} more; --json has all"
    return table


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
