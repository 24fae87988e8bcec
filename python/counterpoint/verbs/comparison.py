"""Comparisons: designs on workloads, by default as the paper of their machine compares them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

from .. import _engine
from ..contract.options import CommonOptions, RunOptions
from ..contract.request import Size, bounded, bytes_of, completes, request
from . import catalogue
from .api import Progress, simulate
from .frames import check_baseline, frame
from .interval import check_seeds

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import Run

COMPARE_DESIGNS = ("unencrypted", "xts", "write-back", "write-through", "secpm-workshop", "secpm-no-cwr", "secpm")
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


@completes(CommonOptions)
def run_matrix(
    designs: Iterable[str | os.PathLike[str]] | None = None,
    workloads: Iterable[str | os.PathLike[str]] | None = None,
    *,
    tx_size: Size | Sequence[Size] | None = None,
    cores: int | Sequence[int] | None = None,
    seeds: int = 1,
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
        seeds: with how many seeds each is simulated, from `seed` on. Tables and charts of several have means with
            intervals.
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
    catalogue.check_names(names)
    if not names:
        raise _engine.InputError("there is nothing to compare: name at least one design and one workload")
    machine = catalogue.machine_for(names, options.get("machine"))
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
                **seeded,
            },
        )
        for seeded, (size, number), workload, design in product(
            seeds_of(seeds, options.get("seed")), _points(experiment, tx_size, cores), works, names
        )
    ]
    return simulate(asked, workers=workers, progress=progress)


@completes(CommonOptions)
def compare(
    designs: Iterable[str | os.PathLike[str]] | None = None,
    workloads: Iterable[str | os.PathLike[str]] | None = None,
    *,
    baseline: str | os.PathLike[str] | None = None,
    tx_size: Size | Sequence[Size] | None = None,
    cores: int | Sequence[int] | None = None,
    seeds: int = 1,
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
    runs = run_matrix(
        names, workloads, tx_size=tx_size, cores=cores, seeds=seeds, workers=workers, progress=progress, **options
    )
    return frame(runs, chosen)


def seeds_of(count: int, first: int | None) -> list[dict[str, int]]:
    """The option of each of several seeds, from the first on; none for the engine's default alone.

    Raises:
        InputError: there can be no interval over so many.
    """
    if check_seeds(count) == 1:
        return [{}]
    return [{"seed": seed} for seed in seed_numbers(count, first)]


def seed_numbers(count: int, first: int | None) -> range:
    """Several seeds, from the first on; from 1 if none is named.

    Raises:
        InputError: there can be no interval over so many.
    """
    begin = 1 if first is None else first
    return range(begin, begin + check_seeds(count))


def baseline_of(designs: Sequence[str | os.PathLike[str]], baseline: str | os.PathLike[str] | None) -> str:
    """The name of the design that figures are relative to, one of `designs`; see `compare`.

    Raises:
        InputError: it is not among the designs, or one of them does not exist.
    """
    names = catalogue.check_names(designs)
    among = (
        None
        if baseline is None
        else {os.fspath(text): name for text, name in zip(designs, names, strict=True)}.get(os.fspath(baseline))
    )
    return check_baseline(names, among or (None if baseline is None else os.fspath(baseline)))


def _any_trace(works: Iterable[str | os.PathLike[str]]) -> bool:
    """Whether one of the workloads is the path of a trace, or does not exist, which the engine refuses."""
    return not {os.fspath(work) for work in works} <= {*catalogue.programs()}


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
