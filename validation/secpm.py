"""The SecPM papers: their published results measured again.

Presets `secpm` and `secpm-workshop`, variant `published`, one core, one seed, the papers' footprints.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable

from shared import FIVE, Claims, Measured, Row, average, band, claims_table, document, table

import counterpoint as cp

SIZES = (64, 256, 1024, 4096)
TWO = ("hash", "btree")
#: secpm section 4.1: 1 GB arrays and queues, 2 GB trees and tables. The workshop paper states no footprint.
FOOTPRINTS = {"array": "1GiB", "queue": "1GiB", "hash": "2GiB", "btree": "2GiB", "rbtree": "2GiB"}

Point = tuple[str, str, int]


def measure(claims: Claims, quick: bool) -> Measured:
    """Measures both papers; `quick` takes small footprints and few transactions."""
    full = Paper("secpm", ("unencrypted", "secpm-no-cwr", "secpm"), FIVE, quick)
    short = Paper("secpm-workshop", ("unencrypted", "write-through", "secpm-workshop"), TWO, quick)
    rows = secpm(claims, full) + workshop(claims, short)
    runs = [document(run) for paper in (full, short) for run in paper.runs.values()]
    return Measured("secpm", rows, page(rows, [full, short], quick), json.dumps(runs, indent=1))


class Paper:
    """The runs of one paper's machine, by (design, workload, transaction size)."""

    def __init__(self, machine: str, designs: Iterable[str], workloads: Iterable[str], quick: bool) -> None:
        """Runs every design on every workload at every size."""
        self.machine = machine
        self.runs: dict[Point, cp.Run] = {}
        for workload in workloads:
            for size in SIZES:
                points = [(design, workload, size) for design in designs]
                for point, run in zip(points, self._simulate(points, quick), strict=True):
                    self.runs[point] = run
                print(f"{machine}: {workload} at {size} B", file=sys.stderr)

    def _simulate(self, points: list[Point], quick: bool) -> list[cp.Run]:
        designs = [design for design, _, _ in points]
        _, workload, size = points[0]
        return cp.run_matrix(
            designs,
            [workload],
            tx_size=[size],
            machine=self.machine,
            variant="published",
            transactions=500 if quick else 2000,
            footprint="64MiB" if quick else FOOTPRINTS[workload],
        )

    def writes(self, design: str, workload: str, size: int) -> float:
        """NVM writes."""
        return self.runs[design, workload, size].stats.nvm.writes

    def counters(self, design: str, workload: str, size: int) -> float:
        """Counter writes among them."""
        return self.runs[design, workload, size].stats.nvm.counter_writes

    def latency(self, design: str, workload: str, size: int) -> float:
        """Mean transaction latency in ns."""
        mean = self.runs[design, workload, size].stats.transaction_latency_ns.mean
        assert mean is not None
        return mean

    def throughput(self, design: str, workload: str, size: int) -> float:
        """Transactions per simulated second."""
        return self.runs[design, workload, size].stats.throughput_tps

    def figures(self, point: Point) -> tuple[str, ...]:
        """A run as a line of a table."""
        run = self.runs[point].stats
        writes, counters = run.nvm.writes / run.transactions, run.nvm.counter_writes / run.transactions
        design, workload, size = point
        return workload, str(size), design, f"{writes:.2f}", f"{counters:.2f}", f"{self.latency(*point):.0f}"


