"""A matrix of runs: what they share, and the axes along which they differ.

A matrix is a table of three parts, as TOML::

    [base]                                     # what every run shares
    machine = "secpm"
    transactions = 500
    controller.aes_units = 8                   # a machine value goes by its path

    [axes]                                     # every value of one with every value of the others
    design = ["unencrypted", "secpm"]
    tx_size = [64, 1024]
    seed = { from = 1, to = 5 }
    device.t_wr_ns = { from = 100, to = 400, step = 100 }
    controller.counter_cache_size = { from = "64KiB", to = "4MiB", factor = 4 }

    [[zip]]                                    # values that go together: one axis, a list for each key
    controller.wpq_entries = [16, 32]
    controller.wpq_high_watermark = [12, 24]

Keys are the options of `run`, `design`, `workload`, machine values, and parts of the design (`design.write_path`). Runs
come in the order of the axes, the first one slowest; tables of `zip` come after them. A matrix that names no machine
has one for all its designs, the preset of the first.
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeAlias, get_type_hints

from .._engine import InputError
from ..contract.options import LineOptions, RunOptions
from ..contract.request import bytes_of, check_numbers, part, request
from ..contract.spec_files import Range, SweepFile, keys_of
from ..system.paths import read_bounded
from ..verbs import catalogue
from ..verbs.lines import is_line_trace

Value: TypeAlias = bool | int | float | str
"""The value of one key at one point."""

POINTS_MAX = 1_000_000
"""Largest number of points of one matrix; more is a typing error, and would not fit in memory."""

FILE_MAX = 16 << 20
"""Largest size of a file in bytes; a list with one number for each possible point takes less."""

PARTS = tuple(key for key in keys_of(SweepFile) if key != "name")
"""The tables of a matrix."""

_NAMES = ("design", "workload")
_CLOCK = "trace_clock_mhz"
"""The option that only traces of memory lines have."""

_OPTIONS = (*_NAMES, *(name for name in get_type_hints(RunOptions) if name != "set"), _CLOCK)
_NO_TABLES = tuple(f"{option}." for option in _OPTIONS if option != "design")
"""Keys of options with something behind them; `design.KEY` is a part of the design."""

_RANGE_KEYS = keys_of(Range)


@dataclass(frozen=True)
class Point:
    """One run of a matrix.

    Attributes:
        values: the values of the axes, in the order of the axes.
        request: the engine's request.
    """

    values: Mapping[str, Value]
    request: Mapping[str, Any]


@dataclass(frozen=True)
class Matrix:
    """Runs that differ along axes.

    Attributes:
        base: what all share.
        axes: the keys that differ and their values, in order; keys that go together have lists of one length.
        together: the keys of each axis, several where they go together.
        points: the runs.
    """

    base: Mapping[str, Value]
    axes: Mapping[str, tuple[Value, ...]]
    together: tuple[tuple[str, ...], ...]
    points: tuple[Point, ...]


def load(path: str | os.PathLike[str]) -> tuple[Matrix, dict[str, Any]]:
    """The matrix of a TOML file, and the other keys of the file.

    Raises:
        InputError: bad input, in one sentence that names the file.
    """
    place = os.fspath(path)
    document = read_toml(path)
    return parse(document, place), {key: value for key, value in document.items() if key not in PARTS}


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A TOML file as a document.

    Raises:
        InputError: it cannot be read, or is not TOML.
    """
    return document_and_text(path)[0]


