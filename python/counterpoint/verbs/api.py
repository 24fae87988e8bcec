"""Counterpoint's commands as functions. The command line is only a thin layer over these."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from .. import _engine
from ..contract import results
from ..contract.commands import crash_command, with_check_commands, with_commands
from ..contract.options import (
    CheckOptions,
    CommonOptions,
    CrashOptions,
    ReplayOptions,
    RunOptions,
    SceneOptions,
    SingleRunOptions,
)
from ..contract.request import Size, Variant, bounded, bytes_of, check_design, count, given, literal, request
from ..system.errors import Interrupted
from ..system.paths import checked_text
from .frames import check_baseline, frame

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import Check, Crash, Design, DesignPart, Fault, Machine, Run, Workload

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the amount of work done and the total, at most about ten times a second."""

COMPARE_DESIGNS = ("unencrypted", "write-back", "write-through", "secpm-workshop", "secpm-no-cwr", "secpm")
"""The default designs of `compare`: the SecPM family."""

COMPARE_WORKLOADS = ("array", "queue", "hash", "btree", "rbtree")
"""The default workloads of `compare`, on machines whose papers use no others."""

EASY_PM_WORKLOADS = ("array", "hash", "chain-queue", "bplus-tree", "rbtree")
"""The default workloads of `compare` on the machine of the easy-pm paper."""

COMPARE_TX_SIZE = 1024
"""Bytes of user data in a transaction: the default of `compare`."""

EASY_PM_CORES = 4
"""The default number of cores of `compare` on the machine of the easy-pm paper, as in its Table I."""

SEPENCR_TX_SIZES = (64, 128, 256, 512, 1024)
"""Bytes of user data in a transaction on the machine of the sepencr paper, with one core: its Figure 10."""

SEPENCR_CORES = (1, 2, 4, 8)
"""Numbers of cores on the machine of the sepencr paper, with its smallest transactions: its Figure 11."""

SEPENCR_WARMUP_BYTES = 1 << 20
"""Bytes that each core writes before measuring begins on the machine of the sepencr paper, as many as the preset's
footprint: then most lines of the structure have been written, and the caches hold dirty lines ("after system warm-up",
section VI)."""


@dataclass(frozen=True)
class _Experiment:
    """What a paper compares on its machine.

    Attributes:
        workloads: the workloads of the paper.
        points: transaction sizes with numbers of cores, in the order of its figures.
        tx_size: the size if only numbers of cores are given.
        cores: the number if only transaction sizes are given; None for the engine's default.
        warmup_bytes: user data that each core writes before measuring begins; None for the engine's default.
    """

    workloads: tuple[str, ...]
    points: tuple[tuple[int, int | None], ...]
    tx_size: int
    cores: int | None
    warmup_bytes: int | None = None


_EXPERIMENT = _Experiment(COMPARE_WORKLOADS, ((COMPARE_TX_SIZE, None),), COMPARE_TX_SIZE, None)
_EXPERIMENTS = {
    "easy-pm": _Experiment(EASY_PM_WORKLOADS, ((COMPARE_TX_SIZE, EASY_PM_CORES),), COMPARE_TX_SIZE, EASY_PM_CORES),
    "sepencr": _Experiment(
        COMPARE_WORKLOADS,
        tuple(dict.fromkeys([*product(SEPENCR_TX_SIZES, [1]), *product(SEPENCR_TX_SIZES[:1], SEPENCR_CORES)])),
        SEPENCR_TX_SIZES[0],
        1,
        SEPENCR_WARMUP_BYTES,
    ),
}

CHECK_TOP = 15
"""How many findings of `check` are measured one by one on a design: the default."""


def designs() -> list[Design]:
    """All built-in designs."""
    return [results.build(results.Design, design) for design in _describe()["designs"]]


def design(name: str | os.PathLike[str]) -> Design:
    """The design with this name, or of this design file.

    Raises:
        InputError: it does not exist, or the file is not a design, in one sentence.
    """
    return results.build(results.Design, described(name))


