"""`explain`: why one design is better than another."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from ..contract.options import RunOptions
from ..system.errors import Interrupted
from . import options, screen


@options.takes(RunOptions)
def explain(
    first: Annotated[str, typer.Argument(metavar="DESIGN", help="A design or a design file.")],
    second: Annotated[str, typer.Argument(metavar="DESIGN", help="The one to compare it with.")],
    workload: options.Workloads = None,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="Figures to compare, see docs/search.md; repeatable."),
    ] = None,
    seeds: options.Seeds = None,
    store: options.Store = None,
    workers: options.Processes = 0,
    as_json: options.Json = False,
    **given: Unpack[RunOptions],
) -> None:
    """Compare two designs part by part: what each part that differs changes, in figures and in crashes."""
    from ..searches.explain import FIGURES
    from ..searches.explain import explain as explained

    options.check_workers(workers)
    try:
        with screen.progress("explaining") as progress:
            found = explained(
                first,
                second,
                options.names(workload),
                figures=FIGURES if figure is None else options.names(figure) or (),
                seeds=1 if seeds is None else seeds,
                store=store,
                workers=workers,
                progress=progress,
                **given,
            )
    except Interrupted:
        screen.stop_interrupted("nothing is shown" if store is None else f"what was computed is in '{store}'")
    if as_json:
        screen.print_json(found.to_dict())
        return
    from .explain_table import explain_tables

    screen.output().print(explain_tables(found))
