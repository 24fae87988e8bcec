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

import contextlib
import datetime
import json
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from ._engine import InputError
from .executor import Finished
from .frame import flat
from .paths import is_file
from .request import bytes_of
from .results import Run

if TYPE_CHECKING:
    import duckdb
    import polars as pl

SCHEMA = 1
"""The layout of the file; one that is newer is refused."""

Format = Literal["parquet", "csv"]

_TABLES = """
CREATE TABLE counterpoint_store (schema INTEGER);
CREATE TABLE results (
    key VARCHAR PRIMARY KEY, engine_build VARCHAR, configuration JSON, document JSON, figures JSON,
    worker VARCHAR, seconds DOUBLE, finished_at TIMESTAMP, host JSON
);
CREATE TABLE figures (name VARCHAR PRIMARY KEY, type VARCHAR);
CREATE VIEW runs AS SELECT key, engine_build, configuration, document FROM results;
CREATE VIEW hosts AS SELECT key, worker, seconds, finished_at, host AS document FROM results;
CREATE TABLE failures (
    key VARCHAR PRIMARY KEY, request JSON, sentence VARCHAR, bad_input BOOLEAN, attempts INTEGER, failed_at TIMESTAMP
);
CREATE TABLE sweeps (name VARCHAR PRIMARY KEY, digest VARCHAR, spec VARCHAR, axes JSON, made_at TIMESTAMP);
CREATE TABLE points (sweep VARCHAR, position INTEGER, key VARCHAR, axes JSON, PRIMARY KEY (sweep, position));
"""
_INSERT = "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_NO_FIGURES = ("schema", "host")
_FRONT = ("design", "variant", "workload", "machine", "seed", "cores", "tx_size", "footprint", "transactions")
_RENAMED = {"transactions": "transactions_measured"}
"""Figures that go by another name beside an axis of theirs: that counts for each core, and they over all."""


