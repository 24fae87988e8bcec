"""`search`: from goals to the designs that reach them best and survive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..system.errors import Interrupted
from . import options, screen

NOTHING_FOUND = 1


def search(
    goals: Annotated[Path, typer.Argument(metavar="GOALS.toml", help="The goals, see docs/search.md.")],
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FILE.duckdb", help="Keep everything computed here; default NAME.duckdb."),
    ] = None,
    seeds: options.Seeds = None,
    workers: options.Processes = 0,
    cluster: options.ClusterAddress = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Look for the designs that reach goals best and survive every crash that is tried; the front as files in DIR."""
    from ..searches import goals as goals_file
    from ..searches.search import search as searched
    from ..system.files import prepare_folder

    options.check_workers(workers, cluster)
    folder = None if out is None else prepare_folder(out)
    asked = goals_file.load(goals)
    path = Path(f"{asked.name}.duckdb") if store is None else store
    try:
        with screen.progress("searching") as progress:
            report = searched(
                asked, path, seeds=1 if seeds is None else seeds, workers=workers, cluster=cluster, progress=progress
            )
    except Interrupted:
        screen.stop_interrupted(f"what was computed is in the store '{path}'; the same command continues")
    if folder is not None:
        from ..report import write_search_page
        from ..searches.files import write_designs

        screen.note(f"page: {write_search_page(report, folder)}")
        written = write_designs(report, folder / "designs")
        if written:
            screen.note(f"designs: {folder / 'designs'}")
    if as_json:
        screen.print_json(report.to_dict())
    else:
        from .search_table import search_tables

        screen.output().print(search_tables(report))
    if not report.front:
        raise typer.Exit(NOTHING_FOUND)
