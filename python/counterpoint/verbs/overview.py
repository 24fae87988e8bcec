"""The overview of a comparison: what each design costs and what it guarantees, a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..contract.printed import Guarantee
from ..system import units
from . import guarantees
from .frames import Row, distinct, grouped, over_seeds
from .interval import Estimate

_COSTS = {
    "latency": ("relative_latency", "relative_simulated_time"),
    "lines": ("relative_writes",),
    "bytes": ("relative_write_bytes",),
    "lifetime": ("relative_lifetime",),
}
"""What a design costs, and the columns of runs that say so; the first that has a value."""

_GUARANTEES = ("secrecy", "replay", "crash")

_WORDS = {"none": "plaintext", "at-rest": "at rest", "repeats": "repeats seen", None: units.NOTHING}
"""What a table says in other words than the document."""


@dataclass(frozen=True)
class OverviewRow:
    """A design of an overview.

    Attributes:
        costs: by the names of the overview's costs, relative to the baseline; None where it has no such figure on some
            workload.
        guarantee: None where guarantees are not known.
    """

    design: str
    costs: dict[str, Estimate | None]
    guarantee: Guarantee | None

    @property
    def cells(self) -> list[str]:
        """As people read it, without the name of the design."""
        shown = [units.NOTHING if value is None else value.shown(units.ratio) for value in self.costs.values()]
        if self.guarantee is None:
            return shown
        words = (getattr(self.guarantee, name) for name in _GUARANTEES)
        return [*shown, *(_WORDS.get(word, word) for word in words)]


@dataclass(frozen=True)
class Overview:
    """What each design of a comparison costs and guarantees.

    Attributes:
        title: what the rows say.
        baseline: the design whose costs are 1.
        workloads: those that costs are means over.
        costs: names of the costs; none in a comparison of several settings, or where nothing can be compared.
        guarantees: names of the guarantees; none where they are not known.
        rows: the designs.
        told: what the guarantees rest on; empty without them.
        unexplored: of each design of which nothing was explored, why, in a sentence.
    """

    title: str
    baseline: str
    workloads: tuple[str, ...]
    costs: tuple[str, ...]
    guarantees: tuple[str, ...]
    rows: tuple[OverviewRow, ...]
    told: str
    unexplored: tuple[str, ...]


def overview(rows: Sequence[Row], found: Sequence[Guarantee] = ()) -> Overview:
    """The overview of a comparison.

    Args:
        rows: of `frames.compared`; at least one. What designs cost is said if all are of one machine, transaction size
            and number of cores.
        found: what each design guarantees; empty where that is not known.
    """
    baseline = rows[0]["baseline"]
    costing = rows if len(grouped(rows, "machine", "tx_size", "cores")) == 1 else []
    works = distinct(costing, "workload")
    costs = _costs(costing, works)
    mean = ", means over the workloads" if len(works) > 1 else ""
    said = [f"What designs cost, {baseline} = 1{mean}"] if costs else []
    if found:
        said.append("and what they guarantee" if said else "What designs guarantee")
    guarantee_of = {one.design: one for one in found}
    return Overview(
        ", ".join(said),
        baseline,
        tuple(works),
        tuple(costs),
        _GUARANTEES if found else (),
        tuple(
            OverviewRow(design, {name: of[design] for name, of in costs.items()}, guarantee_of.get(design))
            for design in (guarantee_of or distinct(rows, "design"))
        ),
        guarantees.told() if found else "",
        tuple(f"Not explored: {one.why_not}" for one in found if one.why_not),
    )


def _costs(rows: Sequence[Row], works: Sequence[str]) -> dict[str, dict[str, Estimate | None]]:
    """Each cost that has values, by design."""
    costs: dict[str, dict[str, Estimate | None]] = {}
    for name, columns in _COSTS.items():
        column = next((one for one in columns if any(row.get(one) is not None for row in rows)), None)
        if column is not None:
            costs[name] = {design: over_seeds(of, column, works) for (design,), of in grouped(rows, "design")}
    return costs