@dataclass(frozen=True)
class Failure:
    """A run that could not be computed.

    Attributes:
        request: what the engine was asked.
        sentence: why not.
        bad_input: what was asked is to blame, and not the engine or the worker.
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
    """A store, open. One process at a time writes to a file; it is closed by `close` or at the end of a `with`."""

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
        if (must_exist or read_only) and not is_file(self.path):
            raise InputError(f"there is no store '{self.path}'; `counterpoint sweep` makes one")
        self._connection = _connect(self.path, read_only=read_only)
        self._columns: dict[str, str] = {}
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise
        self._columns = dict(self._connection.execute("SELECT name, type FROM figures").fetchall())
        self._failed = {key for (key,) in self._connection.execute("SELECT key FROM failures").fetchall()}

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    def close(self) -> None:
        """Lets others have the file."""
        self._connection.close()

    def put_sweep(
        self,
        name: str,
        *,
        spec: str,
        digest: str,
        axes: Mapping[str, Sequence[Any]],
        points: Sequence[tuple[str, Mapping[str, Any]]],
    ) -> None:
        """Keeps what a sweep asks for, in the place of an older one of that name; results stay.

        Args:
            name: of the sweep.
            spec: its file.
            digest: of what that says.
            axes: what differs, with all its values.
            points: the key of the run at each, and its values on the axes.
        """
        types = {axis: axis_type(values) for axis, values in axes.items()}
        rows = [json.dumps([_on_axis(values[axis], types[axis]) for axis in axes]) for _, values in points]
        with self._transaction():
            self._connection.execute("DELETE FROM sweeps WHERE name = ?", [name])
            self._connection.execute("DELETE FROM points WHERE sweep = ?", [name])
            self._connection.execute(
                "INSERT INTO sweeps VALUES (?, ?, ?, ?, ?)", [name, digest, spec, json.dumps(types), _now()]
            )
            self._connection.execute(
                "INSERT INTO points SELECT ?, unnest(?::INTEGER[]), unnest(?::VARCHAR[]), unnest(?::JSON[])",
                [name, list(range(len(points))), [key for key, _ in points], rows],
            )
            self._view(name, types)

    def put_runs(self, finished: Sequence[Finished], build: str) -> None:
        """Keeps runs that were computed by the engine of that build; they are durable when this returns.

        None of them may be in the store.
        """
        if not finished:
            return
        with self._transaction():
            figures = [_figures(one.document) for one in finished]
            self._widen(figures)
            for one, values in zip(finished, figures, strict=True):
                document = {name: value for name, value in one.document.items() if name != "host"}
                parts = (one.configuration, document, values)
                row = [one.key, build, *map(json.dumps, parts), one.worker, one.seconds, _now()]
                self._connection.execute(_INSERT, [*row, json.dumps(one.document.get("host"))])
                if one.key in self._failed:
                    self._connection.execute("DELETE FROM failures WHERE key = ?", [one.key])

    def put_failures(self, failures: Iterable[Failure]) -> None:
        """Keeps what could not be computed; durable when this returns."""
        with self._transaction():
            for one in failures:
                self._connection.execute(
                    "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?)",
                    [one.key, json.dumps(one.request), one.sentence, one.bad_input, one.attempts, _now()],
                )
                self._failed.add(one.key)

    def known(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys whose runs are in the store."""
        wanted = list(keys)
        found = self._connection.execute("SELECT key FROM results WHERE key IN (SELECT unnest(?::VARCHAR[]))", [wanted])
        return {key for (key,) in found.fetchall()}

    def run(self, key: str) -> Run:
        """One run, its figures of the host included."""
        found = self._connection.execute("SELECT document, host FROM results WHERE key = ?", [key]).fetchone()
        if found is None:
            raise InputError(f"there is no run '{key}' in the store '{self.path}'")
        return Run.from_dict({**json.loads(found[0]), "host": json.loads(found[1])})

    def configuration(self, key: str) -> dict[str, Any]:
        """The complete configuration of a run."""
        found = self._connection.execute("SELECT configuration FROM results WHERE key = ?", [key]).fetchone()
        if found is None:
            raise InputError(f"there is no run '{key}' in the store '{self.path}'")
        resolved: dict[str, Any] = json.loads(found[0])
        return resolved

    def sweeps(self) -> list[Sweep]:
        """The sweeps, in the order in which they were asked for."""
        found = self._connection.execute(
            "SELECT name, digest, spec, axes, (SELECT count(*) FROM points WHERE sweep = name) FROM sweeps "
            "ORDER BY made_at, name"
        ).fetchall()
        return [Sweep(name, digest, spec, json.loads(axes), points) for name, digest, spec, axes, points in found]

    def sweep(self, name: str | None = None) -> Sweep:
        """The sweep of that name, or the one asked for last.

        Raises:
            InputError: there is none.
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
        found = self._connection.execute(
            "SELECT key, request, sentence, bad_input, attempts FROM failures JOIN "
            "(SELECT key, min(position) AS first FROM points WHERE sweep = ? GROUP BY key) USING (key) ORDER BY first",
            [sweep],
        ).fetchall()
        return [Failure(key, json.loads(asked), *rest) for key, asked, *rest in found]

    def rows(self, sweep: str) -> pl.DataFrame:
        """The view of a sweep as a frame: a row per point, in order."""
        import polars as pl

        found = self._connection.execute(f"SELECT * FROM {_quoted(view_name(self.sweep(sweep).name))} ORDER BY point")
        schema = {name: _polars_type(str(kind)) for name, kind, *_ in found.description or ()}
        return pl.DataFrame(found.fetchall(), schema=schema, orient="row")

    def export(self, sweep: str, path: str | os.PathLike[str]) -> Path:
        """Writes the view of a sweep as a Parquet or CSV file, whole or not at all; returns its path.

        Raises:
            InputError: it ends in neither `.parquet` nor `.csv`, or cannot be written.
        """
        target = Path(path)
        import duckdb

        form = export_format(target)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        options = "FORMAT parquet, COMPRESSION zstd" if form == "parquet" else "FORMAT csv, HEADER"
        view = _quoted(view_name(self.sweep(sweep).name))
        try:
            self._connection.execute(f"COPY (SELECT * FROM {view} ORDER BY point) TO {_text(temporary)} ({options})")
            temporary.replace(target)
        except (duckdb.Error, OSError) as error:
            raise InputError(f"output file '{target}' cannot be written: {_reason(error)}") from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return target

    def _prepare(self) -> None:
        tables = {name for (name,) in self._connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        if not tables:
            with self._transaction():
                self._connection.execute(_TABLES)
                self._connection.execute("INSERT INTO counterpoint_store VALUES (?)", [SCHEMA])
            return
        if "counterpoint_store" not in tables:
            raise InputError(f"'{self.path}' is a DuckDB file but no store of Counterpoint; name another file")
        (schema,) = self._connection.execute("SELECT schema FROM counterpoint_store").fetchone() or (None,)
        if schema != SCHEMA:
            raise InputError(
                f"the store '{self.path}' has layout {schema}, and this version knows layout {SCHEMA}; "
                "use the version that made it, or a new file"
            )

    def _widen(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Columns for figures that no run had before."""
        new = {
            name: _figure_type(value)
            for row in rows
            for name, value in row.items()
            if value is not None and name not in self._columns
        }
        if not new:
            return
        for name, kind in new.items():
            self._connection.execute("INSERT INTO figures VALUES (?, ?)", [name, kind])
        self._columns = self._columns | new
        self._runs_view()
        for sweep in self.sweeps():
            self._view(sweep.name, sweep.axes)

    def _runs_view(self) -> None:
        shape = _text(json.dumps(self._columns))
        columns = ", ".join(f"of_run.{_quoted(name)}" for name in self._ordered())
        self._connection.execute(
            f"CREATE OR REPLACE VIEW runs AS SELECT key, engine_build, {columns}, configuration, document "
            f"FROM (SELECT *, from_json(figures, {shape}) AS of_run FROM results)"
        )

    def _ordered(self) -> list[str]:
        front = [name for name in _FRONT if name in self._columns]
        return front + sorted(set(self._columns) - set(front))

    def _view(self, name: str, axes: Mapping[str, str]) -> None:
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
        self._connection.execute(
            f"CREATE OR REPLACE VIEW {_quoted(view_name(name))} AS SELECT {', '.join(columns)} FROM points "
            "LEFT JOIN runs ON runs.key = points.key LEFT JOIN failures ON failures.key = points.key "
            f"WHERE points.sweep = {_text(name)} ORDER BY points.position"
        )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        import duckdb

        before = self._columns
        with _uninterrupted():
            self._connection.execute("BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
                self._columns = before
                if isinstance(error, duckdb.Error):
                    raise InputError(f"the store '{self.path}' cannot be written: {_reason(error)}") from None
                raise


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Puts Ctrl-C off until the end, so that DuckDB does not give up in the middle of a transaction."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def view_name(sweep: str) -> str:
    """The name of the view of a sweep."""
    return f"sweep_{sweep}"


def export_format(path: Path) -> Format:
    """What a file of that name is written as.

    Raises:
        InputError: it ends in neither `.parquet` nor `.csv`.
    """
    formats: Mapping[str, Format] = {".parquet": "parquet", ".csv": "csv"}
    if path.suffix.lower() not in formats:
        raise InputError(f"export file '{path}' must end in .parquet or .csv")
    return formats[path.suffix.lower()]


def axis_type(values: Sequence[Any]) -> str:
    """The DuckDB type of the values of an axis. Sizes are bytes, so that an axis of them is one of numbers."""
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


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    # DuckDB takes longer to load than most commands to run.
    import duckdb

    try:
        return duckdb.connect(path, read_only=read_only)
    except duckdb.Error as error:
        text = str(error)
        if "lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f" (process {holder[1]})" if holder else ""
            raise InputError(
                f"the store '{path}' is in use by another process{who}; wait, or use another file"
            ) from None
        if "not a valid DuckDB" in text:
            raise InputError(f"'{path}' is no store: it is not a DuckDB file") from None
        raise InputError(f"the store '{path}' cannot be opened: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = reason.strip().splitlines()[0]
    return first.removeprefix("IO Error: ")


def _figures(document: Mapping[str, Any]) -> dict[str, Any]:
    return flat({name: value for name, value in document.items() if name not in _NO_FIGURES})


def _figure_type(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "UBIGINT"
    return "DOUBLE" if isinstance(value, float) else "VARCHAR"


def _polars_type(kind: str) -> pl.DataType | type[pl.DataType]:
    import polars as pl

    known = {"BOOLEAN": pl.Boolean, "INTEGER": pl.Int32, "BIGINT": pl.Int64, "UBIGINT": pl.UInt64, "DOUBLE": pl.Float64}
    return known.get(kind, pl.String)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str | Path) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
