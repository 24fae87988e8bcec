"""Has gem5's memory say what its cores ask of it: writes `tests/data/gem5/memory/`, a trace for each program.

    python tests/peers/gem5/memory.py GEM5 ./transactions [WORKERS]

This `GEM5` prints to the file that MEMLOG names, in `MemCtrl`: `TICK R ADDRESS` and `TICK W ADDRESS` where it accepts
a request, and `TICK D ADDRESS` where it answers a read. A tick is a picosecond. A trace has the whole program, with
its set-up.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rows import FIGURES, REGION, ran

FOLDER = FIGURES.parent / "memory"
PROGRAMS = (
    *(("o3", 1, "array", 1024), ("o3", 1, "hash", 4096), ("o3", 1, "rbtree", 256), ("o3", 4, "array", 256)),
    *(("timing", 1, "queue", 1024), ("timing", 4, "rbtree", 256)),
)
TRANSACTIONS = 150
COLUMNS = ("ps", "op", "address", "latency_ps")


def requests(log: str) -> list[str]:
    """Rows: when a request is accepted, what it is, its address, and how long its answer takes; a write has none."""
    rows: list[list[str]] = []
    waiting: dict[str, deque[list[str]]] = defaultdict(deque)
    for line in log.splitlines():
        tick, what, address = line.split()
        if what == "D":
            row = waiting[address].popleft()
            row.append(str(int(tick) - int(row[0])))
            continue
        row = [tick, what, address]
        rows.append(row)
        if what == "R":
            waiting[address].append(row)
    kept = (row for row in rows if row[1] == "W" or len(row) == len(COLUMNS))
    return ["\t".join([*row, "0"][: len(COLUMNS)]) for row in kept]


def answered(gem5: str, program: str, row: tuple[str, int, str, int]) -> None:
    """Writes the trace of a program."""
    cpu, cores, structure, size = row
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [program, structure, str(size), str(TRANSACTIONS), str(REGION // cores)]
        ran(gem5, cpu, "nvm", cores, command, MEMLOG=str(log))
        text = "\n".join(["\t".join(COLUMNS), *requests(log.read_text())]) + "\n"
    name = f"{cpu}-{structure}-{size}-{cores}.tsv.zst"
    subprocess.run(["zstd", "-q", "-19", "-f", "-o", FOLDER / name], input=text.encode(), check=True)


def main(gem5: str, program: str, workers: str = "2") -> None:
    FOLDER.mkdir(exist_ok=True)
    with ThreadPoolExecutor(int(workers)) as pool:
        list(pool.map(lambda row: answered(gem5, program, row), PROGRAMS))


if __name__ == "__main__":
    main(*sys.argv[1:])
