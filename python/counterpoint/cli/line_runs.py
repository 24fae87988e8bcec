"""What commands do with traces of memory lines, wherever they take a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._engine import InputError
from ..contract.options import LineOptions, MachineOptions
from ..contract.printed import LineRuns
from ..contract.request import part
from ..contract.results import LineRun
from ..system.errors import Interrupted
from ..verbs import frames, lines, over_time
from ..verbs.peer_stats import Tool
from . import screen
from .peer_table import peer_text
from .written import Files

_BESIDE = ("timeline", "window")
"""Options of runs of programs that traces of memory lines take as well, beside those of every simulation."""


def asked(given: Mapping[str, Any], trace_clock: int | None, requests: Path | None) -> LineOptions:
    """The options of a command for a trace of memory lines.

    Raises:
        InputError: one of them is about a program.
    """
    taken = {**part(MachineOptions, given), **{name: given[name] for name in _BESIDE if name in given}}
    of_programs = [
        name for name, value in given.items() if name not in taken and value is not None and value is not False
    ]
    if of_programs:
        raise InputError(f"--{of_programs[0].replace('_', '-')}: a trace of memory lines has no program")
    return part(LineOptions, {**taken, "trace_clock_mhz": trace_clock, "requests": requests})


def check_unused(trace_clock: int | None, requests: Path | None) -> None:
    """Refuses options that only traces of memory lines have.

    Raises:
        InputError: one of them is given.
    """
    if trace_clock is not None:
        raise InputError("--trace-clock: only a trace of memory lines has cycles")
    if requests is not None:
        raise InputError("--requests: only a trace of memory lines has requests of its own")


def run(
    design: str, trace: str, seeds: int, figures: Path | None, as_json: bool, files: Files, given: LineOptions
) -> None:
    """What `run` does: one design, with what it has over time, or with several seeds."""
    windows = given.get("window") is not None
    if figures is not None and not windows:
        raise InputError("--figures draws figures over time; give it --window, as in 10us")
    found, interrupted = _replayed(trace, [design], 0, seeds, f"{design} on {trace}", given)
    if as_json and seeds == 1 and found:
        screen.print_json(found[0].to_dict())
    else:
        show(found, as_json)
    if found and not as_json and found[0].windows is not None:
        from . import over_time_table

        screen.output().print(over_time_table.table(found[0].windows))
    if found:
        first = found[0]
        files.write(lambda: over_time.over_time(first) if windows else frames.line_frame(found), drawn=lambda: first)
    _end(found, given, interrupted)


def replay(
    trace: str,
    names: Sequence[str],
    workers_and_seeds: tuple[int, int],
    form: tuple[bool, Tool | None],
    files: Files,
    given: LineOptions,
) -> None:
    """What `replay` does: designs side by side, as JSON, or as another simulator prints its statistics.

    Raises:
        InputError: statistics of another simulator are asked for over several seeds.
    """
    (workers, seeds), (as_json, stats) = workers_and_seeds, form
    if stats is not None and seeds > 1:
        raise InputError("--stats is of one run of each design; leave out --seeds")
    found, interrupted = _replayed(trace, names, workers, seeds, "replaying", given)
    if stats is None:
        show(found, as_json)
    elif found:
        screen.print_text(peer_text(found, stats))
    if found:
        files.write(lambda: frames.line_frame(found))
    _end(found, given, interrupted)


def compare(
    traces: Sequence[str],
    names: Sequence[str],
    baseline: str,
    workers: int,
    seeds: int,
    as_json: bool,
    files: Files,
    page: tuple[Path | None, str],
    given: LineOptions,
) -> None:
    """What `compare` does: designs on traces, with a page in a folder that shows the command."""
    found: list[LineRun] = []
    interrupted = False
    for trace in traces:
        runs, interrupted = _replayed(trace, names, workers, seeds, f"replaying {trace}", given)
        found += runs
        if interrupted:
            break
    show(found, as_json)
    folder, command = page
    if folder is not None and found:
        from ..report import write_line_page

        screen.note(f"report: {write_line_page(found, folder, baseline=baseline, command=command)}")
    if found:
        files.write(lambda: frames.line_frame(found), charts=False)
    _end(found, given, interrupted)


def show(found: Sequence[LineRun], as_json: bool) -> None:
    """Runs as tables, one pair for each trace, or as one JSON document."""
    if as_json:
        screen.print_json(LineRuns("lines", tuple(found)).to_dict())
        return
    from .line_table import line_table

    for trace in dict.fromkeys(one.workload for one in found):
        screen.output().print(line_table([one for one in found if one.workload == trace]))


def _replayed(
    trace: str, names: Sequence[str], workers: int, seeds: int, told: str, given: LineOptions
) -> tuple[list[LineRun], bool]:
    """The runs, and whether they were interrupted."""
    try:
        with screen.progress(told) as progress:
            return lines.replay_lines(trace, names, seeds=seeds, workers=workers, progress=progress, **given), False
    except Interrupted as stop:
        return stop.lines, True


def _end(found: Sequence[LineRun], given: LineOptions, interrupted: bool) -> None:
    if found and (requests := given.get("requests")):
        screen.note(f"requests: {requests}")
    if interrupted:
        screen.stop_interrupted(f"{len(found)} replays were finished")
