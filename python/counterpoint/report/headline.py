"""What a page says first: sentences made from its figures, which claim no more than these do.

A difference is stated where there is one seed, as the figures are, and with several seeds where the intervals do not
meet. Guarantees are those of the small explorations, whose words stand under the table that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..system import units
from ..verbs.frames import Row, distinct, grouped, seeds_told
from ..verbs.interval import Estimate
from ..verbs.overview import Overview, OverviewRow, overview

if TYPE_CHECKING:
    from ..contract.results import Crash
    from ..papers.model import Chart, Mark, Reproduction
    from ..searches.outcome import SearchReport

_SAME = Estimate(1.0, None)
"""A cost of the baseline, relative to itself."""

_NAMED = 4
"""Designs that a headline names at most where several are alike."""


_TIMES = 3
"""A figure that has grown by this factor is told in times, not in percent."""


@dataclass(frozen=True)
class Headline:
    """What a page says first.

    Attributes:
        text: the sentences.
        basis: what they rest on; empty where nothing is to be said.
    """

    text: str
    basis: str = ""


def of_comparison(rows: Sequence[Row], over: Overview) -> Headline:
    """What a comparison shows: which design takes the least time of those that keep their guarantees, and its price."""
    settings = [overview(group) for _, group in grouped(rows, "machine", "tx_size", "cores")]
    costs = {row.design: _Cost.over(settings, row.design) for row in over.rows}
    known = [row for row in over.rows if costs[row.design].time]
    others = [row for row in known if row.design != over.baseline]
    if not others:
        alone = len(over.rows) == 1
        return Headline(
            f"{over.baseline} alone: there is no other design to compare it with."
            if alone
            else f"No design can be compared with {over.baseline}: its figures are missing or zero."
        )
    basis = _basis(rows, over, len(settings))
    if len(over.rows) == 2:
        (other,) = others
        said = f"{other.design} {_price(costs, [other.design], over.baseline)}{_but(other)}."
        return Headline(said, basis + _silent(rows, [other.design]))
    kept = [row for row in known if row.guarantee is not None and _keeps(row)]
    among = kept or known
    first, *alike = _fastest(among, costs)
    names = [first, *alike]
    said = _among(over, kept)
    named = _listed(names) if len(names) <= _NAMED else f"{', '.join(names[:_NAMED])} and others"
    if over.baseline in names:
        return Headline(f"{said} none takes less time than {over.baseline}{_next(among, names, costs, over)}.", basis)
    verb = "is the fastest: it" if len(names) == 1 else "are the fastest: each"
    return Headline(f"{said} {named} {verb} {_price(costs, names, over.baseline)}.", basis + _silent(rows, names))


def of_line(chart: Chart, title: str, axis: str) -> str:
    """How a figure changes from one end of an axis to the other, of the series that a chart names first."""
    first, last = chart.xs[0], chart.xs[-1]
    said: list[str] = []
    for series in chart.series:
        at = {(mark.panel, mark.x): mark for mark in chart.marks if mark.series == series}
        pairs = [(at.get((panel, first)), at.get((panel, last))) for panel in chart.panels]
        ratios = [found for before, after in pairs if (found := _ratio(after, before)) is not None]
        if ratios:
            noun = title if not said else ""
            changed = _grown(ratios, title, noun) if len(said) < _NAMED else ""
            said += [f"{series} has {changed}".strip() if series else changed] if changed else []
    ends = f"From {axis} {first} to {last}"
    if not said:
        return f"{ends}, no {title} can be compared."
    more = f" Of {len(chart.series)} series, the first {_NAMED}." if len(chart.series) > _NAMED else ""
    if not chart.series[0]:
        return f"{ends}, {title} changes: {said[0]}."
    return f"{ends}, {_listed(said)}.{more}"


def _grown(ratios: Sequence[Estimate], title: str, noun: str) -> str:
    """By how much a figure has changed, or to how many times of what it was."""
    low, high = (found(ratio.mean for ratio in ratios) for found in (min, max))
    if low < _TIMES or not all(_moved(ratios)):
        return _change(ratios, noun, f"less {noun}".strip())
    least, most = f"{low:.1f}", f"{high:.1f}"
    return f"{most if least == most else f'{least} to {most}'} times the {title}"


def of_bars(chart: Chart, title: str, better: str, what: str, show: Callable[[float | None], str]) -> str:
    """Which series of bars is best in the mean, and by how much the next one is behind."""
    marks = [mark for mark in chart.marks if mark.value is not None]
    by_series = {series: {mark.x: mark for mark in marks if mark.series == series} for series in chart.series}
    of = {series: known for series, known in by_series.items() if len(known) == len(chart.xs)}
    if len(of) < 2:
        if not marks:
            return f"No {title} can be compared."
        low, high = (found(marks, key=lambda mark: mark.value or 0.0) for found in (min, max))
        begins = title[:1].upper() + title[1:]
        if low.value == high.value:
            return f"{begins}: {show(low.value)}."
        return f"{begins} is from {show(low.value)} ({low.x}) to {show(high.value)} ({high.x})."
    sign = 1 if better == "lower" else -1
    best, second = sorted(of, key=lambda series: sign * sum(mark.value or 0.0 for mark in of[series].values()))[:2]
    ratios = [ratio for x in chart.xs if (ratio := _ratio(of[second][x], of[best][x])) is not None]
    word = {"lower": "lowest", "higher": "highest"}[better]
    among = f"Of {len(of)} {what},"
    if not any(_moved(ratios)):
        return f"{among} {best} and {second} have the {word} {title}, and do not differ in it."
    return f"{among} {best} has the {word} {title}; {second} follows with {_grown(ratios, title, title)}."


def _ratio(above: Mark | None, below: Mark | None) -> Estimate | None:
    """How two marks compare, with an interval that has 1 in it if theirs meet."""
    if above is None or below is None or above.value is None or not below.value:
        return None
    ratio = above.value / below.value
    ends = [Estimate(mark.value or 0.0, mark.half) for mark in (above, below)]
    several = above.half is not None and below.half is not None
    return Estimate(ratio, abs(ratio - 1) if several and ends[0].meets(ends[1]) else 0.0 if several else None)


def of_reproduction(reproduction: Reproduction) -> Headline:
    """How many published results hold, and how many effects have the sign that the papers say."""
    said = []
    if reproduction.claims:
        said.append(f"{reproduction.held} of {len(reproduction.claims)} published results hold")
    if reproduction.directions:
        measured = len(reproduction.directions) - reproduction.signs["not measured"]
        said.append(f"{reproduction.signs['right']} of {measured} effects that were measured go as the papers say")
    basis = "A result holds if what was measured is within its tolerance." if reproduction.claims else ""
    text = f"{', and '.join(said)}." if said else "Figures and tables of papers, beside nothing that was published."
    return Headline(text, basis)


def of_causes(verdict: Crash, titles: Sequence[str]) -> Headline:
    """Which cause the most memories that fail have, and how many causes there are."""
    causes = [*(verdict.causes or ()), *(one.cause for one in verdict.recovery_causes)]
    if not causes:
        return Headline(f"No memory that was tried fails; {units.number(verdict.distinct_states)} were.")
    place, cause = max(enumerate(causes), key=lambda each: each[1].count)
    title = titles[place][:1].lower() + titles[place][1:]
    others = "" if len(causes) == 1 else f" It is one of {len(causes)} causes."
    where = next((line.stored.source for line in cause.lost if line.stored.source), None)
    at = f" ({PurePath(where).name})" if where else ""
    many = "one memory" if cause.count == 1 else f"{units.number(cause.count)} memories"
    return Headline(
        f"{many.capitalize()} that a crash may leave {'fails' if cause.count == 1 else 'fail'}, "
        f"because {title}{at}.{others}"
    )


def of_search(report: SearchReport) -> Headline:
    """What a search found: how many designs, and what the best by the first objective gains over built-in ones."""
    looked = units.count_of(report.valid, "candidate")
    if not report.front:
        lacking = f": none has a value of {_listed(report.lacking)}" if report.lacking else ""
        return Headline(f"None of {looked} survives within the limits{lacking}.")
    objectives = report.goals.objectives
    first, best = objectives[0], report.front[0]
    whole = "" if report.complete else " that were looked at, of a larger space,"
    told = "goal" if len(objectives) == 1 else f"{len(objectives)} goals"
    found = (
        f"{len(report.front)} of {looked}{whole} survived every power failure that was tried and "
        f"{'is' if len(report.front) == 1 else 'are'} beaten by no other one in the {told}."
    )
    value = best.figures[first.figure]
    assert value is not None
    name = report.names.brief(best.candidate)
    said = f"The best {first.figure}, {units.figure(value)}, is that of no. 1, {name}"
    held = [
        (known, one.design)
        for one in report.references
        if one.judged.qualifies and (known := one.judged.figures.get(first.figure)) is not None
    ]
    if not held:
        return Headline(f"{found} {said}; no built-in design that was judged survives within the limits.")
    known, design = min(held, key=lambda each: first.sign * each[0])
    if known == value:
        return Headline(f"{found} {said}: no better than the built-in {design}.")
    if not known:
        return Headline(f"{found} {said}; the best built-in design, {design}, has 0.")
    way = "less" if value < known else "more"
    beside = f"{_percent(value / known)} {way} than the best built-in design, {design}"
    return Headline(f"{found} {said}: {beside}.")


@dataclass(frozen=True)
class _Cost:
    """What a design costs at each setting; empty where it lacks a figure at one of them."""

    time: tuple[Estimate, ...]
    lines: tuple[Estimate, ...]

    @classmethod
    def over(cls, settings: Sequence[Overview], design: str) -> _Cost:
        """The costs of a design."""
        rows = [row for one in settings for row in one.rows if row.design == design]

        def cost(name: str) -> tuple[Estimate, ...]:
            found = [value for row in rows if (value := row.costs.get(name)) is not None]
            return tuple(found) if len(found) == len(settings) else ()

        return cls(cost("latency"), cost("lines"))


def _keeps(row: OverviewRow) -> bool:
    assert row.guarantee is not None
    return row.guarantee.secrecy == "holds" and row.guarantee.crash == "holds"


def _among(over: Overview, kept: Sequence[OverviewRow]) -> str:
    if not over.guarantees:
        return f"Of {len(over.rows)} designs,"
    if not kept:
        return "No design here kept memory secret and survived every power failure that was tried. Of all,"
    if len(kept) == 1:
        return "Of the designs compared, one kept memory secret and survived every power failure that was tried. There,"
    return f"Of the {len(kept)} designs that kept memory secret and survived every power failure that was tried,"


def _fastest(among: Sequence[OverviewRow], costs: dict[str, _Cost]) -> list[str]:
    """The designs that no other one is faster than, as far as the figures tell, by their mean over the settings."""
    ranked = sorted((row.design for row in among), key=lambda design: _mean(costs[design].time))
    best = costs[ranked[0]].time
    return [design for design in ranked if all(map(_alike, costs[design].time, best))]


def _mean(values: Sequence[Estimate]) -> float:
    return sum(value.mean for value in values) / len(values)


def _alike(one: Estimate, other: Estimate) -> bool:
    """Whether a table shows no difference."""
    if one.half is None and other.half is None:
        return units.ratio(one.mean) == units.ratio(other.mean)
    return one.meets(other)


def _next(among: Sequence[OverviewRow], names: Sequence[str], costs: dict[str, _Cost], over: Overview) -> str:
    """The one after the fastest."""
    others = [row for row in among if row.design not in names]
    if not others:
        return ""
    second = _fastest(others, costs)[0]
    return f"; {second} follows, which {_price(costs, [second], over.baseline)}"


def _price(costs: dict[str, _Cost], designs: Sequence[str], baseline: str) -> str:
    """What some designs cost, after a word such as "it"."""
    time = [value for design in designs for value in costs[design].time]
    lines = [value for design in designs for value in costs[design].lines]
    said = f"takes {_change(time, 'time', 'less time')} {_than(time)} {baseline}"
    if len(lines) < len(time):
        return said
    return f"{said} and writes {_change(lines, 'lines', 'fewer lines')}" + (" to memory" if any(_moved(lines)) else "")


def _moved(values: Sequence[Estimate]) -> list[bool]:
    """Of each relative cost, whether it differs from the baseline's."""
    return [not value.meets(_SAME) for value in values]


