"""A DuckDB file from anywhere, opened so that it cannot reach other files.

The content of a DuckDB file can be active: a view may read files, and an unknown name in it may refer to a variable of
this program. So access to files, extensions and variables is switched off, and views are never queried: everything is
read from tables. Errors in a file are reported in one sentence.

The threads of this process that open a file share one connection, and take turns on it: DuckDB would let their
transactions run into each other. Another process is refused as long as one writes.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .._engine import InputError
from .files import unfinished
from .handlers import STOPS, handled

if TYPE_CHECKING:
    import duckdb
    import polars as pl

T = TypeVar("T")

CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}
"""Access to the file only; the file cannot change this."""

_OURS = "WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal"
_LAYOUT = f"SELECT table_name, sql FROM duckdb_tables() {_OURS}"
_VIEWS = f"SELECT view_name FROM duckdb_views() {_OURS}"
_SAID_MAX = 300
"""Longest quotation from a file in a sentence, in characters."""


class _Rows:
    """The rows of a relation, for Polars.

    Where NumPy is installed Polars remembers the type of what it reads from, and DuckDB complains at the end of the
    process if that is one of its own.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self._relation = relation

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as Arrow has them."""
        return self._relation.__arrow_c_stream__(requested_schema)


class _File:
    """A file that this process has open.

    Attributes:
        lock: held by the thread whose turn it is.
        users: how many have opened it and not closed it.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path, self.read_only = path, read_only
        self.lock = threading.RLock()
        self.users = 0
        self.connection = _connected(path, read_only=read_only)

    def take(self, *, read_only: bool) -> None:
        """Opens it once more, to write where that is asked for."""
        with self.lock:
            if self.read_only and not read_only:
                self.connection.close()
                try:
                    self.connection = _connected(self.path, read_only=False)
                except InputError:
                    self.connection = _connected(self.path, read_only=True)
                    raise
                self.read_only = False
            self.users += 1


_open: dict[tuple[int, int], _File] = {}
"""The files that this process has open, by device and inode."""

_opening = threading.Lock()


