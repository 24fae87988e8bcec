"""A reproduction made by hand: every kind of chart, table and claim, and text that a page must escape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Literal

from counterpoint.papers.model import (
    Chart,
    Claim,
    ClaimRow,
    Decision,
    Direction,
    DirectionRow,
    Figure,
    Mark,
    Reproduction,
    Table,
)

WORKLOADS = ("array", "queue", "hash", "btree", "rbtree")
SIZES = ("64 B", "256 B", "1 KiB", "4 KiB")

Height = Callable[[int], float | None]


def chart(
    kind: Literal["bar", "line"],
    panels: Sequence[str],
    xs: Sequence[str],
    series: Sequence[str],
    height: Height = lambda number: 1 + number % 7 / 5,
    **rest: Any,
) -> Chart:
    """A chart whose marks have heights by their number."""
    places = enumerate(product(panels, xs, series))
    marks = tuple(Mark(panel, x, name, height(number)) for number, (panel, x, name) in places)
    titles = {"title": "", "x_title": "workload", "y_title": "NVM writes, Unsec-PM = 1"}
    return Chart(**{**titles, **rest}, kind=kind, panels=tuple(panels), xs=tuple(xs), series=tuple(series), marks=marks)


def spots(panels: Sequence[str], xs: Sequence[str], series: str, height: Height) -> tuple[Mark, ...]:
    """Marks of one series."""
    return tuple(Mark(panel, x, series, height(number)) for number, (panel, x) in enumerate(product(panels, xs)))


DESIGNS = ("Unsec-PM", "SecPM w/o CWR", "SecPM")
WRITES = chart(
    "bar",
    SIZES,
    WORKLOADS,
    DESIGNS,
    line=spots(SIZES, WORKLOADS, "", lambda number: 20 + 3.5 * number),
    line_title="% of counter writes removed",
    rule=1.0,
    published=spots(SIZES, WORKLOADS, "SecPM w/o CWR", lambda _: 2.0),
)
SCALING = chart(
    "line",
    WORKLOADS,
    ("1", "2", "4", "8"),
    ("ideal", "sca", "fca", "co-located"),
    lambda number: 0.7 + number % 16 / 3,
    title="(a) Throughput",
    x_title="cores",
    y_title="throughput, ideal at 1 core = 1",
    published=(Mark("array", "8", "sca", 5.0),),
)
MISSES = chart(
    "line", ("",), SIZES, ("hit rate",), lambda number: 0.9 + 0.02 * number, title="(b) <Hit rate>", y_title=""
)
MANY = chart(
    "bar",
    tuple(f"panel {number}" for number in range(5)),
    tuple(f"a rather long workload {number}" for number in range(8)),
    ("a", "b", "c", "d", "e"),
    lambda number: None if number % 7 == 0 else 10.0 ** (number % 10 - 3),
)

FACTS = {"papers": "secpm, easy-pm", "reading": "published", "seed": "1", "engine": "of-a-test"}


def claim(name: str, paper: str, what: str, *rows: ClaimRow) -> Claim:
    """A claim that holds where all its rows do."""
    return Claim(name, paper, what, 2.0, 2.25, 0.1, all(row.holds for row in rows), rows)


def reproduction() -> Reproduction:
    """Two papers; a claim that holds, one that misses at a point, and one that no figure measures."""
    figures = (
        Figure("secpm.t1", "secpm", "Table 1", "What <b>survives</b>", "3.2", "", False, (), (SURVIVES,), (), 0),
        Figure(
            "secpm.f11",
            "secpm",
            "Figure 11",
            "NVM writes by transaction size",
            "4.2.1",
            "The line shows what `CWR` <i>removes</i>.",
            False,
            (WRITES,),
            (NUMBERS,),
            ("secpm.f11.without-cwr", "secpm.f11.removed"),
            60,
        ),
        Figure("easy-pm.f5", "easy-pm", "Figure 5", "Scaling", "IV-B", "", True, (SCALING, MISSES), (NUMBERS,), (), 80),
        Figure("easy-pm.f6", "easy-pm", "Figure 6", "Many bars", "", "", False, (MANY,), (), (), 200),
    )
    claims = (
        claim("secpm.page-log", "secpm", "lines of a page of log", ClaimRow("", "128 | 65", "128, 65", holds=True)),
        claim(
            "secpm.f11.without-cwr",
            "secpm",
            'writes over unencrypted ("about 2x")',
            ClaimRow("", "2 ± 0.1", "2.05", True),
        ),
        claim(
            "secpm.f11.removed",
            "secpm",
            "percent of counter writes that SecPM does not do, five workloads, by transaction size",
            ClaimRow("64 B", "22 to 37 ± 5", "25 to 50 (outside: array, queue, hash)", holds=False),
            ClaimRow("256 B", "62 to 75 ± 5", "60 to 79", holds=True),
        ),
    )
    decisions = (
        Decision(
            "secpm", "program.think_instructions", 2000, 8000, None, (0, 2000, 8000), 'section 2.2: "some computation"'
        ),
        Decision("secpm", "program.log_granularity", "word", "word", "word", ("word", "line"), "not said"),
        Decision("easy-pm", "device.open_page", True, True, False, (True, False), "not said", "DRAMSim2"),
        Decision(
            "easy-pm",
            "write queue",
            {"controller.wpq_entries": 64, "controller.wpq_high_watermark": 48},
            {"controller.wpq_entries": 32, "controller.wpq_high_watermark": 24},
            None,
            (
                {"controller.wpq_entries": 32, "controller.wpq_high_watermark": 24},
                {"controller.wpq_entries": 64, "controller.wpq_high_watermark": 48},
            ),
            "not said",
        ),
    )
    return Reproduction(
        {"secpm": "A Secure and Persistent Memory System", "easy-pm": "EASY-PM"},
        figures,
        claims,
        decisions,
        DEVIATIONS,
        quick=True,
        facts=FACTS,
        directions=DIRECTIONS,
        command="counterpoint reproduce all --quick --out '<out>'",
    )


DIRECTIONS = (
    Direction(
        "secpm.f11.fewer",
        "secpm",
        "4.2.1",
        "SecPM <significantly> reduces | the number of NVM writes.",
        "writes",
        "secpm < secpm-no-cwr",
        "right",
        (DirectionRow("", "secpm < secpm-no-cwr (+33.3 %)", 33.3, "%", "right"),),
    ),
    Direction(
        "secpm.f13.longer",
        "secpm",
        "4.2.3",
        "longer write queue reduces more counter writes",
        "counter_writes of secpm, % less than secpm-no-cwr",
        "rises from 8 to 128",
        "wrong",
        tuple(
            DirectionRow(name, f"{change:+.1f} points", change, "points", "right" if change > 0 else "wrong")
            for name, change in zip(WORKLOADS, (7.5, 7.1, 9.6, 7.0, -11.6), strict=True)
        ),
    ),
    Direction("easy-pm.f5.over", "easy-pm", "IV-B", "up to", "throughput", "a < b", "undecided", ()),
    Direction(
        "easy-pm.waits", "easy-pm", "IV-B", "decrease waiting time", "", "", "not measured", (), "no report has it"
    ),
)
SURVIVES = Table(
    "",
    ("mutation", "counters in the cache", "with CWR"),
    (("prepare", "recovers", "recovers"), ("mutate", "does not recover: the log is not durable", "recovers")),
)
NUMBERS = Table(
    "NVM writes, Unsec-PM = 1",
    ("", "", *WORKLOADS),
    tuple((size, design, "1.00", "2.05", "-", "1,234.5", "1.50") for size in SIZES for design in DESIGNS),
)

DEVIATIONS = """# Deviations from published figures

Values are in [secpm.md](secpm.md), the paper is [there](https://example.org/paper). ![a picture](picture.png)

## secpm

**F11: `queue` is 2.25.** Not <script>alert(1)</script>.

| size | writes |
| --- | --- |
| 64 B | 2.25 |
"""
