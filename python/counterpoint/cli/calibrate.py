"""`calibrate`: the search over what papers leave open, and how their claims depend on each decision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..papers.defaults import ALL, BUDGET
from ..system.errors import Interrupted
from . import options, screen

if TYPE_CHECKING:
    from ..papers.calibrate import Calibration


def calibrate(
    paper: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER|all", help="Papers, by the names of their machines; default all."),
    ] = None,
    budget: Annotated[
        int,
        typer.Option(
            "--budget",
            metavar="N",
            parser=options.whole_number,
            help="Evaluations of each paper, 10 to 100000.",
        ),
    ] = BUDGET,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", parser=options.whole_number, help="Seed of the search.")
    ] = 1,
    store: options.Store = None,
    workers: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Search what papers leave open for the values that predict their claims best; a page for each simulator in DIR."""
    from ..papers import calibrate as papers
    from ..system.files import prepare_folder

    asked = paper or [ALL]
    papers.cited_by(asked)
    options.check_workers(workers)
    folder = None if out is None else prepare_folder(out)
    try:
        with screen.progress("searching") as progress:
            found = papers.calibrate(asked, budget=budget, seed=seed, store=store, workers=workers, progress=progress)
    except Interrupted:
        kept = f"simulations are kept in '{store}', and the same command goes on" if store else "--store keeps them"
        screen.stop_interrupted(kept)
    show(found, folder, as_json)


def show(found: tuple[Calibration, ...], folder: Path | None, as_json: bool) -> None:
    """Writes the pages, and prints the document; prints the pages if neither is asked for."""
    # The charting libraries take longer to load than most commands to run.
    from ..report.calibration_page import page, write_pages

    if folder is not None:
        for path in write_pages(found, folder):
            screen.note(f"page: {path}")
    if as_json:
        screen.print_json({"schema": 2, "calibrations": [calibration.to_dict() for calibration in found]})
    elif folder is None:
        for calibration in found:
            screen.print_text(page(calibration))
