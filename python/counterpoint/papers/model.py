"""The results of reproducing papers: figures with charts and tables, claims, decisions.

Nothing here computes; the report draws it, the command line prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ..contract.printed import document
from .predicted import Dependence


@dataclass(frozen=True)
class Mark:
    """One bar or one point of a line.

    Attributes:
        panel: the part of the chart that it is in; empty where there is one part.
        x: its place on the axis, as people read it.
        series: what its colour stands for.
        value: its height, the mean over the seeds; None where the figure has no meaning there.
        half: half the width of its interval; None with one seed.
    """

    panel: str
    x: str
    series: str
    value: float | None
    half: float | None = None


@dataclass(frozen=True)
class Chart:
    """A chart in the form of the paper's: panels side by side, each with bars or lines by colour over one axis.

    Attributes:
        title: what it shows, such as "(a) Counter writes removed"; empty where the figure's title says it all.
        kind: `bar`, grouped by colour, or `line`.
        x_title: name of the axis along the bottom.
        y_title: name of the axis up the side, with its unit, and what is 1 where figures are relative.
        panels: their names in order; one empty name where there is one.
        xs: places on the axis in order.
        series: names of the colours in order.
        marks: bars or points.
        line: marks of a black line with circles over the bars, on an axis of its own at the right, one point for each
            place (secpm, Figures 11 and 12); empty where there is none.
        line_title: name of that axis.
        rule: where a dashed line lies across, such as at 1; None without.
        published: marks of known published values, drawn as diamonds; empty where there is none.
    """

    title: str
    kind: Literal["bar", "line"]
    x_title: str
    y_title: str
    panels: tuple[str, ...]
    xs: tuple[str, ...]
    series: tuple[str, ...]
    marks: tuple[Mark, ...]
    line: tuple[Mark, ...] = ()
    line_title: str = ""
    rule: float | None = None
    published: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of the paper, or the numbers of a chart; cells are as people read them.

    Attributes:
        title: what it shows.
        header: names of the columns.
        rows: the cells.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ClaimRow:
    """One claim at one point, such as one transaction size.

    Attributes:
        at: the point, such as "64 B"; empty where the claim has one.
        published: what the paper says, with tolerance, as people read it.
        measured: the measured value, in readable form.
        holds: whether it is within the tolerance.
    """

    at: str
    published: str
    measured: str
    holds: bool


@dataclass(frozen=True)
class Interval:
    """A measured value over several seeds, with its interval of 95 %.

    Attributes:
        at: the point of its claim, as `ClaimRow` has it.
        of: what tells it from the others there, such as the workload; empty for the mean over them.
        mean: over the seeds.
        low: the lower end.
        high: the upper end.
    """

    at: str
    of: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Claim:
    """One published result and what was measured of it.

    Attributes:
        id: its name in `claims.toml` or `predictions.toml`.
        paper: the paper's name.
        what: what is claimed, in words.
        published: the paper's value, or values by point.
        measured: ours, in the same shape.
        tolerance: in the claim's unit; by design where it differs.
        holds: whether all of it does.
        rows: the points one by one.
        intervals: every measured value where there are several seeds; empty for exact claims.
        source: where it is published; empty where that is the paper itself.
        detail: the points in one line.
    """

    id: str
    paper: str
    what: str
    published: Any
    measured: Any
    tolerance: Any
    holds: bool
    rows: tuple[ClaimRow, ...]
    intervals: tuple[Interval, ...] = ()
    source: str = ""
    detail: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Puts the points in one line."""
        points = "; ".join(f"{row.at + ': ' if row.at else ''}{row.measured}" for row in self.rows)
        object.__setattr__(self, "detail", points)


Sign: TypeAlias = Literal["right", "wrong", "undecided", "not measured"]
"""Whether the model shows what a paper says about an effect."""

_FEW = 3
"""How many points a line has at most."""


@dataclass(frozen=True)
class DirectionRow:
    """A statement about an effect at one point, such as one workload.

    Attributes:
        at: the point; empty where the statement has one.
        shown: what the model shows there, in words.
        change: from the first value to the last, or the smallest step of an order; None where there is no figure.
        unit: of the change, `%` or `points`.
        verdict: whether that is what the paper says.
    """

    at: str
    shown: str
    change: float | None
    unit: str
    verdict: Sign


