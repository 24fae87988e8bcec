"""Traces of memory lines wherever a workload is taken, and their figures under the names of other simulators."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import images
import pytest
from conftest import Cli, OpenPage

import counterpoint as cp
from counterpoint.runs import matrix, sweeps
from counterpoint.searches import goals
from counterpoint.verbs.peer_stats import PeerStatistics, peer_statistics

LINES = "".join(f"{n * 37 % 191 * 64:#x} {'WRITE' if n % 3 == 0 else 'READ'} {n * 20}\n" for n in range(60))


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("t.trace").write_text(LINES)
    return "t.trace"


def test_run_takes_a_trace_of_lines_with_what_it_has_over_time(trace: str, cli: Cli) -> None:
    words = ("run", "secpm", trace, "--machine", "small", "--trace-clock", "500")
    outcome = cli(*words, "--window", "200ns", "--timeline", "t.json", "--csv", "t.csv", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    (same,) = cp.replay_lines(trace, ["secpm"], machine="small", trace_clock_mhz=500)
    assert {key: found[key] for key in ("event_digest", "finish_ns")} == {
        "event_digest": same.event_digest,
        "finish_ns": same.finish_ns,
    }
    windows = found["windows"]
    assert sum(windows["reads"]) == same.media_reads
    assert sum(windows["counter_writes"]) == same.counter_writes
    count = len(windows["from_ns"])
    assert len(Path("t.csv").read_text().splitlines()) == 1 + count
    events = json.loads(Path("t.json").read_text())["traceEvents"]
    assert sum(event["name"] == "entries, mean" for event in events) == count
    assert "over time, " in cli(*words, "--window", "200ns").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "secpm", "{}", "--transactions", "5"), "--transactions: a trace of memory lines has no program"),
        (("run", "secpm", "{}", "--by-line"), "--by-line: a trace of memory lines has no program"),
        (("run", "secpm", "{}", "--seeds", "2", "--window", "1us"), "--window is of one run; leave out --seeds"),
        (("run", "secpm", "queue", "--trace-clock", "5"), "--trace-clock: only a trace of memory lines has cycles"),
        (("compare", "-w", "{},queue"), "programs and traces of memory lines cannot be compared with each other"),
        (("crash", "secpm", "{}"), "has memory lines and no program: only runs take it"),
        (("explain", "secpm", "sca", "-w", "{}"), "a trace of memory lines has no program that can be crashed"),
        (("replay", "{}", "--stats", "dramsim3", "--json"), "--stats prints text"),
        (("replay", "{}", "--stats", "dramsim3", "--seeds", "2"), "--stats is of one run of each design"),
    ],
)
def test_what_a_trace_of_lines_cannot_is_refused_in_a_sentence(
    trace: str, cli: Cli, words: tuple[str, ...], told: str
) -> None:
    outcome = cli(*(word.replace("{}", trace) for word in words))
    assert outcome.code == 2
    assert told in outcome.err


def test_compare_writes_a_page_with_intervals(trace: str, cli: Cli) -> None:
    words = ("compare", "-d", "unencrypted,secpm", "-w", trace, "--machine", "small", "--out", "out")
    outcome = cli(*words, "--seeds", "3")
    assert outcome.code == 0, outcome.err
    assert "mean over the seeds 1 to 3 ± half of the 95 % interval" in outcome.out
    page = Path("out/report.html").read_text()
    assert "Error bars are 95 % intervals over the seeds." in page
    assert "Of 2 designs" in page
    cli(*words)
    assert "One seed: there are no intervals." in Path("out/report.html").read_text()


def test_sweep_has_a_column_for_each_figure_of_lines_and_tells_clocks_apart(trace: str) -> None:
    spec = {
        "base": {"machine": "small", "design": "secpm", "transactions": 3, "footprint": "64KiB"},
        "axes": {"workload": [trace, "queue"]},
        "zip": [{"trace_clock_mhz": [500, 1000]}],
    }
    report = cp.sweep(spec, "s.duckdb", workers=1)
    assert not report.failures
    assert report.runs == 3, "a program has no clock of a trace"
    rows = report.frame().filter(workload=trace)
    slow, fast = rows["read_response_ns_mean"]
    assert slow < fast, "accesses that come sooner wait longer"
    assert rows["media_writes"].to_list()[0] > 0
    assert rows["energy_array_write_nj"].to_list()[0] > 0


def test_cores_do_not_run_a_trace_of_lines(trace: str) -> None:
    with pytest.raises(cp.InputError, match=r"cores: 4 cores cannot run t\.trace, a trace of memory lines"):
        matrix.run_request("secpm", trace, {"cores": 4})


def test_a_search_measures_traces_of_lines_and_crashes_programs(trace: str) -> None:
    spec = {
        "workloads": [trace],
        "run": {"machine": "small", "trace_clock_mhz": 500},
        "space": {"base": "secpm", "controller": {"wpq_entries": [16, 32]}},
        "objectives": {"finish_ns": "minimise"},
    }
    with pytest.raises(cp.InputError, match="only traces of memory lines, which cannot be crashed"):
        goals.load(spec)
    with pytest.raises(cp.InputError, match="no program that can be crashed"):
        goals.load({**spec, "crash_workloads": [trace]})
    loaded = goals.load({**spec, "crash_workloads": ["queue"]})
    assert loaded.run["trace_clock_mhz"] == 500
    assert loaded.crash_workloads == ("queue",)


def number(statistics: PeerStatistics, name: str, section: int = 0) -> float:
    value = statistics.value(name, section)
    assert isinstance(value, int | float)
    return value


def test_statistics_of_other_simulators_agree_with_the_report(trace: str) -> None:
    (run,) = cp.replay_lines(trace, ["secpm"], machine="small", trace_clock_mhz=500, set=["device.channels=2"])
    hits = run.nvm.row_hits
    dram = peer_statistics(run, "dramsim3")
    sections = range(len(dram.sections))
    sums = {name: sum(number(dram, name, place) for place in sections) for name in ("num_read_cmds", "num_write_cmds")}
    assert sums == {"num_read_cmds": run.media_reads, "num_write_cmds": run.media_writes}
    assert sum(number(dram, f"num_{op}_row_hits", place) for op in ("read", "write") for place in sections) == hits
    assert number(dram, "total_energy") == run.nvm.energy_nj * 1000
    assert number(dram, "average_bandwidth") == pytest.approx(run.requests * 64 / run.simulated_ns)
    assert dram.value("num_reads_done") is None, "requests of two channels are not told apart"
    assert "num_reads_done" in dram.without
    ram = peer_statistics(run, "ramulator")
    assert (number(ram, "total_num_read_requests"), number(ram, "total_num_write_requests")) == (run.reads, run.writes)
    assert number(ram, "memory_system_cycles") == round(run.simulated_ns / 2)
    assert sum(number(ram, f"row_hits_{place}", 1 + place) for place in (0, 1)) == hits
    sim = peer_statistics(run, "champsim")
    rows = sum(int(row.value or 0) for part in sim.sections for row in part.rows)
    assert rows == run.media_reads + run.media_writes
    assert "cumulative IPC" in sim.without


def test_one_channel_has_the_requests_and_a_program_has_its_core(trace: str) -> None:
    (run,) = cp.replay_lines(trace, ["unencrypted"], machine="small")
    dram, ram = peer_statistics(run, "dramsim3"), peer_statistics(run, "ramulator")
    assert (number(dram, "num_reads_done"), number(dram, "num_writes_done")) == (run.reads, run.writes)
    assert number(dram, "average_read_latency") == run.read_latency_ns
    assert number(ram, "avg_read_latency_0", 1) == run.read_latency_ns
    program = cp.run("secpm", "queue", machine="small", transactions=5, footprint="64KiB")
    stats = program.stats
    told = {row.name: row.value for part in peer_statistics(program, "champsim").sections for row in part.rows}
    assert f"instructions: {stats.instructions} " in str(told["CPU 0 cumulative IPC"])
    level = stats.cache[0]
    assert re.findall(r"\d+", str(told["cpu0_L1D TOTAL        ACCESS"])) == [
        str(number) for number in (level.hits + level.misses, level.hits, level.misses)
    ]
    assert peer_statistics(program, "ramulator").value("total_num_read_requests") is None


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("dramsim3", r"^num_read_cmds +=  +\d+   # Number of READ/READP commands$"),
        ("ramulator", r"^  total_num_write_requests: 20$"),
        ("champsim", r"^Channel 0 RQ ROW_BUFFER_HIT: +\d+$"),
    ],
)
def test_replay_prints_the_statistics_of_other_simulators(trace: str, cli: Cli, tool: str, told: str) -> None:
    outcome = cli("replay", trace, "-d", "secpm", "--machine", "small", "--stats", tool)
    assert outcome.code == 0, outcome.err
    assert re.search(told, outcome.out, re.MULTILINE), outcome.out
    assert "No figure means the same as these, so they are left out: " in outcome.out


def test_a_sweep_over_seeds_has_means_and_says_so(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base = 'base = { workload = "queue", machine = "small", transactions = 5, footprint = "64KiB" }\n'
    Path("q.toml").write_text(f'{base}axes = {{ design = ["unencrypted", "secpm"] }}\n')
    outcome = cli("sweep", "q.toml", "--seeds", "3", "--workers", "1")
    assert outcome.code == 0, outcome.err
    assert "Figures are means over the seeds ± half of the 95 % interval." in outcome.out
    report = cp.sweep("q.toml", seeds=3, workers=1)
    assert (report.found, report.runs) == (6, 6)
    (point, _) = report.over_seeds
    values = report.frame().filter(design="unencrypted")["transaction_latency_ns_mean"].to_list()
    figure = point.figures["transaction_latency_ns_mean"]
    assert (point.values, point.seeds) == ({"design": "unencrypted"}, 3)
    assert figure.mean == pytest.approx(sum(values) / 3)
    spread = sum((value - figure.mean) ** 2 for value in values) / 2
    assert figure.half == pytest.approx(4.3027 * (spread / 3) ** 0.5)
    page = cp.write_sweep_page("q.duckdb", "out").read_text()
    assert "<h2>Over the seeds</h2>" in page
    assert "Error bars are 95 % intervals over the seeds." in page
    alone = cli("sweep", "q.toml", "--workers", "1", "--store", "alone.duckdb")
    assert "Each point has one seed, and no interval; --seeds N runs more." in alone.out
    with pytest.raises(cp.InputError, match="the seed is an axis; leave out --seeds"):
        sweeps.plan({"base": {"design": "secpm", "workload": "queue"}, "axes": {"seed": [1, 2]}}, seeds=2)


def test_explain_tells_differences_from_chance(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    what = ("explain", "secpm", "secpm-no-cwr", "-w", "queue", "--machine", "small", "--transactions", "5")
    words = (*what, "--footprint", "64KiB", "--store", "e.duckdb", "--workers", "1")
    found = json.loads(cli(*words, "--seeds", "3", "--json").out)
    assert found["seeds"] == [1, 2, 3]
    assert set(found["designs"][0]["halves"]) <= set(found["designs"][0]["figures"])
    shown = cli(*words, "--seeds", "3").out
    assert "mean over the seeds 1 to 3 ± half of the 95 % interval; crashes are tried with the first" in shown
    alone = cli(*words)
    assert "seed 1, so there are no intervals; --seeds N measures with more" in alone.out
    assert json.loads(cli(*words, "--json").out)["designs"][0]["halves"] == {}


def test_figures_by_part_add_up_and_are_those_of_the_requests(trace: str) -> None:
    (run,) = cp.replay_lines(trace, ["secpm-tree"], machine="small", requests="rows.csv", set=["device.channels=2"])
    energy, nvm = run.energy, run.nvm
    parts = energy.array_read_nj + energy.array_write_nj + energy.row_buffer_nj + energy.background_nj
    assert parts == pytest.approx(nvm.energy_nj)
    assert 0 < energy.metadata_nj < parts
    machine = cp.resolve("secpm-tree", trace, machine="small", set=["device.channels=2"])["machine"]
    device, per_line = machine["device"], 64 * machine["eadr"]["aes_pj_per_byte"] / 1e3
    assert energy.aes_nj == pytest.approx(run.crypto.pads * per_line)
    assert run.integrity is not None
    assert energy.mac_nj == pytest.approx((run.integrity.macs + run.integrity.hashes) * per_line)
    moved = (run.media_reads + run.media_writes) * 512 * device["row_buffer_pj_per_bit"] / 1e3
    assert energy.row_buffer_nj == pytest.approx(moved)
    opened = (run.media_reads - sum(one.read_row_hits for one in run.channels)) * 512
    assert energy.array_read_nj == pytest.approx(opened * device["array_read_pj_per_bit"] / 1e3)
    for places in (run.channels, run.banks):
        assert sum(one.reads for one in places) == run.media_reads
        assert sum(one.writes for one in places) == run.media_writes
        assert sum(one.row_hits for one in places) == nvm.row_hits
    assert sum(one.busy_ns for one in run.banks) == pytest.approx(nvm.bank_busy_ns)
    assert sum(one.banks_busy_ns for one in run.channels) == pytest.approx(nvm.bank_busy_ns)
    rows = [row.split(",") for row in Path("rows.csv").read_text().splitlines()]
    place = {name: number for number, name in enumerate(rows[0])}
    for op, classes in (("R", run.read_latency_classes), ("W", run.write_latency_classes)):
        times = [
            int(row[place["answered_ps"]]) - int(row[place["sent_ps"]]) for row in rows[1:] if row[place["op"]] == op
        ]
        counted = Counter(0 if time < 2 else 1 << (time.bit_length() - 1) for time in times)
        assert {round(one.from_ns * 1000): one.count for one in classes} == counted


def test_a_program_has_figures_by_part() -> None:
    run = cp.run("secpm", "queue", machine="small", transactions=5, warmup=0, footprint="64KiB")
    stats = run.stats
    energy = stats.energy
    parts = energy.array_read_nj + energy.array_write_nj + energy.row_buffer_nj + energy.background_nj
    assert parts == pytest.approx(stats.nvm.energy_nj)
    assert sum(one.writes for one in stats.banks) == stats.nvm.writes
    assert sum(one.row_hits for one in stats.channels) == stats.nvm.row_hits
    assert sum(one.count for one in stats.transaction_latency_classes) == stats.transactions
    low, high = (
        sum(one.count * getattr(one, end) for one in stats.l1_access_latency_classes)
        / sum(one.count for one in stats.l1_access_latency_classes)
        for end in ("from_ns", "below_ns")
    )
    assert low <= (stats.l1_access_latency_ns or 0) <= high


@pytest.mark.browser
def test_the_stored_image_shows_the_page_of_a_trace_of_lines(open_page: OpenPage, trace: str, tmp_path: Path) -> None:
    runs = cp.replay_lines(trace, ["unencrypted", "secpm", "sca"], machine="small", trace_clock_mhz=500)
    images.held(open_page, cp.write_line_page(runs, tmp_path / "out"), "lines")
