"""Results of sweeps in one DuckDB file.

A run is kept once, under the key of its configuration and engine (see `keys`), however many sweeps ask for it:

- `results`: what came back of a run, as it came; `figures` names and types those that any run had.
- `runs`: a view of that, a row per run: `key`, every figure of `run --json` as a column, and `configuration` and
  `document` as JSON.
- `hosts`: a view too: who computed a run, in how many seconds and when; nothing else in the file depends on that.
- `failures`: runs that could not be computed, each with the sentence that says why.
- `sweeps` and `points`: what was asked for, and which run is at which point.
- `sweep_NAME`: a view of each sweep: its points in order, the values of the axes in front, then the figures.

Everything is written in transactions, so that a process killed at any time leaves what was finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .._engine import InputError
from ..contract.request import bytes_of
from ..contract.results import LineRun, Run
from ..system.database import Database, create, now, reason
from ..system.files import Table, write_table
from ..verbs.api import LINES
from ..verbs.frames import flat
from .executor import Finished

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1
"""The layout of the file; one that is newer is refused."""

_TABLES = """
CREATE TABLE counterpoint_store (schema INTEGER);
CREATE TABLE results (
    key VARCHAR PRIMARY KEY, engine_build VARCHAR, configuration JSON, document JSON, figures JSON,
    worker VARCHAR, seconds DOUBLE, finished_at TIMESTAMP, host JSON
);
CREATE TABLE figures (name VARCHAR PRIMARY KEY, type VARCHAR);
CREATE TABLE failures (
    key VARCHAR PRIMARY KEY, request JSON, sentence VARCHAR, bad_input BOOLEAN, attempts INTEGER, failed_at TIMESTAMP
);
CREATE TABLE sweeps (name VARCHAR PRIMARY KEY, digest VARCHAR, spec VARCHAR, axes JSON, made_at TIMESTAMP);
CREATE TABLE points (sweep VARCHAR, position INTEGER, key VARCHAR, axes JSON, PRIMARY KEY (sweep, position));
"""
_VIEWS = """
CREATE VIEW runs AS SELECT key, engine_build, configuration, document FROM results;
CREATE VIEW hosts AS SELECT key, worker, seconds, finished_at, host AS document FROM results;
"""
_FIGURE_TYPES = ("BOOLEAN", "UBIGINT", "DOUBLE", "VARCHAR")
_NUMBERS = ("NULL", "UBIGINT", "BIGINT", "HUGEINT", "DOUBLE")
_KINDS = {"BOOLEAN": ("NULL", "BOOLEAN"), "UBIGINT": _NUMBERS, "DOUBLE": _NUMBERS, "VARCHAR": ("NULL", "VARCHAR")}
"""DuckDB's names for the JSON values of figures, by their type."""

_AXIS_TYPES = ("BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR")
_INSERT = """
INSERT INTO results SELECT
    unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::JSON[]), unnest(?::JSON[]), unnest(?::JSON[]),
    unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), unnest(?::TIMESTAMP[]), unnest(?::JSON[])
ON CONFLICT DO NOTHING
"""
_NO_FIGURES = ("schema", "host")
_FRONT = ("design", "variant", "workload", "machine", "seed", "cores", "tx_size", "footprint", "transactions")
_SHOWN_MAX = 40
_RENAMED = {"transactions": "transactions_measured"}
"""Figures that are renamed if an axis has their name: the axis counts per core, the figure over all cores."""


