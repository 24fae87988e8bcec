"""The sepencr paper: its published results measured again, the figures whose values are not published here predicted,
and what the decisions that the paper leaves open do to them.

Preset `sepencr`, variant `published`, one seed, one core and transactions of 64 B where a figure does not vary them.
Before measuring, each core writes twice its footprint, so that what the caches hold is dirty, as the paper has it
"after system warm-up". What the warm-up does to the figures is among the decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shared import (
    FIVE,
    Bench,
    Claims,
    Measured,
    Row,
    Runs,
    as_lines,
    band,
    counted,
    mean,
    opening,
    over,
    table,
    with_mean,
)

import counterpoint as cp
from counterpoint.request import bytes_of

MACHINE = "sepencr"
WORKLOADS = FIVE
FLUSHED, BASELINE, CACHE_CME, BBE, SEPENCR = "adr", "eadr", "eadr-cme", "bbe", "sepencr"
SECRET = (CACHE_CME, BBE, SEPENCR)
DESIGNS = (BASELINE, *SECRET)
TX_SIZES = cp.SEPENCR_TX_SIZES
TX_SIZE = TX_SIZES[0]
CORES = cp.SEPENCR_CORES
ALL_CORES = CORES[-1]

CACHES = {4: 1, 8: 2, 16: 4, 32: 8}
"""Data caches of Figure 12 in MiB, all levels together with all cores, each with what it multiplies the levels by."""

DECISIONS: dict[str, tuple[int | str, ...]] = {
    "eadr.cme_levels": (1, 2, 3),
    "eadr.xor_cycles": (0, 1),
    "program.footprint": ("256KiB", "512KiB", "1MiB", "4MiB"),
    "program.think_instructions": (0, 2000, 8000),
    "l2.latency_cycles": (4, 8, 16),
    "l3.latency_cycles": (15, 30, 60),
}
"""Values of the preset that are decisions, each with what it might have been instead; one is changed at a time."""

WARMUPS = {"1/4": 1 / 8, "1/2": 1 / 4, "1": 1 / 2, "2": 1}
"""What each core writes before measuring begins, in footprints, each with what it multiplies the warm-up by."""

DECISION_SIZES = (TX_SIZES[0], TX_SIZES[-1])

Series: TypeAlias = Mapping[int, Runs]
"""Runs by transaction size, or by number of cores."""


@dataclass(frozen=True)
class Scale:
    """How much is simulated.

    Attributes:
        transactions: measured per core.
        footprints: what each core writes before, in footprints.
        words: the same in words.
    """

    transactions: int
    footprints: float
    words: str


FULL = Scale(2000, 2, "2,000 transactions per core after as much warm-up as writes twice the footprint")
QUICK = Scale(40, 1 / 16, "40 transactions per core (quick)")


@dataclass(frozen=True)
class Points:
    """Runs at points of the figures, every one with caches that have filled.

    Attributes:
        bench: runs and records them.
        scale: how much is simulated.
        footprint: the preset's, in bytes per core.
    """

    bench: Bench
    scale: Scale
    footprint: int

    def runs(
        self,
        figure: str,
        designs: Sequence[str],
        *,
        tx_size: int = TX_SIZE,
        cores: int = 1,
        set_: Sequence[str] = (),
        longer: float = 1,
    ) -> Runs:
        """Every design on every workload at one point, after a warm-up `longer` times the usual one."""
        changed = dict(value.split("=") for value in set_)
        footprint = bytes_of(changed.get("program.footprint", self.footprint)) or 0
        warmup = round(longer * self.scale.footprints * footprint / tx_size)
        return self.bench.runs(figure, designs, tx_size=tx_size, cores=cores, warmup=warmup, set_=set_)


def measure(claims: Claims, quick: bool) -> Measured:
    """Measures the paper; `quick` takes few transactions and cold caches."""
    scale = QUICK if quick else FULL
    bench = Bench(MACHINE, WORKLOADS, scale.transactions, None, TX_SIZE)
    points = Points(bench, scale, bytes_of(preset()["program"]["footprint"]) or 0)
    by_size = {size: points.runs("3 and 10", (FLUSHED, *DESIGNS), tx_size=size) for size in TX_SIZES}
    by_cores = {1: by_size[TX_SIZE]} | {
        cores: points.runs("11 and Table III", DESIGNS, cores=cores) for cores in CORES if cores > 1
    }
    by_caches = {4: by_cores[ALL_CORES]} | {
        size: points.runs("12", (BBE, SEPENCR), cores=ALL_CORES, set_=larger(factor))
        for size, factor in CACHES.items()
        if factor > 1
    }
    rows = [
        *execution_time_claims(claims["sepencr.f10"], by_size),
        *energy_claims(claims["sepencr.t3"], by_cores[ALL_CORES]),
        *recovery_claims(claims["sepencr.f12"], by_caches),
    ]
    figures = [
        *execution_times(by_size, by_cores),
        *energies(by_cores),
        *recoveries(by_caches),
    ]
    experiments = decisions(points, by_size)
    return Measured(MACHINE, rows, page(rows, figures, experiments, scale), as_lines(bench.record))


def preset() -> dict[str, dict[str, Any]]:
    """The values of the paper's machine."""
    return next(machine.values for machine in cp.machines() if machine.name == MACHINE)


