"""Starts the executor that a call asks for."""

from __future__ import annotations

from . import Executor
from .processes import Processes, workers_of


def start(workers: int, cluster: str | None, build: str, tasks: int | None = None) -> Executor:
    """The executor of a cluster, or else so many processes, of which none is without a task.

    Args:
        workers: processes, at most one per processor; 0 is one per processor.
        cluster: see `dask.Cluster`.
        build: the build of the engine that the workers of a cluster must have.
        tasks: how many tasks there are, if that is known.

    Raises:
        InputError: the cluster cannot be used.
    """
    if cluster is None:
        most = workers_of(workers)
        return Processes(most if tasks is None else min(most, tasks))
    from .dask import Cluster

    return Cluster(cluster, build)
