"""Asks the engine what a search or a calibration wants to know: each question once, in batches, by an executor that
stays.

What was answered before, in this search or another with the same store, is not asked again. So a search that was
interrupted continues, and one that is over is repeated in seconds.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from .._engine import EngineError, InputError
from ..system.errors import Interrupted
from ..verbs import api, catalogue
from . import keys
from .answers import Answer, Answers
from .executor import Executor, Finished, Kind, Task
from .executor.drive import Failed, Keep, drive
from .executor.order import in_order
from .executor.start import start
from .store import Store

Request: TypeAlias = Mapping[str, Any]

_KEPT_SECONDS = 1.0
"""How long answers may wait to be written; a search that is killed computes them again."""


@contextmanager
def store_in(path: str | os.PathLike[str] | None) -> Iterator[Store]:
    """The store in a file, or a temporary one."""
    if path is not None:
        with Store(path) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="counterpoint-") as folder, Store(Path(folder) / "runs.duckdb") as store:
        yield store


@contextmanager
def computing(
    store: str | os.PathLike[str] | None, *, workers: int = 0, cluster: str | None = None
) -> Iterator[Computer]:
    """The engine behind the store in a file, or a temporary one, with the arguments of `Computer`.

    Raises:
        Interrupted: Ctrl-C; what was computed is in the store.
    """
    with store_in(store) as opened:
        computer = Computer(opened, workers=workers, cluster=cluster)
        try:
            yield computer
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            computer.close()


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
        """Writes them, also after Ctrl-C."""
        finished, failed, self._finished, self._failed = self._finished, self._failed, [], []
        self._since = time.monotonic()
        if finished or failed:
            try:
                self._keep(finished, failed)
            except KeyboardInterrupt:
                self._keep(finished, failed)
                raise


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
        # Design files count as they were when they were first read; workers that read others say so.
        self._design_content = cache(keys.design_content)
        self._executor: Executor | None = None
        self._known: dict[str, Answer] = {}
        self.computed = 0

    def close(self) -> None:
        """Ends the workers."""
        if self._executor is not None:
            self._executor.close()

    def ask(self, kind: Kind, requests: Iterable[Request], progress: api.Progress | None = None) -> list[Answer]:
        """The engine's answer to each request, in order; a sentence where it refuses one.

        `progress` is told how many of them are answered while some have to be computed.

        Raises:
            InputError: the cluster or the store cannot be used.
            EngineError: the engine has a fault of its own.
        """
        asked = [keys.absolute(request) for request in requests]
        names = [self._key(kind, request) for request in asked]
        wanted = {key: request for key, request in zip(names, asked, strict=True) if key not in self._known}
        self._known |= self._kept(kind, wanted)
        left = {key: request for key, request in wanted.items() if key not in self._known}
        if left:
            self._compute(kind, left, len(wanted), progress)
        return [self._known[key] for key in names]

    def _compute(
        self, kind: Kind, left: Mapping[str, dict[str, Any]], total: int, progress: api.Progress | None
    ) -> None:
        order = in_order(left) if kind == "run" else left
        kept = _Kept(lambda finished, failed: self._keep(kind, finished, failed))
        done = total - len(left)

        def take(finished: Sequence[Finished], failed: Sequence[Failed]) -> None:
            nonlocal done
            kept.take(finished, failed)
            done += len(finished) + len(failed)
            if progress is not None:
                progress(done, total)

        try:
            drive([Task(key, left[key], self._build, kind) for key in order], self._started(), take)
        finally:
            kept.hand_over()

    def _key(self, kind: Kind, request: Request) -> str:
        if kind != "run":
            return keys.answer_key(kind, request, self._build, self._design_content)
        try:
            return keys.key(api.resolve_request(request), self._build)
        except InputError as error:
            key = keys.refused_key(request, self._build)
            self._known[key] = str(error)
            return key

    def _kept(self, kind: Kind, wanted: Mapping[str, Request]) -> dict[str, Answer]:
        if not wanted:
            return {}
        if kind != "run":
            return self._answers.of(wanted)
        return {key: dict(run.document) for key, run in self._store.reports(self._store.known(wanted)).items()}

    def _started(self) -> Executor:
        if self._executor is None:
            self._executor = start(self._workers, self._cluster, self._build)
        return self._executor

    def _keep(self, kind: Kind, finished: Sequence[Finished], failed: Sequence[Failed]) -> None:
        broken = next((one for one in failed if not one.bad_input), None)
        if kind == "run":
            self._store.put_runs(finished, self._build)
        else:
            self._answers.put(kind, self._build, finished, [one for one in failed if one.bad_input])
        if broken is not None:
            raise EngineError(f"{broken.sentence} ({json.dumps(broken.task.request)})")
        self._known |= {one.key: one.document for one in finished}
        self._known |= {one.task.key: one.sentence for one in failed}
        self.computed += len(finished) + len(failed)
