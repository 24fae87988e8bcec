"""The tables and outputs of pages that come from runs.

Those of `refreshed` take minutes; a test holds only a part of them (`tests/python/test_pages.py`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl

import counterpoint as cp
from counterpoint.papers import claims
from counterpoint.system import units
from counterpoint.verbs.api import TIMING_ONLY
from counterpoint.verbs.comparison import COMPARE_WORKLOADS


def _with(part: str, ends: str) -> list[str]:
    """The built-in designs with such a value of a part."""
    return [one.name for one in cp.designs() if str(cp.design_parts(one.name).get(part)).endswith(ends)]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of a page."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
    )


def line_writes() -> str:
    """What a transaction of each workload writes, for docs/workloads.md."""
    workloads = [one.name for one in cp.workloads()]
    rows: dict[str, list[str]] = {name: [f"`{name}`"] for name in workloads}
    sizes = (64, 1024)
    frame = cp.compare(
        ["unencrypted"],
        workloads,
        tx_size=sizes,
        footprint="4MiB",
        transactions=2000,
        set=TIMING_ONLY,
    )
    for size in sizes:
        for name, data, log in (
            frame.filter(pl.col("tx_size") == size).select("workload", "nvm_data_writes", "nvm_log_writes").iter_rows()
        ):
            rows[name] += [f"{count / 2000:.2f}" for count in (data, log, data + log)]
    head = ["workload", *(f"{what}, {size}" for size in ("64 B", "1 KiB") for what in ("data", "log", "all"))]
    return table(head, rows.values())


SPREAD = ("device.mapping=page-interleaved", "program.core_region=packed")
"""Pages of a program in all banks."""


def leveling() -> str:
    """How long a device lives with wear levelling, for docs/wear.md."""
    ways = {
        "none": (),
        "in order": ("wear.leveling=start-gap", "wear.scatter=in-order"),
        "scattered": ("wear.leveling=start-gap", "wear.scatter=random"),
    }
    rows = []
    for workload in ("array", "hash", "btree", "queue"):
        runs = [cp.run("secpm", workload, transactions=2000, set=[*SPREAD, *way]) for way in ways.values()]
        years = [units.years(run.stats.nvm.lifetime_years) for run in runs]
        even = units.years(runs[0].stats.nvm.even_lifetime_years)
        latencies = [run.stats.transaction_latency_ns.mean or 0 for run in runs]
        slower = [f"{latency / latencies[0]:.2f}" for latency in latencies[1:]]
        rows.append([f"`{workload}`", *years, even, *slower])
    head = ["workload", *ways, "all lines evenly", "latency in order, none = 1", "latency scattered, none = 1"]
    return table(head, rows)


def interruption() -> str:
    """What reads that stop writes bring, for docs/wear.md."""
    idle = {"controller.wpq_issue_when_idle": True}
    rows = []
    for workload in ("array", "hash", "btree", "rbtree"):
        cells = []
        for more in ({}, idle):
            runs = [
                cp.run(
                    "secpm",
                    workload,
                    transactions=1000,
                    set={**TIMING_ONLY, **more, "device.write_interruption": how},
                )
                for how in ("none", "pause", "cancel")
            ]
            none, *others = (run.stats.transaction_latency_ns.mean or 0 for run in runs)
            cells += [f"{latency / none:.2f}" for latency in others]
        rows.append([f"`{workload}`", *cells])
    kinds = [f"{how}, {when}" for when in ("draining", "when idle, too") for how in ("pause", "cancel")]
    return table(["workload", *kinds], rows)


def flips() -> str:
    """The bits that writes of data lines change, for docs/wear.md."""
    designs, workloads = ("unencrypted", "deuce", "xts", "secpm"), ("array", "queue", "hash", "btree", "rbtree")
    frame = cp.compare(designs, workloads, transactions=500, footprint="16MiB")
    shares = {(row["design"], row["workload"]): row["nvm_data_flip_share"] for row in frame.iter_rows(named=True)}
    rows = [[f"`{design}`", *(f"{100 * shares[design, work]:.1f} %" for work in workloads)] for design in designs]
    return table(["design", *(f"`{work}`" for work in workloads)], rows)


def module_claims() -> str:
    """What was measured of Optane modules beside the machine that models them, for docs/optane.md."""
    known = claims.published()
    rows = []
    for claim in cp.reproduce("optane", seeds=1).claims:
        fitted = known[claim.id].get("fitted")
        deviation = 100 * (claim.measured / claim.published - 1)
        told = f"{deviation:+.1f} %" if claim.holds else f"**{deviation:+.1f} %**"
        source = claim.source.rpartition(" et al., ")[2]
        to = f"fitted: `{fitted}`" if fitted else "predicted"
        rows.append([claim.what, source, f"{claim.published:.4g}", f"{claim.measured:.4g}", told, to])
    return table(["what", "measured by", "published", "here", "deviation", "a value of the machine was"], rows)


def module_designs() -> str:
    """Latency of designs on Optane modules and on the papers' PCM, for docs/optane.md."""
    return _on_two_machines("secpm", "optane")


