"""Asks the engine what a search wants to know: each question once, in batches, by an executor that stays.

What was answered before, in this search or another with the same store, is not asked again. So a search that was
interrupted continues, and one that is over is repeated in seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from .._engine import EngineError, InputError
from ..runs import keys
from ..runs.answers import Answer, Answers
from ..runs.executor import Executor, Finished, Kind, Task
from ..runs.executor.drive import Failed, Keep, drive
from ..runs.executor.order import place_in_memory
from ..runs.executor.processes import Processes, workers_of
from ..runs.store import Store
from ..verbs import api, catalogue

Request: TypeAlias = Mapping[str, Any]

_KEPT_SECONDS = 1.0
"""How long answers may wait to be written; a search that is killed computes them again."""


class _Kept:
    """What has been computed and is not in the store yet: writing one by one takes longer than computing them."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._finished: list[Finished] = []
        self._failed: list[Failed] = []
        self._since = time.monotonic()

    def take(self, finished: Sequence[Finished], failed: Sequence[Failed]) -> None:
        """Takes outcomes, and hands all over about once a second."""
        self._finished += finished
        self._failed += failed
        if time.monotonic() - self._since >= _KEPT_SECONDS:
            self.hand_over()

    def hand_over(self) -> None:
        """Writes them."""
        finished, failed, self._finished, self._failed = self._finished, self._failed, [], []
        self._since = time.monotonic()
        if finished or failed:
            self._keep(finished, failed)


class Computer:
    """The engine behind a store and an executor; to be closed."""

    def __init__(self, store: Store, *, workers: int = 0, cluster: str | None = None) -> None:
        """Nothing is started until something has to be computed.

        Args:
            store: what is there already, and where answers are kept.
            workers: processes that compute; 0 is one per processor.
            cluster: address of a Dask scheduler whose workers compute instead.
        """
        self._store, self._answers = store, Answers(store)
        self._workers, self._cluster = workers, cluster
        self._build = catalogue.engine_build()
        self._executor: Executor | None = None
        self._known: dict[str, Answer] = {}
        self.computed = 0

    def close(self) -> None:
        """Ends the workers."""
        if self._executor is not None:
            self._executor.close()

    def ask(self, kind: Kind, requests: Iterable[Request]) -> list[Answer]:
        """The engine's answer to each request, in order; a sentence where it refuses one.

        Raises:
            InputError: the cluster or the store cannot be used.
            EngineError: the engine has a fault of its own.
        """
        asked = [keys.absolute(request) for request in requests]
        names = [self._key(kind, request) for request in asked]
        wanted = {key: request for key, request in zip(names, asked, strict=True) if key not in self._known}
        self._known |= self._kept(kind, wanted)
        tasks = [Task(key, request, self._build, kind) for key, request in wanted.items() if key not in self._known]
        if kind == "run":
            tasks.sort(key=lambda task: place_in_memory(task.request))
        if tasks:
            kept = _Kept(lambda finished, failed: self._keep(kind, finished, failed))
            try:
                drive(tasks, self._started(), kept.take)
            finally:
                kept.hand_over()
        return [self._known[key] for key in names]

    def _key(self, kind: Kind, request: Request) -> str:
        if kind != "run":
            return keys.answer_key(kind, request, self._build)
        try:
            return keys.key(api.resolve_request(request), self._build)
        except InputError as error:
            key = keys.refused_key(request, self._build)
            self._known[key] = str(error)
            return key

    def _kept(self, kind: Kind, wanted: Mapping[str, Request]) -> dict[str, Answer]:
        if not wanted:
            return {}
        return dict(self._store.documents(wanted)) if kind == "run" else self._answers.of(wanted)

    def _started(self) -> Executor:
        if self._executor is None:
            if self._cluster is None:
                self._executor = Processes(workers_of(self._workers))
            else:
                from ..runs.executor.dask import Cluster

                self._executor = Cluster(self._cluster, self._build)
        return self._executor

    def _keep(self, kind: Kind, finished: Sequence[Finished], failed: Sequence[Failed]) -> None:
        broken = next((one for one in failed if not one.bad_input), None)
        if broken is not None:
            raise EngineError(f"{broken.sentence} ({json.dumps(broken.task.request)})")
        if kind == "run":
            self._store.put_runs(finished, self._build)
        else:
            self._answers.put(kind, self._build, finished, failed)
        self._known |= {one.key: one.document for one in finished}
        self._known |= {one.task.key: one.sentence for one in failed}
        self.computed += len(finished) + len(failed)
