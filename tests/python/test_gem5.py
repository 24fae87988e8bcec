"""The comparison with gem5 in docs/gem5.md: its figures are gem5's and the engine's."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Container
from functools import cache
from pathlib import Path

import beside
import loops
import pytest
import rows

import counterpoint as cp
import pages
from counterpoint.contract.results import Run

pytestmark = pytest.mark.engine

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs/gem5.md"
_HEAD = (
    "| workload | transaction | cores | lines written here | by gem5 | here, ns | gem5, O3, NVM | ratio | O3, PCM "
    "| ratio | timing, NVM | ratio |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)
_TRANSACTIONS = 2000
_FOOTPRINT = "1MiB"
_SETS = ("program.think_instructions=0",)
_COLUMNS = (("o3", "nvm"), ("o3", "pcm"), ("timing", "nvm"))


@cache
def _ran(workload: str, size: int, cores: int, *sets: str) -> Run:
    return cp.run(
        "unencrypted",
        workload,
        machine="secpm",
        tx_size=size,
        cores=cores,
        transactions=_TRANSACTIONS // cores,
        footprint=_FOOTPRINT,
        set=[*_SETS, *sets],
    )


def _ns(ran: Run, cores: int = 1) -> float:
    return 1e9 * cores / float(ran.document["throughput_tps"])


def _table(sizes: Container[int]) -> str:
    """The head of the table and the rows of some sizes of transactions."""
    with (_ROOT / "tests/data/gem5/transactions.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    answers = {
        (row["cpu"], row["mem"], row["wl"], int(row["size"]), int(row["c"])): float(row["ns/tx"]) for row in rows
    }
    written = {
        (row["wl"], int(row["size"]), int(row["c"])): (int(row["memwr"]) - int(row["merged"])) / int(row["tx"])
        for row in rows
        if (row["cpu"], row["mem"]) == ("o3", "nvm")
    }
    text = _HEAD
    for workload, size, cores in dict.fromkeys(key[2:] for key in answers if key[3] in sizes):
        ran = _ran(workload, size, cores)
        ours = _ns(ran, cores)
        lines = ran.document["nvm"]["writes"] / _TRANSACTIONS
        cells = [workload, f"{size} B", str(cores), f"{lines:.1f}", f"{written[workload, size, cores]:.1f}"]
        cells.append(f"{ours:,.0f}")
        for cpu, mem in _COLUMNS:
            theirs = answers.get((cpu, mem, workload, size, cores))
            cells += ["", ""] if theirs is None else [f"{theirs:,.0f}", f"{ours / theirs:.2f}"]
        text += f"| {' | '.join(cells)} |\n"
    return text


def test_the_table_is_what_gem5_and_the_engine_give() -> None:
    """Rows of large transactions take long: COUNTERPOINT_WRITE_PAGES writes them."""
    if "COUNTERPOINT_WRITE_PAGES" in os.environ:
        pages.hold(_PAGE, "transactions", _table(range(1 << 16)))
    shown = pages.part(_PAGE.read_text(), "transactions")[1].splitlines()
    assert [row for row in shown if not re.search(r" (1024|4096) B ", row)] == _table((64, 256)).splitlines()


def test_transactions_wait_for_one_bank() -> None:
    text = " ".join(_PAGE.read_text().split())
    slow, quick = _ran("btree", 4096, 1), _ran("btree", 4096, 1, "device.write_recovery=row-close")
    spread = _ran("btree", 4096, 1, "program.core_region=packed", "device.mapping=page-interleaved")
    assert f"the B-tree's 4 KiB in {_ns(slow):,.0f} ns" in text
    assert f"it takes {_ns(quick):,.0f} ns" in text
    assert f'`device.mapping = "page-interleaved"`) {_ns(spread):,.0f} ns' in text


def test_gem5_answered_every_row() -> None:
    with rows.FIGURES.open(newline="") as file:
        found = [tuple(row[name] for name in rows.Row._fields) for row in csv.DictReader(file, delimiter="\t")]
    assert found == [tuple(map(str, row)) for row in rows.rows()]


def test_gem5_answered_every_loop() -> None:
    with loops.LOOPS.open(newline="") as file:
        _, *found = [tuple(row[:-1]) for row in csv.reader(file, delimiter="\t")]
    assert found == [tuple(loop) for loop in loops.loops()]


_PARTS = {"nvm": "same-binary", "ddr4": "same-binary-ddr4"}


def test_the_same_binary_takes_what_the_page_says() -> None:
    """Of the rows whose recordings are here; `beside.py` writes all."""
    kept = 0
    for row, there in beside.answers().items():
        traces = [rows.FIGURES.parent / f"{row.structure}-{row.size}-{count}.cptrace" for count in (0, 2000)]
        if all(trace.exists() for trace in traces):
            line, deviations = beside.shown(row, there, traces)
            assert f"{line}\n" in pages.part(_PAGE.read_text(), _PARTS[row.memory])[1]
            assert all(abs(deviation) < 0.25 for deviation in deviations.values())
            kept += 1
    assert kept == 8


@pytest.mark.parametrize("memory", _PARTS)
def test_the_page_counts_its_deviations(memory: str) -> None:
    table = pages.part(_PAGE.read_text(), _PARTS[memory])[1]
    lines = table.removeprefix(beside.HEADS[memory]).splitlines()
    shown = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]
    assert [tuple(cells[1:4]) for cells in shown] == [
        (row.structure, row.size, str(row.cores)) for row in beside.answers() if row.memory == memory
    ]
    for name, column in (("O3", 6), ("Timing", 9)):
        deviations = [float(cells[column].rstrip("%")) / 100 for cells in shown]
        (summary,) = (line for line in lines if line.startswith(name))
        mean, largest = (float(found) / 100 for found in re.findall(r"([\d.]+)%", summary)[:2])
        assert mean == pytest.approx(sum(map(abs, deviations)) / len(deviations), abs=0.001)
        assert largest == pytest.approx(max(map(abs, deviations)), abs=0.0005)
        assert summary.endswith(f"; 0 of {len(shown)} rows beyond 25 %.")
        assert mean < (0.10 if memory == "nvm" else 0.16)


def test_the_picture_has_a_point_for_each_time() -> None:
    times = beside.transaction_times()
    assert len(times) == 2 * len(beside.answers())
    picture = beside.PICTURE.read_text()
    assert picture.count('aria-roledescription="point"') == len(times)
    for machine, gem5, here in times.iter_rows():
        assert f"transaction in gem5, ns: {gem5:.0f}; here, ns: {here:.0f}; machine: {machine}" in picture
