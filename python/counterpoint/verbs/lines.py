"""Traces of memory lines (NVMain, Prospero, DRAMSim2, DRAMsim3, Ramulator).

They have no program, so they drive controller and device alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack

from .. import _engine
from ..contract.options import LineOptions
from ..contract.request import completes, count, request
from ..contract.results import LineRun
from ..system.errors import Interrupted
from ..system.files import unfinished
from ..system.paths import checked_text
from . import api, catalogue
from .comparison import seeds_of


def is_line_trace(trace: str | os.PathLike[str]) -> bool:
    """Whether `trace` is a file of memory lines.

    Raises:
        InputError: the file cannot be read, or is not a trace.
    """
    return _engine.trace_kind(checked_text(os.fspath(trace), "trace")) == "lines"


@completes(LineOptions)
def replay_lines(
    trace: str | os.PathLike[str],
    designs: Iterable[str | os.PathLike[str]] | None = None,
    *,
    seeds: int = 1,
    workers: int = 0,
    progress: api.Progress | None = None,
    **options: Unpack[LineOptions],
) -> list[LineRun]:
    """Replays a trace of memory lines on designs, all on one machine.

    Args:
        trace: path of the trace, plain or compressed.
        designs: default every design that runs on every machine.
        seeds: with how many seeds each is simulated, from `seed` on.
        workers: simulations at a time; 0 is one per processor, and there are never more.
        progress: called with the number of bytes of the trace that are done, over all designs, and the total.
        **options: see `LineOptions`; the machine defaults to the first design's preset.

    With `requests`, a file whose name ends in `.parquet` is Parquet, any other CSV: a row for each request, in the
    order of their answers, with times in picoseconds.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `lines` are the replays that were finished.
    """
    names = catalogue.everywhere() if designs is None else list(designs)
    if not names:
        raise _engine.InputError("there is nothing to replay on: name at least one design")
    catalogue.check_names(names)
    machine = catalogue.machine_for(names, options.get("machine"))
    asked = [
        request(LineOptions, design, trace, {**options, "machine": machine, **seed})
        for seed in seeds_of(seeds, options.get("seed"))
        for design in names
    ]
    table = options.get("requests")
    if table is not None and len(names) > 1:
        raise _engine.InputError(f"requests: a table is of one design, and there are {len(names)}")
    with _requests(table, asked):
        try:
            answer = json.loads(_engine.replay(json.dumps({"runs": asked}), count("workers", workers), progress))
        except _engine.Interrupted as stop:
            raise Interrupted(lines=_runs((api.finished(stop) or {}).get("results", []))) from None
    return _runs(answer["results"])


@contextmanager
def _requests(table: str | os.PathLike[str] | None, asked: list[dict[str, Any]]) -> Iterator[None]:
    """Has the engine write the table of requests; one of Parquet is made of what it writes."""
    if table is None or Path(table).suffix != ".parquet":
        yield
        return
    import polars as pl

    with unfinished(Path(table)) as temporary:
        written = temporary.with_suffix(".csv")
        asked[0]["requests"] = str(written)
        yield
        pl.scan_csv(written).sink_parquet(temporary, compression="zstd")


def _runs(results: Iterable[Mapping[str, Any]]) -> list[LineRun]:
    return [LineRun.from_dict(result) for result in results if "error" not in result]
