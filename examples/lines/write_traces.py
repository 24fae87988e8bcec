"""Writes the same accesses to memory as traces of four simulators: a stream that reads two lines and writes a third.

Usage: write_traces.py FOLDER [LINES]. Arrays have 2,000 lines, or LINES. Cycles are those of a clock of 1 GHz. Those of
Ramulator have none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

LINES, PERIOD = 2000, 200
"""Lines of each array, and cycles from one access to the next."""

FORMATS = {
    "nvmain.nvt": "{cycle} {short} {address:#x} " + "0" * 128 + " 0",
    "dramsim2.k6": "{address:#x} {transaction} {cycle}",
    "dramsim3.trace": "{address:#x} {long} {cycle}",
    "ramulator.trace": "{instruction} {address:#x}",
}
"""A line of each file. NVMain's has what is written, too."""


def accesses(lines: int) -> Iterator[tuple[int, bool, int]]:
    """Cycle, whether it writes, and address of each access, for arrays of so many lines."""
    first, second, sum_of_both = 0x1000_0000, 0x1100_0000, 0x1200_0000
    for number in range(3 * lines):
        line, array = divmod(number, 3)
        base = (first, second, sum_of_both)[array]
        yield number * PERIOD, array == 2, base + 64 * line


def main(folder: Path, lines: int = LINES) -> None:
    """Writes a file for each simulator."""
    for name, form in FORMATS.items():
        rows = (
            form.format(
                cycle=cycle,
                address=address,
                short="W" if write else "R",
                long="WRITE" if write else "READ",
                transaction="P_MEM_WR" if write else "P_MEM_RD",
                instruction="ST" if write else "LD",
            )
            for cycle, write, address in accesses(lines)
        )
        (folder / name).write_text("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
