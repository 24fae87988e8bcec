"""A reader of trace streams, written from the text of docs/trace-format.md alone, to check the recorder by.

It shares no code with the engine's reader. It checks what the text promises and rebuilds the files that the recorded
program left behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

MAGIC = b"CPTRACE\x08"
SYNC, FILE, MAP, UNMAP, CODE, IMAGE, THREAD, CALLERS, CALLERS_AGAIN = range(0x01, 0x0A)
LOAD, STORE, NT_STORE, ATOMIC, CLWB, CLFLUSHOPT, CLFLUSH = 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16
SFENCE, MFENCE, KERNEL_STORE, TX_BEGIN, TX_END, MARK, SCRATCH, END = 0x17, 0x18, 0x19, 0x20, 0x21, 0x22, 0x23, 0x7F
LOCKED, CALLED_STORE, KERNEL_FLUSH, LACKS, FOLLOWS = 0x1C, 0x1D, 0x1E, 0x24, 0x25
COUNTER_WRITEBACK, COUNTER_ATOMIC = 0x1A, 0x1B
OTHER_LOAD, OTHER_STORE, NEAR = 0x26, 0x27, 0x28
ANNOTATIONS = (COUNTER_WRITEBACK, COUNTER_ATOMIC)
OTHERS = (OTHER_LOAD, OTHER_STORE)
FENCES = (SFENCE, MFENCE, LOCKED)
STORES = (STORE, CALLED_STORE, NT_STORE, ATOMIC, KERNEL_STORE)
FLUSHES = (CLWB, CLFLUSHOPT, CLFLUSH, KERNEL_FLUSH)
CALLED = (CALLED_STORE, NT_STORE, ATOMIC, KERNEL_STORE, *FLUSHES, *FENCES, *ANNOTATIONS)
NAMES = {value: name for name, value in list(globals().items()) if name.isupper() and isinstance(value, int)}
WORD = (1 << 64) - 1
WINDOWS = 1 << 63
"""Mappings from here on are of parts of files that the program has not mapped."""
LINE = 64


@dataclass
class Record:
    """One record; fields that its tag has not are 0 or empty."""

    tag: int
    number: int
    between: int = 0
    """Instructions that its thread executed since its last operation, the operation's own not counted."""
    pc: int = 0
    address: int = 0
    size: int = 0
    data: bytes = b""
    thread: int = 0
    fields: tuple[int, ...] = ()
    callers: tuple[int, ...] = ()
    """Who called the code of the operation, innermost first; loads have none."""

    def __str__(self) -> str:
        """The record in readable form."""
        where = f" {self.address:#x}+{self.size}" if self.address else ""
        return f"{self.number}: {NAMES[self.tag]} thread {self.thread}{where} {self.fields} {self.data[:32]!r}"


