"""`calibrate`: the search over what a paper leaves open, and how its claims depend on each decision."""

from __future__ import annotations

from typing import Annotated

import typer

from ..files import prepare_folder, write_text
from ..papers.calibrate import calibrate as search
from ..papers.reproduce import ALL, names_of
from ..report.calibration_page import page
from . import options, screen


def calibrate(
    paper: Annotated[
        str, typer.Argument(metavar="[PAPER|all]", help="A paper, by the name of its machine; default all.")
    ] = ALL,
    workers: options.Workers = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Search the values that a paper leaves open for those that meet its claims best; PAPER.md in DIR."""
    names = names_of(paper)
    options.check_workers(workers)
    folder = None if out is None else prepare_folder(out)
    found = []
    for name in names:
        with screen.progress(name) as progress:
            found.append(search(name, workers=workers, progress=progress))
        if folder is not None:
            screen.note(f"page: {write_text(folder / f'{name}.md', page(found[-1]))}")
    if as_json:
        screen.print_json({"schema": 1, "calibrations": [calibration.to_dict() for calibration in found]})
    elif folder is None:
        for calibration in found:
            screen.print_text(page(calibration))