def linked_designs() -> str:
    """Latency of designs on Optane modules behind links and on memory channels, for docs/cxl.md."""
    return _on_two_machines("optane", "cxl-pm")


def _on_two_machines(*machines: str) -> str:
    """Latency and writes of designs over no encryption, ordered by that on the second machine."""
    designs = [
        *("unencrypted", "xts", "write-through", "secpm-no-cwr", "secpm", "fca", "sca", "co-located-cc"),
        *("hw-log", "alc", "easy-pm", "strict", "rebuild", "osiris", "supermem-tree", "xts-tree"),
    ]
    found: dict[str, dict[str, list[float]]] = {}
    for machine in machines:
        frame = cp.compare(
            designs, COMPARE_WORKLOADS, machine=machine, transactions=500, footprint="256MiB", set=TIMING_ONLY
        )
        rows = [*frame.iter_rows(named=True)]
        plain = {row["workload"]: row for row in rows if row["design"] == "unencrypted"}
        for row in rows:
            of = found.setdefault(row["design"], {})
            for column, key in (("latency", "transaction_latency_ns_mean"), ("writes", "nvm_writes")):
                of.setdefault(f"{column} {machine}", []).append(row[key] / plain[row["workload"]][key])
    means = {design: {key: sum(each) / len(each) for key, each in of.items()} for design, of in found.items()}
    first, second = (f"latency {machine}" for machine in machines)
    ranks = {
        column: {design: 1 + place for place, design in enumerate(sorted(means, key=lambda one: means[one][column]))}
        for column in (first, second)
    }
    body = [
        [
            f"`{design}`",
            f"{means[design][first]:.2f}",
            f"{means[design][second]:.2f}",
            f"{ranks[first][design]} → {ranks[second][design]}",
            f"{means[design][f'writes {machines[1]}']:.2f}",
        ]
        for design in sorted(means, key=lambda one: means[one][second])
    ]
    titles = [f"latency on `{machine}`" for machine in machines]
    return table(["design", *titles, "place", f"lines written on `{machines[1]}`"], body)


LINKS = {
    "host": ["link.domain=host"],
    "host, phase 1 fails": ["link.power_flush=phase-1-fails"],
    "host, phase 2 fails": ["link.power_flush=phase-2-fails"],
    "device": ["link.domain=device", "controller.write_acknowledged=written"],
}
"""By place of the persistence domain, and what fails of the flush: the values of a machine with links."""

UNCRASHED = ("ideal", "write-back-tree")
"""The designs that cannot be crash-tested."""

SMALL_MODULES = [
    *("l1.size=512B", "l2.size=2KiB", "l2.ways=8", "l3.size=4KiB", "controller.counter_cache_size=512B"),
    *("controller.wpq_entries=8", "controller.wpq_high_watermark=6", "controller.wpq_low_watermark=2"),
    *("device.capacity=48MiB", "device.channels=3", "log.buckets=16", "module.buffer=512B"),
]
"""Caches and queues that a short run fills."""


def links() -> str:
    """Who holds behind a link, by where the persistence domain begins and what fails, for docs/cxl.md."""
    names = [one.name for one in cp.designs() if one.name not in UNCRASHED]
    cases = [(name, place) for name in names for place in LINKS]
    with ThreadPoolExecutor() as pool:
        broken = dict(zip(cases, pool.map(_broken_behind, cases), strict=True))
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        verdicts = ("breaks" if broken[name, place] else "holds" for place in LINKS)
        rules = ", ".join(f"`{rule}`" for rule in sorted(broken[name, "device"]))
        alike.setdefault((*verdicts, rules), []).append(name)
    rows = [[", ".join(f"`{name}`" for name in names), *found] for found, names in sorted(alike.items(), reverse=True)]
    return table(["designs", *LINKS, "rules broken with the domain at the device"], rows)


def _broken_behind(case: tuple[str, str]) -> set[str]:
    design, place = case
    sets = [*SMALL_MODULES, *LINKS[place]]
    run: dict[str, Any] = {
        "machine": "cxl-pm",
        "tx_size": 256,
        "footprint": "32KiB",
        "transactions": 40,
        "set": sets,
    }
    return _rules(design, "array", **run) | _rules(design, "btree", **run)


