"""Sweeps: the runs of a matrix, each computed once and kept in a store (see `matrix` and `store`).

Points are resolved to configurations first; what the store has is not computed again. The rest goes to an executor, and
each result is written before the next wait.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from .._engine import InputError
from ..contract.printed import document
from ..contract.request import check_numbers, count
from ..system import units
from ..system.errors import Interrupted
from ..system.shown import Shown
from ..verbs import api, catalogue
from ..verbs.interval import check_seeds
from . import keys, matrix
from .executor import Executor, Finished, Task
from .executor.drive import Failed, drive
from .executor.order import in_order
from .executor.start import start
from .over_seeds import SEED, PointMeans, means
from .store import Failure, Store, export_format

if TYPE_CHECKING:
    import polars as pl

Spec: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The path of a sweep's TOML file, or the content of such a file."""

SweepProgress: TypeAlias = Callable[[int, int, int], object]
"""Called with the number of runs that are done, the total, and how many of the done ones failed."""


@dataclass(frozen=True, repr=False)
class SweepReport(Shown):
    """What a call of `sweep` did.

    Attributes:
        name: name of the sweep.
        store: the file of the results.
        points: number of points of the axes.
        runs: number of different runs among them.
        machines: the machines of its runs; several only where an axis has them.
        found: runs that the store had.
        computed: runs that were computed now.
        failures: runs that could not be computed.
        over_seeds: where an axis is the seed, each point over its seeds; else none, because one seed has no interval.
    """

    name: str
    store: Path
    points: int
    runs: int
    machines: tuple[str, ...]
    found: int
    computed: int
    failures: tuple[Failure, ...]
    over_seeds: tuple[PointMeans, ...] = ()

    def __repr__(self) -> str:
        """What it is about, and what became of its runs."""
        runs = units.count_of(self.runs, "run")
        failed = f", {units.number(len(self.failures))} failed" if self.failures else ""
        return f"<Sweep {units.printable(self.name)}: {units.count_of(self.points, 'point')}, {runs}{failed}>"

    def frame(self) -> pl.DataFrame:
        """A row per point: its number, the values of the axes, the figures, and why it failed where it did."""
        with Store(self.store, read_only=True) as store:
            return store.rows(self.name)

    def to_dict(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        return document(self)


@dataclass(frozen=True)
class Plan:
    """A sweep, read and resolved.

    Attributes:
        name: of the sweep.
        text: its file.
        digest: of what that says.
        build: of the engine.
        axes: what differs, with all values.
        points: the key of the run at each, and its values on the axes.
        requests: what the engine is asked, by key.
        refused: why it will not, by key.
    """

    name: str
    text: str
    digest: str
    build: str
    axes: Mapping[str, Sequence[Any]]
    points: Sequence[tuple[str, Mapping[str, Any]]]
    requests: Mapping[str, dict[str, Any]]
    refused: Mapping[str, str]

    @property
    def machines(self) -> tuple[str, ...]:
        """The machines of its runs, in the order of the points."""
        taken = (asked for key, asked in self.requests.items() if key not in self.refused)
        return tuple(dict.fromkeys(str(asked["machine"]) for asked in taken))


def sweep(
    spec: Spec,
    store: str | os.PathLike[str] | None = None,
    *,
    seeds: int = 1,
    workers: int = 0,
    cluster: str | None = None,
    resume: bool = False,
    export: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    progress: SweepProgress | None = None,
) -> SweepReport:
    """Computes the runs of a sweep that its store does not have, and keeps them there.

    Args:
        spec: the sweep, see `docs/sweep.md`.
        store: the DuckDB file; default the name of the sweep with `.duckdb`, in the current folder.
        seeds: with how many seeds each point is run, from the one of `base` on: its last axis. The result then has
            means with intervals.
        workers: processes that compute; 0 is one per processor, and there are never more. The results do not depend
            on it.
        cluster: address of a Dask scheduler whose workers compute instead.
        resume: only continue: the store must hold exactly this sweep.
        export: files that get the results, each ending in `.parquet` or `.csv`.
        progress: told how far it is.

    Raises:
        InputError: bad input, in one sentence; also where every run of the sweep is refused.
        Interrupted: Ctrl-C; its `sweep` is the report so far, and what was finished is in the store.
    """
    chosen = [export] if isinstance(export, str | os.PathLike) else list(export)
    for path in chosen:
        export_format(Path(path))
    count("workers", workers)
    planned = plan(spec, seeds=seeds)
    with open_store(planned, store, resume=resume) as opened:
        report = compute(planned, opened, workers=workers, cluster=cluster, progress=progress)
        for path in chosen:
            opened.export(planned.name, path)
    return report


def plan(spec: Spec, progress: api.Progress | None = None, *, seeds: int = 1) -> Plan:
    """Reads a sweep and resolves its points, each with so many seeds.

    Raises:
        InputError: bad input in what the sweep says. What the engine refuses of single points is part of the plan.
    """
    given, text, place = _read(spec)
    document = _with_seeds(given, check_seeds(seeds), place)
    read = matrix.parse(document, place)
    unknown = sorted(set(document) - {*matrix.PARTS, "name"})
    if unknown:
        raise InputError(f"{place}: '{unknown[0]}' does not exist (known: name, {', '.join(matrix.PARTS)})")
    said = json.dumps([document.get(part) for part in matrix.PARTS], default=str)
    return _planned(_name(document, spec, place), text, said, read.axes, read.points, progress)


def _with_seeds(given: Mapping[str, Any], seeds: int, place: str) -> Mapping[str, Any]:
    """A sweep whose last axis is the seed; as it is with one seed.

    Raises:
        InputError: it says which seeds itself.
    """
    if seeds == 1:
        return given
    axes, base = given.get("axes", {}), given.get("base", {})
    tables = [axes, *(given["zip"] if isinstance(given.get("zip"), list) else ())]
    if any(isinstance(table, Mapping) and SEED in table for table in tables):
        raise InputError(f"{place}: the seed is an axis; leave out --seeds")
    if not isinstance(axes, Mapping) or not isinstance(base, Mapping):
        return given
    first = count(SEED, base.get(SEED, 1))
    left = {key: value for key, value in base.items() if key != SEED}
    return {**given, "base": left, "axes": {**axes, SEED: list(range(first, first + seeds))}}


def plan_requests(name: str, requests: Iterable[Mapping[str, Any]]) -> Plan:
    """A sweep without axes, of requests as `matrix.Point` has them; its points are in their order."""
    points = [matrix.Point({}, asked) for asked in requests]
    said = json.dumps([point.request for point in points])
    return _planned(name, said, said, {}, points)


def _planned(
    name: str,
    text: str,
    said: str,
    axes: Mapping[str, Sequence[Any]],
    asked_for: Sequence[matrix.Point],
    progress: api.Progress | None = None,
) -> Plan:
    build = catalogue.engine_build()
    points: list[tuple[str, Mapping[str, Any]]] = []
    requests: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    for number, point in enumerate(asked_for):
        asked = keys.absolute(point.request)
        try:
            key = keys.key(api.resolve_request(asked), build)
        except InputError as error:
            key = keys.refused_key(asked, build)
            refused[key] = str(error)
        points.append((key, point.values))
        requests.setdefault(key, asked)
        if progress is not None and number % 100 == 0:
            progress(number, len(asked_for))
    digest = hashlib.sha256(said.encode()).hexdigest()
    return Plan(name, text, digest, build, axes, points, requests, refused)


def open_store(planned: Plan, path: str | os.PathLike[str] | None, *, resume: bool = False) -> Store:
    """Opens the store of a sweep, or creates it, and records the sweep in it.

    Raises:
        InputError: it cannot be opened, or with `resume`: it does not hold this sweep.
    """
    store = Store(f"{planned.name}.duckdb" if path is None else path, must_exist=resume)
    try:
        if resume:
            _check_held(planned, store)
        put(planned, store)
    except BaseException:
        store.close()
        raise
    return store


def put(planned: Plan, store: Store) -> None:
    """Records a sweep in its store."""
    store.put_sweep(planned.name, spec=planned.text, digest=planned.digest, axes=planned.axes, points=planned.points)


def _check_held(planned: Plan, store: Store) -> None:
    held = {one.name: one.digest for one in store.sweeps()}
    if planned.name not in held:
        raise InputError(f"the store '{store.path}' does not hold the sweep '{planned.name}'")
    if held[planned.name] != planned.digest:
        raise InputError(
            f"the store '{store.path}' holds another sweep '{planned.name}'; without --resume it is replaced, "
            "and the runs that both have are kept"
        )


def compute(
    planned: Plan,
    store: Store,
    *,
    workers: int = 0,
    cluster: str | None = None,
    progress: SweepProgress | None = None,
) -> SweepReport:
    """Computes what the store does not have.

    Raises:
        InputError: the cluster cannot be used, or every run of the sweep is refused.
        Interrupted: Ctrl-C.
    """
    found = store.known(planned.requests)
    store.put_failures(
        Failure(key, planned.requests[key], sentence, True, 0) for key, sentence in planned.refused.items()
    )
    left = {
        key: request for key, request in planned.requests.items() if key not in found and key not in planned.refused
    }
    tasks = [Task(key, left[key], planned.build) for key in in_order(left)]
    sheet = _Sheet(planned, store, len(found), progress)
    if tasks:
        executor = start(workers, cluster, planned.build, len(tasks))
        try:
            sheet.fill(tasks, executor)
        except KeyboardInterrupt:
            raise Interrupted(sweep=sheet.report()) from None
        finally:
            executor.close()
    report = sheet.report()
    if report.failures and not report.found and not report.computed and all(one.bad_input for one in report.failures):
        raise InputError(f"every run of the sweep '{planned.name}' is refused: {report.failures[0].sentence}")
    return report


class _Sheet:
    """The progress of a sweep."""

    def __init__(self, planned: Plan, store: Store, found: int, progress: SweepProgress | None) -> None:
        self._plan, self._store, self._found, self._progress = planned, store, found, progress
        self._computed = 0
        self._failed = len(planned.refused)

    def fill(self, tasks: Iterable[Task], executor: Executor) -> None:
        """Lets an executor compute tasks, and keeps the outcomes."""
        self._tell()
        drive(tasks, executor, self._keep)

    def report(self) -> SweepReport:
        """What was done so far."""
        return SweepReport(
            name=self._plan.name,
            store=self._store.path,
            points=len(self._plan.points),
            runs=len(self._plan.requests),
            machines=self._plan.machines,
            found=self._found,
            computed=self._computed,
            failures=tuple(self._store.failures_of(self._plan.requests)),
            over_seeds=self._over_seeds(),
        )

    def _over_seeds(self) -> tuple[PointMeans, ...]:
        if SEED not in self._plan.axes:
            return ()
        return means(self._store.rows(self._plan.name).iter_rows(named=True), list(self._plan.axes))

    def _keep(self, finished: Sequence[Finished], failed: Sequence[Failed]) -> None:
        """Writes outcomes to the store, also after Ctrl-C: what is finished is kept."""
        failures = [
            Failure(one.task.key, one.task.request, one.sentence, one.bad_input, one.attempts) for one in failed
        ]
        try:
            self._write(finished, failures)
        except KeyboardInterrupt:
            written = self._store.known(one.key for one in finished)
            self._write([one for one in finished if one.key not in written], failures)
            raise
        finally:
            self._computed += len(finished)
            self._failed += len(failures)
        self._tell()

    def _write(self, finished: Sequence[Finished], failures: Sequence[Failure]) -> None:
        self._store.put_runs(finished, self._plan.build)
        if failures:
            self._store.put_failures(failures)

    def _tell(self) -> None:
        if self._progress is not None:
            done = self._found + self._computed + self._failed
            self._progress(done, len(self._plan.requests), self._failed)


def _read(spec: Spec) -> tuple[Mapping[str, Any], str, str]:
    """A sweep as a document and as text, and its name in sentences."""
    if isinstance(spec, Mapping):
        check_numbers(spec, "sweep")
        return spec, json.dumps(spec, indent=2, default=str, ensure_ascii=False), "sweep"
    return *matrix.document_and_text(spec), os.fspath(spec)


def _name(document: Mapping[str, Any], spec: Spec, place: str) -> str:
    name = document.get("name", "sweep" if isinstance(spec, Mapping) else Path(spec).stem)
    if not isinstance(name, str) or not name or any(letter in name for letter in "/\\\0\n"):
        raise InputError(f"{place}: name is '{name}'; it must be text without slashes")
    return name