class Database:
    """A DuckDB file, open. One process at a time writes to it; its threads take turns."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Opens a file that exists.

        Args:
            path: the file.
            read_only: refuse to change it.

        Raises:
            InputError: it is not a DuckDB file, it is damaged, or another process has it open.
        """
        self.path, self._read_only = path, read_only
        _check_file(path)
        with _opening:
            found = path.stat()
            self._key = (found.st_dev, found.st_ino)
            self._file: _File | None = _open.get(self._key) or _File(path, read_only=read_only)
            self._file.take(read_only=read_only)
            _open[self._key] = self._file

    def close(self) -> None:
        """Closes the file; where no other thread has it open, other processes can open it then."""
        with _opening:
            file, self._file = self._file, None
            if file is None:
                return
            file.users -= 1
            if not file.users:
                del _open[self._key]
                with file.lock, contextlib.suppress(*_faults()):
                    file.connection.close()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Changes the file, within `transaction`.

        Raises:
            InputError: it cannot be written.
        """
        self._do("written", lambda connection: connection.execute(statement, list(values)))

    def ask(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query over tables.

        Raises:
            InputError: the file is damaged.
        """
        return self._do("read", lambda connection: connection.execute(query, list(values)).fetchall())

    def frame(self, query: str) -> pl.DataFrame:
        """The rows of a query over tables, as a frame.

        Raises:
            InputError: the file is damaged.
        """
        import polars as pl

        try:
            return self._do("read", lambda connection: pl.DataFrame(_Rows(connection.sql(query))))
        except pl.exceptions.PolarsError as error:
            raise InputError(f"the store '{self.path}' cannot be read: {reason(error)}") from None

    def check_layout(self, tables: str, views: Sequence[str]) -> None:
        """Checks that the file has these tables with these columns, and no table with the name of one of the views.

        Raises:
            InputError: it has not.
        """
        expected = _layout(tables)
        found = dict(self.ask(_LAYOUT))
        seen = {name for (name,) in self.ask(_VIEWS)}
        for name, layout in expected.items():
            if name in seen:
                raise self.altered(f"'{name}' is a view, not a table")
            if name not in found:
                raise self.altered(f"there is no table '{name}'")
            if found[name] != layout:
                raise self.altered(f"table '{name}' does not have the columns that Counterpoint writes")
        for name in views:
            if name in found:
                raise self.altered(f"'{name}' is a table, not a view")

    def has_table(self, name: str) -> bool:
        """Whether there is a table of that name; a view does not count."""
        return name in dict(self.ask(_LAYOUT))

    def parsed(self, text: str | None, what: str) -> dict[str, Any]:
        """A JSON object of the file.

        Raises:
            InputError: `what` is none.
        """
        try:
            document = json.loads(text or "")
        except (ValueError, RecursionError):
            raise self.altered(f"{what} is not JSON") from None
        if not isinstance(document, dict):
            raise self.altered(f"{what} is not a JSON object")
        return document

    def altered(self, what: str) -> InputError:
        """The error for a file that does not hold what Counterpoint writes."""
        return InputError(f"the store '{self.path}' is damaged or was altered: {_plain(what)}")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made within become durable at the end, or not at all; other threads wait.

        Raises:
            InputError: the file cannot be written.
        """
        if self._read_only:
            raise InputError(f"the store '{self.path}' cannot be written: it was opened to be read")
        with self._taken().lock, _uninterrupted():
            try:
                self.execute("BEGIN")
                yield
                self.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(InputError):
                    self.execute("ROLLBACK")
                raise

    def _do(self, done: str, call: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        file = self._taken()
        try:
            with file.lock, _heard():
                return call(file.connection)
        except _faults() as error:
            raise InputError(f"the store '{self.path}' cannot be {done}: {reason(error)}") from None

    def _taken(self) -> _File:
        if self._file is None:
            raise InputError(f"the store '{self.path}' is closed")
        return self._file


def _connected(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    # DuckDB takes longer to load than most commands to run.
    import duckdb

    try:
        with _heard():
            return duckdb.connect(path, read_only=read_only, config=CONFIGURATION)
    except _faults() as error:
        raise _refused(path, error) from None


def _faults() -> tuple[type[Exception], ...]:
    """What DuckDB may raise; damaged bytes may make it raise any of these."""
    import duckdb

    return (duckdb.Error, ValueError, OverflowError, RuntimeError, MemoryError)


@cache
def _layout(tables: str) -> dict[str, str]:
    """The columns of tables, by name, as DuckDB says them."""
    import duckdb

    with _heard(), duckdb.connect(config=CONFIGURATION) as made:
        made.execute(tables)
        return dict(made.execute(_LAYOUT).fetchall())


def create(path: Path, statements: str) -> None:
    """Creates a DuckDB file, unless there is a file already. It appears whole or not at all.

    Raises:
        InputError: it cannot be created.
    """
    import duckdb

    log = path.with_name(path.name + ".wal")
    if log.exists() and not path.exists():
        raise InputError(f"the store '{path}' is missing, and its log '{log}' is there; move one of them to the other")
    with unfinished(path, "store", replace=False) as temporary:
        try:
            with _heard(), duckdb.connect(temporary, config=CONFIGURATION) as made:
                made.execute(f"BEGIN; {statements} COMMIT; CHECKPOINT;")
        except duckdb.Error as error:
            raise InputError(f"store '{path}' cannot be written: {reason(error)}") from None


def now() -> datetime.datetime:
    """The time in UTC, as files have it."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def reason(error: Exception) -> str:
    """The reason for an error: the first line of the message of DuckDB or the system."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    first = (said.strip() or type(error).__name__).splitlines()[0]
    return _plain(first.removeprefix("IO Error: "))


def _plain(said: str) -> str:
    """Text that may come from the file, short and without control characters."""
    shown = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in said)
    return shown if len(shown) <= _SAID_MAX else f"{shown[:_SAID_MAX]}..."


def _check_file(path: Path) -> None:
    """Refuses files that DuckDB would wait for, take for a new file, or report in other words."""
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file"
        raise InputError(f"'{path}' is not a store: it is {what}")
    if path.stat().st_size == 0:
        raise InputError(f"'{path}' is not a store: it is empty")


def _refused(path: Path, error: Exception) -> InputError:
    text = str(error)
    if "Could not set lock on file" in text:
        holder = re.search(r"PID (\d+)", text)
        who = f" (process {holder[1]})" if holder else ""
        return InputError(f"the store '{path}' is in use by another process{who}; wait, or use another file")
    if "not a valid DuckDB" in text:
        return InputError(f"'{path}' is not a store: it is not a DuckDB file")
    return InputError(f"the store '{path}' cannot be opened: {reason(error)}")


@contextlib.contextmanager
def _heard() -> Iterator[None]:
    """Raises Ctrl-C again where DuckDB makes an error of its own of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C, and signals whose handlers raise, until the end.

    Otherwise DuckDB would stop in the middle of a transaction.
    """
    heard: list[int] = []
    with handled(STOPS, lambda number, _: heard.append(number), instead_of=lambda _, handler: callable(handler)):
        yield
    if heard:
        signal.raise_signal(heard[0])