def _rules(design: str, workload: str, **run: Any) -> set[str]:
    """The rules that a run breaks if power fails after any of its events."""
    verdict = cp.crash(design, workload, shrink=False, blame=False, **run)
    assert not verdict.internal_errors, verdict.internal_errors
    return {one.rule for one in verdict.violations}


def counters_before_data() -> str:
    """Which rule breaks where counters are appended before their data, for docs/litmus.md."""
    workloads = [one.name for one in cp.workloads() if one.has_log]
    early = _with("write_path", "write-through")
    cases = [
        (design, granularity, workload)
        for granularity in ("word", "line")
        for design in early
        for workload in workloads
    ]
    with ThreadPoolExecutor() as pool:
        broken = dict(zip(cases, pool.map(_broken, cases), strict=True))
    rows = []
    for granularity in ("word", "line"):
        cells = [{broken[design, granularity, one] for design in early} for one in workloads]
        assert all(len(one) == 1 for one in cells), "the designs differ"
        rows.append([", ".join(f"`{one}`" for one in early), f"{granularity}s", *(one.pop() for one in cells)])
    return table(["design", "log of", *(f"`{one}`" for one in workloads)], rows)


def _broken(case: tuple[str, str, str]) -> str:
    design, granularity, workload = case
    sets = ["counters.minor_bits=7", f"program.log_granularity={granularity}"]
    rules = _rules(design, workload, machine="small", tx_size=128, footprint="16KiB", transactions=60, set=sets)
    return ", ".join(f"`{rule}`" for rule in sorted(rules)) or "holds"


def battery() -> str:
    """What a battery does at the worst power failure, for docs/integrity.md."""
    energies = []
    drained = sorted(_with("drain", "to-shadow"))
    for design in drained:
        cost: Any = cp.run(design, "array", machine="sepencr", transactions=1).stats.at_crash
        energies.append(cost.drain_energy_all_dirty_mj)
    work = [one.costs[0].battery for one in cp.recovery(drained, memory=["16GiB"])]
    rows = [
        [f"`{name}`", f"{one.pads:,}", f"{one.hashes:,}", f"{one.macs:,}", f"{one.writes.total:,}", f"{energy:.1f} mJ"]
        for name, one, energy in zip(drained, work, energies, strict=True)
        # Of accepted writes there are few, and their energy is that of the ADR domain.
        if one is not None and energy is not None
    ]
    return table(["design", "pads", "hashes", "MACs", "lines written", "energy"], rows)


COMPARED = ("secpm", "strict", "triad-nvm", "osiris", "anubis-agit-plus", "anubis-asit", "star", "scue")


def means() -> str:
    """Latency and writes of designs with a tree at all sizes, for docs/integrity.md."""
    sizes = {64: "64 B", 256: "256 B", 1024: "1 KiB", 4096: "4 KiB"}
    frame = cp.compare(COMPARED, tx_size=list(sizes), set=TIMING_ONLY)
    measures = ("relative_latency", "relative_writes")
    mean = frame.group_by("design", "tx_size").agg(pl.col(measures).mean())
    rows = []
    for design in COMPARED[1:]:
        of = {row["tx_size"]: row for row in mean.filter(pl.col("design") == design).iter_rows(named=True)}
        rows.append([f"`{design}`", *(f"{of[size][one]:.2f}" for one in measures for size in sizes)])
    first, *others = sizes.values()
    return table(["design", f"latency, {first}", *others, f"NVM writes, {first}", *others], rows)


def refreshed(block: str, printed: str) -> str:
    """A block of a page with its tables as a command has printed them: those whose first lines are the same.

    Where a command prints a table for each size, that of the size which the block names first is taken.
    """
    paragraphs = "\n".join(line.rstrip() for line in printed.splitlines()).split("\n\n")
    head = block.splitlines()[0]
    begin = next((place for place, text in enumerate(paragraphs) if text.startswith(head)), 0)
    after = (place for place in range(begin + 1, len(paragraphs)) if paragraphs[place].startswith(_MACHINE))
    own = paragraphs[begin : next(after, len(paragraphs))]
    taken = []
    for shown in block.strip().split("\n\n"):
        title = next(line for line in shown.splitlines() if not line.startswith(_MACHINE))
        text = next(text.strip("\n") for text in (*own, *paragraphs) if title in text.splitlines())
        taken.append(text if shown.startswith(_MACHINE) else text[text.index(title) :])
    return "\n\n".join(taken) + "\n"


_MACHINE = "machine "
"""How the line begins that says on what machine the tables below it are."""

WIDTH = "160"
"""Columns of the terminal whose output pages show."""


def output(command: str) -> str:
    """What a command of a page prints there."""
    words = shlex.split(command.removeprefix(".venv/bin/counterpoint "))
    done = subprocess.run(
        [sys.executable, "-m", "counterpoint", *words],
        env={**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
