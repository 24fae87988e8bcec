"""Runs as a Polars frame, one row each, with the figures that designs are compared by.

Columns are the keys of `run --json`, nested ones joined by an underscore (`nvm.counter_writes` is `nvm_counter_writes`,
`transaction_latency_ns.mean` is `transaction_latency_ns_mean`), and these:

- `form`: the form of the program that the design runs.
- `baseline`: the design that the next columns are relative to, with the same machine, workload, size, number of cores
  and seed.
- `relative_latency`, `relative_throughput`, `relative_writes`, `relative_write_bytes`: the run's figure over the
  baseline's. Writes are counted, whatever their length; bytes tell a write of 72 from one of 64.
- `relative_simulated_time`: the simulated time of the whole run over the baseline's, which a recorded program without
  transactions has as well.
- `relative_execution_time`: the time that as many transactions take over the baseline's, the inverse of
  `relative_throughput` (sepencr, Figures 3, 10 and 11).
- `scaled_throughput`: the run's throughput over the baseline's at the fewest cores of any run, on the same workload and
  size. It shows how far a design scales (counter-atomicity, Figure 13).
- `relative_data_writes`, `relative_log_writes`, `relative_counter_writes`, `relative_mac_writes`,
  `relative_tree_writes`, `relative_table_writes`: parts of `relative_writes`, so each is divided by all writes of the
  baseline.
- `relative_reads`, and `relative_data_reads` and `relative_counter_reads`, its parts: the same of reads.
- `relative_lifetime`: how often the run can be repeated until a line is worn out, over the baseline's. It is counted in
  work, so that a slow design does not seem to live longer.
- `relative_l1_access_latency`: the mean latency of an access of the first-level caches over the baseline's.
- `relative_counter_writes_removed`: counter writes that coalescing spared the device, over all writes of the baseline.
- `set_by_design`: the values of the machine that come from the design's file; there is no such column where none do.
- `recorded_assumed`, `recorded_lacks`: of a recorded program, what was assumed of it, and what its trace lacks, in
  sentences; null where there is none.
- `counter_writes_removed`: the share of counter writes asked for that coalescing spared the device; null where none
  was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .. import _engine
from .._engine import InputError
from ..system import units
from .interval import Estimate, estimate_of_all

if TYPE_CHECKING:
    import polars as pl

    from ..contract.results import LineRun, Run

Row: TypeAlias = dict[str, Any]

POINT = ("machine", "workload", "tx_size", "cores", "seed")
"""What two runs must share to be compared."""

_PROGRAM = ("machine", "workload", "tx_size", "seed")
"""What two runs must share for their throughputs to be compared over numbers of cores."""

_RESTS_ON = {
    "Machine values of the design": "set_by_design",
    "Assumed": "recorded_assumed",
    "Not in the trace": "recorded_lacks",
}

_DEFAULT_BASELINES = ("unencrypted", "eadr")
"""The default baselines, if they are among the designs; neither encrypts anything."""

_OVER = {
    "relative_latency": ("transaction_latency_ns_mean", "transaction_latency_ns_mean"),
    "relative_throughput": ("throughput_tps", "throughput_tps"),
    "relative_simulated_time": ("simulated_ns", "simulated_ns"),
    "relative_writes": ("nvm_writes", "nvm_writes"),
    "relative_write_bytes": ("nvm_write_bytes", "nvm_write_bytes"),
    "relative_data_writes": ("nvm_data_writes", "nvm_writes"),
    "relative_log_writes": ("nvm_log_writes", "nvm_writes"),
    "relative_counter_writes": ("nvm_counter_writes", "nvm_writes"),
    "relative_mac_writes": ("nvm_mac_writes", "nvm_writes"),
    "relative_tree_writes": ("nvm_tree_writes", "nvm_writes"),
    "relative_table_writes": ("nvm_table_writes", "nvm_writes"),
    "relative_counter_writes_removed": ("wpq_counter_writes_coalesced", "nvm_writes"),
    "relative_reads": ("nvm_reads", "nvm_reads"),
    "relative_data_reads": ("nvm_data_reads", "nvm_reads"),
    "relative_counter_reads": ("nvm_counter_reads", "nvm_reads"),
    "relative_lifetime": ("nvm_endured_runs", "nvm_endured_runs"),
    "relative_l1_access_latency": ("l1_access_latency_ns", "l1_access_latency_ns"),
}

_NOT_FLAT = {"parts", "windows"}

_COMPUTED = (*_OVER, "scaled_throughput", "relative_execution_time", "counter_writes_removed")


def check_baseline(designs: Sequence[str], baseline: str | None) -> str:
    """The design to compare to; if none is named, `unencrypted`, else `eadr`, else the first one.

    Raises:
        InputError: it is not among the designs.
    """
    if baseline is None:
        return next(
            (known for known in _DEFAULT_BASELINES if known in designs), designs[0] if designs else "unencrypted"
        )
    if baseline not in designs:
        raise InputError(f"baseline '{baseline}' is not among the designs compared: {', '.join(designs)}")
    return baseline


def frame(runs: Iterable[Run], baseline: str | None = None) -> pl.DataFrame:
    """One row per run, in the order given.

    Args:
        runs: simulations. Those of different machines are never relative to each other.
        baseline: the design that the `relative_` columns are relative to, null where it was not run on the same
            point; default as for `compare`.
    """
    import polars as pl

    rows = compared(runs, baseline)
    if not rows:
        return pl.DataFrame()
    types = {**dict.fromkeys(_COMPUTED, pl.Float64), "no_writes": pl.String}
    table = pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)
    last = ("baseline", *_COMPUTED)
    return table.select(pl.exclude(*last), *last)


def line_frame(runs: Iterable[LineRun]) -> pl.DataFrame:
    """One row per replay of memory lines, with the keys of `replay --json` joined by underscores as columns."""
    import polars as pl

    return pl.DataFrame([flat(run.document) for run in runs], infer_schema_length=None)


def compared(runs: Iterable[Run], baseline: str | None = None) -> list[Row]:
    """The rows of `frame`. The tables of the command line are made of these: Polars takes longer to load."""
    rows = [_row(run.document) for run in runs]
    chosen = baseline or check_baseline([row["design"] for row in rows], None)
    base = [row for row in rows if row["design"] == chosen]
    least = min((row["cores"] for row in rows if row["cores"] is not None), default=None)
    same_point = _first_of_each(base, POINT)
    fewest_cores = _first_of_each([row for row in base if least is not None and row["cores"] == least], _PROGRAM)
    return [
        row
        | _relative(
            row,
            chosen,
            same_point.get(_place(row, POINT), {}),
            fewest_cores.get(_place(row, _PROGRAM), {}),
        )
        for row in rows
    ]


def _relative(row: Row, chosen: str, base: Row, start: Row) -> Row:
    """The figures of a run beside the baseline at its point, and at the fewest cores."""
    coalesced = row["wpq_counter_writes_coalesced"]
    return {
        "baseline": chosen,
        **{name: _over(row.get(above), base.get(below)) for name, (above, below) in _OVER.items()},
        "scaled_throughput": _over(row["throughput_tps"], start.get("throughput_tps")),
        "relative_execution_time": _over(base.get("throughput_tps"), row["throughput_tps"]),
        "counter_writes_removed": _over(coalesced, row["nvm_counter_writes"] + coalesced),
    }


def _first_of_each(rows: Iterable[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        found.setdefault(_place(row, keys), row)
    return found


def _place(row: Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[key] for key in keys)


def _over(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below is not None and below > 0 else None


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of one run."""
    of_recorded = {"recorded_lacks": None} if document.get("recorded") else {}
    row = {"no_writes": None, **of_recorded, **flat(document)}
    return row | {"form": _form(document)}


