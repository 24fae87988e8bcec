"""The first sentences of pages: what they claim follows from the figures, and no more than that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from counterpoint.contract.printed import Guarantee
from counterpoint.papers.model import Chart, Mark
from counterpoint.report.headline import Headline, of_bars, of_comparison, of_line
from counterpoint.system import units
from counterpoint.verbs.overview import overview

Costs = Mapping[str, Sequence[tuple[float | None, float | None]]]
"""Of each design, relative latency and lines by seed."""


def rows(costs: Costs, baseline: str = "plain", **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "design": design,
            "workload": "array",
            "machine": "secpm",
            "tx_size": 1024,
            "cores": 1,
            "seed": seed,
            "baseline": baseline,
            "relative_latency": latency,
            "relative_writes": lines,
            **more,
        }
        for design, of in costs.items()
        for seed, (latency, lines) in enumerate(of, 1)
    ]


def said(costs: Costs, found: Sequence[Guarantee] = (), **more: Any) -> Headline:
    runs = rows(costs, **more)
    return of_comparison(runs, overview(runs, found))


def guarantee(
    design: str,
    secrecy: Literal["none", "leaks", "repeats", "holds"] | None = "holds",
    crash: Literal["holds", "breaks"] | None = "holds",
) -> Guarantee:
    return Guarantee(design, "hardened", secrecy=secrecy, replay=None, crash=crash, crash_points=1, why_not=None)


PLAIN = {"plain": [(1.0, 1.0)]}


@pytest.mark.parametrize(
    ("latency", "lines", "expected"),
    [
        (0.854, 1.09, "x takes 15 % less time than plain and writes 9.0 % more lines to memory."),
        (1.2, 0.5, "x takes 20 % more time than plain and writes 50 % fewer lines to memory."),
        (1.0, 1.0, "x takes as much time as plain and writes as many lines."),
        (1.0004, 1.02, "x takes less than 0.1 % more time than plain and writes 2.0 % more lines to memory."),
        (3.5, 0.0, "x takes 250 % more time than plain and writes no line to memory."),
        (1.1, None, "x takes 10 % more time than plain."),
        (None, 1.1, "No design can be compared with plain: its figures are missing or zero."),
    ],
)
def test_two_designs_are_compared(latency: float | None, lines: float | None, expected: str) -> None:
    found = said({**PLAIN, "x": [(latency, lines)]})
    assert found.text == expected
    assert latency is None or "Seed 1 alone: without intervals, a small difference may be chance." in found.basis


def test_with_several_seeds_only_intervals_that_do_not_meet_are_a_difference() -> None:
    plain = {"plain": [(1.0, 1.0)] * 3}
    found = said({**plain, "x": [(1.1, 1.2), (0.9, 1.21), (1.2, 1.22)]})
    assert found.text == (
        "x takes as much time (as far as the seeds tell) as plain and writes 21 % more lines to memory."
    )
    assert "only intervals that do not meet are a difference" in found.basis
    three = {**plain, "x": [(1.1, 1.0)] * 3, "y": [(1.0, 1.0), (1.1, 1.0), (1.2, 1.0)], "z": [(2.0, 1.0)] * 3}
    assert said(three).text.startswith("Of 4 designs, none takes less time than plain; ")
    faster = {**plain, "x": [(0.7, 1.0)] * 3, "y": [(0.6, 1.0), (0.7, 1.0), (0.8, 1.0)], "z": [(0.9, 1.0)] * 3}
    assert said(faster).text.startswith("Of 4 designs, x and y are the fastest: each takes 30 % less time"), "z is not"


def test_the_fastest_is_one_of_those_that_keep_their_guarantees() -> None:
    costs = {**PLAIN, "leaky": [(1.05, 1.0)], "slow": [(1.5, 1.1)], "good": [(1.2, 1.1)]}
    found = [guarantee("plain", "none"), guarantee("leaky", "leaks"), guarantee("slow"), guarantee("good")]
    assert said(costs, found).text == (
        "Of the 2 designs that kept memory secret and survived every power failure that was tried, good is the "
        "fastest: it takes 20 % more time than plain and writes 10 % more lines to memory."
    )
    one = [guarantee("plain", "none"), guarantee("leaky", "leaks"), guarantee("slow", crash="breaks"), found[3]]
    assert said(costs, one).text.startswith("Of the designs compared, one kept memory secret and survived")
    none = [guarantee("plain", "none"), *(guarantee(name, crash="breaks") for name in ("leaky", "slow", "good"))]
    assert said(costs, none).text.startswith("No design here kept memory secret and survived every power failure")
    unknown = [guarantee(name, None, None) for name in costs]
    assert said(costs, unknown).text.startswith("No design here kept memory secret"), "what is unknown is no promise"


def test_the_baseline_may_be_the_fastest() -> None:
    costs = {**PLAIN, "x": [(1.5, 1.1)], "y": [(1.2, 1.3)]}
    assert said(costs).text == (
        "Of 3 designs, none takes less time than plain; y follows, which takes 20 % more time than plain and writes "
        "30 % more lines to memory."
    )


def test_two_designs_are_not_compared_without_what_they_break() -> None:
    costs = {**PLAIN, "x": [(1.2, 1.1)]}
    found = [guarantee("plain", "none"), guarantee("x", "leaks", "breaks")]
    assert said(costs, found).text.endswith(
        "to memory, but a power failure can lose, tear or refuse its data and it leaks."
    )


def test_several_settings_have_ranges() -> None:
    runs = [
        *rows({**PLAIN, "x": [(1.1, 0.9)]}, tx_size=64),
        *rows({**PLAIN, "x": [(1.3, 1.2)]}, tx_size=1024),
    ]
    found = of_comparison(runs, overview(runs))
    assert (
        found.text == "x takes 10 to 30 % more time than plain and writes from 10 % less to 20 % more lines to memory."
    )
    assert "From the least to the greatest of 2 settings." in found.basis


def test_a_design_alone_and_one_that_writes_nothing() -> None:
    assert said(PLAIN).text == "plain alone: there is no other design to compare it with."
    runs = rows({**PLAIN, "x": [(0.5, 0.0)]})
    runs[1]["no_writes"] = "the workload fits the caches"
    assert "x wrote nothing: the workload fits the caches." in of_comparison(runs, overview(runs)).basis


def chart(
    kind: Literal["bar", "line"], values: Mapping[str, Sequence[float | None]], half: float | None = None
) -> Chart:
    xs = ("1", "2", "4")
    marks = [
        Mark("", x, series, value, half)
        for series, of in values.items()
        for x, value in zip(xs, of, strict=True)
        if value is not None
    ]
    return Chart("", kind, "cores", "ns", ("",), xs, tuple(values), tuple(marks))


def test_lines_are_told_from_end_to_end() -> None:
    both = {"a": (10.0, 40.0, 5.0), "b": (1.0, 2.0, 5.0)}
    assert of_line(chart("line", both), "latency", "cores") == (
        "From cores 1 to 4, a has 50 % less latency and b has 5.0 times the latency."
    )
    assert of_line(chart("line", both, 3.0), "latency", "cores") == (
        "From cores 1 to 4, a has as much latency (as far as the seeds tell) and b has as much (as far as the seeds "
        "tell)."
    )
    assert of_line(chart("line", {"": (10.0, None, 12.0)}), "latency", "cores") == (
        "From cores 1 to 4, latency changes: 20 % more latency."
    )
    assert of_line(chart("line", {"a": (10.0, 1.0, None)}), "latency", "cores").endswith("no latency can be compared.")


def test_bars_are_told_by_the_best_and_the_next() -> None:
    three = {"a": (10.0, 10.0, 10.0), "b": (8.0, 8.0, 8.0), "c": (12.0, 12.0, 16.0)}
    assert of_bars(chart("bar", three), "latency", "lower", "designs", units.time) == (
        "Of 3 designs, b has the lowest latency; a follows with 25 % more latency."
    )
    assert of_bars(chart("bar", three), "throughput", "higher", "designs", units.number) == (
        "Of 3 designs, c has the highest throughput; a follows with 17 to 38 % less throughput."
    )
    assert of_bars(chart("bar", three, 2.0), "latency", "lower", "designs", units.time) == (
        "Of 3 designs, b and a have the lowest latency, and do not differ in it."
    )
    alone = {"": (10.0, None, 12.0)}
    assert of_bars(chart("bar", alone), "latency", "lower", "designs", units.time) == (
        "Latency is from 10 ns (1) to 12 ns (4)."
    )