def design_parts(name: str | os.PathLike[str], variant: Variant = "hardened") -> dict[str, Any]:
    """The parts of a built-in design or of a design file, by key; parts without effect are left out.

    Raises:
        InputError: there is no such design, or the file is not a design, in one sentence.
    """
    parts = described(name)["parts"]
    if variant not in parts:
        raise _engine.InputError(f"variant '{variant}' does not exist: published or hardened")
    return dict(parts[variant])


def effective_parts(
    name: str | os.PathLike[str], stated: Mapping[str, object] | None = None, *, variant: Variant = "hardened"
) -> dict[str, bool | str | tuple[str, ...]]:
    """The parts of a design with some of them stated otherwise; those without an effect then are left out.

    Args:
        name: a built-in design or a design file.
        stated: parts by key; what is stated of a part that has no effect then changes nothing.
        variant: the reading of the design.

    Raises:
        InputError: the parts contradict each other, or there is no such design, part or value.
    """
    return dict(_effective(check_design(name), tuple((stated or {}).items()), variant))


def check_set(key: str, value: object) -> None:
    """Checks that there is a machine value `key`, or with `design.` before it a part, and that it may have this value.

    Whether the value goes with others is not checked.

    Raises:
        InputError: there is none, or it may not, in a sentence that does not say where the value stands.
    """
    _engine.check_set(f"{key}={literal(value)}")


@lru_cache(1024)
def _effective(
    design: str, stated: tuple[tuple[str, Any], ...], variant: str
) -> Mapping[str, bool | str | tuple[str, ...]]:
    sets = [f"{key}={json.dumps(value)}" for key, value in stated]
    found = json.loads(_engine.effective_parts(design, variant, sets))
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def design_file(name: str) -> str:
    """The design file of a built-in design, as a user writes one.

    Raises:
        InputError: there is no such design.
    """
    text = _engine.design_file(name)
    if text is None:
        known = design(name).name
        raise _engine.InputError(f"design '{known}' is a file already: {name}")
    return text


def parts() -> list[DesignPart]:
    """Every part that a design file can name, in the order in which a design is read."""
    return [results.build(results.DesignPart, part) for part in _describe()["parts"]]


def workloads() -> list[Workload]:
    """All workloads."""
    return [results.build(results.Workload, workload) for workload in _describe()["workloads"]]


def machines() -> list[Machine]:
    """All machine presets."""
    return [results.build(results.Machine, machine) for machine in _describe()["machines"]]


def faults() -> list[Fault]:
    """The mechanisms that `crash` can switch off."""
    return [results.build(results.Fault, fault) for fault in _describe()["faults"]]


def engine_version() -> str:
    """The version of the engine, which is that of the package."""
    return str(_describe()["engine_version"])


def engine_build() -> str:
    """The digest of the sources that the engine was built from: equal builds give equal results."""
    return str(_describe()["engine_build"])


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


def run_matrix(
    designs: Iterable[str | os.PathLike[str]] | None = None,
    workloads: Iterable[str | os.PathLike[str]] | None = None,
    *,
    tx_size: Size | Sequence[Size] | None = None,
    cores: int | Sequence[int] | None = None,
    workers: int = 0,
    progress: Progress | None = None,
    **options: Unpack[CommonOptions],
) -> list[Run]:
    """Simulates every design on every workload at every transaction size and number of cores, all on one machine.

    Args:
        designs: default the SecPM family.
        workloads: default those of the machine's paper: `EASY_PM_WORKLOADS` on `easy-pm`, elsewhere
            `COMPARE_WORKLOADS`.
        tx_size: bytes of user data in a transaction, or several; default `COMPARE_TX_SIZE`, on `sepencr` as below.
        cores: number of cores, or several; default `EASY_PM_CORES` on `easy-pm`, elsewhere 1. With neither of the two,
            `sepencr` takes `SEPENCR_TX_SIZES` with one core, and the smallest of them with each of `SEPENCR_CORES`;
            with one of the two, the first of the other. A trace has no size and one core.
        workers: simulations at a time; 0 is one per processor, and there are never more. The results do not depend
            on it.
        progress: told how far the simulations are.
        **options: see `CommonOptions`; the machine defaults to the first design's preset, and on `sepencr` the warm-up
            to `SEPENCR_WARMUP_BYTES`.

    Raises:
        InputError: bad input, in one sentence, before anything is simulated.
        Interrupted: Ctrl-C; its `runs` are those finished.
    """
    names = list(COMPARE_DESIGNS if designs is None else designs)
    check_names(names)
    if not names:
        raise _engine.InputError("there is nothing to compare: name at least one design and one workload")
    machine = machine_for(names, options.get("machine"))
    works = None if workloads is None else list(workloads)
    experiment = _EXPERIMENT if _any_trace(works or ()) else _EXPERIMENTS.get(machine, _EXPERIMENT)
    works = list(experiment.workloads) if works is None else works
    if not works:
        raise _engine.InputError("there is nothing to compare: name at least one design and one workload")
    asked = [
        request(
            RunOptions,
            design,
            workload,
            {
                "warmup": _warmup(experiment, size),
                **_given(options),
                "machine": machine,
                "tx_size": size,
                "cores": number,
            },
        )
        for (size, number), workload, design in product(_points(experiment, tx_size, cores), works, names)
    ]
    return _run_many(asked, workers, progress)


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


