"""Replays the program that gem5 ran: writes the part `same-binary` of docs/gem5.md.

    PYTHONPATH=tests python tests/peers/gem5/beside.py ./transactions FOLDER

The program is the one that rows.py had gem5 run. It is recorded into FOLDER, once with all transactions and once with
none; figures are the difference. Recordings that are there are kept.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from rows import FIGURES, REGION, TRANSACTIONS

import counterpoint as cp
import pages

PAGE = pages.ROOT / "docs" / "gem5.md"
MACHINE = FIGURES.parent / "o3.toml"
HEAD = (
    "| structure | bytes | cores | gem5, ns | here, ns | deviation | instructions, gem5 | here | lines read, gem5 "
    "| here | written, gem5 | here |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)
PLAIN = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}"
    for name in (
        *("AVX2", "AVX", "AVX2_Usable", "AVX_Usable", "AVX_Fast_Unaligned_Load", "ERMS", "FSRM", "SSE4_1", "SSE4_2"),
        *("Fast_Unaligned_Copy", "Fast_Copy_Backward"),
    )
)
"""What gem5's processor does not say of itself, so that the C library takes the same functions where it is recorded."""


def recorded(program: str, folder: Path, structure: str, size: str, count: int) -> Path:
    """The recording of the program with so many transactions."""
    trace = folder / f"{structure}-{size}-{count}.cptrace"
    if not trace.exists():
        pool = Path("/dev/shm") / f"counterpoint-{os.getpid()}"
        set_up = {"PMTX_FILE": str(pool), "PMTX_RUN": str(count), "GLIBC_TUNABLES": PLAIN}
        command = [program, structure, size, str(TRANSACTIONS), str(REGION)]
        record = [sys.executable, "-m", "counterpoint", "record", "--out", str(trace), "--", *command]
        subprocess.run(record, env={**os.environ, **set_up}, check=True, capture_output=True)
        for file in pool.parent.glob(f"{pool.name}.*"):
            file.unlink()
    return trace


def simulated(trace: Path, cores: int) -> list[float]:
    """Time, instructions, lines read and lines written, of one core."""
    (run,) = cp.replay(trace, ["unencrypted"], machine=MACHINE, cores=cores, set=["engine.bytes=false"])
    stats = run.stats
    counted = [stats.instructions, stats.nvm.reads, stats.nvm.writes]
    return [stats.simulated_ns, *(count / cores for count in counted)]


def shown(row: dict[str, str], before: Path, after: Path) -> tuple[str, float]:
    """The row of the page for a row of gem5's figures and the two recordings, and the deviation of the time."""
    runs = [simulated(trace, int(row["cores"])) for trace in (before, after)]
    here = [(last - first) / TRANSACTIONS for first, last in zip(*runs, strict=True)]
    gem5 = {name: float(row[name]) for name in ("ns", "instructions", "reads", "writes", "merged")}
    there = [gem5["instructions"], gem5["reads"], gem5["writes"] - gem5["merged"]]
    counts = " | ".join(f"{one:,.1f} | {other:,.1f}" for one, other in zip(there, here[1:], strict=True))
    deviation = here[0] / gem5["ns"] - 1
    what = f"| {row['structure']} | {row['size']} | {row['cores']}"
    return f"{what} | {gem5['ns']:,.0f} | {here[0]:,.0f} | {deviation:+.1%} | {counts} |", deviation


def answers() -> list[dict[str, str]]:
    """gem5's figures with its O3 core on NVM."""
    with FIGURES.open() as source:
        rows = list(csv.DictReader(source, delimiter="\t"))
    return [row for row in rows if (row["cpu"], row["memory"]) == ("o3", "nvm")]


def table(program: str, folder: Path) -> str:
    """The rows of the O3 core on NVM, with their mean deviation."""
    lines, deviations = [], []
    for row in answers():
        traces = [recorded(program, folder, row["structure"], row["size"], count) for count in (0, TRANSACTIONS)]
        line, deviation = shown(row, *traces)
        lines.append(line)
        deviations.append(deviation)
    mean = sum(map(abs, deviations)) / len(deviations)
    beyond = sum(abs(one) > 0.25 for one in deviations)
    lines += ["", f"Mean deviation {mean:.1%}; {beyond} of {len(deviations)} rows beyond 25 %."]
    return HEAD + "\n".join(lines) + "\n"


def main(program: str, folder: str) -> None:
    pages.write(PAGE, "same-binary", table(program, Path(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
