"""The figures of runs over time, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .._engine import InputError
from ..contract.results import LineRun, Run

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import Windows

_OF_A_RUN = ("design", "variant", "workload", "machine", "seed")

_OF_ALL_WINDOWS = ("window_ns", "measured_from_ns", "line_bytes", "channel_lines")
"""What of the windows has no value for each."""


def over_time(runs: Run | LineRun | Iterable[Run | LineRun]) -> pl.DataFrame:
    """One row per window of simulated time, run by run.

    The columns are the figures of `windows` of `run --json`, `channel_lines` one for each channel, with design,
    variant, workload, machine and seed before them, and `read_gb_per_s` and `write_gb_per_s` after them: lines times
    the bytes that a whole line moves, over the length of a window (the last one is shorter).

    Raises:
        InputError: a run was made without `window`.
    """
    import polars as pl

    frames = []
    for run in [runs] if isinstance(runs, Run | LineRun) else runs:
        windows = of(run)
        of_run = [pl.lit(getattr(run, name)).alias(name) for name in _OF_A_RUN]
        frames.append(pl.DataFrame(columns(windows)).select(*of_run, pl.all()))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def of(run: Run | LineRun) -> Windows:
    """The windows of a run."""
    if run.windows is None:
        raise InputError(
            f"the run of {run.design} on {run.workload} has no figures over time; give it a window, as in 10us"
        )
    return run.windows


def columns(windows: Windows) -> dict[str, Sequence[float]]:
    """The columns of the table of a run that are about its windows."""
    names = [name for name in windows.__dataclass_fields__ if name not in _OF_ALL_WINDOWS]
    channels = {f"channel_{number}_lines": lines for number, lines in enumerate(windows.channel_lines)}
    per_line = windows.line_bytes / windows.window_ns
    return {
        **{name: getattr(windows, name) for name in names},
        **channels,
        "read_gb_per_s": [lines * per_line for lines in windows.reads],
        "write_gb_per_s": [lines * per_line for lines in windows.writes],
    }
