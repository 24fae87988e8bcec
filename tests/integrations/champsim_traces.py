"""Three ChampSim traces, made here: a stream, random reads and writes, and a chase of pointers."""

import lzma
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

# An instruction of ChampSim: its address, whether it is a branch and taken, registers and memory written and read.
INSTRUCTION = struct.Struct("<QBB2B4B2Q4Q")
INSTRUCTIONS = 100_000
# Where the data of the program begins.
HEAP = 0x10_0000_0000


def instruction(
    place: int, load: int = 0, store: int = 0, *, register: int = 1, needs: int = 0, taken: bool = False
) -> bytes:
    """One instruction at `place` of a loop: it loads from an address, stores to one, or does neither."""
    # A branch reads and writes the instruction pointer, register 26, and reads the flags, 25.
    written, read = (26, 0) if taken else (register, 0), (26, 25, 0, 0) if taken else (needs, 0, 0, 0)
    return INSTRUCTION.pack(0x400000 + 4 * place, taken, taken, *written, *read, store, 0, load, 0, 0, 0)


def stream() -> Iterator[bytes]:
    """Reads one array and writes another, line after line."""
    for number in range(INSTRUCTIONS // 8):
        yield instruction(0, load=HEAP + 32 * number, register=2)
        yield instruction(1, store=HEAP + (1 << 32) + 32 * number, needs=2)
        yield from (instruction(place, register=3 + place) for place in range(2, 7))
        yield instruction(7, taken=True)


def scattered() -> Iterator[bytes]:
    """Reads and writes anywhere in 256 MiB."""
    draw = random.Random(1)
    for _ in range(INSTRUCTIONS // 16):
        yield instruction(0, load=HEAP + draw.randrange(1 << 22) * 64, register=2)
        yield instruction(1, store=HEAP + draw.randrange(1 << 22) * 64, needs=2)
        yield from (instruction(place, register=3 + place) for place in range(2, 15))
        yield instruction(15, taken=True)


def chase() -> Iterator[bytes]:
    """Follows pointers: each load needs the one before. Every fourth node is changed."""
    draw = random.Random(2)
    for number in range(INSTRUCTIONS // 32):
        node = HEAP + draw.randrange(1 << 20) * 64
        yield instruction(0, load=node, register=2, needs=2)
        yield instruction(1, store=node + 8 if number % 4 == 0 else 0, needs=2)
        yield from (instruction(place, register=3 + place % 16) for place in range(2, 31))
        yield instruction(31, taken=True)


PROGRAMS: dict[str, Callable[[], Iterator[bytes]]] = {"stream": stream, "scattered": scattered, "chase": chase}


def write(folder: Path) -> dict[str, Path]:
    """The traces in `folder`, by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.champsimtrace.xz" for name in PROGRAMS}
    for name, path in paths.items():
        with lzma.open(path, "wb", preset=1) as file:
            file.write(b"".join(PROGRAMS[name]()))
    return paths
