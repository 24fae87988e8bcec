"""A trace that fits the caches: results say why they are empty, leave out what has no value, and never print nan."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any, NoReturn

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.cli import screen
from counterpoint.system import units

pytestmark = pytest.mark.engine

FITS = "no write reached the device: the trace fits the caches"
DESIGNS = ["unencrypted", "secpm", "sca-tree"]
SMALL = ["--transactions", "3", "--warmup", "0", "--footprint", "64KiB"]


def instruction(n: int, *, stores: bool) -> bytes:
    """An instruction of ChampSim with two loads, and a store to the first word unless it only loads."""
    word = 0x7FFF_0000_0000 + n % 64 * 8
    loads = (word, word + 0x1_0000, 0, 0)
    return struct.pack("<Q8B2Q4Q", 0x40_0000 + n % 50 * 4, *(0,) * 8, word if stores else 0, 0, *loads)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two traces whose data fit into any cache."""
    monkeypatch.chdir(tmp_path)
    Path("sums.champsim").write_bytes(b"".join(instruction(n, stores=True) for n in range(500)))
    Path("reads.champsim").write_bytes(b"".join(instruction(n, stores=False) for n in range(500)))
    return tmp_path


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON")


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


def has_nan(text: str) -> bool:
    return re.search(r"\b(nan|inf|NaN|Infinity)\b", text) is not None


@pytest.mark.parametrize("command", [["replay"], ["compare", "-w"]], ids=["replay", "compare"])
def test_tables_say_why_and_leave_out_what_has_no_value(cli: Cli, command: list[str]) -> None:
    given = [*command, "sums.champsim", "-d", ",".join(DESIGNS)]
    shown = cli(*given)
    assert shown.code == 0, shown.err
    assert f"sums.champsim: {FITS}\n" in shown.out
    assert "Simulated time, unencrypted = 1" in shown.out
    assert not has_nan(shown.out)
    assert "NVM writes" not in shown.out
    assert "most-written" not in shown.out
    assert not re.search(r" -(\s|$)", shown.out)
    runs = strict(cli(*given, "--json").out)["runs"]
    assert {run["no_writes"] for run in runs} == {"the trace fits the caches"}


def test_a_trace_without_stores_is_told_from_one_that_fits(cli: Cli) -> None:
    shown = cli("run", "secpm", "reads.champsim")
    assert "no write reached the device: the trace stores nothing\n" in shown.out
    assert not re.search(r" -(,|\s|$)", shown.out)
    fits = cp.run("secpm", "sums.champsim").stats
    assert (fits.no_writes, fits.transactions, fits.throughput_tps) == ("the trace fits the caches", 0, None)
    assert cp.run("secpm", "array", transactions=3, footprint="64KiB").stats.no_writes is None


def test_a_trace_larger_than_the_caches_whose_stores_stay_there_is_not_said_to_fit(cli: Cli) -> None:
    pages = 2_000
    far = b"".join(struct.pack("<Q8B2Q4Q", 0x40_0000, *(0,) * 8, 0, 0, (n + 1) << 12, 0, 0, 0) for n in range(pages))
    first = instruction(0, stores=True)
    Path("mostly-reads.champsim").write_bytes(far + first)
    shown = cli("run", "unencrypted", "mostly-reads.champsim", "--machine", "small")
    assert "no write reached the device: what the trace stores stays in the caches\n" in shown.out


def test_a_page_has_no_chart_without_a_value(cli: Cli) -> None:
    given = ["compare", "-w", "sums.champsim", "-d", ",".join(DESIGNS), "--out", "out"]
    assert cli(*given).code == 0
    page, picture = Path("out/report.html").read_text(), Path("out/compare.svg").read_text()
    assert f"sums.champsim: {FITS}." in page
    assert re.findall("<h3>(.*)</h3>", page) == ["Simulated time", "Figures"]
    assert FITS in picture
    assert "NVM line writes" not in picture
    for text in (page, picture):
        assert not has_nan(text)
    figures = re.sub("(?s)<h2>Recovery</h2>.*", "", page)
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(<td.*?)</tr>", figures)]
    rows = [row for row in rows if len(row) == len(rows[-1])]  # without the overview
    assert rows and all(set(column) != {"-"} for column in zip(*rows, strict=True))


def test_a_workload_without_a_value_is_left_out_of_a_chart_and_of_a_table(cli: Cli) -> None:
    runs = [
        cp.run(design, workload, machine="secpm", transactions=3, warmup=0, footprint="64KiB", tx_size=64)
        for design in ("unencrypted", "secpm")
        for workload in ("array", "queue")
    ]
    runs += cp.replay("sums.champsim", ["unencrypted", "secpm"], machine="secpm")
    page = cp.write_report(cp.frame(runs), "out").read_text()
    assert page.count("<h3>Transaction latency</h3>") == page.count("<h3>Write traffic</h3>") == 1
    assert page.count("<h3>Simulated time</h3>") == 1
    assert not has_nan(page)


def test_a_sweep_page_says_why_and_has_no_empty_cell_or_panel(cli: Cli) -> None:
    Path("fits.toml").write_text(
        "[base]\nmachine = 'secpm'\ntransactions = 3\nwarmup = 0\nfootprint = '64KiB'\n"
        "[axes]\nworkload = ['array', 'sums.champsim']\ndesign = ['unencrypted', 'secpm']\n"
        "'controller.wpq_entries' = [16, 64]\n"
    )
    Path("only.toml").write_text(
        "[base]\nmachine = 'secpm'\nworkload = 'sums.champsim'\n"
        "[axes]\ndesign = ['unencrypted', 'secpm']\n'controller.wpq_entries' = [16, 64]\n"
    )
    for name, titles in (
        ("fits", ["Latency", "Throughput", "Simulated time", "NVM writes", "Counter cache"]),
        ("only", ["Simulated time", "Counter cache"]),
    ):
        assert cli("sweep", f"{name}.toml", "--csv", f"{name}.csv").code == 0
        assert cli("report", f"{name}.duckdb", "--out", name).code == 0
        page = Path(name, "sweep.html").read_text()
        assert f"sums.champsim: {FITS}." in page
        assert re.findall("<h3>(.*)</h3>", page) == titles
        assert not has_nan(page)
        assert not has_nan(Path(f"{name}.csv").read_text())
        # Each figure of transactions has one panel: that of the workload that has them.
        latency = page.split("<h3>Latency</h3>")[-1].split("</figure>")[0]
        if name == "fits":
            assert "array" in latency
            assert "sums" not in latency


def test_nan_and_infinity_are_never_written(capsys: pytest.CaptureFixture[str]) -> None:
    shows = (units.number, units.figure, units.ratio, units.percent, units.time, units.duration, units.millijoules)
    for value in (float("nan"), float("inf"), None):
        assert {show(value) for show in shows} == {"-"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        screen.print_json({"ipc": float("nan")})
    assert capsys.readouterr().out == ""


def test_lines_without_reads_or_cycles_have_no_columns_of_them(cli: Cli) -> None:
    Path("lines.trace").write_text("".join(f"ST {n * 64:#x}\n" for n in range(200)))
    shown = cli("replay", "lines.trace", "-d", "unencrypted,secpm").out
    assert "The trace has no cycles\n" in shown
    assert "write accepted" in shown
    assert not re.search(r"\bread\b", shown)
    assert not re.search(r" -(\s|$)", shown)
    (run,) = strict(cli("replay", "lines.trace", "-d", "secpm", "--json").out)["runs"]
    assert run["read_response_ns"] is run["write_response_ns"] is run["read_latency_ns"] is None
