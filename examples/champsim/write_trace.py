"""Writes a small ChampSim trace: a program that goes through two arrays and adds one to the other.

Usage: write_trace.py FILE.xz [WORDS]. Arrays have 8,192 words, or WORDS. A real trace comes from ChampSim's tracer, a
tool for Pin; its instructions have this form.
"""

from __future__ import annotations

import lzma
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

INSTRUCTION = struct.Struct("<Q2B2B4B2Q4Q")
"""Address; is it a branch, is it taken; registers written and read; words of memory written and read, by address."""

WORDS = 8192
"""Words of an array: 64 KiB."""


def instructions(words: int) -> Iterator[bytes]:
    """An addition for each word of arrays of this length, three times, and the branch of the loop."""
    first, second = 0x7F00_0000_0000, 0x7F00_0010_0000
    for word in range(3 * words):
        offset = word % words * 8
        source, target = first + offset, second + offset
        yield INSTRUCTION.pack(0x40_0000, 0, 0, 1, 0, 1, 0, 0, 0, target, 0, source, target, 0, 0)
        yield INSTRUCTION.pack(0x40_0004, 1, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def main(path: Path, words: int = WORDS) -> None:
    """Writes the trace."""
    with lzma.open(path, "wb") as trace:
        trace.writelines(instructions(words))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
