"""Types from documents: every type of the engine's answers is built from JSON by its annotations, so a key stands once.

A key that the engine adds is kept in `to_dict()` and does no harm here; one that is missing, unless it has a default,
is the engine's fault and says so.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ..._engine import EngineError

T = TypeVar("T")


@cache
def _fields(cls: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """The fields of a dataclass: name, key in a document, type, and whether a document may lack it.

    A name that Python keeps for itself has an underscore behind it.
    """
    hints = get_type_hints(cls)
    return tuple(
        (one.name, one.name.removesuffix("_"), hints[one.name], one.default is not dataclasses.MISSING)
        for one in dataclasses.fields(cls)
    )


def build(cls: type[T], document: Mapping[str, Any]) -> T:
    """A dataclass from a document, by its annotations."""
    values = {}
    described: Any = cls
    for name, key, hint, may_lack in _fields(described):
        if key in document:
            values[name] = _convert(hint, document[key])
        elif not may_lack:
            raise EngineError(f"the engine's answer has no key '{key}' for {cls.__name__}")
    return cls(**values)


def _convert(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if dataclasses.is_dataclass(part) or get_origin(part) is tuple]
        return _convert(parts[0], value) if parts and value is not None else value
    if get_origin(hint) is tuple:
        return tuple(_convert(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        return build(hint, value)  # type: ignore[arg-type]
    return value


def fits(hint: Any, value: Any) -> bool:
    """Whether a JSON value fits a type; an object may hold more keys than the type."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(fits(part, value) for part in get_args(hint))
    if hint is type(None):
        return value is None
    if hint is int or hint is float:
        kinds = int if hint is int else int | float
        # A number that does not fit a float, or is not a number, comes from an altered document.
        return isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if hint is str or hint is bool:
        return isinstance(value, hint)
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, list) and all(fits(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        described: Any = hint
        return isinstance(value, Mapping) and all(
            fits(part, value[key]) if key in value else may_lack for _, key, part, may_lack in _fields(described)
        )
    return True
