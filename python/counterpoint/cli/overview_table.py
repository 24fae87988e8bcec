"""The first table of a comparison: what each design costs and what it guarantees, a row for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.printed import Guarantee
from ..system import units
from ..verbs import guarantees as verb
from ..verbs.frames import Row, distinct, grouped, over_seeds

_COSTS = {
    "latency": ("relative_latency", "relative_simulated_time"),
    "lines": ("relative_writes",),
    "bytes": ("relative_write_bytes",),
    "lifetime": ("relative_lifetime",),
}
"""What a design costs, and the columns of runs that say so; the first that has a value."""

_GUARANTEES = ("secrecy", "replay", "crash")

_WORDS = {"none": "plaintext", "repeats": "repeats seen", None: units.NOTHING}
"""What a table says in other words than the document."""


def overview(costing: Sequence[Row], rows: Sequence[Row], found: Sequence[Guarantee]) -> Iterable[RenderableType]:
    """What each design guarantees, and what it rests on; before that what it costs in runs of one setting, if there are
    any. Nothing if no guarantees are known."""
    if not found:
        return
    baseline = rows[0]["baseline"]
    works = distinct(costing, "workload")
    costs = _costs(costing, works)
    mean = ", means over the workloads" if len(works) > 1 else ""
    yield Text(
        f"What designs cost, {baseline} = 1{mean}, and what they guarantee" if costs else "What designs guarantee"
    )
    yield _table(costs, {one.design: one for one in found}, baseline)
    yield Text(verb.told(), style="dim")
    yield from (Text(f"Not explored: {one.why_not}", style="dim") for one in found if one.why_not)
    yield Text("")


def _costs(rows: Sequence[Row], works: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """For each cost that has values, what is shown of each design."""
    shown: dict[str, Mapping[str, str]] = {}
    for name, columns in _COSTS.items():
        column = next((one for one in columns if any(row.get(one) is not None for row in rows)), None)
        if column is not None:
            shown[name] = {
                design: units.NOTHING if (value := over_seeds(of, column, works)) is None else value.shown(units.ratio)
                for (design,), of in grouped(rows, "design")
            }
    return shown


def _table(costs: Mapping[str, Mapping[str, str]], found: Mapping[str, Guarantee], baseline: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in costs:
        table.add_column(name, justify="right", header_style="dim")
    for name in _GUARANTEES:
        table.add_column(name, header_style="dim", no_wrap=True)
    for design, guarantee in found.items():
        words = (getattr(guarantee, name) for name in _GUARANTEES)
        cells = (_WORDS.get(word, word) for word in words)
        style = "dim" if design == baseline else ""
        table.add_row(design, *(cost[design] for cost in costs.values()), *cells, style=style)
    return table