@dataclass(frozen=True)
class Failure:
    """A run that could not be computed.

    Attributes:
        key: of the run.
        request: what the engine was asked.
        sentence: why not.
        bad_input: the request is wrong, not the engine or the worker.
        attempts: how many workers tried.
    """

    key: str
    request: Mapping[str, Any]
    sentence: str
    bad_input: bool
    attempts: int


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was asked for.

    Attributes:
        digest: of what its file says.
        spec: its file.
        axes: what differs, each with the DuckDB type of its values.
        points: how many there are.
    """

    name: str
    digest: str
    spec: str
    axes: Mapping[str, str]
    points: int


class Store:
    """A store, open. It is closed by `close` or at the end of a `with`.

    One process at a time writes to a file. Its threads may have it open together, also in several searches, sweeps and
    reproductions: they take turns, and what one of them has written the others find.
    """

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False, read_only: bool = False) -> None:
        """Opens the store, or makes it where it is missing.

        Args:
            path: the file.
            must_exist: refuse to make it.
            read_only: refuse to change it; it must exist.

        Raises:
            InputError: it cannot be opened, is no store, is of a newer version, or another process has it.
        """
        self.path = Path(path)
        try:
            missing = not self.path.exists()
        except (OSError, ValueError) as error:
            raise InputError(f"the store '{self.path}' cannot be opened: {reason(error)}") from None
        if missing and (must_exist or read_only):
            raise InputError(f"there is no store '{self.path}'; `counterpoint sweep` makes one")
        if missing:
            create(self.path, f"{_TABLES} {_VIEWS} INSERT INTO counterpoint_store VALUES ({SCHEMA});")
        self._database = Database(self.path, read_only=read_only)
        try:
            self._check_layout()
            self._columns = self._figure_columns()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    @property
    def database(self) -> Database:
        """The file, for what else is kept in it (see `answers`)."""
        return self._database

    def close(self) -> None:
        """Closes the file, so that other processes can open it."""
        self._database.close()

    def put_sweep(
        self,
        name: str,
        *,
        spec: str,
        digest: str,
        axes: Mapping[str, Sequence[Any]],
        points: Sequence[tuple[str, Mapping[str, Any]]],
    ) -> None:
        """Keeps a sweep, in place of an older one of that name; results stay.

        Args:
            name: name of the sweep.
            spec: its file.
            digest: of what that says.
            axes: what differs, with all its values.
            points: the key of the run at each, and its values on the axes.
        """
        types = {axis: axis_type(values) for axis, values in axes.items()}
        rows = [json.dumps([_on_axis(values[axis], types[axis]) for axis in axes]) for _, values in points]
        with self._database.transaction():
            self._database.execute("DELETE FROM sweeps WHERE name = ?", [name])
            self._database.execute("DELETE FROM points WHERE sweep = ?", [name])
            self._database.execute(
                "INSERT INTO sweeps VALUES (?, ?, ?, ?, ?)", [name, digest, spec, json.dumps(types), now()]
            )
            self._database.execute(
                "INSERT INTO points SELECT ?, unnest(?::INTEGER[]), unnest(?::VARCHAR[]), unnest(?::JSON[])",
                [name, list(range(len(points))), [key for key, _ in points], rows],
            )
            self._view(name, types)

    def put_runs(self, finished: Sequence[Finished], build: str) -> None:
        """Keeps runs that were computed by the engine of that build; they are durable when this returns.

        One that is in the store stays as it is.
        """
        if not finished:
            return
        before = self._columns
        try:
            with self._database.transaction():
                self._put_runs(finished, build)
        except BaseException:
            self._columns = before
            raise

    def put_failures(self, failures: Iterable[Failure]) -> None:
        """Keeps what could not be computed; durable when this returns."""
        with self._database.transaction():
            for one in failures:
                self._database.execute(
                    "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?)",
                    [one.key, json.dumps(one.request), one.sentence, one.bad_input, one.attempts, now()],
                )

    def known(self, keys: Iterable[str]) -> set[str]:
        """The keys whose runs are in the store."""
        wanted = list(keys)
        found = self._database.ask("SELECT key FROM results WHERE key IN (SELECT unnest(?::VARCHAR[]))", [wanted])
        return {key for (key,) in found}

    def run(self, key: str) -> Run:
        """One run of a program, its figures of the host included."""
        return self.runs([key])[key]

    def runs(self, keys: Iterable[str]) -> dict[str, Run]:
        """Runs of programs by key, their figures of the host included."""
        found = {}
        for key, run in self.reports(keys).items():
            if not isinstance(run, Run):
                raise InputError(f"the run '{key}' is of a trace of memory lines, which has no program")
            found[key] = run
        return found

    def reports(self, keys: Iterable[str]) -> dict[str, Run | LineRun]:
        """Runs by key, also those of traces of memory lines, their figures of the host included."""
        wanted = list(keys)
        rows = self._database.ask(
            "SELECT key, document, host FROM results WHERE key IN (SELECT unnest(?::VARCHAR[]))", [wanted]
        )
        found = {key: self._run(key, document, host) for key, document, host in rows}
        for key in wanted:
            if key not in found:
                raise InputError(f"there is no run '{key}' in the store '{self.path}'")
        return found

    def _run(self, key: str, document: str, host: str) -> Run | LineRun:
        whole = {
            **self._database.parsed(document, f"the run '{key}'"),
            "host": self._database.parsed(host, f"the run '{key}'"),
        }
        kind: type[Run | LineRun] = LineRun if whole.get("kind") == LINES else Run
        if not kind.is_in(whole):
            raise self.altered(f"the run '{key}' is not a report of the engine")
        return kind.from_dict(whole)

    def configuration(self, key: str) -> dict[str, Any]:
        """The complete configuration of a run."""
        found = self._database.ask("SELECT configuration FROM results WHERE key = ?", [key])
        if not found:
            raise InputError(f"there is no run '{key}' in the store '{self.path}'")
        return self._database.parsed(found[0][0], f"the configuration of the run '{key}'")

    def sweeps(self) -> list[Sweep]:
        """The sweeps, in the order in which they were recorded."""
        found = self._database.ask(
            "SELECT name, digest, spec, axes, (SELECT count(*) FROM points WHERE sweep = name) FROM sweeps "
            "ORDER BY made_at, name"
        )
        return [self._sweep(*row) for row in found]

    def sweep(self, name: str | None = None) -> Sweep:
        """The sweep of that name, or the one that was recorded last.

        Raises:
            InputError: there is no such sweep.
        """
        sweeps = self.sweeps()
        named = [one for one in sweeps if name in (None, one.name)]
        if named:
            return named[-1]
        if not sweeps:
            raise InputError(f"the store '{self.path}' holds no sweep")
        known = ", ".join(one.name for one in sweeps)
        raise InputError(f"there is no sweep '{name}' in the store '{self.path}' (known: {known})")

    def failures(self, sweep: str) -> list[Failure]:
        """What could not be computed of a sweep, in the order of its points."""
        keys = self._database.ask("SELECT key FROM points WHERE sweep = ? ORDER BY position", [sweep])
        return self.failures_of(key for (key,) in keys)

    def failures_of(self, keys: Iterable[str]) -> list[Failure]:
        """What could not be computed of some runs, each once and in their order."""
        wanted = list(dict.fromkeys(keys))
        found = self._database.ask(
            "SELECT key, request, sentence, bad_input, attempts FROM failures "
            "JOIN (SELECT unnest(?::VARCHAR[]) AS key, unnest(?::INTEGER[]) AS place) USING (key) ORDER BY place",
            [wanted, list(range(len(wanted)))],
        )
        if any(value is None for row in found for value in row):
            raise self.altered("a failure lacks a value")
        return [
            Failure(key, self._database.parsed(asked, "the request of a failure"), *rest) for key, asked, *rest in found
        ]

    def rows(self, sweep: str) -> pl.DataFrame:
        """The view of a sweep as a frame: a row per point, in order."""
        asked = self.sweep(sweep)
        self._check_figures()
        rows = self._database.frame(self._points_query(asked.name, asked.axes, f"({self._runs_query()})"))
        if any(rows[column].null_count() for column in ("point", "key", *asked.axes)):
            raise self.altered(f"a point of the sweep '{asked.name}' lacks a value")
        return rows

    def export(self, sweep: str, path: str | os.PathLike[str]) -> Path:
        """Writes the view of a sweep as a Parquet or CSV file, whole or not at all; returns its path.

        Raises:
            InputError: it ends in neither `.parquet` nor `.csv`, or cannot be written.
        """
        target = Path(path)
        return write_table(self.rows(sweep), target, export_format(target))

    def altered(self, what: str) -> InputError:
        """The error for a store that does not hold what Counterpoint writes."""
        return self._database.altered(what)

    def _check_layout(self) -> None:
        if not self._database.has_table("counterpoint_store"):
            raise InputError(f"'{self.path}' is a DuckDB file but no store of Counterpoint; name another file")
        layouts = [row[0] for row in self._database.ask("SELECT * FROM counterpoint_store")]
        if len(layouts) != 1:
            raise self.altered(f"it names {len(layouts)} layouts, and a store has one")
        if layouts[0] != SCHEMA:
            raise InputError(
                f"the store '{self.path}' has layout {str(layouts[0])[:_SHOWN_MAX]}, and this version knows layout "
                f"{SCHEMA}; use the version that made it, or a new file"
            )
        views = ("runs", "hosts", *(view_name(name) for (name,) in self._database.ask("SELECT name FROM sweeps")))
        self._database.check_layout(_TABLES, views)

    def _figure_columns(self) -> dict[str, str]:
        found = self._database.ask("SELECT name, type FROM figures")
        for name, kind in found:
            if name is None or kind not in _FIGURE_TYPES:
                raise self.altered(f"the figure '{name}' has a type that no figure has")
        return dict(found)

    def _check_figures(self) -> None:
        """Checks the types of figures: DuckDB reads a figure of another type as null."""
        for (structure,) in self._database.ask("SELECT DISTINCT json_structure(figures) FROM results"):
            for name, kind in self._database.parsed(structure, "what the figures of a run are").items():
                if kind not in _KINDS.get(self._columns.get(name, ""), ("NULL",)):
                    raise self.altered(f"the figure '{name}' of a run is of another kind than it was")

    def _sweep(self, name: str, digest: str | None, spec: str | None, axes: str | None, points: int) -> Sweep:
        types = self._database.parsed(axes, f"what the sweep '{name}' has for axes")
        known = all(kind in _AXIS_TYPES for kind in types.values())
        if not known or name is None or digest is None or spec is None:
            raise self.altered(f"the sweep '{name}' is not the one that was asked for")
        return Sweep(name, digest, spec, types, points)

    def _put_runs(self, finished: Sequence[Finished], build: str) -> None:
        figures = [_figures(one.document) for one in finished]
        # Another thread may have kept runs in the meantime.
        self._columns = self._figure_columns()
        self._widen(figures)
        keys = [one.key for one in finished]
        self._database.execute("DELETE FROM failures WHERE key IN (SELECT unnest(?::VARCHAR[]))", [keys])
        rows = [self._row(one, values, build) for one, values in zip(finished, figures, strict=True)]
        # All at once: a statement for each row takes ten times as long.
        self._database.execute(_INSERT, list(map(list, zip(*rows, strict=True))))

    def _row(self, one: Finished, figures: Mapping[str, Any], build: str) -> tuple[Any, ...]:
        document = {name: value for name, value in one.document.items() if name != "host"}
        parts = map(json.dumps, (one.configuration, document, figures))
        return one.key, build, *parts, one.worker, one.seconds, now(), json.dumps(one.document.get("host"))

    def _widen(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds columns for figures that no run had before."""
        new = {
            name: _figure_type(value)
            for row in rows
            for name, value in row.items()
            if value is not None and name not in self._columns
        }
        if not new:
            return
        for name, kind in new.items():
            self._database.execute("INSERT INTO figures VALUES (?, ?)", [name, kind])
        self._columns = self._columns | new
        self._database.execute(f"CREATE OR REPLACE VIEW runs AS {self._runs_query()}")
        for sweep in self.sweeps():
            self._view(sweep.name, sweep.axes)

    def _runs_query(self) -> str:
        """A query for the runs that does not use the view `runs`, which may be anything in a file from elsewhere."""
        if not self._columns:
            return "SELECT key, engine_build, configuration, document FROM results"
        shape = _text(json.dumps(self._columns))
        columns = "".join(f"of_run.{_quoted(name)}, " for name in self._ordered())
        return (
            f"SELECT key, engine_build, {columns}configuration, document "
            f"FROM (SELECT *, from_json(figures, {shape}) AS of_run FROM results)"
        )

    def _ordered(self) -> list[str]:
        """The figures as columns; the build of the engine is one already."""
        front = [name for name in _FRONT if name in self._columns]
        return front + sorted(set(self._columns) - {*front, "engine_build"})

    def _view(self, name: str, axes: Mapping[str, str]) -> None:
        query = self._points_query(name, axes, "runs")
        self._database.execute(f"CREATE OR REPLACE VIEW {_quoted(view_name(name))} AS {query}")

    def _points_query(self, name: str, axes: Mapping[str, str], runs: str) -> str:
        """The points of a sweep with their runs, which come from the query or view `runs`."""
        columns = [
            "points.position AS point",
            *(
                f"CAST(points.axes->>'$[{place}]' AS {kind}) AS {_quoted(axis)}"
                for place, (axis, kind) in enumerate(axes.items())
            ),
            *(
                f"runs.{_quoted(figure)}" + (f" AS {_RENAMED[figure]}" if figure in axes else "")
                for figure in self._ordered()
                if figure not in axes or figure in _RENAMED
            ),
            "failures.sentence AS failure",
            "points.key",
            "runs.engine_build",
            "runs.configuration",
        ]
        return (
            f"SELECT {', '.join(columns)} FROM points "
            f"LEFT JOIN {runs} AS runs ON runs.key = points.key LEFT JOIN failures ON failures.key = points.key "
            f"WHERE points.sweep = {_text(name)} ORDER BY points.position"
        )


