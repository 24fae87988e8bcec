"""Runs the program of the comparison with gem5 in gem5: writes `tests/data/gem5/same-binary.tsv`.

    gcc -O2 -static -g -o transactions tests/peers/gem5/transactions.c
    python tests/peers/gem5/rows.py GEM5 ./transactions [WORKERS]

`GEM5` is gem5 v24.0.0.1 for X86, built without Ruby. A row takes from two seconds to four minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FIGURES = HERE.parents[1] / "data" / "gem5" / "same-binary.tsv"
TRANSACTIONS = 2000
REGION = 1 << 20
STRUCTURES = ("array", "queue", "hash", "btree", "rbtree")
SIZES = (64, 256, 1024, 4096)


class Row(NamedTuple):
    """A machine and what runs on it."""

    cpu: str
    memory: str
    cores: int
    structure: str
    size: int


def rows() -> list[Row]:
    """All of them: on NVM in all sizes, on four cores in one, and on DDR4 in two."""
    cpus = ("timing", "o3")
    found = [Row(cpu, "nvm", 1, kind, size) for cpu, kind, size in product(cpus, STRUCTURES, SIZES)]
    found += [Row(cpu, "nvm", 4, kind, 256) for cpu, kind in product(cpus, STRUCTURES)]
    return found + [Row(cpu, "ddr4", 1, kind, size) for cpu, kind, size in product(cpus, STRUCTURES, (64, 1024))]


def ran(gem5: str, cpu: str, memory: str, cores: int, command: list[str], **environment: str) -> dict[str, str]:
    """The statistics of a run of the program in gem5: those of the last dump."""
    with tempfile.TemporaryDirectory() as folder:
        machine = [str(HERE / "machine.py"), "--cpu", cpu, "--mem", memory, "--cores", str(cores)]
        run = [gem5, "-q", "-d", folder, *machine, *command]
        subprocess.run(run, check=True, capture_output=True, env={**os.environ, **environment})
        *_, last = (Path(folder) / "stats.txt").read_text().split("Begin Simulation Statistics")
    return {words[0]: words[1] for line in last.splitlines() if len(words := line.split()) > 1}


def figures(stats: dict[str, str], cores: int) -> dict[str, float]:
    """The figures of a run, of all cores, each for a transaction of one core."""
    cpus = ["system.cpu"] if cores == 1 else [f"system.cpu{number}" for number in range(cores)]
    each = TRANSACTIONS * cores

    def of_cpus(name: str) -> float:
        return sum(float(stats.get(f"{cpu}.{name}", 0)) for cpu in cpus) / each

    def of_memory(name: str) -> float:
        return float(stats[f"system.mem_ctrl.{name}"]) / each

    return {
        "ns": float(stats["simSeconds"]) * 1e9 / TRANSACTIONS,
        "instructions": of_cpus("commitStats0.numInsts"),
        "operations": of_cpus("commitStats0.numOps"),
        "l1_misses": of_cpus("dcache.overallMisses::total"),
        "l2_misses": float(stats["system.l2.overallMisses::total"]) / each,
        "reads": of_memory("readReqs"),
        "writes": of_memory("writeReqs"),
        "merged": of_memory("mergedWrBursts"),
    }


def answered(gem5: str, program: str, row: Row) -> dict[str, float]:
    """What gem5 says of a row."""
    command = [program, row.structure, str(row.size), str(TRANSACTIONS), str(REGION)]
    return figures(ran(gem5, row.cpu, row.memory, row.cores, command), row.cores)


def written(answers: dict[Row, dict[str, float]]) -> str:
    """The table."""
    names = list(next(iter(answers.values())))
    lines = ["\t".join([*Row._fields, *names])]
    for row, found in answers.items():
        lines.append("\t".join([*map(str, row), *(f"{found[name]:.2f}" for name in names)]))
    return "\n".join(lines) + "\n"


def main(gem5: str, program: str, workers: str = "2") -> None:
    with ThreadPoolExecutor(int(workers)) as pool:
        found = list(pool.map(lambda row: answered(gem5, program, row), rows()))
    FIGURES.write_text(written(dict(zip(rows(), found, strict=True))))


if __name__ == "__main__":
    main(*sys.argv[1:])
