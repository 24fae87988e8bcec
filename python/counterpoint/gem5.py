"""A memory for the boards of gem5's standard library, in a gem5 that is built with `integrations/gem5/counterpoint`.

from counterpoint.gem5 import EncryptedMemory
board = SimpleBoard(clk_freq="3GHz", processor=..., memory=EncryptedMemory("1GiB", design="secpm"), cache_hierarchy=...)
"""

from collections.abc import Sequence
from typing import Any

from gem5.components.memory.abstract_memory_system import (  # type: ignore[import-not-found]
    AbstractMemorySystem,
)
from m5.objects import CounterpointMemory  # type: ignore[import-not-found]
from m5.util.convert import toMemorySize  # type: ignore[import-not-found]


class EncryptedMemory(AbstractMemorySystem):  # type: ignore[misc]
    """One controller and its device, behind as many ranges of addresses as the board has."""

    # A child of the simulated system. gem5 takes it for one only if there are memories in it.
    ranges: list[Any]

    def __init__(
        self,
        size: str,
        design: str = "secpm",
        variant: str = "hardened",
        machine: str = "",
        overrides: Sequence[str] = (),
        **parameters: object,
    ) -> None:
        """The memory of a machine.

        Args:
            size: bytes of memory, as "1GiB"; the machine's device is larger, because it also has counters and a log.
            design: name of a design, or a design file.
            variant: reading of its paper, "published" or "hardened".
            machine: preset or machine file; empty: the design's own preset.
            overrides: machine values, "path.to.key=value".
            parameters: the other parameters of `CounterpointMemory`: `hold_cleans`, `hold_evictions`, ...
        """
        super().__init__()
        self._size: int = toMemorySize(size)
        self._parameters = {
            "design": design,
            "variant": variant,
            "machine": machine,
            "overrides": list(overrides),
            **parameters,
        }

    def incorporate_memory(self, board: object) -> None:
        """Nothing but the ports connects the memory and `board`."""

    def get_mem_ports(self) -> Sequence[tuple[Any, Any]]:
        """The port of each range."""
        return [(memory.range, memory.port) for memory in self.ranges]

    def get_memory_controllers(self) -> list[Any]:
        """The memory of each range; the first has the controller."""
        return list(self.ranges)

    def get_size(self) -> int:
        """Bytes of memory over all ranges."""
        return self._size

    def set_memory_range(self, ranges: Sequence[Any]) -> None:
        """Spreads the memory over `ranges`, which the board has chosen.

        Raises:
            ValueError: they are not as large as the memory.
        """
        size = sum(found.size() for found in ranges)
        if size != self._size:
            raise ValueError(f"the ranges of the board have {size} bytes, and the memory {self._size}")
        memories: list[Any] = []
        for found in ranges:
            first = {"extends": memories[0]} if memories else {}
            memories.append(CounterpointMemory(range=found, **self._parameters, **first))
        self.ranges = memories

    def get_uninterleaved_range(self) -> list[Any]:
        """The ranges, which are never interleaved: the machine has channels of its own."""
        return [memory.range for memory in self.ranges]

    def power_fail(self, path: str = "") -> str:
        """Cuts power, and returns what that caused as a JSON document.

        Args:
            path: file of what memory reads as after the boot, the ranges one after the other; empty: none is written.
        """
        document: str = self.ranges[0].getCCObject().powerFail(path)
        return document
