"""The easy-pm paper: its published results measured again, the figures whose values are not published here predicted,
and what the decisions that the paper leaves open do to them.

Preset `easy-pm`, variant `published`, four cores, one seed, transactions of 1 KiB and the preset's footprint. The paper
names neither a transaction size nor a footprint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shared import (
    Bench,
    Claims,
    Measured,
    Row,
    Runs,
    as_lines,
    average,
    by_workload,
    counted,
    mean,
    opening,
    over,
    percent_more,
    table,
    throughput,
)

import counterpoint as cp
from counterpoint.frame import mean as mean_of_all

MACHINE = "easy-pm"
WORKLOADS = cp.EASY_PM_WORKLOADS
BASELINE, ASYNCHRONOUS, EASY_PM = "hw-log", "alc", "easy-pm"
DESIGNS = (BASELINE, ASYNCHRONOUS, EASY_PM)
CORES = 4
TX_SIZE = 1024

TRAFFIC: dict[str, Callable[[cp.Run], float]] = {
    "REQ_RD": lambda run: run.stats.nvm.reads,
    "REQ_WT": lambda run: run.stats.nvm.writes,
    "CNT_RD": lambda run: run.stats.nvm.counter_reads,
    "CNT_WT": lambda run: run.stats.nvm.counter_writes,
}
"""The traffic of Figure 6, by its names there: all lines read and written, and those of them that hold counters."""

DECISIONS: dict[str, tuple[int | str | bool, ...]] = {
    "log.cfb_latency": ("serial", "paper"),
    "counters.organisation": ("per-line", "split"),
    "device.mapping": ("line-interleaved", "page-interleaved"),
    "device.write_recovery": ("row-close", "each-write"),
    "controller.counter_wpq_merging": (False, True),
    "log.bucket_records": (4, 16, 64),
    "log.buckets": (64, 256, 1024),
    "program.think_instructions": (1000, 8000, 64_000),
}
"""Values of the preset that are decisions, each with what it might have been instead; one is changed at a time."""

TX_SIZES = (64, 256, 1024, 4096)


@dataclass(frozen=True)
class Scale:
    """How much is simulated.

    Attributes:
        transactions: measured per core.
        footprint: None for the preset's.
        words: the same in words.
    """

    transactions: int
    footprint: str | None
    words: str


FULL = Scale(1000, None, "1,000 transactions per core after 100 of warm-up")
QUICK = Scale(40, "1MiB", "40 transactions per core (quick)")


def measure(claims: Claims, quick: bool) -> Measured:
    """Measures the paper; `quick` takes a small footprint and few transactions."""
    scale = QUICK if quick else FULL
    bench = Bench(MACHINE, WORKLOADS, scale.transactions, scale.footprint, TX_SIZE)
    runs = bench.runs("5 to 7", DESIGNS, cores=CORES)
    rows = throughput_claims(claims, runs)
    figures = [*throughputs(runs), *traffic(runs), *access_latency(runs)]
    return Measured(MACHINE, rows, page(rows, figures, decisions(bench, runs), scale), as_lines(bench.record))


def throughput_claims(claims: Claims, runs: Runs) -> list[Row]:
    """Figure 5."""
    more = percent_more(over(runs, throughput, EASY_PM, BASELINE))
    best = max(zip(more, WORKLOADS, strict=True))
    found = {
        "over-hw-log": (counted(CORES), more),
        "best": (f"{counted(CORES)}, {best[1]}", best[:1]),
        "over-alc": (counted(CORES), percent_more(over(runs, throughput, EASY_PM, ASYNCHRONOUS))),
    }
    rows = []
    for name, (at, values) in found.items():
        claim = claims[f"easy-pm.f5.{name}"]
        rows.append(average(claim, at, values, claim["value"]))
    return rows


def access_latency_of(run: cp.Run) -> float:
    """Mean latency of an access of the first-level caches in ns."""
    latency = run.stats.l1_access_latency_ns
    assert latency is not None
    return latency


def percent_less(runs: Runs, figure: Callable[[cp.Run], float], design: str) -> list[float | None]:
    """By how much a figure is lower than the baseline's, by workload; None where the baseline has none of it."""
    pairs = [(figure(runs[design, work]), figure(runs[BASELINE, work])) for work in WORKLOADS]
    return [100 * (1 - value / base) if base else None for value, base in pairs]


def cells(values: Sequence[float | None], digits: int = 1) -> list[str]:
    """Figures by workload, and their mean, as cells."""
    return ["-" if value is None else f"{value:.{digits}f}" for value in (*values, mean_of_all(values))]


