"""Runs the loops in gem5: writes `tests/data/gem5/loops.tsv`.

    gcc -O2 -static -g -o loops tests/peers/gem5/loops.c
    python tests/peers/gem5/loops.py GEM5 ./loops [WORKERS]

Loops whose time is there are not run again.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import NamedTuple

from rows import FIGURES, ran

LOOPS = FIGURES.parent / "loops.tsv"
L1, L2, MEMORY = 16 << 10, 256 << 10, 2 << 20


class Loop(NamedTuple):
    """What a loop does, how often, in how many bytes, lines in a pass, and whether each was read before."""

    cpu: str
    kind: str
    passes: str
    bytes: str
    lines: str
    warm: str


KINDS = (
    *(("alu", 10000, L1, 1, 0), ("ind", 10000, L1, 1, 0), ("branch", 10000, L1, 1, 0)),
    *(("chase", 10000, L1, 1, 1), ("chase", 10000, L2, 1, 1), ("chase", 4000, MEMORY, 1, 1)),
    *(("seq", 10000, L1, 1, 1), ("seq", 10000, L2, 1, 1), ("seq", 4000, MEMORY, 1, 1)),
    *(("store", 10000, L1, 1, 1), ("store", 10000, L2, 1, 1), ("store", 4000, MEMORY, 1, 1)),
    *(("flush", 4000, 64, 1, 1), ("flush", 4000, L2, 1, 1), ("flush", 1000, L1, 8, 1), ("flush", 300, L1, 32, 1)),
    *(("flush", 300, MEMORY, 16, 1), ("clean", 4000, L1, 1, 1)),
    *(("read", 1000, MEMORY, 4, 1), ("read", 200, MEMORY, 64, 1)),
    *(("copy", 1000, MEMORY, 4, 1), ("copy", 200, MEMORY, 64, 1), ("copy", 1000, L1, 4, 1)),
    *(("fill", 1000, MEMORY, 4, 1), ("fill", 200, MEMORY, 64, 1), ("fill", 1000, L1, 4, 1)),
)


def loops() -> list[Loop]:
    """All of them on both cores."""
    return [Loop(cpu, *map(str, kind)) for cpu, kind in product(("o3", "timing"), KINDS)]


def answered(gem5: str, program: str, loop: Loop) -> float:
    """What a pass takes, in ns."""
    return float(ran(gem5, loop.cpu, "nvm", 1, [program, *loop[1:]])["simSeconds"]) * 1e9 / int(loop.passes)


def main(gem5: str, program: str, workers: str = "2") -> None:
    head = "\t".join([*Loop._fields, "ns"])
    known = LOOPS.read_text().splitlines()[1:] if LOOPS.exists() else []
    found = dict(line.rsplit("\t", 1) for line in known)
    missing = [loop for loop in loops() if "\t".join(loop) not in found]
    with ThreadPoolExecutor(int(workers)) as pool:
        for loop, ns in zip(missing, pool.map(lambda loop: answered(gem5, program, loop), missing), strict=True):
            found["\t".join(loop)] = f"{ns:.2f}"
            LOOPS.write_text("\n".join([head, *("\t".join(row) for row in found.items())]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