def view_name(sweep: str) -> str:
    """The name of the view of a sweep."""
    return f"sweep_{sweep}"


def export_format(path: Path) -> Table:
    """The format in which a file of that name is written.

    Raises:
        InputError: it ends in neither `.parquet` nor `.csv`.
    """
    formats: Mapping[str, Table] = {".parquet": "parquet", ".csv": "csv"}
    if path.suffix.lower() not in formats:
        raise InputError(f"export file '{path}' must end in .parquet or .csv")
    return formats[path.suffix.lower()]


def axis_type(values: Sequence[Any]) -> str:
    """The DuckDB type of the values of an axis. Sizes become bytes, so an axis of sizes is numeric."""
    if all(isinstance(value, bool) for value in values):
        return "BOOLEAN"
    if any(isinstance(value, bool) for value in values):
        return "VARCHAR"
    if all(isinstance(value, int) or (isinstance(value, str) and bytes_of(value) is not None) for value in values):
        return "BIGINT" if all((bytes_of(value) or 0) < 2**63 for value in values) else "VARCHAR"
    return "DOUBLE" if all(isinstance(value, int | float) for value in values) else "VARCHAR"


def _on_axis(value: Any, kind: str) -> Any:
    if kind == "BIGINT":
        return bytes_of(value)
    return str(value) if kind == "VARCHAR" else value


def _figures(document: Mapping[str, Any]) -> dict[str, Any]:
    return flat({name: value for name, value in document.items() if name not in _NO_FIGURES})


def _figure_type(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "UBIGINT"
    return "DOUBLE" if isinstance(value, float) else "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str | Path) -> str:
    return "'" + str(text).replace("'", "''") + "'"
