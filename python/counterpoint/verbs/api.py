"""Single calls of the engine as functions. The command line is only a thin layer over these."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from .. import _engine
from ..contract import results
from ..contract.commands import crash_command, with_check_commands, with_commands
from ..contract.options import CheckOptions, CrashOptions, ReplayOptions, RunOptions, SceneOptions, SingleRunOptions
from ..contract.request import check_design, completes, count, given, request
from ..system.errors import Interrupted
from ..system.paths import checked_text
from . import catalogue

if TYPE_CHECKING:
    from ..contract.results import Check, Crash, Run

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the amount of work done and the total, at most about ten times a second."""


LINES = "lines"
"""The kind of a document that is the report of a trace of memory lines."""


_LINE_CALLS = "replay_lines takes it"


TIMING_ONLY: Mapping[str, bool] = {"engine.bytes": False}
"""Machine values with which no contents of lines are moved: times and counts do not depend on them, so that events and
figures are the same, but for those of flipped bits, and runs take less time."""


CHECK_TOP = 15
"""How many findings of `check` are measured one by one on a design: the default."""


@completes(RunOptions)
def resolve(
    design: str | os.PathLike[str], workload: str | os.PathLike[str], **options: Unpack[RunOptions]
) -> dict[str, Any]:
    """The complete configuration that a run with these options would have, every value of its machine included.

    Raises:
        InputError: bad input, in one sentence.
    """
    return resolve_request(request(RunOptions, design, workload, options))