class Reader:
    """Reads records from a binary stream; an EOFError in the middle of a record tells that it is cut off."""

    def __init__(self, source: BinaryIO) -> None:
        """Reads the magic."""
        self.source = source
        self.records = 0
        self.thread = 0
        self.threads: set[int] = set()
        self.pc = self.address = self.line = 0
        self.callers: tuple[int, ...] = ()
        self.given: list[tuple[int, ...]] = []  # since SYNC
        if source.read(8) != MAGIC:
            raise ValueError("not a trace stream")

    def take(self, length: int) -> bytes:
        data = self.source.read(length)
        if len(data) != length:
            raise EOFError
        return data

    def u(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > WORD:
                    raise ValueError("a number of more than 64 bits")
                return value
        raise ValueError("a number of more than 10 bytes")

    def s(self) -> int:
        value = self.u()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> bytes:
        length = self.u()
        assert length <= 4096
        return self.take(length)

    def operation(self, record: Record, address: bool = True) -> None:
        record.between = self.u()
        self.pc = record.pc = (self.pc + self.s()) & WORD
        if address:
            self.address = record.address = (self.address + self.s()) & WORD

    def __iter__(self) -> Iterator[Record]:
        """All records, END the last."""
        while True:
            record = self.one()
            self.records += 1
            yield record
            if record.tag == END:
                assert self.source.read(1) == b"", "bytes after END"
                return

    def one(self) -> Record:
        record = Record(self.take(1)[0], self.records, thread=self.thread)
        tag = record.tag
        assert self.records > 0 or tag == SYNC, "the first record is no SYNC"
        if tag == SYNC:
            record.fields = (self.u(), self.u(), self.u())
            assert record.fields[0] == self.records, "SYNC disagrees about the number of records"
            self.thread = record.thread = record.fields[2]
            self.threads.add(self.thread)
            self.pc = self.address = self.line = 0
            self.callers = ()
            self.given.clear()
        elif tag == FILE:
            record.fields = (self.u(),)
            record.data = self.text()
        elif tag == MAP:
            record.fields = (self.u(), self.u(), self.u(), self.u())
        elif tag == UNMAP:
            record.fields = (self.u(), self.u())
        elif tag == CODE:
            record.fields = (self.u(), self.u(), self.u())
            record.data = self.text()
        elif tag == IMAGE:
            record.fields = (self.u(), self.u())
            length = self.u()
            assert 1 <= length <= 65536
            record.data = self.take(length)
        elif tag == THREAD:
            record.fields = (self.u(),)
            self.thread = record.thread = record.fields[0]
            self.threads.add(self.thread)
        elif tag == CALLERS:
            count = self.u()
            assert count <= 16
            before, found = 0, []
            for _ in range(count):
                before = (before + self.s()) & WORD
                found.append(before)
            assert tuple(found) not in self.given[-1:], "callers that the stream has already"
            self.callers = tuple(found)
            self.given.append(self.callers)
        elif tag == CALLERS_AGAIN:
            number = self.u()
            assert self.callers != self.given[number], "callers that are in force"
            self.callers = self.given[number]
        elif tag == LOAD or tag in STORES:
            self.operation(record)
            record.size = self.u()
            assert 1 <= record.size <= (65536 if tag == KERNEL_STORE else 64)
            record.data = b"" if tag == LOAD else self.take(record.size)
        elif tag in FLUSHES:
            self.operation(record)
            if tag == KERNEL_FLUSH:
                record.size = self.u()
                assert 1 <= record.size <= 65536
                record.fields = (self.u(),)
                assert record.fields[0] <= 1, "an unknown way to flush"
        elif tag in ANNOTATIONS:
            self.operation(record)
            record.size = self.u()
            assert 1 <= record.size <= 65536
        elif tag in FENCES:
            self.operation(record, address=False)
        elif tag in OTHERS:
            self.operation(record, address=False)
            self.line = (self.line + self.s()) & WORD
            assert self.line < WORD // LINE + 1, "a line behind the last"
            record.fields = (self.line,)
        elif tag == NEAR:
            record.fields = (self.u(), self.u())
            assert any(record.fields), "no accesses"
        elif tag in (TX_BEGIN, TX_END):
            record.fields = (self.u(),)
        elif tag == MARK:
            record.data = self.text()
        elif tag == SCRATCH:
            record.fields = (self.u(), self.u(), self.u())
            assert record.fields[0] <= 2, "an unknown kind of scratch"
        elif tag == LACKS:
            record.fields = (self.u(),)
            assert record.fields[0] <= 5, "an unknown kind of lack"
            record.data = self.text()
        elif tag == FOLLOWS:
            record.between = self.u()
            record.fields = (self.u(), self.u())
            assert record.fields[0] in self.threads - {self.thread}, "a thread follows one that has not been running"
            assert record.fields[1] <= self.records, "a thread follows what has not been recorded"
        elif tag == END:
            record.fields = (self.u(), self.u(), self.u())
            assert record.fields[0] == self.records, "END disagrees about the number of records"
        else:
            raise ValueError(f"unknown tag {tag:#x}")
        if tag in CALLED:
            record.callers = self.callers
        if tag == CALLED_STORE:
            record.tag = STORE
        return record


@dataclass
class Mapping:
    """`length` bytes at `base` are those of the file from `offset`."""

    base: int
    length: int
    file: int
    offset: int

    @property
    def end(self) -> int:
        return self.base + self.length


@dataclass
class Replay:
    """The content of a complete stream."""

    counts: Counter[str] = field(default_factory=Counter)
    instructions: int = 0
    status: int | None = None
    threads: set[int] = field(default_factory=set)
    paths: list[bytes] = field(default_factory=list)
    contents: list[bytearray] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)
    code: list[bytes] = field(default_factory=list)
    marks: list[bytes] = field(default_factory=list)
    scratch: list[tuple[int, ...]] = field(default_factory=list)
    lacks: list[tuple[int, bytes]] = field(default_factory=list)
    loads_differ: int = 0
    kept: list[Record] = field(default_factory=list)

    def content(self, path: str) -> bytes:
        """What the file of this path holds in the end; of several, the last."""
        found = [self.contents[i] for i, name in enumerate(self.paths) if name == path.encode()]
        assert found, f"{path} is not in the trace, but {self.paths}"
        return bytes(found[-1])

    def size(self, path: str) -> int | None:
        """How long the file of this path is in the end; None if the trace does not say."""
        found = [self.contents[i] for i, name in enumerate(self.paths) if name == b"size:" + path.encode()]
        return int.from_bytes(found[-1][:8], "little") if found else None

    def write(self, file: int, offset: int, data: bytes) -> None:
        content = self.contents[file]
        if len(content) < offset + len(data):
            content.extend(bytes(offset + len(data) - len(content)))
        content[offset : offset + len(data)] = data

    def is_mapped(self, record: Record) -> bool:
        """Whether a flush, which may be of any memory, is of a line that is mapped."""
        return any(m.base < record.address + LINE and record.address < m.end for m in self.mappings)

    def place(self, record: Record) -> tuple[int, int]:
        """File and offset of an operation; the recorder splits accesses at the ends of mappings."""
        for mapping in self.mappings:
            if mapping.base <= record.address and record.address + max(record.size, 1) <= mapping.end:
                return mapping.file, mapping.offset + record.address - mapping.base
        raise AssertionError(f"not in a mapping: {record}")

    def unmap(self, base: int, length: int) -> None:
        kept = []
        for m in self.mappings:
            if m.end <= base or base + length <= m.base:
                kept.append(m)
                continue
            if m.base < base:
                kept.append(Mapping(m.base, base - m.base, m.file, m.offset))
            if base + length < m.end:
                cut = base + length - m.base
                kept.append(Mapping(base + length, m.length - cut, m.file, m.offset + cut))
        self.mappings = kept

    def map(self, new: Mapping) -> None:
        if new in self.mappings:
            return  # given again after SYNC
        assert all(m.end <= new.base or new.end <= m.base for m in self.mappings), "mappings overlap"
        assert new.file < len(self.paths), "a mapping of no file"
        self.mappings.append(new)


