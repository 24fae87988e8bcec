"""Quantities of runs: a figure of each, by itself or over that of another run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..runs.matrix import Matrix, Point, Value
from ..system import units

Document: TypeAlias = Mapping[str, Any]
"""A document as `run --json` prints it."""

Form: TypeAlias = Literal["value", "ratio", "percent-more", "percent-less"]
"""How a figure is related to that of the other run."""

Key: TypeAlias = tuple[Value, ...]
"""The position of a run on the axes of its matrix."""


def _runtime(run: Document) -> float | None:
    return run["simulated_ns"] / run["transactions"] if run["transactions"] else None


def _execution_time(run: Document) -> float | None:
    return None if run["throughput_tps"] is None else 1e9 / run["throughput_tps"]


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _miss_percent(run: Document) -> float | None:
    """Lookups of the counter cache that fetch the block, in percent of all. A lookup of a block that is already being
    fetched is no miss here: "The following accesses to the same page always hit the counter cache" (secpm, section
    4.2.4), and "the memory controller fetches a cache line of counters [...] when a read or write access misses the
    counter cache" (counter-atomicity, section 5.2.1).
    """
    cache = run["counter_cache"]
    lookups = sum(cache[kind] or 0 for kind in ("hits", "misses", "secondary_misses"))
    return 100 * cache["misses"] / lookups if lookups else None


def _hit_percent(run: Document) -> float | None:
    misses = _miss_percent(run)
    return None if misses is None else 100 - misses


def _part(*names: str) -> Callable[[Document], float | None]:
    """The energy that parts of a drain take with all lines dirty, in mJ; None without them."""

    def energy(run: Document) -> float | None:
        found = [part["energy_all_dirty_mj"] for part in run["at_crash"]["parts"] if part["name"] in names]
        return sum(found) if found else None

    return energy


def _each(*kinds: str) -> Callable[[Document], float | None]:
    """Lines of some kinds written to NVM per transaction."""

    def written(run: Document) -> float | None:
        found = sum(run["nvm"][f"{kind}_writes"] for kind in kinds)
        return found / run["transactions"] if run["transactions"] else None

    return written


def _lines(way: str) -> Callable[[Document], float | None]:
    """Lines that a boot reads or writes."""
    return lambda cost: None if cost["recovery"] is None else sum(cost["recovery"]["work"][way].values())


def _boot(key: str) -> Callable[[Document], float | None]:
    """The time of a boot in seconds."""
    return lambda cost: None if cost["recovery"] is None else cost["recovery"][key] / 1e9


def _on_battery(cost: Document) -> float | None:
    """Lines that a battery reads and writes at the worst power failure."""
    work = cost["battery"]
    return None if work is None else sum(sum(work[way].values()) for way in ("reads", "writes"))


def _seconds(run: Document, key: str) -> float | None:
    nanoseconds = run["at_crash"][key]
    return None if nanoseconds is None else nanoseconds / 1e9


def _gib_per_s(run: Document) -> float | None:
    """GiB that programs have read or written in a second."""
    return None if run["throughput_tps"] is None else run["throughput_tps"] * run["tx_size"] / 2**30


def _lifetime_percent(run: Document) -> float | None:
    """The lifetime in percent of the one if all lines wear alike."""
    most, years = run["nvm"]["even_lifetime_years"], run["nvm"]["lifetime_years"]
    return 100 * years / most if most else None


def _of_modules(key: str) -> Callable[[Document], float | None]:
    """A figure of the modules of the device; None without them."""
    return lambda run: None if run["nvm"]["modules"] is None else run["nvm"]["modules"][key]


METRICS: Mapping[str, Callable[[Document], float | None]] = {
    "writes": lambda run: run["nvm"]["writes"],
    "counter_writes": lambda run: run["nvm"]["counter_writes"],
    "write_bytes": lambda run: run["nvm"]["write_bytes"],
    "reads": lambda run: run["nvm"]["reads"],
    "counter_evictions": lambda run: run["counter_cache"]["evictions"],
    "counter_reads": lambda run: run["nvm"]["counter_reads"],
    "latency": lambda run: run["transaction_latency_ns"]["mean"],
    "throughput": lambda run: run["throughput_tps"],
    "runtime": _runtime,
    "execution_time": _execution_time,
    "gib_per_s": _gib_per_s,
    "write_amplification": _of_modules("write_amplification"),
    "l1_access_latency": lambda run: run["l1_access_latency_ns"],
    "hit_percent": _hit_percent,
    "miss_percent": _miss_percent,
    "flip_percent": lambda run: _percent(run["nvm"]["data_flip_share"]),
    "lifetime_percent": _lifetime_percent,
    "dirty_percent": lambda run: _percent(run["at_crash"]["dirty_fraction"]),
    "dirty_lines_percent": lambda run: _percent(run["at_crash"]["dirty_lines_fraction"]),
    "drain_mj": lambda run: run["at_crash"]["drain_energy_mj"],
    "drain_all_dirty_mj": lambda run: run["at_crash"]["drain_energy_all_dirty_mj"],
    "drain_caches_mj": _part("l1", "l2", "l3"),
    "drain_controller_mj": _part("counter-cache"),
    "drain_encryption_mj": _part("encryption"),
    "recovery_s": lambda run: _seconds(run, "recovery_time_ns"),
    "recovery_paper_s": lambda run: _seconds(run, "recovery_time_paper_ns"),
    "data_writes_each": _each("data"),
    "log_writes_each": _each("log"),
    "counter_writes_each": _each("counter"),
    "mac_writes_each": _each("mac"),
    "tree_writes_each": _each("tree"),
    "table_writes_each": _each("table"),
    "boot_reads": _lines("reads"),
    "boot_writes": _lines("writes"),
    "boot_s": _boot("time_ns"),
    "boot_paper_s": _boot("papers_ns"),
    "battery_accesses": _on_battery,
}
"""Figures of a run by name; None where a run has none.

