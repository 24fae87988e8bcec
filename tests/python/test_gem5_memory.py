"""The memory for gem5's boards, with small stand-ins for gem5's modules."""

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest


class Range:
    """gem5's AddrRange, as far as it is used."""

    def __init__(self, start: int, length: int) -> None:
        self.start, self.length = start, length

    def size(self) -> int:
        return self.length


class Memory:
    """gem5's object for the memory: it keeps its parameters."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters, self.range, self.port = parameters, parameters["range"], object()

    def getCCObject(self) -> "Memory":
        return self

    def powerFail(self, path: str) -> str:
        return f'{{"path": "{path}"}}'


class AbstractMemorySystem:
    """gem5's base of memories: a SimObject, which takes no attribute but private ones and objects of the system."""

    def __setattr__(self, name: str, value: Any) -> None:
        children = isinstance(value, list) and bool(value) and all(isinstance(one, Memory) for one in value)
        if not name.startswith("_") and not isinstance(value, Memory) and not children:
            raise AttributeError(f"Class {type(self).__name__} has no parameter {name}")
        super().__setattr__(name, value)


@pytest.fixture
def encrypted_memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class, imported with the stand-ins."""
    contents: dict[str, dict[str, Any]] = {
        "gem5": {},
        "gem5.components": {},
        "gem5.components.memory": {},
        "gem5.components.memory.abstract_memory_system": {"AbstractMemorySystem": AbstractMemorySystem},
        "m5": {},
        "m5.objects": {"CounterpointMemory": Memory},
        "m5.util": {},
        "m5.util.convert": {"toMemorySize": lambda text: int(text.removesuffix("MiB")) << 20},
    }
    for name, members in contents.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "counterpoint.gem5", raising=False)
    yield importlib.import_module("counterpoint.gem5").EncryptedMemory
    sys.modules.pop("counterpoint.gem5", None)


def test_ranges_around_a_hole_are_one_memory(encrypted_memory: Any) -> None:
    memory = encrypted_memory("4096MiB", design="sca", overrides=["device.capacity=8GiB"], hold_evictions=True)
    low, high = Range(0, 3 << 30), Range(1 << 32, 1 << 30)
    memory.set_memory_range([low, high])
    first, second = memory.get_memory_controllers()
    assert first.parameters == {
        "range": low,
        "design": "sca",
        "variant": "hardened",
        "machine": "",
        "overrides": ["device.capacity=8GiB"],
        "hold_evictions": True,
    }
    assert second.parameters["extends"] is first
    assert memory.get_mem_ports() == [(low, first.port), (high, second.port)]
    assert memory.get_uninterleaved_range() == [low, high]
    assert memory.get_size() == 4 << 30
    assert memory.power_fail("image") == '{"path": "image"}'


def test_ranges_of_another_size_are_refused(encrypted_memory: Any) -> None:
    memory = encrypted_memory("512MiB")
    with pytest.raises(ValueError, match="have 1 bytes, and the memory 536870912"):
        memory.set_memory_range([Range(0, 1)])
