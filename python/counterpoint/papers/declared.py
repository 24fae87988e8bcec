"""The experiments that are declared: a folder for each paper, in it `paper.toml` and a file for each figure or table.

`paper.toml` says what all experiments of the paper share::

    title = "..."
    [full]                         # what every run has; `quick`, `short` and `calibration` change some of it
    machine = "secpm"
    transactions = 2000
    [quick]
    transactions = 100
    [names]                        # what values are called in charts
    secpm-no-cwr = "SecPM w/o CWR"
    [[decision]]                   # what the paper leaves open, see `decisions`

A figure's file holds what is run, a matrix as `runs.matrix` has it (or several, as tables of `matrix`, each
with its name), and what is made of it: charts, tables, claims and directions, each a quantity of the runs::

    name = "Figure 13"
    title = "..."
    section = "4.2.3"
    [axes]
    workload = ["array", "queue"]
    [quick.axes]                   # where fewer or smaller values will do
    [[chart]]
    metric = "counter_writes"
    form = "percent-less"
    where = { design = ["secpm"] }
    over = { design = "secpm-no-cwr" }
    x = "workload"
    [[claim]]
    id = "secpm.f11.without-cwr"   # of claims.toml
    [[direction]]                  # a sentence about an effect, see `directions`
    id = "secpm.f13.longer-queue"
    says = "..."                   # as printed
    metric = "counter_writes"
    along = "controller.wpq_entries"
    trend = "rises"                # or "falls", "flat"; or the values of the axis, `order = ["sca", "fca"]`

A statement that no figure measures has `unmeasured`, the reason, instead of a quantity; those that belong to no figure
are in `paper.toml`.

With `of = "recovery"` the points of a matrix are no runs but recoveries: what a boot of the design on the machine
costs, as `counterpoint recovery` has it. They run no program, so `workload` is "none".
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from ..contract.request import bytes_of
from ..runs.matrix import PARTS, Matrix, Value, parse
from .decisions import DecisionSpec, read, simulator_of
from .quantity import Quantity

Scale: TypeAlias = Literal["full", "quick", "short", "calibration"]
"""How much is simulated: the figures as they are, a quick test, or something in between, for a search over decisions:
for its many first evaluations (also for what predictions depend on), and for those that it looks at more
closely."""

PAPERS = ("secpm", "secpm-workshop", "counter-atomicity", "easy-pm", "sepencr")
"""The papers, whose folders here and machine presets have the same names."""

PREDICTIONS = ("integrity", "optane")
"""What papers say of designs, predicted on one machine that none of them has, and what was measured of modules, on the
machine that models them; nothing is searched for them."""

WARMUP_BYTES = "warmup_bytes"
"""Instead of `warmup`: how much each core writes before anything is measured, whatever the size of its transactions."""

RECOVERY = "recovery"
"""What the points of a matrix are, where they are no runs."""

_QUANTITY = ("metric", "form", "where", "over", "beyond")
_HERE = resources.files(__package__)


@dataclass(frozen=True)
class ChartSpec:
    """A chart of a figure.

    Attributes:
        quantity: what its marks show.
        x: the axis along the bottom.
        kind: bars or lines.
        matrix: the name of the matrix that it shows.
        title: empty where the figure's says it all.
        panel: the axis whose values are panels.
        series: the axis whose values are colours.
        metrics: metrics whose names are colours, instead of an axis.
        labels: what the values of an axis are called, in order, where they do not speak for themselves.
        mean_over: axes of which the mean is shown.
        average: a mean over the values of `x` comes last.
        x_title: name of the axis along the bottom.
        y_title: name of the axis up the side.
        digits: after the point, in tables.
        line: what a black line over the bars shows.
        line_title: name of its axis.
        rule: where a dashed line lies.
        published: values that the paper's text has, as `x`, `series` and `value` of a mark, by the names that it shows.
    """

    quantity: Quantity
    x: str
    kind: Literal["bar", "line"] = "bar"
    matrix: str = ""
    title: str = ""
    panel: str | None = None
    series: str | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mean_over: tuple[str, ...] = ()
    average: bool = False
    x_title: str = ""
    y_title: str = ""
    digits: int = 2
    line: Quantity | None = None
    line_title: str = ""
    rule: float | None = None
    published: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """A table of a figure: a row for each value of an axis, a column for each metric.

    Attributes:
        rows: the axis.
        columns: metrics by their headings.
        matrix: the name of the matrix that it shows.
        title: empty where the figure's says it all.
        where: the values of axes that are looked at.
        labels: what the values of the rows are called, in order.
        mean_over: axes of which the mean is shown.
        digits: after the point.
        whole: the columns that have none, as counts.
    """

    rows: str
    columns: Mapping[str, str]
    matrix: str = ""
    title: str = ""
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    labels: Sequence[str] = ()
    mean_over: tuple[str, ...] = ()
    digits: int = 2
    whole: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimSpec:
    """How a claim of `claims.toml` is measured.

    Attributes:
        id: the claim.
        quantity: what is held against it.
        matrix: the name of the matrix that it is measured on.
        mean_over: axes of which the mean is taken before anything is compared.
        pick: `max` where only the greatest value counts.
        digits: after the point, for people.
    """

    id: str
    quantity: Quantity
    matrix: str = ""
    mean_over: tuple[str, ...] = ()
    pick: Literal["all", "max"] = "all"
    digits: int = 2


@dataclass(frozen=True)
class DirectionSpec:
    """A sentence of a paper about an effect, and the sign or order that it says.

    Attributes:
        id: unique.
        says: the sentence, as printed; "[...]" where words are left out.
        section: of the paper.
        quantity: what it is about.
        matrix: the name of the matrix that it is measured on.
        along: the axis along which it says something.
        trend: of the quantity from the first value of the axis to the last.
        order: or the values of the axis from the least to the most, those that are not compared in one group.
        judged: whether it speaks of each point of the other axes, or of some.
        mean_over: axes of which the mean is taken before anything is compared.
        at_least: instead of an axis, what the quantity is at least: a condition of the paper's runs, which a search
            over decisions looks for as it does for claims.
        unmeasured: why it is not measured; empty where it is.
    """

    id: str
    says: str
    section: str
    quantity: Quantity
    matrix: str = ""
    along: str = ""
    trend: Literal["", "rises", "falls", "flat"] = ""
    order: tuple[tuple[Value, ...], ...] = ()
    judged: Literal["each", "some"] = "each"
    mean_over: tuple[str, ...] = ()
    at_least: float | None = None
    unmeasured: str = ""


@dataclass(frozen=True)
class RecoverabilitySpec:
    """A table of recoverability by stages of a transaction (secpm, Tables 1 and 2).

    Attributes:
        design: what is crashed at every event.
        published: the paper's table, a row of cells for each stage.
        set: machine values that differ from the machine's.
        machine: a preset.
        workloads: the programs; what is counted is the sum.
        transactions: how many. The tables take memory for intact before the transaction, which that of the first is.
        title: empty where the figure's says it all.
    """

    design: str
    published: Mapping[str, Sequence[str]]
    machine: str
    workloads: tuple[str, ...]
    transactions: int
    set: Mapping[str, Value] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure or table as it is declared; `recoveries` are the names of the matrices whose points are no runs."""

    id: str
    paper: str
    name: str
    title: str
    section: str = ""
    note: str = ""
    prediction: bool = False
    matrices: Mapping[str, Matrix] = field(default_factory=dict)
    recoveries: frozenset[str] = frozenset()
    charts: tuple[ChartSpec, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    claims: tuple[ClaimSpec, ...] = ()
    directions: tuple[DirectionSpec, ...] = ()
    recoverability: tuple[RecoverabilitySpec, ...] = ()


@dataclass(frozen=True)
class Paper:
    """What all experiments of a paper share.

    Attributes:
        name: also that of its preset.
        title: as printed.
        names: what values are called in charts.
        decisions: what it leaves open, that of its simulator first.
        directions: what it says about effects that belong to no figure.
        document: the file.
    """

    name: str
    title: str
    names: Mapping[str, str]
    decisions: tuple[DecisionSpec, ...]
    directions: tuple[DirectionSpec, ...]
    document: Mapping[str, Any]


@cache
def paper(name: str) -> Paper:
    """One of `PAPERS` or `PREDICTIONS`."""
    document = _read(name, "paper.toml")
    shared = () if name in PREDICTIONS else simulator_of(name).decisions
    decisions = (*shared, *read(document.get("decision", ())))
    return Paper(name, document["title"], document.get("names", {}), decisions, _directions(document), document)


def experiments(name: str, scale: Scale, changed: Mapping[str, Value] | None = None) -> list[Experiment]:
    """The experiments of a paper in its order, with machine values changed in all of them."""
    shared = paper(name)
    files = sorted(entry.name for entry in (_HERE / name).iterdir() if entry.name.endswith(".toml"))
    found = [
        _experiment(shared, file.removesuffix(".toml"), scale, changed or {}) for file in files if file != "paper.toml"
    ]
    order: list[str] = shared.document["order"]
    return sorted(found, key=lambda experiment: order.index(experiment.id.rpartition(".")[2]))


@cache
def sets() -> dict[str, list[str]]:
    """Lists of names that several experiments have."""
    return dict(tomllib.loads((_HERE / "claims.toml").read_text())["sets"])


@cache
def _read(folder: str, file: str) -> Mapping[str, Any]:
    return tomllib.loads((_HERE / folder / file).read_text())


def _experiment(shared: Paper, name: str, scale: Scale, changed: Mapping[str, Value]) -> Experiment:
    document = _read(shared.name, f"{name}.toml")
    place = f"{shared.name}/{name}.toml"
    tables = {"": document} if any(part in document for part in PARTS) else {}
    tables |= {table["name"]: table for table in document.get("matrix", ())}
    matrices = {key: _matrix(shared.document, document, table, scale, changed, place) for key, table in tables.items()}
    known = ("name", "title", "section", "note", "prediction")
    return Experiment(
        id=f"{shared.name}.{name}",
        paper=shared.name,
        matrices=matrices,
        recoveries=frozenset(key for key, table in tables.items() if table.get("of") == RECOVERY),
        charts=tuple(_chart(entry) for entry in document.get("chart", ())),
        tables=tuple(TableSpec(**_plain(entry)) for entry in document.get("table", ())),
        claims=tuple(ClaimSpec(**_measuring(entry)) for entry in document.get("claim", ())),
        directions=_directions(document),
        recoverability=tuple(
            RecoverabilitySpec(**{**entry, "workloads": tuple(sets()[entry["workloads"]])})
            for entry in document.get("recoverability", ())
        ),
        **{key: document[key] for key in known if key in document},
    )


def _matrix(
    shared: Mapping[str, Any],
    figure: Mapping[str, Any],
    table: Mapping[str, Any],
    scale: Scale,
    changed: Mapping[str, Value],
    place: str,
) -> Matrix:
    """A matrix with what its paper and figure say of the scale; changed values win over all."""
    varied = {*table.get("axes", {}), *(key for group in table.get("zip", ()) for key in group)}
    base = {key: value for key, value in {**shared["full"], **table.get("base", {})}.items() if key not in varied}
    axes = {key: sets()[value] if isinstance(value, str) else value for key, value in table.get("axes", {}).items()}
    together = table.get("zip", [])
    fixed: dict[str, Value] = {}
    if scale != "full":
        for smaller in (shared.get(scale, {}), figure.get(scale, {})):
            axes |= {key: value for key, value in smaller.get("axes", {}).items() if key in axes}
            together = smaller.get("zip", together)
            fixed |= {key: value for key, value in smaller.items() if key not in ("axes", "zip")}
    # What a matrix varies, it varies at every scale, but for what goes together with what it varies.
    fixed = {key: value for key, value in {**fixed, **changed}.items() if key not in axes}
    written = {**base, **fixed}.get(WARMUP_BYTES)
    base.pop(WARMUP_BYTES, None)
    fixed.pop(WARMUP_BYTES, None)
    found = parse({"base": base, "axes": axes, "zip": together}, place, fixed)
    return found if written is None or "warmup" in {**base, **fixed} else _warmed_up(found, written)


def _warmed_up(matrix: Matrix, written: Value) -> Matrix:
    """A matrix in which each core first runs as many transactions as write so many bytes."""
    size = bytes_of(written) if isinstance(written, int | str) else None
    assert size is not None, "paper.toml has a size"
    points = (
        replace(point, request={**point.request, "warmup": size // int(point.request["tx_size"])})
        for point in matrix.points
    )
    return replace(matrix, points=tuple(points))


def _chart(entry: Mapping[str, Any]) -> ChartSpec:
    fields = _measuring(entry)
    if "line" in fields:
        fields["line"] = _measuring(fields["line"])["quantity"]
    return ChartSpec(**fields)


def _directions(document: Mapping[str, Any]) -> tuple[DirectionSpec, ...]:
    """The statements of a file; without a section of their own they have that of its figure."""
    return tuple(
        DirectionSpec(
            **_measuring({"metric": "", "section": document.get("section", ""), **entry})
            | {"order": tuple(_group(each) for each in entry.get("order", ()))}
        )
        for entry in document.get("direction", ())
    )


def _group(each: Value | list[Value]) -> tuple[Value, ...]:
    return tuple(each) if isinstance(each, list) else (each,)


def _measuring(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with the keys of a quantity made into one."""
    quantity = Quantity(**_plain({key: entry[key] for key in _QUANTITY if key in entry}))
    return {**_plain({key: value for key, value in entry.items() if key not in _QUANTITY}), "quantity": quantity}


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with its lists as tuples, and a single value of `where` as one of several."""
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    where = {
        key: tuple(value) if isinstance(value, list) else (value,) for key, value in entry.get("where", {}).items()
    }
    return {**fields, "where": where} if where else fields