def throughputs(runs: Runs) -> list[str]:
    """Figure 5."""
    rows = {design: over(runs, throughput, design, BASELINE) for design in DESIGNS}
    lines = by_workload(
        "Figure 5: throughput",
        f"Transactions per second, `{BASELINE}` = 1, higher is better.",
        "design",
        WORKLOADS,
        rows,
    )
    more = {f"over {other}": percent_more(over(runs, throughput, EASY_PM, other)) for other in (BASELINE, ASYNCHRONOUS)}
    note = f"Percent by which `{EASY_PM}` exceeds the throughput of the others."
    return lines + by_workload("Figure 5 in percent", note, "", WORKLOADS, more, digits=1)


def traffic(runs: Runs) -> list[str]:
    """Figure 6: all traffic and that of counters, reads and writes, each for itself."""
    header = ("design", "traffic", *WORKLOADS, "mean")
    fewer = [
        (design, name, *cells(percent_less(runs, figure, design)))
        for design in DESIGNS[1:]
        for name, figure in TRAFFIC.items()
    ]
    each = [
        (
            design,
            name,
            *cells([figure(runs[design, work]) / runs[design, work].stats.transactions for work in WORKLOADS]),
        )
        for design in DESIGNS
        for name, figure in TRAFFIC.items()
    ]
    return [
        "",
        "### Figure 6: traffic",
        "",
        f"Percent fewer lines than `{BASELINE}` reads and writes, higher is better. REQ_RD and REQ_WT are all reads",
        "and writes, CNT_RD and CNT_WT those of counters among them.",
        "",
        *table(header, fewer),
        "",
        "Lines per transaction:",
        "",
        *table(header, each),
    ]


def access_latency(runs: Runs) -> list[str]:
    """Figure 7."""
    latencies = {design: [access_latency_of(runs[design, work]) for work in WORKLOADS] for design in DESIGNS}
    lines = by_workload("Figure 7: L1 access latency", "Mean in ns.", "design", WORKLOADS, latencies)
    header = ("design", *WORKLOADS, "mean", "best")
    rows = []
    for design in DESIGNS[1:]:
        less = [value for value in percent_less(runs, access_latency_of, design) if value is not None]
        rows.append((design, *cells(less), f"{max(less):.1f}"))
    return [*lines, "", f"Percent less than `{BASELINE}`:", "", *table(header, rows)]


def decisions(bench: Bench, preset_runs: Runs) -> list[str]:
    """What each decision does to the figures, against the preset's value of it."""
    preset = next(machine for machine in cp.machines() if machine.name == MACHINE)
    rows = []
    for path, values in DECISIONS.items():
        section, key = path.split(".")
        for value in values:
            if value == preset.values[section][key]:
                rows.append((path, f"{shown(value)} (preset)", *outcome(preset_runs)))
            else:
                changed = bench.runs("5 to 7", DESIGNS, cores=CORES, set_=[f"{path}={shown(value)}"])
                rows.append((path, shown(value), *outcome(changed)))
    for size in TX_SIZES:
        runs = preset_runs if size == TX_SIZE else bench.runs("5 to 7", DESIGNS, cores=CORES, tx_size=size)
        rows.append(("transaction size", f"{size} B{' (above)' if size == TX_SIZE else ''}", *outcome(runs)))
    header = (
        "decision",
        "value",
        f"throughput over {BASELINE}",
        "best",
        f"over {ASYNCHRONOUS}",
        *(f"fewer {name}" for name in TRAFFIC),
        "less L1 latency",
    )
    return table(header, rows)


def shown(value: int | str | bool) -> str:
    """A value as machine files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def outcome(runs: Runs) -> list[str]:
    """The figures of one point in percent, means over the workloads, and throughput on the best one too."""
    more = percent_more(over(runs, throughput, EASY_PM, BASELINE))
    found: Iterable[float | None] = (
        mean(more),
        max(more),
        mean(percent_more(over(runs, throughput, EASY_PM, ASYNCHRONOUS))),
        *(mean_of_all(percent_less(runs, figure, EASY_PM)) for figure in (*TRAFFIC.values(), access_latency_of)),
    )
    return ["-" if value is None else f"{value:.1f}" for value in found]


def page(rows: list[Row], figures: list[str], experiments: list[str], scale: Scale) -> str:
    """The page for people."""
    setting = (
        f"preset `{MACHINE}`, {counted(CORES)}, transactions of {TX_SIZE} B, {scale.footprint or 'its'} footprint, "
        f"{scale.words}"
    )
    lines = [
        *opening(MACHINE, setting, rows),
        "",
        "## Figures",
        "",
        "The tables are by the paper's figures. Of Figure 5 the two means and the best workload are published; for",
        "Figures 6 and 7 there are no published values here: they are predictions. A dash stands for a share of",
        "nothing, and for the mean over one.",
        *figures,
        "",
        "## Decisions",
        "",
        f"What `{EASY_PM}` gains over `{BASELINE}` and `{ASYNCHRONOUS}` in percent, means over the workloads, with one",
        "decision of the preset changed at a time.",
        "",
        *experiments,
    ]
    return "\n".join(lines) + "\n"