def compare(
    designs: Iterable[str | os.PathLike[str]] | None = None,
    workloads: Iterable[str | os.PathLike[str]] | None = None,
    *,
    baseline: str | os.PathLike[str] | None = None,
    tx_size: Size | Sequence[Size] | None = None,
    cores: int | Sequence[int] | None = None,
    workers: int = 0,
    progress: Progress | None = None,
    **options: Unpack[CommonOptions],
) -> pl.DataFrame:
    """Compares designs: a Polars frame with one row per simulation, whose `.plot` is Altair.

    The arguments are those of `run_matrix`; the columns are described at `frame`.

    Args:
        baseline: the design whose figures the `relative_` columns are divided by; default `unencrypted`, else `eadr`,
            else the first design.

    Raises:
        InputError: bad input, in one sentence, before anything is simulated.
        Interrupted: Ctrl-C; its `runs` are those finished.
    """
    names = list(COMPARE_DESIGNS if designs is None else designs)
    chosen = baseline_of(names, baseline)
    runs = run_matrix(names, workloads, tx_size=tx_size, cores=cores, workers=workers, progress=progress, **options)
    return frame(runs, chosen)


def baseline_of(designs: Sequence[str | os.PathLike[str]], baseline: str | os.PathLike[str] | None) -> str:
    """The name of the design that figures are relative to, one of `designs`; see `compare`.

    Raises:
        InputError: it is not among the designs, or one of them does not exist.
    """
    names = check_names(designs)
    among = (
        None
        if baseline is None
        else {os.fspath(text): name for text, name in zip(designs, names, strict=True)}.get(os.fspath(baseline))
    )
    return check_baseline(names, among or (None if baseline is None else os.fspath(baseline)))


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
        designs: default every design.
        workers: simulations at a time; 0 is one per processor, and there are never more.
        progress: told how far the simulations are.
        **options: see `ReplayOptions`; the machine defaults to the first design's preset.

    Raises:
        InputError: bad input, in one sentence, such as a trace that is cut off and how far it was good.
        Interrupted: Ctrl-C; its `runs` are those finished.
    """
    names = [design["name"] for design in _describe()["designs"]] if designs is None else list(designs)
    if not names:
        raise _engine.InputError("there is nothing to replay on: name at least one design")
    if _engine.trace_kind(checked_text(os.fspath(trace), "trace")) == "lines":
        raise _engine.InputError(f"{os.fspath(trace)}: a trace of memory lines has no program: replay_lines takes it")
    check_names(names)
    machine = machine_for(names, options.get("machine"))
    asked = [request(ReplayOptions, design, trace, {**options, "machine": machine}) for design in names]
    return _run_many(asked, workers, progress, call=_engine.replay)


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
        progress: called with the number of transactions that have ended.
        **options: see `CrashOptions`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `verdict` is over the points tried so far.
    """
    asked = request(CrashOptions, design, workload, options)
    if asked.get("watch_reads"):
        from . import recorder

        # What the engine refuses needs no tool.
        watches = "recover" in asked and asked.get("explore") == "legal"
        asked["watch_reads"] = recorder.watcher() if watches else [recorder.VALGRIND]
    try:
        answer = _engine.crash(json.dumps(asked), progress)
    except _engine.Interrupted as stop:
        verdict = finished(stop)
        raise Interrupted(verdict=results.Crash.from_dict(with_commands(verdict)) if verdict else None) from None
    return results.Crash.from_dict(with_commands(json.loads(answer)))


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