def resolve_request(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The complete configuration of a request, as `matrix.Point` has it.

    Raises:
        InputError: bad input, in one sentence.
    """
    configuration: dict[str, Any] = json.loads(_engine.resolve(json.dumps(dict(asked))))
    return configuration


@completes(SingleRunOptions)
def run(
    design: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    **options: Unpack[SingleRunOptions],
) -> Run:
    """Simulates one design on one workload or trace.

    Args:
        design: name of a design.
        workload: name of a workload, or path of a trace.
        progress: told how far the simulation is.
        **options: see `SingleRunOptions`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    return _run_many([request(SingleRunOptions, design, workload, options)], 1, progress)[0]


def simulate(
    requests: Sequence[Mapping[str, Any]],
    *,
    workers: int = 0,
    progress: Progress | None = None,
    session: _engine.Session | None = None,
) -> list[Run]:
    """Simulates requests as `matrix.Point` has them, in threads of this process; populated memory is shared.

    Args:
        requests: the engine's requests, one for each run.
        workers: simulations at a time; 0 is one per processor, and there are never more. The results do not depend
            on it.
        progress: told how far the simulations are.
        session: keeps populated memory for later calls with the same session.

    Raises:
        InputError: bad input, in one sentence, before anything is simulated.
        Interrupted: Ctrl-C; its `runs` are those finished.
    """
    call = None if session is None else session.run_many
    return _run_many([dict(asked) for asked in requests], workers, progress, call)


def document(asked: Mapping[str, Any], *, session: _engine.Session | None = None) -> dict[str, Any]:
    """The document of a run that a request asks for, on a program or on a trace of memory lines.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    call = _engine.run_many if session is None else session.run_many
    return _results([asked], 1, None, call)[0]


@completes(ReplayOptions)
def replay(
    trace: str | os.PathLike[str],
    designs: Iterable[str | os.PathLike[str]] | None = None,
    *,
    workers: int = 0,
    progress: Progress | None = None,
    **options: Unpack[ReplayOptions],
) -> list[Run]:
    """Replays a recorded program on designs, all on one machine.

    Args:
        trace: path of a trace with a program, plain or compressed; `replay_lines` takes one of memory lines.
        designs: default every design that runs on every machine.
        workers: simulations at a time; 0 is one per processor, and there are never more.
        progress: told how far the simulations are.
        **options: see `ReplayOptions`; the machine defaults to the first design's preset.

    Raises:
        InputError: bad input, in one sentence, such as a trace that is cut off and how far it was good.
        Interrupted: Ctrl-C; its `runs` are those finished.
    """
    names = catalogue.everywhere() if designs is None else list(designs)
    if not names:
        raise _engine.InputError("there is nothing to replay on: name at least one design")
    if _engine.trace_kind(checked_text(os.fspath(trace), "trace")) == "lines":
        raise _engine.InputError(f"{os.fspath(trace)}: a trace of memory lines has no program: {_LINE_CALLS}")
    catalogue.check_names(names)
    machine = catalogue.machine_for(names, options.get("machine"))
    asked = [request(ReplayOptions, design, trace, {**options, "machine": machine}) for design in names]
    return _run_many(asked, workers, progress, call=_engine.replay)


@completes(CrashOptions)
def crash(
    design: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    **options: Unpack[CrashOptions],
) -> Crash:
    """Cuts power after events of a run, recovers, and has the auditors judge what is left.

    Args:
        design: name of a design that claims to survive.
        workload: name of a workload, or path of a trace.
        progress: told how far the exploration is: transactions that have ended; for the legal states of a trace, bytes
            of it, which is read several times.
        **options: see `CrashOptions`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `verdict` is over the points tried so far.
    """
    asked = request(CrashOptions, design, workload, options)
    again = "recover" in asked and ("nested" in asked or "nested_depth" in asked)
    if again or asked.get("watch_reads"):
        from . import recorder

        # What the engine refuses needs no tool.
        runs = "recover" in asked and asked.get("explore") == "legal"
        if asked.get("watch_reads"):
            asked["watch_reads"] = recorder.watcher() if runs else [recorder.VALGRIND]
        if again:
            asked["recorder"] = recorder.recorder_of_commands() if runs else [recorder.VALGRIND]
    try:
        answer = _engine.crash(json.dumps(asked), progress)
    except _engine.Interrupted as stop:
        verdict = finished(stop)
        raise Interrupted(verdict=results.Crash.from_dict(with_commands(verdict)) if verdict else None) from None
    return results.Crash.from_dict(with_commands(json.loads(answer)))


@completes(CheckOptions)
def check(
    trace: str | os.PathLike[str],
    *,
    design: str | os.PathLike[str] | None = None,
    top: int = CHECK_TOP,
    progress: Progress | None = None,
    **options: Unpack[CheckOptions],
) -> Check:
    """Checks a recorded program without its recovery: stores that are never made durable, useless flushes and fences.

    Args:
        trace: path of a trace with a program and its flushes, plain or compressed.
        design: measure what the useless operations cost on this design, by replays with and without them.
        top: how many findings are measured one by one, the most frequent first.
        progress: called with the number of bytes of the trace that are done, each replay counted like the trace.
        **options: see `CheckOptions`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    asked = {"trace": checked_text(os.fspath(trace), "trace"), "top": count("top", top), **given(CheckOptions, options)}
    if design is not None:
        asked["design"] = check_design(design)
    try:
        return results.Check.from_dict(with_check_commands(json.loads(_engine.check(json.dumps(asked), progress))))
    except _engine.Interrupted:
        raise Interrupted from None


@completes(SceneOptions)
def scene(
    design: str | os.PathLike[str],
    workload: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    **options: Unpack[SceneOptions],
) -> dict[str, Any]:
    """What stages do around an event of a crash run, and after each event what a power failure would leave.

    It is what `crash.html` draws. Lists are by event of the window, from `first` to `last`; `points` tell what changed,
    with indices into `lines`, `registers`, `boots`, `verdicts` and `violations`.

    Args:
        design: name of a design that claims to survive.
        workload: name of a workload, or path of a trace.
        progress: told how far the simulation is.
        **options: see `SceneOptions`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    asked = request(SceneOptions, design, workload, options)
    try:
        document: dict[str, Any] = json.loads(_engine.scene(json.dumps(asked), progress))
    except _engine.Interrupted:
        raise Interrupted() from None
    return document | {"command": crash_command(document.pop("reproduce"))}


def _run_many(
    requests: list[dict[str, Any]],
    workers: int,
    progress: Progress | None,
    call: Callable[[str, int, Progress | None], str] | None = None,
) -> list[Run]:
    for document in (found := _results(requests, workers, progress, call or _engine.run_many)):
        if document.get("kind") == LINES:
            raise _engine.InputError(f"{document['workload']}: a trace of memory lines has no program: {_LINE_CALLS}")
    return [results.Run.from_dict(document) for document in found]


def _results(
    requests: Sequence[Mapping[str, Any]],
    workers: int,
    progress: Progress | None,
    simulate: Callable[[str, int, Progress | None], str],
) -> list[dict[str, Any]]:
    """The documents of runs.

    Raises:
        Interrupted: Ctrl-C; its `runs` are those of programs that were finished.
    """
    try:
        answer = json.loads(
            simulate(json.dumps({"runs": [dict(asked) for asked in requests]}), count("workers", workers), progress)
        )
    except _engine.Interrupted as stop:
        done = (finished(stop) or {}).get("results", [])
        kept = [result for result in done if "error" not in result and result.get("kind") != LINES]
        raise Interrupted(runs=[results.Run.from_dict(result) for result in kept]) from None
    if len(answer["results"]) != len(requests):
        raise _engine.EngineError(f"the engine gave {len(answer['results'])} results for {len(requests)} requests")
    for result in answer["results"]:
        if "error" in result:
            raise _engine.EngineError(str(result["error"]))
    found: list[dict[str, Any]] = answer["results"]
    return found


def finished(stop: _engine.Interrupted) -> dict[str, Any] | None:
    """What an engine call had finished when it was interrupted; None if it had finished nothing."""
    return json.loads(stop.args[0]) if stop.args and stop.args[0] else None
