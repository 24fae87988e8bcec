"""What a user asks for, as the request the engine reads.

Names, sizes and ranges are judged by the engine, which knows them; here only what JSON could not carry is refused.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict, get_type_hints

from ._engine import InputError
from .units import excerpt

Size: TypeAlias = int | str
"""Bytes: a number, or text such as `"4KiB"`, `"256MiB"`, `"1GiB"`."""

Variant: TypeAlias = Literal["published", "hardened"]
"""Which reading of a paper is built where its text, read literally, is unsafe."""

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
Programs of the form `flush-free` have those that are no flushes, `hardware-logged` ones none; a program without a log
has neither `log-end-tag` nor those of `mutate`."""

_U64_MAX = 2**64 - 1


class CommonOptions(TypedDict, total=False):
    """Keyword options that every simulation takes. None, or leaving one out, means the default.

    Attributes:
        variant: `"hardened"` (default) or `"published"`.
        machine: a preset's name or the path of a TOML file; default the design's own preset.
        set: machine values to change, `{"controller.wpq_entries": 64}` or `["controller.wpq_entries=64"]`.
        transactions: measured transactions per core.
        warmup: transactions per core before measuring begins.
        footprint: bytes of populated structure, the total over all cores.
        seed: seed of every random stream.
        allow_truncated: replay the good part of a trace that is cut off.
    """

    variant: Variant | None
    machine: str | os.PathLike[str] | None
    set: Mapping[str, object] | Iterable[str] | None
    transactions: int | None
    warmup: int | None
    footprint: Size | None
    seed: int | None
    allow_truncated: bool


class RunOptions(CommonOptions, total=False):
    """Keyword options of a single simulation: the common ones, and the two that `compare` takes lists of.

    Attributes:
        tx_size: bytes of user data in a transaction, a multiple of 64.
        cores: cores, one program instance each.
    """

    tx_size: Size | None
    cores: int | None


_OPTIONS = frozenset(get_type_hints(RunOptions))
_DIGITS_MAX = len(str(_U64_MAX))
_COUNTS = ("transactions", "warmup", "cores", "seed")


def request(design: str, workload: str | os.PathLike[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """One request, with nothing in it that was not asked for.

    Raises:
        TypeError: an option that does not exist.
        InputError: a number that is not whole, is negative, or does not fit 64 bits.
    """
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"unexpected keyword argument '{name}'; the options are {', '.join(sorted(_OPTIONS))}")
    asked = {name: value for name, value in options.items() if value is not None and value is not False}
    for name in _COUNTS:
        if name in asked:
            asked[name] = count(name, asked[name])
    for name in ("tx_size", "footprint"):
        if name in asked:
            asked[name] = size(name, asked[name])
    if "machine" in asked:
        asked["machine"] = os.fspath(asked["machine"])
    if "set" in asked:
        asked["set"] = _assignments(asked["set"])
    return {"design": design, "workload": os.fspath(workload), **asked}


def count(name: str, value: object) -> int:
    """`value`, a whole number that 64 bits hold."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} is '{value}'; it must be a whole number")
    if not 0 <= value <= _U64_MAX:
        raise InputError(f"{name} is {shown_number(value)}; it must be a whole number from 0 to 2^64-1")
    return value


def digits(text: str) -> int | None:
    """The whole number that `text` is: digits of ASCII and nothing else, as many as 64 bits may have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX else None


def shown_number(value: int) -> str:
    """A number in a sentence, where one of thousands of digits tells nothing."""
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


def bytes_of(value: Size) -> int | None:
    """`value` in bytes; None where it is no size, which the engine refuses."""
    if isinstance(value, int):
        return value
    found = re.fullmatch(rf"([0-9]{{1,{_DIGITS_MAX}}})(|B|KiB|MiB|GiB|TiB)", value)
    return int(found[1]) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(found[2] or "B") if found else None


def check_points(value: object) -> int | str:
    """Crash points: `"all"` or how many."""
    if value == "all":
        return "all"
    if isinstance(value, str):
        value = digits(value) or value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _U64_MAX:
        shown = shown_number(value) if isinstance(value, int) else excerpt(str(value))
        raise InputError(f"points is '{shown}'; it must be 'all' or a whole number above zero")
    return value


def check_leave_out(name: object) -> str:
    """`name`, one of `ANNOTATIONS` or `PROGRAM_STEPS`."""
    all_names = (*ANNOTATIONS, *PROGRAM_STEPS)
    if isinstance(name, str) and name in all_names:
        return name
    text, known = str(name), ", ".join(all_names)
    begun = [meant for meant in all_names if text and meant.startswith(text)]
    near = begun or difflib.get_close_matches(text, all_names, n=1)
    question = f": did you mean '{near[0]}'?" if near else ""
    raise InputError(f"leave_out '{text}' does not exist{question} (known: {known})")


def check_name(option: str, value: object) -> str:
    """`value`, a name that the engine knows or refuses."""
    if not isinstance(value, str):
        raise InputError(f"{option} is '{value}'; it must be a name")
    return value


def _assignments(values: Mapping[str, object] | Iterable[str]) -> list[str]:
    if isinstance(values, str):
        return [values]
    if isinstance(values, Mapping):
        check_numbers(values, "set")
        return [f"{path}={literal(value)}" for path, value in values.items()]
    return list(values)


def literal(value: object) -> str:
    """A value as `--set` and machine files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
