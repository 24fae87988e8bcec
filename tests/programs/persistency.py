"""Every memory that a power failure may leave, by the rules of x86 alone, from a stream that stream.py reads.

It shares no code with the engine. The rules:

- Eight aligned bytes become durable together, and nothing larger does.
- Cached stores to one line become durable in program order: the line may be evicted after any of them. Lines are
  independent of one another.
- `clwb` and `clflushopt` cover what the line holds, once a fence of the thread that executed them completes. `clflush`
  covers it at once.
- Each eight bytes of a non-temporal store become durable alone, at any time until a fence of its thread completes.
- `sfence`, `mfence` and locked operations are fences; a locked operation is one before it stores. Locked operations of
  the C library and the loader are not, nor those on other memory after which the program does nothing to persistent
  memory.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import stream

LINE = stream.LINE
WORD = 8


@dataclass(eq=False)
class Store:
    """A store, or the part of one that lies in one line."""

    pc: int
    thread: int
    pieces: list[tuple[int, bytes]]
    """Offsets in the line, and bytes: what becomes durable together."""
    temporal: bool
    flushed_by: set[int] = field(default_factory=set)
    covered: bool = False


@dataclass(frozen=True)
class Content:
    """What a line may hold after a power failure, and which stores are then lost, wholly or in part."""

    data: bytes
    lost: frozenset[Store]


@dataclass
class Line:
    """What a line surely holds, and the stores since."""

    base: bytes = bytes(LINE)
    stores: list[Store] = field(default_factory=list)

    def settle(self) -> None:
        """Applies what is covered, and what it overwrites in order."""
        last = max((i for i, s in enumerate(self.stores) if s.covered and s.temporal), default=-1)
        for store in self.stores[: last + 1]:
            store.covered |= store.temporal
        while self.stores and self.stores[0].covered:
            self.base = _applied(self.base, self.stores.pop(0).pieces)

    def contents(self) -> list[Content]:
        """All contents that are legal now, each once, with as few stores lost as possible."""
        cached = [store for store in self.stores if store.temporal]
        first = sum(store.covered for store in cached)
        prefixes: list[list[tuple[int, int]]] = []
        for length in range(first, len(cached) + 1):
            whole = [(id(store), piece) for store in cached[:length] for piece in range(len(store.pieces))]
            prefixes.append(whole)
            if length < len(cached):
                torn = range(len(cached[length].pieces))
                for count in range(1, len(torn)):
                    for some in itertools.combinations(torn, count):
                        prefixes.append([*whole, *((id(cached[length]), piece) for piece in some)])
        past = [store for store in self.stores if not store.temporal]
        sure = [(id(s), piece) for s in past if s.covered for piece in range(len(s.pieces))]
        free = [(id(s), piece) for s in past if not s.covered for piece in range(len(s.pieces))]
        found: dict[bytes, Content] = {}
        for prefix, count in itertools.product(prefixes, range(len(free) + 1)):
            for chosen in itertools.combinations(free, count):
                content = self._content({*prefix, *sure, *chosen})
                other = found.get(content.data)
                if other is None or len(content.lost) < len(other.lost):
                    found[content.data] = content
        return list(found.values())

    def _content(self, there: set[tuple[int, int]]) -> Content:
        data, lost = self.base, set()
        for store in self.stores:
            pieces = [piece for i, piece in enumerate(store.pieces) if (id(store), i) in there]
            data = _applied(data, pieces)
            if len(pieces) < len(store.pieces):
                lost.add(store)
        return Content(data, frozenset(lost))


def _applied(data: bytes, pieces: list[tuple[int, bytes]]) -> bytes:
    for offset, new in pieces:
        data = data[:offset] + new + data[offset + len(new) :]
    return data


@dataclass
class Point:
    """A power failure just before a fence completes, or at the end: what each line that is not settled may hold."""

    settled: dict[int, bytes]
    open: dict[int, list[Content]]

    @property
    def count(self) -> int:
        """How many states are legal here."""
        return math.prod(len(contents) for contents in self.open.values())

    def states(self, limit: int) -> Iterator[tuple[int, ...]]:
        """All of them as one index for each open line if they are not more than `limit`.

        Otherwise those in which at most one line differs from "all has arrived" or "nothing has arrived", and as many
        as the limit at random, always the same.
        """
        sizes = [len(contents) for contents in self.open.values()]
        if self.count <= limit:
            yield from itertools.product(*map(range, sizes))
            return
        for near in (tuple(size - 1 for size in sizes), tuple(0 for _ in sizes)):
            yield near
            yield from self.neighbours(near)
        chance = random.Random(1)
        for _ in range(limit):
            yield tuple(chance.randrange(size) for size in sizes)

    def neighbours(self, state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The states that differ from this one in one line."""
        for i, contents in enumerate(self.open.values()):
            for other in range(len(contents)):
                if other != state[i]:
                    yield (*state[:i], other, *state[i + 1 :])

    def image(self, state: tuple[int, ...], length: int) -> bytes:
        """The file in this state."""
        data = bytearray(length)
        for number, content in self.settled.items():
            data[number * LINE : (number + 1) * LINE] = content
        for chosen, (number, contents) in zip(state, self.open.items(), strict=True):
            data[number * LINE : (number + 1) * LINE] = contents[chosen].data
        return bytes(data)

    def lost(self, state: tuple[int, ...]) -> frozenset[Store]:
        """The stores that this state has lost."""
        chosen = (contents[i] for i, contents in zip(state, self.open.values(), strict=True))
        return frozenset().union(*(content.lost for content in chosen))


