"""Replays what gem5 ran: writes docs/gem5.md (`loops`, `same-binary` and `same-binary-ddr4`) and its picture.

    PYTHONPATH=tests python tests/peers/gem5/beside.py ./transactions ./loops FOLDER

The programs are those that rows.py and loops.py had gem5 run. Each is recorded into FOLDER, once with all it does and
once with nothing; figures are the difference. Recordings that are there are kept.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import altair as alt
import loops
import polars as pl
from rows import FIGURES, REGION, TRANSACTIONS

import counterpoint as cp
import pages
from counterpoint.report import charts, colours

PAGE = pages.ROOT / "docs" / "gem5.md"
PICTURE = PAGE.parent / "img" / "gem5.svg"
CPUS = ("o3", "timing")
PLAIN = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}"
    for name in (
        *("AVX2", "AVX", "AVX2_Usable", "AVX_Usable", "AVX_Fast_Unaligned_Load", "ERMS", "FSRM", "SSE4_1", "SSE4_2"),
        *("Fast_Unaligned_Copy", "Fast_Copy_Backward"),
    )
)
"""What gem5's processor does not say of itself, so that the C library takes the same functions where it is recorded."""

DDR4 = {
    "module.kind": "none",
    "device.ranks": "2",
    "device.row": "8KiB",
    "device.row_segments": "1",
    "device.mapping": "row-interleaved",
    "device.write_recovery": "row-close",
    **{f"device.t_{name}_ns": "14.16" for name in ("rcd", "cl", "cwd", "rp")},
    "device.t_ccd_ns": "3.332",
    "device.t_rtp_ns": "7.5",
    "device.t_rrd_ns": "3.332",
    "device.t_faw_ns": "21",
    "device.t_wtr_ns": "5",
    "device.t_rtrs_ns": "1.666",
    "device.t_wp_ns": "0",
    "device.t_wr_ns": "15",
}
"""gem5's DDR4_2400_8x8 instead of its NVM, without bank groups and refresh."""

WINDOW = "10us"
"""How often a run counts instructions."""

SETS = {"nvm": (), "ddr4": tuple(f"{key}={value}" for key, value in DDR4.items())}


class Row(NamedTuple):
    """What runs on a memory, on so many cores."""

    memory: str
    structure: str
    size: str
    cores: int


class Counted(NamedTuple):
    """What a transaction of a core takes."""

    ns: float
    instructions: float
    l1_misses: float
    reads: float
    writes: float


def recorded(program: str, trace: Path, arguments: list[str], **environment: str) -> Path:
    """The recording of the program with these arguments, whose memory is in a file."""
    if not trace.exists():
        pool = Path("/dev/shm") / f"counterpoint-{os.getpid()}"
        files = {"PMTX_FILE": str(pool), "LOOPS_FILE": str(pool), "GLIBC_TUNABLES": PLAIN, **environment}
        record = [sys.executable, "-m", "counterpoint", "record", "--out", str(trace), "--", program, *arguments]
        subprocess.run(record, env={**os.environ, **files}, check=True, capture_output=True)
        for file in pool.parent.glob(f"{pool.name}*"):
            file.unlink()
    return trace


def transactions(program: str, folder: Path, structure: str, size: str, count: int) -> Path:
    """The recording of the structure's program with so many transactions."""
    trace = folder / f"{structure}-{size}-{count}.cptrace"
    return recorded(program, trace, [structure, size, str(TRANSACTIONS), str(REGION)], PMTX_RUN=str(count))


def replayed(trace: Path, cpu: str, memory: str = "nvm", cores: int = 1, window: str | None = None) -> cp.Run:
    """The recording on the machine, so many times at the same time."""
    sets = ["engine.bytes=false", *SETS[memory]]
    return cp.run("unencrypted", trace, machine=f"gem5-{cpu}", cores=cores, set=sets, window=window)


def counted(run: cp.Run) -> list[int]:
    """Instructions, misses of the first level, lines read and lines written, of all cores."""
    stats = run.stats
    return [stats.instructions, stats.cache[0].misses, stats.nvm.reads, stats.nvm.writes]


