"""The cost of a source line of a recorded program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineCost:
    """All operations that are shown at one place. Times in ns.

    Attributes:
        place: `file:line`, else `symbol+0x..`, else `object+0x..`, else an address.
        source: `file:line` with the whole path; None where the debug information does not say.
        function: function or symbol; None where neither is known.
        object: path of the object file; None where no file was mapped.
        loads: loads, each within a line of memory.
        stores: stores, each within a line of memory.
        flushes: lines of memory flushed, or written past the caches.
        fences: fences.
        flush_latency_ns: mean time from when a flush is sent to the caches until it is acknowledged; None without any.
        flush_latency_max_ns: the longest of them.
        waited_for_ns: how long fences, of any line, held up commit because this line's operation finished last.
        load_stall_ns: how long its loads held up commit.
        fence_stall_ns: how long its fences held up commit; the sum over lines is the run's `fence_stall_ns`.
    """

    place: str
    source: str | None
    function: str | None
    object: str | None
    loads: int
    stores: int
    flushes: int
    fences: int
    flush_latency_ns: float | None
    flush_latency_max_ns: float | None
    waited_for_ns: float
    load_stall_ns: float
    fence_stall_ns: float

    @property
    def waited_ns(self) -> float:
        """How long commit waited for it, by fences and loads."""
        return self.waited_for_ns + self.load_stall_ns