`writes` counts lines of all kinds, `write_bytes` their bytes, which are fewer where only parts of lines are written.
`runtime` is simulated ns per transaction, `execution_time` the ns from one transaction to the next over all cores,
`gib_per_s` counts the bytes of transactions, `write_amplification` is bytes of the media over bytes written,
`l1_access_latency` and `latency` are in ns, energies in mJ, and `recovery_paper_s` is by the formula of sepencr section
V-D. Of the drain, `drain_caches_mj`, `drain_controller_mj` and `drain_encryption_mj` are the columns of its Table III.
Those of `boot` are of recoveries: lines, and seconds on the machine's device or by the papers' arithmetic, 100 ns for
each line read; `battery_accesses` are the lines that a battery reads and writes at the worst power failure.
"""


@dataclass(frozen=True)
class Quantity:
    """A figure of each of some runs.

    Attributes:
        metric: one of `METRICS`.
        form: by itself, or how it stands to the figure of the other run.
        where: the values of axes that are looked at; other axes are looked at whole.
        over: what is different about the other run; other axes are the same.
        beyond: what is different about a third run, whose figure is taken off both: how what one run has beyond it
            stands to what the other has.
    """

    metric: str
    form: Form = "value"
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    over: Mapping[str, Value] = field(default_factory=dict)
    beyond: Mapping[str, Value] = field(default_factory=dict)

    @property
    def in_points(self) -> bool:
        """Whether it is a percentage, whose changes are told in points."""
        return self.form.startswith("percent") or self.metric.endswith("_percent")

    def keys(self, matrix: Matrix) -> Iterable[tuple[Key, Key | None, Key | None]]:
        """The selected runs, each with the run it is compared to, and the one whose figure is taken off both."""
        for point in matrix.points:
            if all(point.values[key] in allowed for key, allowed in self.where.items()):
                yield key_of(point), _changed(matrix, point, self.over), _changed(matrix, point, self.beyond)

    def of(self, matrix: Matrix, runs: Mapping[Key, Document]) -> dict[Key, float | None]:
        """The quantity of every selected run; None if one of the two runs has no such figure."""
        found: dict[Key, float | None] = {}
        for key, other, base in self.keys(matrix):
            found[key] = _stands(self.form, self._figure(runs, key, base), self._figure(runs, other, base))
        return found

    def _figure(self, runs: Mapping[Key, Document], key: Key | None, base: Key | None) -> float | None:
        """The figure of a run, beyond that of `base` if there is one."""
        figure = METRICS[self.metric]
        found = None if key is None else figure(runs[key])
        if found is None or base is None:
            return found
        off = figure(runs[base])
        return None if off is None else found - off


def called(axis: str, value: Value) -> str:
    """A value of an axis as people read it."""
    if axis == "tx_size":
        return units.size(int(value))
    return units.count_of(int(value), "core") if axis == "cores" else str(value)


def key_of(point: Point) -> Key:
    """The position of a run on the axes."""
    return tuple(point.values.values())


def _changed(matrix: Matrix, point: Point, change: Mapping[str, Value]) -> Key | None:
    """The position of the run that differs from a point in some values; None where none differs."""
    if not change:
        return None
    changed = dict(point.values)
    for key, value in change.items():
        changed |= _row(matrix, key, value)
    return tuple(changed[key] for key in matrix.axes)


def _row(matrix: Matrix, key: str, value: Value) -> dict[str, Value]:
    """The values that go together with one of an axis."""
    group = next(group for group in matrix.together if key in group)
    place = matrix.axes[key].index(value)
    return {each: matrix.axes[each][place] for each in group}


def _stands(form: Form, figure: float | None, other: float | None) -> float | None:
    if form == "value" or figure is None:
        return figure
    if not other:
        return None
    ratio = figure / other
    return {"ratio": ratio, "percent-more": 100 * (ratio - 1), "percent-less": 100 * (1 - ratio)}[form]
