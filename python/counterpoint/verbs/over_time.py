"""The figures of runs over time, as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._engine import InputError
from ..contract.results import LineRun, Run

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import Window, Windows

_OF_A_RUN = ("design", "variant", "workload", "machine", "seed")


def over_time(runs: Run | LineRun | Iterable[Run | LineRun]) -> pl.DataFrame:
    """One row per window of simulated time, run by run.

    The columns are the keys of a window of `run --json`, `channel_lines` one for each channel, with design, variant,
    workload, machine and seed before them, and `read_gb_per_s` and `write_gb_per_s` after them: lines times the bytes
    that a whole line moves, over the length of a window (the last one is shorter).

    Raises:
        InputError: a run was made without `window`.
    """
    import polars as pl

    several = [runs] if isinstance(runs, Run | LineRun) else list(runs)
    return pl.DataFrame([row for run in several for row in rows(run)], infer_schema_length=None)


def rows(run: Run | LineRun) -> list[dict[str, Any]]:
    """The rows of a run."""
    windows = run.windows
    if windows is None:
        raise InputError(
            f"the run of {run.design} on {run.workload} has no figures over time; give it a window, as in 10us"
        )
    of_run = {name: getattr(run, name) for name in _OF_A_RUN}
    return [of_run | _row(windows, window) for window in windows.rows]


def _row(windows: Windows, window: Window) -> dict[str, Any]:
    row: dict[str, Any] = asdict(window)
    row |= {f"channel_{number}_lines": lines for number, lines in enumerate(row.pop("channel_lines"))}
    per_line = windows.line_bytes / windows.window_ns
    return row | {"read_gb_per_s": window.reads * per_line, "write_gb_per_s": window.writes * per_line}