def reached(run: cp.Run, instructions: int) -> float:
    """When so many instructions were executed, in nanoseconds."""
    windows = run.windows
    assert windows is not None
    for begin, executed in zip(windows.from_ns, windows.instructions, strict=True):
        if instructions <= executed:
            return begin + windows.window_ns * instructions / executed
        instructions -= executed
    raise ValueError(f"{instructions} instructions more than were executed")


def here(row: Row, cpu: str, traces: list[Path]) -> Counted:
    """A transaction here, from recordings with none and with all.

    The time is that since all cores together had executed what those without transactions execute: several cores
    that set up in step may take longer or shorter in one run than in the other.
    """
    none, all_of_them = traces
    first = replayed(none, cpu, row.memory, row.cores)
    last = replayed(all_of_them, cpu, row.memory, row.cores, WINDOW)
    time = (last.stats.simulated_ns - reached(last, first.stats.instructions)) / TRANSACTIONS
    pairs = zip(counted(first), counted(last), strict=True)
    return Counted(time, *((after - before) / (TRANSACTIONS * row.cores) for before, after in pairs))


def answers() -> dict[Row, dict[str, Counted]]:
    """What gem5 answered, by processor."""
    with FIGURES.open() as source:
        found = list(csv.DictReader(source, delimiter="\t"))
    all_rows: dict[Row, dict[str, Counted]] = {}
    for one in found:
        row = Row(one["memory"], one["structure"], one["size"], int(one["cores"]))
        number = {name: float(one[name]) for name in ("ns", "instructions", "l1_misses", "reads", "writes", "merged")}
        written = number.pop("writes") - number.pop("merged")
        all_rows.setdefault(row, {})[one["cpu"]] = Counted(**number, writes=written)
    return all_rows


def times(there: float, time: float) -> tuple[str, float]:
    """The cells of two times, and how far the second is from the first."""
    deviation = time / there - 1
    return f"{there:,.0f} | {time:,.0f} | {deviation:+.1%}", deviation


_TIMES = "O3 in gem5, ns | here | deviation | timing in gem5, ns | here | deviation"
_COUNTS = " | ".join(f"{name}, gem5 | here" for name in ("instructions", "first-level misses", "lines read", "written"))


def head(*columns: str) -> str:
    """The head of a table."""
    names = " | ".join(columns)
    return f"| {names} |\n{'|---' * (names.count('|') + 1)}|\n"


HEADS = {
    "nvm": head("structure", "bytes", "cores", _TIMES, _COUNTS),
    "ddr4": head("structure", "bytes", "cores", _TIMES),
}
LOOPS_HEAD = head("loop", "bytes", "lines in a pass", _TIMES)


def shown(row: Row, there: dict[str, Counted], traces: list[Path]) -> tuple[str, dict[str, float]]:
    """A row of the page, and the deviations of its times."""
    ours = {cpu: here(row, cpu, traces) for cpu in CPUS}
    cells, deviations = [row.structure, row.size, str(row.cores)], {}
    for cpu in CPUS:
        text, deviations[cpu] = times(there[cpu].ns, ours[cpu].ns)
        cells.append(text)
    if row.memory == "nvm":
        pairs = zip(there["o3"][1:], ours["o3"][1:], strict=True)
        cells += [f"{one:,.1f} | {other:,.1f}" for one, other in pairs]
    return f"| {' | '.join(cells)} |", deviations


def summary(name: str, deviations: list[float]) -> str:
    """The mean, and what is far away."""
    sizes = [abs(one) for one in deviations]
    beyond = f"{sum(size > 0.25 for size in sizes)} of {len(sizes)} rows beyond 25 %."
    return f"{name}: mean deviation {sum(sizes) / len(sizes):.1%}, largest {max(sizes):.1%}; {beyond}"


def table(memory: str, program: str, folder: Path) -> str:
    """The rows of a memory."""
    lines, deviations = [], []
    for row, there in answers().items():
        if row.memory == memory:
            traces = [transactions(program, folder, row.structure, row.size, count) for count in (0, TRANSACTIONS)]
            line, found = shown(row, there, traces)
            lines.append(line)
            deviations.append(found)
    names = {"o3": "O3", "timing": "Timing"}
    sums = [summary(names[cpu], [found[cpu] for found in deviations]) for cpu in CPUS]
    return HEADS[memory] + "\n".join([*lines, "", *sums]) + "\n"