class Memory:
    """One file under the operations of a trace, in their order."""

    def __init__(self) -> None:
        """A file of zeros."""
        self.lines: dict[int, Line] = {}

    def load(self, offset: int, content: bytes) -> None:
        """What the file held before the program mapped it; `offset` begins a line."""
        for at in range(0, len(content), LINE):
            self.lines[(offset + at) // LINE] = Line(content[at : at + LINE].ljust(LINE, b"\0"))

    def store(self, record: stream.Record, offset: int) -> None:
        """A store at an offset of the file."""
        parts: dict[int, list[tuple[int, bytes]]] = {}
        at = 0
        while at < record.size:
            where = offset + at
            length = min(WORD - where % WORD, record.size - at)
            parts.setdefault(where // LINE, []).append((where % LINE, record.data[at : at + length]))
            at += length
        for number, pieces in parts.items():
            store = Store(record.pc, record.thread, pieces, record.tag != stream.NT_STORE)
            self.lines.setdefault(number, Line()).stores.append(store)

    def flush(self, record: stream.Record, offset: int) -> None:
        """A flush of the line at this offset."""
        line = self.lines.get(offset // LINE, Line())
        for store in line.stores:
            if store.temporal and record.tag == stream.CLFLUSH:
                store.covered = True
            elif store.temporal:
                store.flushed_by.add(record.thread)
        line.settle()

    def fence(self, thread: int) -> None:
        """A fence of this thread."""
        for line in self.lines.values():
            for store in line.stores:
                if thread in store.flushed_by or (not store.temporal and store.thread == thread):
                    store.covered = True
            line.settle()

    def point(self) -> Point:
        """A power failure now."""
        settled = {number: line.base for number, line in self.lines.items() if not line.stores}
        return Point(settled, {number: line.contents() for number, line in self.lines.items() if line.stores})

    def uncovered(self) -> list[Store]:
        """The stores that nothing covers."""
        return [store for line in self.lines.values() for store in line.stores if not store.covered]


_LIBRARIES = (b"libc.so", b"libc-2.", b"libpthread.so", b"libpthread-2.", b"ld-linux", b"ld-2.", b"ld-musl")


def operations(replay: stream.Replay) -> Iterator[tuple[stream.Record, bool]]:
    """The records, each with whether it is a fence. Locked operations on other memory come as soon as it is known."""
    libraries: list[range] = []
    waiting: list[stream.Record] = []
    for record in replay.kept:
        tag = record.tag
        if tag == stream.CODE and record.data.rpartition(b"/")[2].startswith(_LIBRARIES):
            libraries.append(range(record.fields[0], record.fields[0] + record.fields[1]))
        of_library = any(record.pc in code for code in libraries)
        if tag == stream.LOCKED:
            waiting += [] if of_library else [record]
            continue
        mapped = tag in stream.FLUSHES and replay.is_mapped(record)
        if mapped or tag in (*stream.STORES, *stream.FENCES, stream.MARK, stream.TX_BEGIN, stream.TX_END):
            yield from ((locked, True) for locked in waiting)
            waiting.clear()
        yield record, tag == stream.SFENCE or (tag in (stream.MFENCE, stream.ATOMIC) and not of_library)


def points(replay: stream.Replay, path: str) -> tuple[list[Point], list[Store]]:
    """The power failures after which states are legal that were not before; and what the end leaves uncovered.

    What is legal after a store stays legal until a fence or a `clflush` completes, so these and the end are enough.
    """
    file = replay.paths.index(path.encode())
    memory = Memory()
    found: list[Point] = []
    changed = True
    for record, is_fence in operations(replay):
        tag = record.tag
        if tag == stream.IMAGE and record.fields[0] == file:
            memory.load(record.fields[1], record.data)
        if tag in stream.FLUSHES and not replay.is_mapped(record):
            continue
        number, offset = replay.place(record) if record.address else (file, 0)
        if number != file:
            continue
        if changed and (is_fence or tag == stream.CLFLUSH):
            found.append(memory.point())
            changed = False
        if is_fence:
            memory.fence(record.thread)
        if tag in (stream.STORE, stream.NT_STORE, stream.ATOMIC):
            memory.store(record, offset)
            changed = True
        elif tag in stream.FLUSHES:
            memory.flush(record, offset)
        elif tag == stream.KERNEL_STORE:
            raise ValueError(f"a system call stores: {record}")
    found.append(memory.point())
    return found, memory.uncovered()