def form_of(design: str | os.PathLike[str]) -> str:
    """The form of the program that a design runs.

    Raises:
        InputError: there is no such design.
    """
    return str(described(design)["form"])


def machine_of(design: str | os.PathLike[str]) -> str:
    """The machine preset of a design.

    Raises:
        InputError: there is no such design.
    """
    return str(described(design)["machine"])


def machine_for(designs: Sequence[str | os.PathLike[str]], machine: str | os.PathLike[str] | None) -> str:
    """The one machine of all designs of a call: the one that is asked for, else the preset of the first design.

    Every call that takes several designs gets its machine here.

    Raises:
        InputError: there is no such design.
    """
    return machine_of(designs[0]) if machine is None else os.fspath(machine)


def check_names(designs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The names of designs in results; some of the designs may be files.

    Raises:
        InputError: there is no such design, or two of them have the same name.
    """
    called: dict[str, str] = {}
    names = [str(described(design)["name"]) for design in designs]
    for name, text in zip(names, [os.fspath(design) for design in designs], strict=True):
        if called.setdefault(name, text) != text:
            raise _engine.InputError(
                f"designs {called[name]} and {text} are both called '{name}'; rename one of them with `name = ...`"
            )
    return names


def described(design: str | os.PathLike[str]) -> dict[str, Any]:
    """What the engine says of a design: all of its parts, also those of the files that its own builds on."""
    document: dict[str, Any] = json.loads(_engine.describe_design(check_design(design)))
    return document


def _describe() -> dict[str, Any]:
    description: dict[str, Any] = json.loads(_description(_engine.describe))
    return description


@lru_cache(1)
def _description(describe: Callable[[], str]) -> str:
    """What an engine says of itself. It takes longer to say this than to simulate a short run."""
    return describe()


def _any_trace(works: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether one of the workloads is the path of a trace, or does not exist, which the engine refuses."""
    return not {os.fspath(work) for work in works} <= {known["name"] for known in _describe()["workloads"]}


def _points(
    experiment: _Experiment, tx_size: Size | Sequence[Size] | None, cores: int | Sequence[int] | None
) -> list[tuple[Size, int | None]]:
    """Transaction sizes with numbers of cores: the given ones, the rest as in the paper."""
    if tx_size is None and cores is None:
        return list(experiment.points)
    sizes = [experiment.tx_size] if tx_size is None else _several("tx_size", tx_size)
    return list(product(sizes, [experiment.cores] if cores is None else _several("cores", cores)))


def _warmup(experiment: _Experiment, tx_size: Size) -> int | None:
    """Transactions that write the experiment's `warmup_bytes`; None if it has none."""
    size = bytes_of(tx_size)
    return experiment.warmup_bytes // size if experiment.warmup_bytes and size else None


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _several(name: str, value: Any) -> list[Any]:
    return bounded(name, value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _run_many(
    requests: list[dict[str, Any]],
    workers: int,
    progress: Progress | None,
    call: Callable[[str, int, Progress | None], str] | None = None,
) -> list[Run]:
    simulate = call or _engine.run_many
    try:
        answer = json.loads(simulate(json.dumps({"runs": requests}), count("workers", workers), progress))
    except _engine.Interrupted as stop:
        done = (finished(stop) or {}).get("results", [])
        raise Interrupted(runs=[results.Run.from_dict(result) for result in done if "error" not in result]) from None
    if len(answer["results"]) != len(requests):
        raise _engine.EngineError(f"the engine gave {len(answer['results'])} results for {len(requests)} requests")
    for result in answer["results"]:
        if "error" in result:
            raise _engine.EngineError(str(result["error"]))
    return [results.Run.from_dict(result) for result in answer["results"]]


def finished(stop: _engine.Interrupted) -> dict[str, Any] | None:
    """What an engine call had finished when it was interrupted; None if it had finished nothing."""
    return json.loads(stop.args[0]) if stop.args and stop.args[0] else None