@dataclass(frozen=True)
class Block:
    """Figures along transaction sizes or numbers of cores on one workload, or on the mean over all.

    Attributes:
        workload: its name; a trace goes by its file name.
        rows: for every design and measure, the figure over the seeds at each size or number of cores, ascending.
    """

    workload: str
    rows: list[tuple[str, list[list[Estimate | None]]]]


def along(rows: Sequence[Row], axis: Literal["cores", "tx_size"], measures: Sequence[str]) -> list[Block]:
    """Columns of a comparison along one axis, the other fixed; the mean over several workloads comes last."""
    places = steps(rows, axis)
    works, designs = distinct(rows, "workload"), distinct(rows, "design")

    def block(name: str, among: list[str]) -> Block:
        def values(design: str, measure: str) -> list[Estimate | None]:
            of = [row for row in rows if row["design"] == design]
            return [over_seeds([row for row in of if row[axis] == place], measure, among) for place in places]

        return Block(name, [(design, [values(design, measure) for measure in measures]) for design in designs])

    blocks = [block(PurePath(work).name, [work]) for work in works]
    return [*blocks, block("mean", works)] if len(works) > 1 else blocks


def over_seeds(rows: Sequence[Row], column: str, workloads: Sequence[str]) -> Estimate | None:
    """A figure of one design at one point, over the seeds: the mean over the workloads; None where one lacks it."""
    found = {(row["workload"], row["seed"]): row.get(column) for row in rows}
    seeds = distinct(rows, "seed")
    return estimate_of_all([mean([found.get((work, seed)) for work in workloads]) for seed in seeds])