def larger(factor: int) -> list[str]:
    """The three levels `factor` times as large, as assignments."""
    values = preset()
    return [f"{level}.size={factor * (bytes_of(values[level]['size']) or 0) >> 10}KiB" for level in ("l1", "l2", "l3")]


def execution_time(run: cp.Run) -> float:
    """Time of a transaction in ns, from one to the next, over all cores."""
    return 1e9 / run.stats.throughput_tps


def slower(runs: Runs, design: str) -> list[float]:
    """Execution time over the baseline's, by workload."""
    return over(runs, execution_time, design, BASELINE)


def execution_time_claims(claim: dict[str, Any], by_size: Series) -> list[Row]:
    """Figure 10: the mean over the workloads at each size."""
    return [
        band(
            {**claim, "tol": claim["tol_by_design"][design]},
            design,
            {f"{size} B": mean(slower(runs, design)) for size, runs in by_size.items()},
            low,
            high,
            2,
        )
        for design, (low, high) in claim["by_design"].items()
    ]


def energy_claims(claim: dict[str, Any], runs: Runs) -> list[Row]:
    """Table III: arithmetic on the capacities, the same for every workload."""
    return [
        exact(
            claim,
            f"{design}, {counted(ALL_CORES)}",
            [all_dirty_mj(runs[design, work]) for work in WORKLOADS],
            published,
        )
        for design, published in zip((BASELINE, SEPENCR, BBE), claim["value"], strict=True)
    ]


def recovery_claims(claim: dict[str, Any], by_caches: Series) -> list[Row]:
    """Figure 12 by the paper's formula."""
    largest = max(CACHES)
    return [
        exact(
            claim,
            f"{design}, {largest} MiB",
            [by_formula(by_caches[largest][design, work]) / 1e9 for work in WORKLOADS],
            published,
        )
        for design, published in zip((BBE, SEPENCR), claim["value"], strict=True)
    ]


def exact(claim: dict[str, Any], at: str, values: Sequence[float], published: float) -> Row:
    """A claim that holds to the digits given, on every workload."""
    shown = sorted({f"{value:.4f}" for value in values})
    return Row(claim["id"], at, f"{published:.4f}", " to ".join(shown), shown == [f"{published:.4f}"])


def all_dirty_mj(run: cp.Run) -> float:
    """Energy in mJ at a crash with every line dirty."""
    return known(run.stats.at_crash.drain_energy_all_dirty_mj)


def dirty_mj(run: cp.Run) -> float:
    """Energy in mJ at a crash for the lines that are dirty."""
    return known(run.stats.at_crash.drain_energy_mj)


def dirty_percent(run: cp.Run) -> float:
    """Dirty share of the lines of the caches, in percent."""
    return 100 * known(run.stats.at_crash.dirty_fraction)


def by_formula(run: cp.Run) -> float:
    """Recovery time in ns by the paper's formula."""
    return known(run.stats.at_crash.recovery_time_paper_ns)


def on_device(run: cp.Run) -> float:
    """Recovery time in ns of what was dirty, on the simulated device."""
    return known(run.stats.at_crash.recovery_time_ns)


def known(value: float | None) -> float:
    """A figure that the designs measured here have."""
    assert value is not None
    return value


def execution_times(by_size: Series, by_cores: Series) -> list[str]:
    """Figures 10, 3 and 11."""
    sizes = {f"{size} B": runs for size, runs in by_size.items()}
    cores = {counted(count): runs for count, runs in by_cores.items()}
    return [
        *series("Figure 10: execution time by transaction size", "1 core", "size", SECRET, sizes),
        *series("Figure 3: execution time with flushes", f"`{FLUSHED}`, 1 core", "size", (FLUSHED,), sizes),
        *series("Figure 11: execution time by cores", f"transactions of {TX_SIZE} B", "cores", SECRET, cores),
    ]


def series(title: str, setting: str, corner: str, designs: Sequence[str], points: Mapping[str, Runs]) -> list[str]:
    """Execution time over the baseline's, designs and points down, workloads across."""
    rows = [(design, name, *with_mean(slower(runs, design))) for design in designs for name, runs in points.items()]
    note = f"Time of as many transactions, `{BASELINE}` at the same point = 1, lower is better; {setting}."
    return ["", f"### {title}", "", note, "", *table(("design", corner, *WORKLOADS, "mean"), rows)]


