"""What a user asks for, as the request the engine reads.

Names, sizes and ranges are judged by the engine, which knows them; here only what JSON could not carry is refused.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args, get_type_hints

from .._engine import InputError
from ..system.units import excerpt

Size: TypeAlias = int | str
"""Bytes: a number, or text such as `"4KiB"`, `"256MiB"`, `"1GiB"`."""

Span: TypeAlias = int | float | str
"""Simulated time: nanoseconds, or text such as `"500ns"`, `"10us"`, `"1ms"`."""

Variant: TypeAlias = Literal["published", "hardened"]
"""Which reading of a paper is built if its text, read literally, is unsafe."""

ANNOTATIONS_OF: Mapping[str, Mapping[str, str]] = {
    "annotated": {
        "prepare-counter-cache-writeback": "prepare",
        "mutate-counter-cache-writeback": "mutate",
        "commit-counter-atomic": "commit",
    },
    "hardware-logged": {"flush-data": "mutate"},
}
"""What a programmer adds to a transaction, by the form of the program (counter-atomicity section 4.3, easy-pm section
III-A): annotations in program order, each with its stage."""

ANNOTATIONS: Mapping[str, str] = {
    name: stage for annotations in ANNOTATIONS_OF.values() for name, stage in annotations.items()
}
"""All annotations, each with its stage."""

PROGRAM_STEPS: Mapping[str, str] = {
    "prepare-flush": "prepare",
    "prepare-fence": "prepare",
    "log-end-tag": "prepare",
    "mutate-flush": "mutate",
    "mutate-fence": "mutate",
    "commit-flush": "commit",
    "commit-fence": "commit",
}
"""Steps of a transaction without which a program is wrong on any memory, in program order, each with its stage.
Programs of the form `flush-free` have all except the flushes, `hardware-logged` ones none; a program without a log has
neither `log-end-tag` nor the steps of `mutate`."""

T = TypeVar("T")
Call = TypeVar("Call", bound=Callable[..., Any])
Options = TypeVar("Options", bound=Mapping[str, object])

LIST_MAX = 64
"""Most sizes, numbers of cores, figures and programs of one call. For more there are sweeps, which keep results."""

_U64_MAX = 2**64 - 1


_DIGITS_MAX = len(str(_U64_MAX))


def request(
    kind: Any, design: str | os.PathLike[str], workload: str | os.PathLike[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """One request, with only the options that were given.

    Args:
        kind: one of the types in `options`, whose keys the request may have.
        design: name of a design.
        workload: name of a workload, or path of a trace.
        options: the options given; None, and False for what is off by default, are the same as not given.

    Raises:
        TypeError: an option that does not exist.
        InputError: a value that no request can have, such as a number that is negative or does not fit 64 bits.
    """
    return {"design": check_design(design), "workload": os.fspath(workload), **given(kind, options)}


def given(kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request that holds the options that were given; see `request`."""
    asked: dict[str, Any] = {}
    checks = _checks(kind)
    for name, value in options.items():
        if name not in checks:
            raise TypeError(f"unexpected keyword argument '{name}'; the options are {', '.join(sorted(checks))}")
        if value is None or (value is False and checks[name] is not switch):
            continue
        checked = checks[name](name, value)
        if checked is not None:
            asked[name] = checked
    return asked


def part(kind: type[Options], options: Mapping[str, Any]) -> Options:
    """The given options that a call of type `kind` takes."""
    names = get_type_hints(kind)
    return cast(Options, {name: value for name, value in options.items() if name in names})


def completes(kind: Any) -> Callable[[Call], Call]:
    """Gives a call of `**options: Unpack[kind]` a signature with each option, which Jupyter and IPython complete."""
    hints = get_type_hints(kind)

    def with_options(call: Call) -> Call:
        signature = inspect.signature(call)
        stated = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in hints.items()
            if name not in signature.parameters
        ]
        described = cast(Any, call)
        described.__signature__ = signature.replace(parameters=[*stated, *shared])
        return call

    return with_options


@cache
def _checks(kind: Any) -> dict[str, Callable[[str, Any], Any]]:
    """What checks the value of each option of a kind of request."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items()}


def check_design(value: object) -> str:
    """`value`, the name of a design or the path of a design file. That there is one the engine checks, which knows the
    nearest name."""
    return check_name("design", os.fspath(value) if isinstance(value, os.PathLike) else value)


def count(name: str, value: object) -> int:
    """`value`, a whole number that fits 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is '{value}'; it must be a whole number")
    if not 0 <= value <= _U64_MAX:
        raise InputError(f"{name} is {shown_number(value)}; it must be a whole number from 0 to 2^64-1")
    return value


