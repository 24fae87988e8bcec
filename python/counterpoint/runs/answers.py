"""Answers of the engine that are no figures of runs, kept in a store: verdicts on crashes, and what recovery costs.

The table `answers` has a row per question, under its key (see `keys`). It is made when a search first uses a store: one
that only has sweeps lacks it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..system.database import now
from .executor import Finished, Kind
from .executor.drive import Failed
from .store import Store

Answer: TypeAlias = dict[str, Any] | str
"""What the engine answers; a sentence where it refuses the question."""

_TABLE = """
CREATE TABLE answers (
    key VARCHAR PRIMARY KEY, kind VARCHAR, engine_build VARCHAR, request JSON, document JSON, refused VARCHAR,
    worker VARCHAR, seconds DOUBLE, finished_at TIMESTAMP
);
"""
_INSERT = (
    "INSERT OR REPLACE INTO answers SELECT unnest(?::VARCHAR[]), ?, ?, unnest(?::JSON[]), unnest(?::JSON[]), "
    "unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), ?"
)


class Answers:
    """The answers in an open store."""

    def __init__(self, store: Store) -> None:
        """Makes their table where the store has none.

        Raises:
            InputError: the store cannot be written, or has another table of that name.
        """
        self._database = store.database
        if not self._database.has_table("answers"):
            with self._database.transaction():
                if not self._database.has_table("answers"):
                    self._database.execute(_TABLE)
        self._database.check_layout(_TABLE, ())

    def of(self, keys: Iterable[str]) -> dict[str, Answer]:
        """The answers that are there, by key."""
        found = self._database.ask(
            "SELECT key, document, refused FROM answers WHERE key IN (SELECT unnest(?::VARCHAR[]))", [list(keys)]
        )
        return {
            key: self._database.parsed(document, "an answer") if refused is None else refused
            for key, document, refused in found
        }

    def put(self, kind: Kind, build: str, finished: Sequence[Finished], refused: Sequence[Failed]) -> None:
        """Keeps answers of the engine of that build, and its refusals; they are durable when this returns."""
        rows: list[tuple[Any, ...]] = [
            (one.key, json.dumps(one.configuration), json.dumps(one.document), None, one.worker, one.seconds)
            for one in finished
        ]
        rows += [(one.task.key, json.dumps(one.task.request), None, one.sentence, None, None) for one in refused]
        if not rows:
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        with self._database.transaction():
            self._database.execute(_INSERT, [columns[0], kind, build, *columns[1:], now()])
