"""`reproduce`: the papers' figures and tables, simulated, and their claims compared with the measured values."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..papers.defaults import ALL
from ..system.errors import Interrupted
from . import options, screen
from .written import note_figures

if TYPE_CHECKING:
    from ..papers.model import Reproduction

CLAIM_MISSED = 1


def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="[PAPER|integrity|optane|all]",
            help="A paper's machine; `integrity`, predictions; `optane`, measurements of modules; default all papers.",
        ),
    ] = ALL,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small footprints and few transactions: to test that it works.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            metavar="N",
            parser=options.whole_number,
            help="Measure with N seeds, 1 to 31, as means with intervals; default 5, with --quick 1.",
        ),
    ] = None,
    depends: Annotated[
        bool,
        typer.Option(
            "--depends", help="Show what the paper leaves open that moves each prediction most, in short runs."
        ),
    ] = False,
    store: options.Store = None,
    workers: options.Workers = 0,
    cluster: options.ClusterAddress = None,
    out: options.Out = None,
    figures: options.Figures = None,
    as_json: options.Json = False,
) -> None:
    """Reproduce the figures, tables and claims of the papers: a scorecard here, charts as report.html in DIR."""
    from ..papers.reproduce import names_of
    from ..papers.reproduce import reproduce as measure
    from ..report import write_figures, write_reproduction
    from ..system.files import prepare_folder

    names_of(paper)
    options.check_workers(workers, cluster)
    for folder in filter(None, (out, figures)):
        prepare_folder(folder)
    command = shlex.join(["counterpoint", *sys.argv[1:]])
    try:
        with screen.sweep_progress("simulating") as progress:
            found = measure(
                paper,
                quick=quick,
                seeds=seeds,
                depends=depends,
                store=store,
                workers=workers,
                cluster=cluster,
                progress=progress,
                command=command,
            )
    except Interrupted as stop:
        if store is None:
            screen.stop_interrupted("0 simulations are kept; --store keeps them")
        # There is no report when the figures are measured, and what their predictions depend on is not.
        count = f"{stop.sweep.found + stop.sweep.computed} " if stop.sweep else ""
        screen.stop_interrupted(f"{count}simulations are kept in '{store}'")
    show(found, as_json)
    if out is not None:
        screen.note(f"report: {write_reproduction(found, out)}")
    if figures is not None:
        note_figures(write_figures(found, figures), figures)
    if found.held < len(found.claims):
        raise typer.Exit(CLAIM_MISSED)


def show(found: Reproduction, as_json: bool) -> None:
    """Prints the scorecard, or everything as one JSON document."""
    if as_json:
        screen.print_json(found.to_dict())
    else:
        from . import claim_table

        screen.output().print(claim_table.scorecard(found))