def seeds_told(rows: Iterable[Row]) -> str:
    """The seeds of a comparison in a line; with several, what an interval is."""
    seeds = distinct(rows, "seed")
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    listed = (
        f"{seeds[0]} to {seeds[-1]}" if seeds == list(range(seeds[0], seeds[-1] + 1)) else ", ".join(map(str, seeds))
    )
    return f"mean over the seeds {listed} ± half of the 95 % interval"


def steps(rows: Iterable[Row], axis: Literal["cores", "tx_size"]) -> list[int]:
    """The transaction sizes, or numbers of cores, of a comparison, ascending."""
    return sorted(value for value in distinct(rows, axis) if value is not None)


def distinct(rows: Iterable[Row], column: str) -> list[Any]:
    """The values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[column] for row in rows))


def grouped(rows: Iterable[Row], *columns: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """The rows that share the values of columns, with these values, in the order of the rows."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(_place(row, columns), []).append(row)
    return list(groups.items())


def without_writes(rows: Iterable[Row]) -> list[str]:
    """For each workload with runs that wrote nothing to the device, why: a sentence."""
    said = []
    for (workload,), group in grouped(rows, "workload"):
        silent = [row for row in group if row.get("no_writes")]
        if silent:
            designs = "" if len(silent) == len(group) else f" of {', '.join(distinct(silent, 'design'))}"
            why = " or ".join(distinct(silent, "no_writes"))
            name = units.name_of(workload)
            said.append(f"{name}: no write{designs} reached the device: {why}")
    return said


def rests_on(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What figures rest on: machine values that are a design's own, and what was assumed of recorded programs.

    Each is said once, with the designs that it is about.
    """
    told: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for what, column in _RESTS_ON.items():
            if sentences := row.get(column):
                told.setdefault((what, sentences), []).append(row["design"])
    every = len({row["design"] for row in rows})
    lines = []
    for (what, sentences), designs in told.items():
        named = list(dict.fromkeys(designs))
        whose = f" ({', '.join(named)})" if len(named) < every else ""
        lines.append(f"{what}{whose}: {sentences}")
    return lines


def mean(values: Sequence[float | None]) -> float | None:
    """The mean; None if a value is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _form(document: Mapping[str, Any]) -> str | None:
    """The form of the program that a run's design runs; None for a design that this engine does not know."""
    parts = document.get("parts")
    return parts["program"] if parts else _forms().get(document["design"])


@cache
def _forms() -> dict[str, str]:
    return {design["name"]: design["form"] for design in json.loads(_engine.describe())["designs"]}


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Scalars of a document by joined names. Sentences in a list are joined, too; what else stands in one is named by
    its level or its name, or left out.

    The parts of the design and the windows of a run, on top of a document, are left out too.
    """
    row: dict[str, Any] = {}
    for key, value in document.items():
        if key in _NOT_FLAT and not prefix:
            continue
        if isinstance(value, Mapping):
            row |= flat(value, f"{prefix}{key}_")
        elif isinstance(value, list):
            if value and all(isinstance(item, str) for item in value):
                row[f"{prefix}{key}"] = " ".join(value)
                continue
            for item in value:
                called = "level" if "level" in item else "name"
                if called not in item:
                    continue
                row |= flat({k: v for k, v in item.items() if k != called}, f"{prefix}{key}_{item[called]}_")
        else:
            row[f"{prefix}{key}"] = value
    return row
