"""Packages whose names are imported when they are first used, so that a command loads only what it needs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def names_of(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, which shows its `__all__`.

    No name may be that of a module of the package: importing that module would set the name.

    Args:
        package: its `__name__`.
        modules: the names that the package has from each of its modules.
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    namespace = vars(sys.modules[package])

    def attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        namespace[name] = getattr(importlib.import_module(f"{package}.{module_of[name]}"), name)
        return namespace[name]

    def names() -> list[str]:
        return sorted(namespace["__all__"])

    return attribute, names