def replay(source: BinaryIO, keep: Callable[[Record], bool] = lambda record: False) -> Replay:
    """Reads a whole stream and rebuilds the files. Records that `keep` chooses are kept."""
    result = Replay()
    since_sync = False
    for record in Reader(source):
        tag = record.tag
        result.counts[NAMES[tag]] += 1
        if tag == FILE:
            number = record.fields[0]
            if number < len(result.paths):
                assert result.paths[number] == record.data, "a file given again has another path"
            else:
                assert number == len(result.paths), "files are not numbered in order"
                result.paths.append(record.data)
                result.contents.append(bytearray())
        elif tag == MAP:
            result.map(Mapping(*record.fields))
        elif tag == UNMAP:
            result.unmap(*record.fields)
        elif tag == CODE:
            result.code.append(record.data)
        elif tag == IMAGE:
            result.write(record.fields[0], record.fields[1], record.data)
        elif tag in STORES:
            result.write(*result.place(record), record.data)
        elif tag == LOAD or tag in FLUSHES:
            if tag == LOAD or result.is_mapped(record):
                result.place(record)
            assert tag in (LOAD, KERNEL_FLUSH) or record.address % LINE == 0, "a flush of no line"
        elif tag == MARK:
            result.marks.append(record.data)
        elif tag == SCRATCH and record.fields not in result.scratch:
            result.scratch.append(record.fields)  # given again after SYNC
        elif tag == LACKS:
            result.lacks.append((record.fields[0], record.data))
        elif tag == SYNC:
            assert record.fields[1] >= result.instructions, "instructions go backwards"
            assert record.fields[1] == result.instructions or not since_sync
        elif tag == END:
            assert record.fields[1] >= result.instructions, "fewer instructions than operations have counted"
            result.instructions, result.status = record.fields[1], record.fields[2]
        if tag in (LOAD, FOLLOWS, *OTHERS) or tag in STORES or tag in FLUSHES or tag in FENCES:
            result.instructions += record.between
            result.threads.add(record.thread)
        if keep(record):
            result.kept.append(record)
    return result
