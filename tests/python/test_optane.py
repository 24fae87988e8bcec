"""What was measured of Optane modules: claims are those of the stored figures, and the machine is held against them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import counterpoint as cp
from counterpoint.papers import claims, reproduce
from counterpoint.papers.declared import experiments

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "optane"
CLAIMS = {name.removeprefix("optane."): one for name, one in claims.published().items() if one["paper"] == "optane"}
SIX, ONE = "fast20-04-bandwidth_thcount_optane", "fast20-04-bandwidth_thcount_optane_ni"
NTSTORE, CLWB = "Write(ntstore)", "Write(clwb)"


def table(name: str) -> dict[str, dict[str, float]]:
    """A stored table: its columns by the first cell of each row."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    return {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows}


def at_most(name: str, column: str) -> float:
    return max(row[column] for row in table(name).values())


def load_in(region: int) -> float:
    """Nanoseconds of a load of 64 bytes in a region of one module, as LENS measured it."""
    with (DATA / "lens-one-module.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["block_B"] == "64" and row["region_B"] == str(region)]
    return sum(float(row["read_ns_per_64B"]) for row in rows) / len(rows)


def stored() -> dict[str, float]:
    """What is stored of each claim."""
    latency, six, one = table("fast20-02-best_case_latency"), table(SIX), table(ONE)
    sizes, buffer = table("fast20-05-bandwidth_accesssize_optane_ni"), table("fast20-09-infer_xpbuffer")
    small = load_in(3072)
    return {
        "latency.sequential-load": latency["Read\\Sequential"]["Optane"],
        "latency.random-load": latency["Read\\Random"]["Optane"],
        "latency.ntstore": latency["Write\\(ntstore)"]["Optane"],
        "latency.clwb": latency["Write\\(clwb)"]["Optane"],
        "threads.six-read-peak": at_most(SIX, "Read"),
        "threads.six-ntstore-peak": at_most(SIX, NTSTORE),
        "threads.six-clwb-peak": at_most(SIX, CLWB),
        "threads.one-read-peak": at_most(ONE, "Read"),
        "threads.one-ntstore-peak": at_most(ONE, NTSTORE),
        "threads.one-clwb-peak": at_most(ONE, CLWB),
        "threads.six-read-one-thread": six["1"]["Read"],
        "threads.six-ntstore-one-thread": six["1"][NTSTORE],
        "threads.one-ntstore-24-threads": one["24"][NTSTORE],
        "sizes.read-64": sizes["64"]["Read"],
        "sizes.ntstore-64": sizes["64"][NTSTORE],
        "sizes.clwb-64": sizes["64"][CLWB],
        **{f"buffer.{kib}KiB": buffer[str(kib << 10)]["WriteAmp"] for kib in (16, 20, 32, 64)},
        "regions.beyond-the-buffer": load_in(1 << 20) - small,
        "regions.beyond-the-translation": load_in(512 << 20) - load_in(1 << 20),
        "regions.twice-the-buffer": load_in(31744) - small,
    }


def test_every_claim_is_what_is_stored_and_is_measured_once() -> None:
    assert {name: one["value"] for name, one in CLAIMS.items()} == pytest.approx(stored(), rel=2e-3)
    measured = Counter(spec.id for one in experiments("optane", "full") for spec in one.claims)
    assert measured == dict.fromkeys((f"optane.{name}" for name in CLAIMS), 1)


def test_a_claim_may_deviate_by_15_percent_and_says_what_was_fitted_to_it() -> None:
    preset = next(one for one in cp.machines() if one.name == "optane").values
    for name, one in CLAIMS.items():
        assert one["tol"] == pytest.approx(0.15 * one["value"], rel=0.02), name
        if "fitted" in one:
            section, key = one["fitted"].split(".")
            assert key in preset[section], name
    fitted = [name for name, one in CLAIMS.items() if "fitted" in one]
    assert 2 * len(fitted) < len(CLAIMS), "less than half"


def rows(page: str) -> dict[str, str]:
    text = (ROOT / "validation" / page).read_text()
    return dict(re.findall(r"^\| `optane\.([^`]+)` \|.*\| (yes|\*\*no\*\*) \|$", text, re.MULTILINE))


@pytest.mark.engine
def test_the_machine_holds_as_the_pages_say() -> None:
    found = reproduce.reproduce("optane", seeds=1)
    verdicts = {one.id.removeprefix("optane."): "yes" if one.holds else "**no**" for one in found.claims}
    assert verdicts == rows("optane.md")
    missed = [name for name, verdict in verdicts.items() if verdict != "yes"]
    assert len(missed) <= len(CLAIMS) / 5, missed
    section = (ROOT / "validation" / "DEVIATIONS.md").read_text().partition("\n## optane\n")[2].partition("\n## ")[0]
    assert f"{len(CLAIMS) - len(missed)} of {len(CLAIMS)} hold" in section
    assert all(f"`{name}`" in section for name in missed)


@pytest.mark.engine
def test_probes_are_listed_and_cannot_be_crashed(cli: Any) -> None:
    listed = cli("workloads").out
    assert all(probe.name in listed for probe in cp.probes())
    refused = cli("crash", "secpm", "load-random", "--machine", "optane")
    assert refused.code == 2
    assert "workload 'load-random' is a probe: it keeps nothing that a crash could lose" in refused.err