@dataclass(frozen=True)
class Direction:
    """A sentence of a paper about an effect, and the sign or order that the model shows.

    Attributes:
        id: its name.
        paper: the paper's name.
        section: of the paper.
        says: the sentence, as printed.
        measured: the quantity that is looked at, in words; empty where it is not measured.
        expected: the sign or order, in words; empty where it is not measured.
        verdict: whether the model shows it.
        rows: the points one by one.
        reason: why it is not measured; empty where it is.
        shown: the points in one line.
    """

    id: str
    paper: str
    section: str
    says: str
    measured: str
    expected: str
    verdict: Sign
    rows: tuple[DirectionRow, ...]
    reason: str = ""
    shown: str = field(init=False, default="")

    def __post_init__(self) -> None:
        """Puts the points in one line: a few as they are, else how many are right, and the first ones that are not."""
        rows, told = self.rows, []
        if len(rows) > _FEW:
            rows = tuple(row for row in rows if row.verdict != "right")
            changes = [row.change for row in self.rows if row.change is not None]
            span = f" ({min(changes):+.1f} to {max(changes):+.1f} {self.rows[0].unit})" if changes else ""
            told = [f"right at {len(self.rows) - len(rows)} of {len(self.rows)}{span}"]
        told += [f"{row.at}: {row.shown}" if row.at else row.shown for row in rows[:_FEW]]
        if len(rows) > _FEW:
            told.append(f"and {len(rows) - _FEW} more")
        object.__setattr__(self, "shown", "; ".join(told) or self.reason)


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper, reproduced.

    Attributes:
        id: `secpm.f11`, `secpm.t1`.
        paper: the paper's name.
        name: `Figure 11`, `Table 1`.
        title: what it shows.
        section: of the paper.
        note: how it was measured, in a sentence or two; may be empty.
        prediction: whether this is a prediction, made without the paper's values.
        charts: in the paper's form.
        tables: the paper's, or the numbers of the charts.
        claims: those that this figure measures, by id.
        runs: how many simulations are behind it.
        depends: how a prediction depends on what the paper leaves open, the decision that moves it most first; null
            where that is not asked for.
    """

    id: str
    paper: str
    name: str
    title: str
    section: str
    note: str
    prediction: bool
    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]
    claims: tuple[str, ...]
    runs: int
    depends: tuple[Dependence, ...] | None = None


@dataclass(frozen=True)
class Decision:
    """Something that a paper leaves open: a value, or several that go together, as a table by key.

    Attributes:
        paper: the paper's name.
        key: path of the value, or the name of the group.
        value: what the paper's runs have.
        start: what it was before the search over decisions.
        shipped: what the cited simulator ships or the text suggests; None where neither says.
        range: what it might have been.
        reason: why it is open, and why `start`.
        shared: the simulator whose papers share the decision; empty where it is the paper's own.
    """

    paper: str
    key: str
    value: Any
    start: Any
    shipped: Any
    range: tuple[Any, ...]
    reason: str
    shared: str = ""


@dataclass(frozen=True)
class Reproduction:
    """Everything that `reproduce` found.

    Attributes:
        papers: titles of the papers by name, in order.
        figures: in the papers' order.
        claims: in the order of `claims.toml`.
        decisions: what the papers leave open.
        deviations: `DEVIATIONS.md`, Markdown.
        quick: whether small footprints and few transactions were simulated.
        seeds: how many seeds every figure was measured with.
        facts: what was run, under the names a reader looks for.
        directions: what the papers say about effects, and what the model shows.
        command: the command line that reproduces it.
    """

    papers: Mapping[str, str]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    decisions: tuple[Decision, ...]
    deviations: str
    quick: bool
    seeds: int = 1
    facts: Mapping[str, str] = field(default_factory=dict)
    directions: tuple[Direction, ...] = ()
    command: str | None = None

    @property
    def held(self) -> int:
        """How many claims hold."""
        return sum(claim.holds for claim in self.claims)

    @property
    def signs(self) -> dict[Sign, int]:
        """How many directions are right, wrong, undecided and not measured."""
        found = Counter(direction.verdict for direction in self.directions)
        return {sign: found[sign] for sign in get_args(Sign)}

    def to_dict(self) -> dict[str, Any]:
        """The document, as `reproduce --json` prints it."""
        found = ReproductionDocument(
            self.quick, self.seeds, dict(self.facts), self.claims, self.directions, self.decisions, self.figures
        )
        return document(found)


@dataclass(frozen=True)
class ReproductionDocument:
    """What `reproduce` found.

    Attributes:
        quick: whether small footprints and few transactions were simulated.
        seeds: how many seeds every figure was measured with.
        facts: what was run, under the names a reader looks for.
        claims: published results and what was measured.
        directions: what the papers say about effects, and the sign or order that was measured.
        assumptions: what the papers leave open.
        figures: figures and tables of the papers.
    """

    quick: bool
    seeds: int
    facts: Mapping[str, str]
    claims: tuple[Claim, ...]
    directions: tuple[Direction, ...]
    assumptions: tuple[Decision, ...]
    figures: tuple[Figure, ...]
