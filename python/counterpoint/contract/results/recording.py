# Written by `make contract` from the types of reports in crates/engine/src; do not edit.
"""What a recorder wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceWritten:
    """The summary of a written trace.

    Attributes:
        records: number of records, without END.
        instructions: number of instructions executed.
        loads: number of loads, including those of locked operations.
        stores: number of stores of any kind.
        bytes: number of bytes stored.
        flushes: number of flushes.
        fences: number of fences, without those of locked operations.
        threads: number of threads that executed anything.
        paths: paths of the recorded files, by number; bytes that are not UTF-8 are replaced.
        transactions: number of transactions ended, as the program reports them or by libpmemobj's marks.
        status: exit status of the program; 256 if the stream did not report it.
        complete: whether the stream had its END. If not, an END was added after its valid part.
        lacks: what the trace lacks of what the program did, in sentences.
        left_to_others: whether part of that is in other processes.
        stream_bytes: bytes of the stream.
        file_bytes: bytes of the file.
    """

    records: int
    instructions: int
    loads: int
    stores: int
    bytes: int
    flushes: int
    fences: int
    threads: int
    paths: tuple[str, ...]
    transactions: int
    status: int
    complete: bool
    lacks: tuple[str, ...]
    left_to_others: bool
    stream_bytes: int
    file_bytes: int