def _than(values: Sequence[Estimate]) -> str:
    return "than" if any(_moved(values)) else "as"


def _change(values: Sequence[Estimate], noun: str, less: str) -> str:
    """By how much relative costs differ from 1: one of them, or all that lie between the least and the greatest."""
    if not any(_moved(values)):
        several = any(value.half for value in values)
        much = "as many" if noun.endswith("s") else "as much"
        return f"{much} {noun}".strip() + (" (as far as the seeds tell)" if several else "")
    low, high = (found(value.mean for value in values) for found in (min, max))
    if high == 0:
        return f"no {noun.removesuffix('s')}"
    some = "" if all(_moved(values)) else " (not everywhere by more than chance)"
    least, most = _percent(low), _percent(high)
    if least == most:
        return f"{most} {less if high < 1 else f'more {noun}'}"
    if low >= 1:
        return f"{least.removesuffix(' %')} to {most} more {noun}{some}"
    if high <= 1:
        return f"{most.removesuffix(' %')} to {least} {less}{some}"
    return f"from {least} less to {most} more {noun}{some}"


def _percent(ratio: float) -> str:
    """How far a ratio is from 1, with as many digits as tell small changes from none."""
    change = round(abs(ratio - 1) * 100, 1)
    if change >= 10:
        return f"{change:,.0f} %"
    return f"{change:.1f} %" if change else "less than 0.1 %"


