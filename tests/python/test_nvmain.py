"""The comparison with NVMain in docs/line-traces.md: figures are of the engine, the trace is what the script makes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

import counterpoint as cp
import nvmain_trace

pytestmark = pytest.mark.engine

_ROOT = Path(__file__).parents[2]
_TRACE = _ROOT / "tests/data/nvmain-pcm.nvt.gz"
_MACHINE = _ROOT / "tests/data/nvmain-pcm.toml"
_CPU_MHZ = 2000
_CYCLE_NS = 2.5
_TEXT = (_ROOT / "docs/line-traces.md").read_text().split("## Compared with NVMain")[1]
_ROW = re.compile(r"^\| `([a-z-]+)` \| ([\d.]+) ns \| ([\d.]+) ns \| ([\d.]+) ns \|$", re.MULTILINE)


def test_the_table_is_what_the_engine_gives() -> None:
    rows = {design: [float(text) for text in figures] for design, *figures in _ROW.findall(_TEXT)}
    runs = cp.replay_lines(_TRACE, list(rows), machine=str(_MACHINE), trace_clock_mhz=_CPU_MHZ)
    assert len(rows) == 5
    for run in runs:
        latencies = [run.read_latency_ns, run.write_latency_ns, run.media_write_latency_ns]
        assert latencies == pytest.approx(rows[run.design], abs=0.051), run.design
        assert f"{run.requests:,} requests ({run.reads:,} reads, {run.writes:,} writes)" in " ".join(_TEXT.split())
    plain = runs[0]
    assert plain.read_latency_ns is not None
    assert plain.media_write_latency_ns is not None
    mean = (plain.reads * plain.read_latency_ns + plain.writes * plain.media_write_latency_ns) / plain.requests
    assert f"{mean:,.0f} ns, {mean / _CYCLE_NS:,.0f} cycles" in _TEXT


def test_the_trace_is_what_the_script_makes() -> None:
    assert gzip.decompress(_TRACE.read_bytes()).decode().split("\n") == [*nvmain_trace.lines(), ""]


def test_idle_latencies_are_the_sums_of_their_timings(tmp_path: Path) -> None:
    def latencies(text: str) -> tuple[float | None, float | None]:
        path = tmp_path / "idle.nvt"
        path.write_text(text)
        (run,) = cp.replay_lines(path, ["unencrypted"], machine=str(_MACHINE), trace_clock_mhz=_CPU_MHZ)
        return run.read_latency_ns, run.media_write_latency_ns

    scheduling, miss, hit, programming = 2.5, 132.5, 12.5, 150
    assert latencies("NVMV0\n0 R 40\n") == (scheduling + miss, None)
    assert latencies("NVMV0\n0 R 40\n1000 R 80\n") == (scheduling + (miss + hit) / 2, None)
    # It waits until the trace is over, which is seen after its first cycle.
    assert latencies("NVMV0\n0 W 40\n") == (None, 2 * scheduling + 140 + programming)
