"""Types from documents: every type of the engine's answers is built from JSON by its annotations, so a key stands once.

A key that the engine adds is kept in `to_dict()` and does no harm here; one that is missing, unless it has a default,
is the engine's fault and says so.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache, partial
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


@cache
def _builder(cls: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Makes dataclasses of one type.

    What follows from its annotations is found out once: documents have thousands of rows.
    """
    fields = [(name, key, _converter(hint), may_lack) for name, key, hint, may_lack in _fields(cls)]

    def make(document: Mapping[str, Any]) -> Any:
        values = {}
        for name, key, convert, may_lack in fields:
            if key in document:
                value = document[key]
                values[name] = value if convert is None else convert(value)
            elif not may_lack:
                raise EngineError(f"the engine's answer has no key '{key}' for {cls.__name__}")
        return cls(**values)

    return make


def build(cls: type[T], document: Mapping[str, Any]) -> T:
    """A dataclass from a document, by its annotations."""
    kind: Any = cls
    made: T = _builder(kind)(document)
    return made


def _converter(hint: Any) -> Callable[[Any], Any] | None:
    """Makes a value of a type from JSON; `None` if JSON's value is one."""
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if dataclasses.is_dataclass(part) or get_origin(part) is tuple]
        return _unless_none(_converter(parts[0])) if parts else None
    if get_origin(hint) is tuple:
        convert = _converter(get_args(hint)[0])
        return tuple if convert is None else (lambda items: tuple(map(convert, items)))
    # Found when the first document comes: a type may have itself among its fields.
    kind: Any = hint
    return partial(build, kind) if dataclasses.is_dataclass(hint) else None


def _unless_none(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return convert and (lambda value: None if value is None else convert(value))


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