def _but(row: OverviewRow) -> str:
    """What a design does not guarantee."""
    if row.guarantee is None:
        return ""
    faults = {
        "a power failure can lose, tear or refuse its data": row.guarantee.crash == "breaks",
        "memory holds plaintext": row.guarantee.secrecy == "none",
        "it leaks": row.guarantee.secrecy == "leaks",
        "lines cross the bus in the clear": row.guarantee.secrecy == "at-rest",
        "equal bytes at an address are equal ciphertext": row.guarantee.secrecy == "repeats",
    }
    said = [fault for fault, there in faults.items() if there]
    return f", but {_listed(said)}" if said else ""


def _basis(rows: Sequence[Row], over: Overview, settings: int) -> str:
    works = distinct(rows, "workload")
    said = [f"Means over {len(works)} workloads." if len(works) > 1 else f"On {units.name_of(works[0])}."]
    if settings > 1:
        said.append(f"From the least to the greatest of {settings} settings.")
    if len(distinct(rows, "seed")) > 1:
        said.append(f"Each figure is the {seeds_told(rows)}; only intervals that do not meet are a difference.")
    else:
        said.append(f"{seeds_told(rows).capitalize()} alone: without intervals, a small difference may be chance.")
    if over.guarantees:
        said.append("Secrecy and crashes as one small exploration of each design found them.")
    return " ".join(said)


def _silent(rows: Sequence[Row], designs: Sequence[str]) -> str:
    """Why designs wrote nothing."""
    said = ""
    for design in designs:
        why = [row.get("no_writes") for row in rows if row["design"] == design]
        if all(why):
            said += f" {design} wrote nothing: {' or '.join(dict.fromkeys(filter(None, why)))}."
    return said


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