def digits(text: str) -> int | None:
    """`text` as a whole number: ASCII digits only, and it must fit 64 bits; else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def shown_number(value: int) -> str:
    """A number in a sentence; one of thousands of digits is cut."""
    return str(value) if abs(value) <= _U64_MAX**2 else f"a number of {value.bit_length()} bits"


def check_numbers(value: object, place: str) -> None:
    """Refuses numbers that no 64 bits hold, in a document of tables and lists.

    Raises:
        InputError: with where it stands.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            check_numbers(inner, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for inner in value:
            check_numbers(inner, place)
    elif isinstance(value, int) and not -(2**63) <= value <= _U64_MAX:
        raise InputError(f"{place} is {shown_number(value)}; it must be a number from -2^63 to 2^64-1")


def size(name: str, value: object) -> Size:
    """`value`, a number of bytes; text with a unit is left for the engine to read."""
    if isinstance(value, str):
        whole = digits(value)
        return value if whole is None or whole > _U64_MAX else whole
    return count(name, value)


def span(name: str, value: object) -> Span:
    """`value`, a number of nanoseconds; text is left for the engine to read."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"{name} is {value!r}; it must be a time, as in 500ns, 10us or 1ms")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name} is {value}; it must be a time, as in 500ns, 10us or 1ms")
    if isinstance(value, int):
        check_numbers(value, name)
    return value


def sizes(name: str, values: Size | Iterable[object]) -> list[Size]:
    """`values`, numbers of bytes, at most `LIST_MAX`; a text may be a comma list of them."""
    if isinstance(values, str):
        values = values.split(",")
    return [size(name, value) for value in bounded(name, [values] if isinstance(values, int) else values)]


def bounded(name: str, values: Iterable[T]) -> list[T]:
    """`values`, which something is computed for each of.

    Raises:
        InputError: there are more than `LIST_MAX`.
    """
    found = list(values)
    if len(found) > LIST_MAX:
        raise InputError(f"{name} has {len(found)} values; at most {LIST_MAX} are allowed")
    return found


def bytes_of(value: Size) -> int | None:
    """`value` in bytes; None if it is not a size, which the engine refuses."""
    if isinstance(value, int):
        return value
    found = re.fullmatch(rf"([0-9]{{1,{_DIGITS_MAX}}})(|B|KiB|MiB|GiB|TiB)", value)
    return int(found[1]) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(found[2] or "B") if found else None


def check_points(name: str, value: object) -> int | str:
    """Crash points: `"all"` or how many."""
    if value == "all":
        return "all"
    if isinstance(value, str):
        value = digits(value) or value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _U64_MAX:
        shown = shown_number(value) if isinstance(value, int) else excerpt(str(value))
        raise InputError(f"{name} is '{shown}'; it must be 'all' or a whole number above zero")
    return value


def check_leave_out(name: str, value: object) -> str:
    """`value`, one of `ANNOTATIONS` or `PROGRAM_STEPS`."""
    all_names = (*ANNOTATIONS, *PROGRAM_STEPS)
    if isinstance(value, str) and value in all_names:
        return value
    text, known = str(value), ", ".join(all_names)
    begun = [meant for meant in all_names if text and meant.startswith(text)]
    near = begun or difflib.get_close_matches(text, all_names, n=1)
    question = f": did you mean '{near[0]}'?" if near else ""
    raise InputError(f"{name} '{text}' does not exist{question} (known: {known})")


def check_name(option: str, value: object) -> str:
    """`value`, a name that the engine knows or refuses."""
    if not isinstance(value, str):
        raise InputError(f"{option} is '{value}'; it must be a name")
    return value


def check_names(option: str, values: Iterable[object]) -> list[str]:
    """`values`, names; one text is one name."""
    return [check_name(option, value) for value in ([values] if isinstance(values, str) else values)]


def counts(name: str, values: Iterable[object]) -> list[int]:
    """`values`, whole numbers; one number is a list of one."""
    return [count(name, value) for value in ([values] if isinstance(values, (int, str)) else values)]


def flag(name: str, value: object) -> bool | None:
    """True, or None for off, which is the default."""
    del name
    return True if value else None


def switch(name: str, value: object) -> bool:
    """On or off, for an option that is not off by default."""
    del name
    return bool(value)


def path(name: str, value: str | os.PathLike[str]) -> str:
    """The path of a file or folder as text, or a name given instead of a path."""
    del name
    return os.fspath(value)


def assignments(name: str, values: Mapping[str, object] | Iterable[str]) -> list[str]:
    """Machine values to change, each as `path=value`."""
    if isinstance(values, str):
        return [values]
    if isinstance(values, Mapping):
        check_numbers(values, name)
        return [f"{path}={literal(value)}" for path, value in values.items()]
    return list(values)


def literal(value: object) -> str:
    """A value as `--set` and machine files write it."""
    if isinstance(value, list | tuple):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