def secpm(claims: Claims, paper: Paper) -> list[Row]:
    """The full paper's claims."""

    def per_workload(size: int, value: Callable[[str, int], float]) -> dict[str, float]:
        return {workload: value(workload, size) for workload in FIVE}

    def all_sizes(value: Callable[[str, int], float]) -> dict[str, float]:
        return {f"{workload} {size} B": value(workload, size) for workload in FIVE for size in SIZES}

    rows = []

    def removed_by_cwr(name: str, cost: Callable[[str, str, int], float]) -> None:
        """What CWR takes off a cost, in percent, size by size."""
        claim = claims[name]
        for size in SIZES:
            saved = per_workload(size, lambda w, s: 100 * (1 - cost("secpm", w, s) / cost("secpm-no-cwr", w, s)))
            low, high = claim["by_tx_size"][str(size)]
            rows.append(band(claim, f"{size} B", saved, low, high, 0))

    claim = claims["secpm.f11.without-cwr"]
    ratio = all_sizes(lambda w, s: paper.writes("secpm-no-cwr", w, s) / paper.writes("unencrypted", w, s))
    rows.append(band(claim, "all sizes", ratio, claim["low"], claim["high"], 2))

    removed_by_cwr("secpm.f11.counter-writes-removed", paper.counters)

    claim = claims["secpm.f12.without-cwr"]
    slower = all_sizes(lambda w, s: paper.latency("secpm-no-cwr", w, s) / paper.latency("unencrypted", w, s))
    rows.append(band(claim, "all sizes", slower, claim["low"], claim["high"], 2))

    removed_by_cwr("secpm.f12.latency-reduced", paper.latency)

    claim = claims["secpm.f12.near-unencrypted"]
    near = per_workload(4096, lambda w, s: paper.latency("secpm", w, s) / paper.latency("unencrypted", w, s))
    worst = max(near.values())
    rows.append(Row(claim["id"], "4096 B", f"at most {claim['bound']:g}", f"{worst:.2f}", worst <= claim["bound"]))
    return rows


def workshop(claims: Claims, paper: Paper) -> list[Row]:
    """The workshop paper's claims."""

    def over(design: str, baseline: str, size: int) -> list[float]:
        return [paper.writes(design, w, size) / paper.writes(baseline, w, size) for w in TWO]

    rows = []
    claim = claims["secpm-workshop.f8.64B"]
    saved = [100 * (1 - ratio) for ratio in over("secpm-workshop", "write-through", 64)]
    rows.append(average(claim, "64 B", saved, claim["value"]))

    claim = claims["secpm-workshop.f8.writes"]
    for size in SIZES[1:]:
        more = [100 * (ratio - 1) for ratio in over("secpm-workshop", "unencrypted", size)]
        rows.append(average(claim, f"{size} B", more, claim["by_tx_size"][str(size)]))

    claim = claims["secpm-workshop.f9.throughput"]
    faster = {
        f"{w} {s} B": paper.throughput("secpm-workshop", w, s) / paper.throughput("write-through", w, s)
        for w in TWO
        for s in SIZES
    }
    rows.append(band(claim, "all sizes", faster, claim["low"], claim["high"], 2))
    return rows


def page(rows: list[Row], papers: list[Paper], quick: bool) -> str:
    """The page for people."""
    held = sum(row.holds for row in rows)
    lines = [
        "# Measured claims of the SecPM papers",
        "",
        f"Engine {cp.engine_version()}, variant `published`, one core, seed 1, presets `secpm` and `secpm-workshop`, "
        + ("64 MiB footprints, 500 transactions (quick)." if quick else "the papers' footprints, 2,000 transactions")
        + ("" if quick else " after 200 of warm-up per point."),
        f"Written by `make validate`. {held} of {len(rows)} rows hold; [DEVIATIONS.md](DEVIATIONS.md) explains the",
        "others. Claim `secpm.page-log-writes` (128 and 65 lines) is a test of the engine on its real controller.",
        "",
        *claims_table(rows),
    ]
    header = ("workload", "size", "design", "NVM writes per tx", "counter writes per tx", "mean latency ns")
    for paper in papers:
        points = sorted(paper.runs, key=lambda point: (FIVE.index(point[1]), point[2]))
        lines += ["", f"## Every point on `{paper.machine}`", "", *table(header, map(paper.figures, points))]
    return "\n".join(lines) + "\n"
