"""What a recording says of threads that follow each other, held against what follows.c knows of itself."""

from __future__ import annotations

from pathlib import Path

import stream
from raw import Failure, record, require

Clock = dict[int, int]
"""Of each thread, so many records of the stream: what it did in them has been done."""


class Clocks:
    """What must have been done before each record, from FOLLOWS alone."""

    def __init__(self) -> None:
        self.now: dict[int, Clock] = {}
        self.history: dict[int, list[tuple[int, Clock]]] = {}
        self.first: dict[int, tuple[int, int, Clock]] = {}
        """Of each address that is stored to, the first store: its thread, its number, and its clock."""
        self.base: int | None = None

    def __call__(self, record: stream.Record) -> bool:
        clock = self.now.setdefault(record.thread, {})
        if record.tag == stream.FOLLOWS:
            other, records = record.fields
            before = [old for number, old in self.history.get(other, []) if number < records]
            known = [*(before[-1:]), {other: records}]
            for thread, count in (pair for one in known for pair in one.items()):
                clock[thread] = max(clock.get(thread, 0), count)
            self.history.setdefault(record.thread, []).append((record.number, dict(clock)))
        elif record.tag == stream.MAP and self.base is None and record.fields[0] < stream.WINDOWS:
            self.base = record.fields[0]
        elif record.tag in stream.STORES and self.base is not None:
            self.first.setdefault(record.address - self.base, (record.thread, record.number, dict(clock)))
        return False

    def before(self, one: int, other: int) -> bool:
        """Whether the first store to offset `one` has been done before that to `other`, whatever the threads' speed."""
        thread, number, _ = self.first[one]
        by, later, clock = self.first[other]
        return number < later and (thread == by or clock.get(thread, 0) > number)


def follows(out: Path, tool: Path, program: str) -> str:
    """The order of stores of different threads is known where the program makes it, and nowhere else."""
    pool, trace = out / "follows.pool", out / "follows.cptrace"
    pool.unlink(missing_ok=True)
    printed = record([program, str(pool)], trace, tool)
    clocks = Clocks()
    with trace.open("rb") as source:
        stream.replay(source, clocks)
    told = [(kind, int(one), int(other)) for kind, one, other in map(str.split, printed.splitlines())]
    for kind, one, other in told:
        forth, back = clocks.before(one, other), clocks.before(other, one)
        match kind:
            case "before":
                require(forth, f"the store to {other} does not follow that to {one}")
            case "ordered":
                require(forth != back, f"the stores to {one} and {other} have no order")
            case "apart":
                require(not forth and not back, f"the stores to {one} and {other} have an order")
            case _:
                raise Failure(f"the program prints '{kind}'")
    return f"{len(told)} pairs of stores"


def parallel(out: Path, tool: Path, program: str) -> str:
    """Threads that share nothing run at the same time, on a core each; with `serial`, on one core."""
    from counterpoint import replay

    pool, trace = out / "apart.pool", out / "apart.cptrace"
    pool.unlink(missing_ok=True)
    record([program, str(pool)], trace, tool)
    (apart,) = replay(trace, ["unencrypted"], machine="optane")
    (serial,) = replay(trace, ["unencrypted"], machine="optane", serial=True)
    require((apart.cores, serial.cores) == (5, 1), f"{apart.cores} and {serial.cores} cores")
    at_once, in_turn = apart.stats.simulated_ns, serial.stats.simulated_ns
    require(at_once < in_turn / 2, f"{at_once} ns on five cores, {in_turn} on one")
    return f"{in_turn / at_once:.1f} times as fast"
