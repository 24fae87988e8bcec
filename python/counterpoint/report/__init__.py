"""Results as files: self-contained pages, a picture, JSON documents. Each appears whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._engine import InputError
from ..contract.printed import Guarantee
from ..contract.results import Crash, LineRun, RecoveryCost, Run
from ..system.files import prepare_folder, write_json, write_text

if TYPE_CHECKING:
    import polars as pl

    from ..papers.model import Reproduction
    from ..runs.store import Store
    from ..runs.sweeps import SweepReport
    from ..searches.outcome import SearchReport
    from ..verbs.api import Progress

__all__ = [
    "drawable",
    "prepare_folder",
    "write_crash_page",
    "write_figures",
    "write_json",
    "write_line_page",
    "write_report",
    "write_reproduction",
    "write_search_page",
    "write_sweep_page",
]


def write_report(
    frame: pl.DataFrame,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    recoveries: Sequence[RecoveryCost] = (),
    guarantees: Sequence[Guarantee] = (),
) -> Path:
    """Writes `report.html`, and its first charts as `compare.svg`, into a folder; returns the path of the page.

    Args:
        frame: the result of `compare` or `frame`, with at least one row.
        folder: created if it is missing.
        command: the command line that reproduces it, shown in the page.
        recoveries: what the recovery of the designs costs, of one memory each; shown if there are any.
        guarantees: what the designs guarantee; shown beside what they cost if it is known.

    Raises:
        InputError: the folder cannot be written to.
    """
    # The charting libraries take longer to load than most commands to run.
    from . import page, picture

    path = prepare_folder(folder)
    write_text(path / "compare.svg", picture.draw(frame))
    return write_text(path / "report.html", page.render(frame, command, recoveries, guarantees))


def write_line_page(
    runs: Sequence[LineRun],
    folder: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    command: str | None = None,
) -> Path:
    """Writes `report.html` of traces of memory lines into a folder; returns the path of the page.

    Args:
        runs: what `replay_lines` gave, of one or several traces; at least one.
        folder: created if it is missing.
        baseline: the design that is marked; default the first.
        command: the command line that reproduces it, shown in the page.

    Raises:
        InputError: there is no run, or the folder cannot be written to.
    """
    from . import lines_page

    if not runs:
        raise InputError("there is nothing to show: give at least one run")
    path = prepare_folder(folder)
    return write_text(path / "report.html", lines_page.render(runs, baseline or runs[0].design, command))


def write_sweep_page(
    store: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    sweep: str | None = None,
    command: str | None = None,
) -> Path:
    """Writes `sweep.html` of a sweep in a store into a folder; returns the path of the page.

    Args:
        store: the file of the results.
        folder: created if it is missing.
        sweep: the name of the sweep; default the one that ran last.
        command: the command line that drew it, shown in the page.

    Raises:
        InputError: there is no such store or sweep, or the folder cannot be written to.
    """
    from ..runs.store import Store
    from . import sweep_page

    with Store(store, read_only=True) as opened:
        page = sweep_page.render(opened, sweep, command)
    return write_text(prepare_folder(folder) / "sweep.html", page)


def write_figures(
    drawn: pl.DataFrame | Run | LineRun | SweepReport | Store | Reproduction,
    folder: str | os.PathLike[str],
    *,
    sweep: str | None = None,
) -> list[Path]:
    """Writes each chart of a result for a paper, one column of 3.3 inches wide, as SVG, PDF and PNG into a folder.

    It returns the paths.

    Args:
        drawn: the result of `compare` or `frame`, with at least one row; of `run` with a window, for its figures over
            time; of `sweep`, or a store; or of `reproduce`.
        folder: created if it is missing.
        sweep: the name of the sweep in a store; default the one that ran last.

    Raises:
        InputError: the folder cannot be written to, there is no such sweep, or the run has no figures over time.
    """
    from ..papers.model import Reproduction
    from ..runs.store import Store
    from ..runs.sweeps import SweepReport
    from . import column, compared, over_time, reproduction, sweep_page

    if isinstance(drawn, Run | LineRun):
        return column.write_drawing(over_time.NAME, over_time.drawing(drawn), folder)
    if isinstance(drawn, SweepReport):
        with Store(drawn.store, read_only=True) as opened:
            return column.write(sweep_page.of_paper(opened, drawn.name), folder)
    if isinstance(drawn, Store):
        return column.write(sweep_page.of_paper(drawn, sweep), folder)
    of_paper = reproduction.of_paper(drawn) if isinstance(drawn, Reproduction) else compared.of_paper(drawn)
    return column.write(of_paper, folder)


def write_search_page(report: SearchReport, folder: str | os.PathLike[str]) -> Path:
    """Writes `search.html` of a search into a folder; returns the path of the page.

    Args:
        report: what `search` gave.
        folder: created if it is missing.

    Raises:
        InputError: the folder cannot be written to.
    """
    from . import search_page

    return write_text(prepare_folder(folder) / "search.html", search_page.render(report))


def drawable(verdict: Crash) -> bool:
    """Whether there is something to draw: a schedule that shows the violations, or the causes of a recorded program."""
    return (
        verdict.causes is not None
        or verdict.holds is not False
        or any(violation.schedule is not None for violation in verdict.violations)
    )


def write_crash_page(
    verdict: Crash,
    folder: str | os.PathLike[str],
    *,
    beside: Crash | None = None,
    progress: Progress | None = None,
) -> Path:
    """Writes `crash.html`, and the same window as `crash.trace.json`, into a folder; returns the path of the page.

    A verdict over the legal states of a recorded program has no window: its page has the causes with their source
    lines, as far as the source files are there, and nothing is simulated.

    The page opens at the event that was asked for, else at the smallest run known to fail, else at the first crash from
    which recovery fails, else at the first violation, else at the first crash after which the boot has something to put
    right. The run is simulated once more for it, as the verdict's `request` states it.

    Args:
        verdict: the result of `crash`, or of `Crash.from_dict` on a document of `crash --json`. The files that its
            request names must be where they were.
        folder: created if it is missing.
        beside: the verdict on the same program on another design, or on the same one without a fault, which is shown
            beside it. It runs on the machine of the first.
        progress: told how far the simulation is.

    Raises:
        InputError: bad input, or the folder cannot be written to.
        Interrupted: Ctrl-C.
    """
    from . import causes_page, crash_page, crash_scenes

    path = prepare_folder(folder)
    if verdict.causes is not None:
        if beside is not None:
            raise InputError("beside: the legal states of a recorded program have no schedule to show beside another")
        return write_text(path / "crash.html", causes_page.render(verdict))
    axis = crash_scenes.windows(verdict, beside, progress)
    write_json(crash_page.trace(axis.shown), path / "crash.trace.json")
    return write_text(path / "crash.html", crash_page.render(axis))


def write_reproduction(reproduction: Reproduction, folder: str | os.PathLike[str]) -> Path:
    """Writes `report.html`, `reproduction.json`, and of each paper `PAPER.md` and `PAPER.directions.md` into a folder.

    It returns the path of the page.

    Args:
        reproduction: the result of `reproduce`.
        folder: created if it is missing.

    Raises:
        InputError: the folder cannot be written to.
    """
    from . import markdown
    from . import reproduction as page

    path = prepare_folder(folder)
    for paper in reproduction.papers:
        write_text(path / f"{paper}.md", markdown.page(reproduction, paper))
        if any(one.paper == paper for one in reproduction.directions):
            write_text(path / f"{paper}.directions.md", markdown.directions(reproduction, paper))
    write_json(reproduction.to_dict(), path / "reproduction.json")
    return write_text(path / "report.html", page.render(reproduction))