def energies(by_cores: Series) -> list[str]:
    """Table III, and the same of what is dirty."""
    everything = []
    for design in (BASELINE, SEPENCR, BBE):
        run = by_cores[ALL_CORES][design, WORKLOADS[0]]
        part = {part.name: part.energy_all_dirty_mj for part in run.stats.at_crash.parts}
        caches = sum(part[level] for level in ("l1", "l2", "l3"))
        others = (part.get(name) for name in ("counter-cache", "encryption"))
        cells = (caches, *others, all_dirty_mj(run))
        everything.append((design, *("-" if value is None else f"{value:.4f}" for value in cells)))
    dirty = [
        (design, counted(cores), *with_mean([dirty_percent(runs[design, work]) for work in WORKLOADS], 1))
        for design in DESIGNS
        for cores, runs in by_cores.items()
    ]
    needed = [
        (design, counted(cores), *with_mean([dirty_mj(runs[design, work]) for work in WORKLOADS]))
        for design in DESIGNS
        for cores, runs in by_cores.items()
    ]
    header = ("design", "cores", *WORKLOADS, "mean")
    return [
        "",
        "### Table III: energy at a crash",
        "",
        f"In mJ, every line dirty, {counted(ALL_CORES)}.",
        "",
        *table(("design", "caches", "counter cache", "encryption", "all"), everything),
        "",
        "### Energy for what is dirty",
        "",
        f"Share of the lines of the caches that are dirty after the last transaction, in percent; {TX_SIZE} B. The",
        'paper finds "almost all data in the eADR-based cache" dirty (section VI).',
        "",
        *table(header, dirty),
        "",
        "Energy in mJ to drain what is dirty, counters and encryption included:",
        "",
        *table(header, needed),
    ]


def recoveries(by_caches: Series) -> list[str]:
    """Figure 12."""
    rows = [
        (
            f"{size} MiB",
            design,
            f"{mean(by_formula(runs[design, work]) for work in WORKLOADS) / 1e9:.4f}",
            f"{mean(on_device(runs[design, work]) for work in WORKLOADS) / 1e9:.4f}",
            f"{mean(dirty_percent(runs[design, work]) for work in WORKLOADS):.1f}",
        )
        for size, runs in by_caches.items()
        for design in (BBE, SEPENCR)
    ]
    return [
        "",
        "### Figure 12: recovery time",
        "",
        f"In s, by the size of the data caches of {counted(ALL_CORES)} together: by the paper's formula, 200 ns for",
        "each line of the caches, and on the simulated device for the lines that were dirty; means over the workloads.",
        "",
        *table(("caches", "design", "by the formula", "on the device", "dirty lines, percent"), rows),
    ]


def decisions(points: Points, by_size: Series) -> list[str]:
    """What each decision does to Figure 10, against the preset's value of it."""
    values_of = preset()
    rows = []
    for path, values in DECISIONS.items():
        section, key = path.split(".")
        for value in values:
            if value == values_of[section][key]:
                rows.append((path, f"{value} (preset)", *outcome(by_size)))
            else:
                changed = {
                    size: points.runs("10", DESIGNS, tx_size=size, set_=[f"{path}={value}"]) for size in DECISION_SIZES
                }
                rows.append((path, str(value), *outcome(changed)))
    for name, longer in WARMUPS.items():
        if longer == 1:
            rows.append(("warm-up, footprints", f"{name} (above)", *outcome(by_size)))
        else:
            changed = {
                size: points.runs(f"10, warm-up of {name}", DESIGNS, tx_size=size, longer=longer)
                for size in DECISION_SIZES
            }
            rows.append(("warm-up, footprints", name, *outcome(changed)))
    header = (
        "decision",
        "value",
        *(f"{design}, {size} B" for size in DECISION_SIZES for design in SECRET),
        f"dirty lines, {BBE}, {TX_SIZE} B",
    )
    return table(header, rows)


def outcome(by_size: Series) -> list[str]:
    """Execution time over the baseline's at two sizes, and the dirty share of the caches; means over the workloads."""
    ratios = [mean(slower(by_size[size], design)) for size in DECISION_SIZES for design in SECRET]
    dirty = mean(dirty_percent(by_size[TX_SIZE][BBE, work]) for work in WORKLOADS)
    return [*(f"{ratio:.2f}" for ratio in ratios), f"{dirty:.1f} %"]


def page(rows: list[Row], figures: list[str], experiments: list[str], scale: Scale) -> str:
    """The page for people."""
    lines = [
        *opening(MACHINE, f"preset `{MACHINE}`, its footprint, {scale.words}", rows),
        "",
        "## Figures",
        "",
        "The tables are by the paper's figures. Of Figure 10 the means are published; for Figures 3 and 11 there are",
        "no published values here: they are predictions. So are the energy and the recovery time of what is dirty.",
        *figures,
        "",
        "## Decisions",
        "",
        f"Execution time over `{BASELINE}`, means over the workloads, one core, with one decision of the preset",
        "changed at a time.",
        "",
        *experiments,
    ]
    return "\n".join(lines) + "\n"
