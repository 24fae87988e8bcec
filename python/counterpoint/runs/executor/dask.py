"""Runs on a Dask cluster.

The scheduler gives the run of a worker that has ended to another one; it gives up after a few, as it is configured.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import queue
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..._engine import InputError
from ...system.paths import is_file, read_bounded
from ...verbs import catalogue
from . import Lost, Mismatch, Outcome, Refused, Task
from .worker import work

if TYPE_CHECKING:
    from distributed import Future

    Computed = Future[Outcome]

CONNECT_SECONDS = 5
"""How long a scheduler has to answer."""

_AHEAD, _AHEAD_MIN = 4, 16
"""Tasks that the scheduler has at a time for each thread of its workers, and at least."""

_COUNT_SECONDS = 2.0
"""How old the number of threads may be."""

_SCHEDULER_FILE_MAX = 1 << 20
"""Bytes of a scheduler file; Dask writes some hundred, and some more for each worker."""

INSTALL = "a cluster needs Dask; install it with: pip install 'counterpoint[cluster]'"


class Cluster:
    """An executor of a cluster."""

    def __init__(self, address: str, build: str) -> None:
        """Connects to a scheduler.

        Args:
            address: address of the scheduler, such as `tcp://host:8786` or `tls://host:8786`, or the path of its
                scheduler file. The certificates of TLS are in Dask's own configuration.
            build: the build of the engine that its workers must have.

        Raises:
            InputError: Dask is not installed, the scheduler does not answer, or a worker has another engine.
        """
        self._address = address
        self._client: Any = _connect(address)
        self._ended: queue.SimpleQueue[Computed] = queue.SimpleQueue()
        self._running: dict[str, Task] = {}
        self._futures: dict[str, Computed] = {}
        self._threads, self._counted = 0, float("-inf")
        try:
            self._check(build)
        except BaseException:
            self._client.close()
            raise

    def room(self) -> int:
        """How many tasks it can take now."""
        if time.monotonic() - self._counted > _COUNT_SECONDS:
            self._threads, self._counted = sum(self._ask(self._client.nthreads).values()), time.monotonic()
        return max(_AHEAD * self._threads, _AHEAD_MIN) - len(self._running)

    def submit(self, task: Task) -> None:
        """Takes a task; there is room for it."""
        name = f"counterpoint-{uuid.uuid4().hex}"
        future = self._ask(self._client.submit, work, task, key=name, pure=False)
        self._running[name], self._futures[name] = task, future
        future.add_done_callback(self._ended.put)

    def wait(self, seconds: float) -> Sequence[Outcome]:
        """The outcomes since the last call; waits up to `seconds` for the first."""
        try:
            ended = [self._ended.get(timeout=seconds)]
        except queue.Empty:
            if self._client.status == "closed":
                raise self._gone() from None
            return []
        while not self._ended.empty():
            ended.append(self._ended.get())
        return [self._outcome(future) for future in ended]

    def close(self) -> None:
        """Cancels what is not finished; the workers stay, because others may use them."""
        if self._client.status == "running":
            self._client.cancel(list(self._futures.values()))
        self._client.close(timeout=1)

    def _outcome(self, future: Computed) -> Outcome:
        from distributed import KilledWorker

        name = str(future.key)
        self._futures.pop(name)
        task = self._running.pop(name)
        # One whose result was lost with its worker is being computed again.
        if future.status == "cancelled":
            raise self._gone()
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            attempts = error.allowed_failures + 1
            return Lost(task.key, f"{attempts} workers of the cluster ended while they computed it", attempts, True)
        except ImportError as error:
            return Mismatch(task.key, _cannot_import(self._address, error))
        except Exception as error:
            # Any other error of a task on an unknown computer is kept with the results.
            return Refused(task.key, f"{type(error).__name__}: {error}", False)
        return outcome

    def _check(self, build: str) -> None:
        try:
            found = self._ask(self._client.run, _engine_of_worker)
        except ImportError as error:
            raise InputError(_cannot_import(self._address, error)) from None
        for worker, (version, other) in found.items():
            if other != build:
                raise InputError(
                    f"worker {worker} has the engine {version} ({other[:12]}), and this computer has "
                    f"{catalogue.engine_version()} ({build[:12]}); install the same one on both"
                )

    def _ask(self, call: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except (OSError, RuntimeError):
            if self._client.status != "running":
                raise self._gone() from None
            raise

    def _gone(self) -> InputError:
        return InputError(f"cluster '{self._address}' no longer answers; what was finished is in the store")


def _engine_of_worker() -> tuple[str, str]:
    return catalogue.engine_version(), catalogue.engine_build()


def _cannot_import(address: str, error: ImportError) -> str:
    return f"the workers of cluster '{address}' cannot load Counterpoint; install it on them ({error})"


def _check_security(address: str) -> None:
    """Checks Dask's configuration, whose errors it would otherwise report in the middle of a connection.

    Raises:
        InputError: its certificates cannot be read, or do not fit the address.
    """
    from distributed import Security

    security: Any = Security()  # type: ignore[no-untyped-call]
    try:
        given = security.get_connection_args("client")
    except (OSError, ValueError) as error:
        raise InputError(
            f"cluster '{address}' cannot be used: the certificates in Dask's configuration (distributed.comm.tls) "
            f"cannot be read: {error}"
        ) from None
    if address.startswith("tls://") and given["ssl_context"] is None:
        raise InputError(
            f"cluster '{address}' cannot be used: Dask's configuration has no certificates; set "
            "distributed.comm.tls.ca-file, distributed.comm.tls.client.cert and distributed.comm.tls.client.key"
        )
    if address.startswith("tcp://") and given["require_encryption"]:
        raise InputError(
            f"cluster '{address}' cannot be used: Dask's configuration requires encryption "
            "(distributed.comm.require-encryption); give an address that begins with tls://"
        )


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise InputError(INSTALL) from None
    # A lost or wrong scheduler is reported below, in one sentence.
    for name in ("distributed.client", "distributed.comm", "distributed.core", "distributed.protocol.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    scheduler = _address_of(address)
    _check_security(scheduler)
    connect: Any = Client
    try:
        # A client that waits for an answer that never comes cannot be stopped.
        with ThreadPoolExecutor(1) as aside:
            aside.submit(_ask_who_it_is, scheduler).result()
        return connect(address=scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        # The server may be anything, so any exception is possible.
        said = str(error) or ("time is out" if isinstance(error, TimeoutError) else type(error).__name__)
        raise InputError(
            f"cluster '{address}' does not answer: {said.splitlines()[0]}; "
            "give the address of a Dask scheduler, such as tcp://host:8786"
        ) from None


def _address_of(address: str) -> str:
    """`address`, or what the scheduler file of that name says."""
    if not is_file(address):
        return address
    said: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        said = json.loads(read_bounded(address, _SCHEDULER_FILE_MAX, "a scheduler file"))
    found = said.get("address") if isinstance(said, dict) else None
    if not isinstance(found, str):
        raise InputError(f"cluster '{address}' is a file, but not a scheduler file of Dask: it has no address")
    return found


def _ask_who_it_is(address: str) -> None:
    import distributed

    dask: Any = distributed

    async def ask() -> Any:
        arguments = dask.Security().get_connection_args("client")
        async with dask.rpc(address, connection_args=arguments) as server:
            return await server.identity()

    said = asyncio.run(asyncio.wait_for(ask(), CONNECT_SECONDS))
    if not isinstance(said, dict) or said.get("type") != "Scheduler":
        raise InputError("it is not a scheduler")
