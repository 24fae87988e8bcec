"""The counter-atomicity paper: its published results measured again, and the figures whose values are not published
here predicted.

Preset `counter-atomicity`, variant `published`, one seed, transactions of 1 KiB and the preset's footprint where a
figure does not vary them. A runtime is simulated time per transaction at one core, a throughput transactions per
simulated second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared import (
    FIVE,
    Bench,
    Claims,
    Measured,
    Row,
    Runs,
    as_lines,
    at_most,
    average,
    by_workload,
    counted,
    mean,
    opening,
    over,
    percent_more,
    table,
    throughput,
    with_mean,
)

import counterpoint as cp

MACHINE = "counter-atomicity"
BASELINE = "unencrypted"
ENCRYPTED = ("ideal", "sca", "fca", "co-located", "co-located-cc", "secpm")
CORES = (1, 2, 4, 8)
TX_SIZE = 1024
LINE_BYTES = 64


@dataclass(frozen=True)
class Scale:
    """How much is simulated.

    Attributes:
        transactions: measured per core.
        footprint: of every figure but 15; None for the preset's.
        footprints: of Figure 15.
        warmup: of Figure 15, transactions before measuring begins. A larger cache shows only once it holds counters
            that come again, so more than a tenth of the measured ones.
        cache_sizes: of Figure 15, of the counter cache; speed-ups are over the first.
        lines: of Figure 16, lines of user data in a transaction.
        latencies: of Figure 17, times the preset's.
        words: the same in words.
    """

    transactions: int
    footprint: str | None
    footprints: tuple[str, ...]
    warmup: int
    cache_sizes: tuple[str, ...]
    lines: tuple[int, ...]
    latencies: tuple[float, ...]
    words: str


FULL = Scale(
    transactions=2000,
    footprint=None,
    footprints=("100MiB", "400MiB", "1000MiB"),
    warmup=20_000,
    cache_sizes=("128KiB", "512KiB", "2MiB", "8MiB"),
    lines=(1, 4, 16, 64),
    latencies=(10, 4, 2, 1, 0.5, 0.25),
    words="2,000 transactions per core after 200 of warm-up",
)
QUICK = Scale(
    transactions=40,
    footprint="1MiB",
    footprints=("1MiB", "2MiB"),
    warmup=40,
    cache_sizes=("128KiB", "8MiB"),
    lines=(1, 4),
    latencies=(10, 1, 0.25),
    words="40 transactions per core (quick)",
)


def measure(claims: Claims, quick: bool) -> Measured:
    """Measures the paper; `quick` takes small footprints, few transactions and few points of the predictions."""
    scale = QUICK if quick else FULL
    bench = Bench(MACHINE, FIVE, scale.transactions, scale.footprint, TX_SIZE)
    by_cores = {cores: bench.runs("12 to 14", (BASELINE, *ENCRYPTED), cores=cores) for cores in CORES}
    rows = runtime_claims(claims, by_cores[1]) + throughput_claims(claims, by_cores)
    predictions = [
        *runtimes(by_cores[1]),
        *throughputs(by_cores),
        *write_traffic(by_cores[1]),
        *counter_cache(bench, scale),
        *transaction_sizes(bench, scale),
        *device_latencies(bench, scale),
    ]
    return Measured(MACHINE, rows, page(rows, predictions, scale), as_lines(bench.record))


def runtime(run: cp.Run) -> float:
    """Simulated ns per transaction."""
    return run.stats.simulated_ns / run.stats.transactions


def hit_rate(run: cp.Run) -> float:
    """The share of counter lookups that hit."""
    rate = run.stats.counter_cache.hit_rate
    assert rate is not None
    return rate


def runtime_claims(claims: Claims, runs: Runs) -> list[Row]:
    """Figure 12: one core."""
    pairs = {
        "sca-under-unencrypted": ("sca", BASELINE),
        "co-located": ("co-located", "sca"),
        # Faster by p percent: sca takes p percent longer.
        "co-located-cc": ("sca", "co-located-cc"),
        "co-located-cc-under-unencrypted": ("co-located-cc", BASELINE),
    }
    rows = []
    for name, (slow, fast) in pairs.items():
        claim = claims[f"counter-atomicity.f12.{name}"]
        rows.append(average(claim, "1 core", percent_more(over(runs, runtime, slow, fast)), claim["value"]))
    return rows


def throughput_claims(claims: Claims, by_cores: Mapping[int, Runs]) -> list[Row]:
    """Figure 13: one to eight cores."""
    rows = []
    claim = claims["counter-atomicity.f13.sca-over-fca"]
    for cores, runs in by_cores.items():
        more = percent_more(over(runs, throughput, "sca", "fca"))
        rows.append(average(claim, counted(cores), more, claim["by_cores"][str(cores)]))
    claim = claims["counter-atomicity.f13.near-ideal"]
    under = {
        counted(cores): -mean(percent_more(over(runs, throughput, "sca", "ideal"))) for cores, runs in by_cores.items()
    }
    rows.append(at_most(claim, "1 to 8 cores", under, 1))
    return rows


def runtimes(runs: Runs) -> list[str]:
    """Figure 12."""
    rows = {design: over(runs, runtime, design, BASELINE) for design in ENCRYPTED}
    return by_workload("Figure 12: runtime", f"One core, {BASELINE} = 1, lower is better.", "design", FIVE, rows)


def throughputs(by_cores: Mapping[int, Runs]) -> list[str]:
    """Figure 13."""
    rows = []
    for design in (BASELINE, *ENCRYPTED):
        for cores, runs in by_cores.items():
            single = by_cores[CORES[0]]
            values = [throughput(runs[design, work]) / throughput(single[BASELINE, work]) for work in FIVE]
            rows.append((design, str(cores), *with_mean(values)))
    note = f"Transactions per second, {BASELINE} at one core = 1, higher is better."
    return ["", "### Figure 13: throughput by cores", "", note, "", *table(("design", "cores", *FIVE, "mean"), rows)]


def write_traffic(runs: Runs) -> list[str]:
    """Figure 14, in requests and in bytes."""
    lines = []
    for unit, figure in {
        "requests": lambda run: float(run.stats.nvm.writes),
        "bytes": lambda run: float(run.stats.nvm.write_bytes),
    }.items():
        rows = {design: over(runs, figure, design, BASELINE) for design in ENCRYPTED}
        note = f"One core, {BASELINE} = 1, lower is better."
        lines += by_workload(f"Figure 14: write traffic in {unit}", note, "design", FIVE, rows)
    return lines


def counter_cache(bench: Bench, scale: Scale) -> list[str]:
    """Figure 15."""
    rows = []
    for footprint in scale.footprints:
        smallest: Runs = {}
        for size in scale.cache_sizes:
            changed = [f"controller.counter_cache_size={size}"]
            runs = bench.runs("15", ("sca",), footprint=footprint, warmup=scale.warmup, set_=changed)
            smallest = smallest or runs
            faster = mean(runtime(smallest[point]) / runtime(runs[point]) for point in runs)
            missed = mean(1 - hit_rate(run) for run in runs.values())
            rows.append((footprint, size, f"{faster:.3f}", f"{100 * missed:.1f} %"))
    note = (
        f"`sca`, one core, means over the five workloads after {scale.warmup:,} transactions of warm-up; "
        f"speed-up over {scale.cache_sizes[0]}."
    )
    header = ("footprint", "counter cache", "speed-up", "miss rate")
    return ["", "### Figure 15: size of the counter cache", "", note, "", *table(header, rows)]


def transaction_sizes(bench: Bench, scale: Scale) -> list[str]:
    """Figure 16."""
    rows = {}
    for lines in scale.lines:
        runs = bench.runs("16", ("ideal", "sca"), tx_size=lines * LINE_BYTES)
        rows[str(lines)] = over(runs, runtime, "sca", "ideal")
    note = "Runtime of `sca` at one core, `ideal` = 1, lower is better."
    return by_workload("Figure 16: size of a transaction", note, "lines", FIVE, rows)


def device_latencies(bench: Bench, scale: Scale) -> list[str]:
    """Figure 17."""
    preset = next(machine for machine in cp.machines() if machine.name == MACHINE)
    lines = []
    for part, what, names in (("a", "read", ("t_rcd_ns", "t_cl_ns")), ("b", "write", ("t_wr_ns",))):
        rows = {}
        for factor in scale.latencies:
            changed = [f"device.{name}={factor * preset.values['device'][name]:g}" for name in names]
            runs = bench.runs(f"17({part})", ("sca", "co-located"), set_=changed)
            rows[compared(factor)] = over(runs, runtime, "co-located", "sca")
        note = f"Speed-up of `sca` over `co-located` at one core, higher is better; {' and '.join(names)} scaled."
        lines += by_workload(f"Figure 17({part}): {what} latency", note, "latency", FIVE, rows)
    return lines


def compared(factor: float) -> str:
    """A latency against the preset's, in words."""
    if factor == 1:
        return "preset"
    return f"{factor:g}x slower" if factor > 1 else f"{1 / factor:g}x faster"


def page(rows: list[Row], figures: list[str], scale: Scale) -> str:
    """The page for people."""
    setting = f"preset `{MACHINE}`, transactions of {TX_SIZE} B, {scale.footprint or 'its'} footprint, {scale.words}"
    lines = [
        *opening(MACHINE, setting, rows),
        "",
        "## Figures",
        "",
        "The tables are by the paper's figures. For Figures 14 to 17 there are no published values here: they are",
        "predictions.",
        *figures,
    ]
    return "\n".join(lines) + "\n"