def document_and_text(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """A TOML file as a document and as text; the file may be a pipe, which can be read only once.

    Raises:
        InputError: it cannot be read, is not TOML, or has a number that does not fit 64 bits.
    """
    place = os.fspath(path)
    read = read_bounded(path, FILE_MAX, "a sweep")
    try:
        text = read.decode()
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{place}' is not TOML: {error}") from None
    check_numbers(document, place)
    return document, text


def parse(document: Mapping[str, Any], place: str, changed: Mapping[str, Value] | None = None) -> Matrix:
    """The matrix that the tables `base`, `axes` and `zip` of a document describe.

    Args:
        document: the tables; other keys are ignored.
        place: the name of the document in sentences about bad input.
        changed: values that replace those of `base`, or fix what would be an axis.

    Raises:
        InputError: bad input, in one sentence.
    """
    changed = changed or {}
    base = dict(_entries(_table(document, "base", place), f"{place}: base"))
    for key, value in base.items():
        if not isinstance(value, bool | int | float | str):
            raise InputError(f"{place}: base.{key} is {shown(value)}; it must be one value, and lists belong in axes")
    base |= changed
    groups = [_axis(key, value, f"{place}: axes.{key}") for key, value in _axes(document, place)]
    groups += [_zipped(table, f"{place}: zip {number}") for number, table in enumerate(_zips(document, place), 1)]
    groups = [left for group in groups if (left := {k: v for k, v in group.items() if k not in changed})]
    _check_once(base, groups, place)
    axes = {key: values for group in groups for key, values in group.items()}
    size = math.prod(len(next(iter(group.values()))) for group in groups)
    if size > POINTS_MAX:
        raise InputError(f"{place}: the axes have {size} points; at most {POINTS_MAX} are allowed")
    for key in _NAMES:
        if key not in base and key not in axes:
            raise InputError(f"{place}: there is no {key}; give one in base, or several in axes")
    if "machine" not in base and "machine" not in axes:
        designs = [str(design) for design in axes.get("design", (base.get("design"),))]
        base["machine"] = catalogue.machine_for(designs, None)
    together = tuple(tuple(group) for group in groups)
    return Matrix(base, axes, together, tuple(_point(base, values) for values in _product(groups)))


def _product(groups: Sequence[Mapping[str, tuple[Value, ...]]]) -> Iterator[dict[str, Value]]:
    steps = [[dict(zip(group, row, strict=True)) for row in zip(*group.values(), strict=True)] for group in groups]
    for chosen in product(*steps):
        yield {key: value for part in chosen for key, value in part.items()}


def _point(base: Mapping[str, Value], values: Mapping[str, Value]) -> Point:
    asked = {**base, **values}
    options: dict[str, Any] = {key: value for key, value in asked.items() if key in _OPTIONS and key not in _NAMES}
    machine_values = {key: value for key, value in asked.items() if "." in key}
    if machine_values:
        options["set"] = machine_values
    design, workload = str(asked["design"]), str(asked["workload"])
    return Point(values, run_request(design, workload, options))


def run_request(design: str, workload: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's request for a run, on a program or on a trace of memory lines.

    The clock of a trace's cycles is left out where a program runs, and what is about programs where none does.

    Raises:
        InputError: a trace of memory lines cannot run like that.
    """
    if not is_of_lines(workload):
        return request(RunOptions, design, workload, {name: one for name, one in options.items() if name != _CLOCK})
    if (cores := options.get("cores", 1)) != 1:
        raise InputError(f"cores: {cores} cores cannot run {workload}, a trace of memory lines, which has none")
    return request(LineOptions, design, workload, part(LineOptions, options))


@cache
def is_of_lines(workload: str) -> bool:
    """Whether a workload is a trace of memory lines; what is wrong with another file, the engine says."""
    try:
        return is_line_trace(workload)
    except InputError:
        return False


def _table(document: Mapping[str, Any], name: str, place: str) -> Mapping[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, Mapping):
        raise InputError(f"{place}: {name} is {shown(table)}; it must be a table")
    return table


def _axes(document: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    return _entries(_table(document, "axes", place), f"{place}: axes")


def _zips(document: Mapping[str, Any], place: str) -> list[Mapping[str, Any]]:
    tables = document.get("zip", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise InputError(f"{place}: zip is {shown(tables)}; it must be tables, each begun by [[zip]]")
    return tables


def _axis(key: str, given: Any, place: str) -> dict[str, tuple[Value, ...]]:
    values = values_of(given, place)
    if len({(type(value), value) for value in values}) < len(values):
        raise InputError(f"{place} has a value twice")
    return {key: values}


def _zipped(table: Mapping[str, Any], place: str) -> dict[str, tuple[Value, ...]]:
    group = {key: values_of(value, f"{place}: {key}") for key, value in _entries(table, place)}
    lengths = {key: len(values) for key, values in group.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise InputError(f"{place}: lists that go together must be of one length ({counted})")
    rows = list(zip(*group.values(), strict=True))
    if len({tuple((type(value), value) for value in row) for row in rows}) < len(rows):
        raise InputError(f"{place} has the same values twice")
    return group


def _check_once(base: Mapping[str, Value], groups: Iterable[Mapping[str, Any]], place: str) -> None:
    seen = dict.fromkeys(base, "base")
    for group in groups:
        for key in group:
            if key in seen:
                raise InputError(f"{place}: {key} is given twice, in an axis and in {seen[key]}")
            seen[key] = "another axis"


def _entries(table: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    """Keys that are known, with their values."""
    return ((_known(key, place), value) for key, value in leaves(table))


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Keys with their values, tables flattened to paths; a range is a value."""
    for name, value in table.items():
        if isinstance(value, Mapping) and "from" not in value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _known(key: str, place: str) -> str:
    """`key`, if it is an option; the engine checks whether a machine value or a part of a design exists."""
    if key in _OPTIONS or ("." in key and not key.startswith(_NO_TABLES)):
        return key
    near = difflib.get_close_matches(key, _OPTIONS, n=1)
    question = f": did you mean '{near[0]}'?" if near else ""
    raise InputError(
        f"{place}: '{key}' does not exist{question} (known: {', '.join(_OPTIONS)}, and machine values and parts of the "
        "design by their path)"
    )


def values_of(given: Any, place: str) -> tuple[Value, ...]:
    """The values of an axis: those of a list, or of a range.

    Raises:
        InputError: it is neither.
    """
    if isinstance(given, Mapping):
        return _range(given, place)
    if not isinstance(given, list):
        raise InputError(f"{place} is {shown(given)}; it must be a list, or a range such as {{ from = 1, to = 4 }}")
    if not given:
        raise InputError(f"{place} is empty; it must have at least one value")
    for value in given:
        if not isinstance(value, bool | int | float | str):
            raise InputError(f"{place} has {shown(value)} in its list; it must be numbers, texts or booleans")
    return tuple(given)


def _range(given: Mapping[str, Any], place: str) -> tuple[Value, ...]:
    """A range of numbers, or of sizes, which come as whole bytes."""
    for name in given:
        if name not in _RANGE_KEYS:
            raise InputError(f"{place}: '{name}' is not a part of a range (known: {', '.join(_RANGE_KEYS)})")
    if "to" not in given:
        raise InputError(f"{place}: the range has no end; give 'to'")
    sizes = isinstance(given["from"], str) or isinstance(given["to"], str)
    first, last = (_number(given[name], f"{place}.{name}") for name in ("from", "to"))
    if first > last:
        raise InputError(f"{place}: the range goes from {given['from']} down to {given['to']}; it must go up")
    whole = sizes or (isinstance(first, int) and isinstance(last, int))
    try:
        found = _steps(given, first, last, place)
    except OverflowError:
        raise InputError(f"{place}: the range from {given['from']} to {given['to']} is too wide") from None
    values = tuple(dict.fromkeys(round(value) if whole and _is_close(value) else value for value in found))
    if sizes and not all(isinstance(value, int) for value in values):
        raise InputError(f"{place}: the range has a size that is not a whole number of bytes")
    return values


def _steps(given: Mapping[str, Any], first: int | float, last: int | float, place: str) -> list[int | float]:
    ways = [name for name in ("step", "factor", "points") if name in given]
    if len(ways) > 1:
        raise InputError(f"{place}: a range has one of step, factor and points, and this one has {' and '.join(ways)}")
    scale = given.get("scale", "linear")
    if scale not in ("linear", "log") or ("scale" in given and ways != ["points"]):
        raise InputError(f"{place}: scale is {shown(scale)}; it must be 'linear' or 'log', and go with points")
    if (ways == ["factor"] or scale == "log") and first <= 0:
        raise InputError(f"{place}: from is {given['from']}; a range by factors must begin above zero")
    if ways == ["points"]:
        return _spread(given["points"], first, last, log=scale == "log", place=place)
    step = _number(given.get(ways[0], 1) if ways else 1, f"{place}.{ways[0] if ways else 'step'}")
    if ways == ["factor"]:
        if step <= 1:
            raise InputError(f"{place}: factor is {step}; it must be above 1")
        count = math.floor(math.log(last / first) / math.log(step) + 1e-9) + 1
        return [first * step**i for i in range(min(count, POINTS_MAX + 1))]
    if step <= 0:
        raise InputError(f"{place}: step is {step}; it must be above zero")
    count = math.floor((last - first) / step + 1e-9) + 1
    return [first + step * i for i in range(min(count, POINTS_MAX + 1))]


def _spread(points: Any, first: int | float, last: int | float, *, log: bool, place: str) -> list[int | float]:
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= POINTS_MAX:
        raise InputError(f"{place}: points is {shown(points)}; it must be a whole number from 2 to {POINTS_MAX}")
    shares = [i / (points - 1) for i in range(points)]
    between = [first * (last / first) ** share if log else first + (last - first) * share for share in shares]
    if isinstance(first, int) and isinstance(last, int):
        return [round(value) for value in between]
    return [first, *between[1:-1], last]


def _number(value: Any, place: str) -> int | float:
    if isinstance(value, str):
        found = bytes_of(value)
        if found is None:
            raise InputError(f"{place} is '{value}'; it must be a number, or a size such as 4KiB")
        return found
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{place} is {shown(value)}; it must be a number")
    return value


def _is_close(value: int | float) -> bool:
    return abs(value - round(value)) < 1e-6


def shown(value: Any) -> str:
    """A value of a file in a sentence."""
    return f"'{value}'" if isinstance(value, str) else str(value)