def loops_table(program: str, folder: Path) -> str:
    """What a pass of each loop takes."""
    with loops.LOOPS.open() as source:
        found = [(loops.Loop(*row[:-1]), float(row[-1])) for row in list(csv.reader(source, delimiter="\t"))[1:]]
    by_cpu: dict[tuple[str, ...], dict[str, float]] = {}
    for loop, ns in found:
        by_cpu.setdefault(loop[1:], {})[loop.cpu] = ns
    lines = []
    for (kind, passes, size, width, warm), there in by_cpu.items():
        traces = [
            recorded(program, folder / f"{kind}-{size}-{width}-{count}.cptrace", [kind, count, size, width, warm])
            for count in ("0", passes)
        ]
        cells = [kind, f"{int(size):,}", width]
        for cpu in CPUS:
            before, after = (replayed(trace, cpu).stats.simulated_ns for trace in traces)
            ours = (after - before) / int(passes)
            cells.append(f"{there[cpu]:,.1f} | {ours:,.1f} | {ours / there[cpu] - 1:+.1%}")
        lines.append(f"| {' | '.join(cells)} |")
    return LOOPS_HEAD + "\n".join(lines) + "\n"


def transaction_times() -> pl.DataFrame:
    """The times of the page: of a transaction in gem5 and here, by core and memory."""
    found = []
    for memory, part in (("nvm", "same-binary"), ("ddr4", "same-binary-ddr4")):
        for line in pages.part(PAGE.read_text(), part)[1].removeprefix(HEADS[memory]).splitlines():
            cells = [cell.strip().replace(",", "") for cell in line.split("|")]
            if len(cells) > 1:
                for core, column in (("O3", 4), ("timing", 7)):
                    name = f"{core}, {memory.upper()}" + (", four cores" if cells[3] == "4" else "")
                    found.append((name, float(cells[column]), float(cells[column + 1])))
    return pl.DataFrame(found, schema=("machine", "gem5", "here"), orient="row")


def drawn(times: pl.DataFrame) -> str:
    """The times beside each other, with the lines where they agree and where they differ by 25 %, as SVG."""
    ends = (times["gem5"].min(), times["gem5"].max())
    sides = pl.DataFrame({"gem5": [*ends] * 3, "ratio": [0.75, 0.75, 1.0, 1.0, 1.25, 1.25]})
    sides = sides.with_columns(here=pl.col("gem5") * pl.col("ratio"))
    scale = alt.Scale(type="log", nice=False, padding=12)
    x = alt.X("gem5:Q", scale=scale, title="transaction in gem5, ns")
    y = alt.Y("here:Q", scale=scale, title="here, ns")
    lines = alt.Chart(sides).mark_line(color=colours.MUTED, strokeDash=[4, 3]).encode(x=x, y=y, detail="ratio:N")
    names = times["machine"].unique(maintain_order=True).to_list()
    series = alt.Scale(domain=names, range=list(colours.of_series(names, ()).values()))
    points = alt.Chart(times).mark_point(size=55, filled=True, opacity=0.8)
    points = points.encode(x=x, y=y, color=alt.Color("machine:N", scale=series, sort=names, title=None))
    text = io.StringIO()
    charts.dress(alt.LayerChart(layer=[lines, points]).properties(width=520, height=420)).save(text, format="svg")
    # A page may be shown on a dark ground.
    return text.getvalue().replace(">", f'><rect width="100%" height="100%" fill="{colours.BACKGROUND}"/>', 1) + "\n"


def main(program: str, loops_program: str, folder: str) -> None:
    pages.write(PAGE, "loops", loops_table(loops_program, Path(folder)))
    pages.write(PAGE, "same-binary", table("nvm", program, Path(folder)))
    pages.write(PAGE, "same-binary-ddr4", table("ddr4", program, Path(folder)))
    PICTURE.write_text(drawn(transaction_times()))


if __name__ == "__main__":
    main(*sys.argv[1:])
