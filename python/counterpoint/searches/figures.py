"""The figures that goals name: those of a run, and of what its recovery costs.

Figures of runs are the keys of `run --json`, nested ones joined by an underscore, as in sweeps, and
`nvm_writes_per_transaction`; those of traces of memory lines are the keys of `replay --json`. Of recovery, on the
memory of the machine:

- `boot_time_ns`, `boot_papers_time_ns`, `boot_reads`, `boot_writes`, `boot_pads`, `boot_macs`, `boot_hashes`: the boot
  after the worst power failure;
- `battery_reads`, `battery_writes`, `battery_pads`, `battery_macs`, `battery_hashes`: what a battery does at that
  failure; 0 where there is none;
- `on_chip_bytes`, and of these `on_chip_adr_bytes`, `on_chip_non_volatile_bytes` and `on_chip_battery_bytes`: what
  survives a power failure on the chip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from .._engine import InputError
from ..contract.results import CacheLevel, DrainPart, LineRun, RecoveryCost, Run, Stats, Work
from ..contract.spec_files import Over
from ..system.units import near
from ..verbs.frames import flat

Figures: TypeAlias = Mapping[str, float | None]
"""Figures by name; None where a candidate has no such figure."""

_NO_FIGURES = ("schema", "host", "seed", "windows", "document")

_LISTED: Mapping[type, tuple[str, ...]] = {
    CacheLevel: ("1", "2", "3"),
    DrainPart: ("l1", "l2", "l3", "counter-cache", "encryption"),
}
"""What stands in lists of a run, by what distinguishes it, and is no figure itself."""

_PER_TRANSACTION = "nvm_writes_per_transaction"
_WORK = ("reads", "writes", "pads", "macs", "hashes")
_KEPT = ("adr", "non-volatile", "battery")
_SHARES = ("_rate", "_fraction")
"""Endings of figures that are at most 1."""


def of_run(document: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of a run."""
    figures = flat({name: value for name, value in document.items() if name not in _NO_FIGURES})
    found = {name: value for name, value in figures.items() if _is_number(value)}
    done = found.get("transactions")
    if done:
        found[_PER_TRANSACTION] = found["nvm_writes"] / done
    return found


def of_recovery(document: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of what recovery costs."""
    (cost,) = RecoveryCost.from_dict(document).costs
    boot, battery = cost.recovery, cost.battery
    found: dict[str, float | None] = {
        "boot_time_ns": None if boot is None else boot.time_ns,
        "boot_papers_time_ns": None if boot is None else boot.papers_ns,
        "on_chip_bytes": cost.on_chip_bytes,
    }
    found |= _work("boot", None if boot is None else boot.work, None) | _work("battery", battery, 0)
    for kept in _KEPT:
        found[_on_chip(kept)] = sum(item.bytes for item in cost.on_chip if item.kept == kept)
    return found


def _work(prefix: str, work: Work | None, without: int | None) -> dict[str, float | None]:
    """What a boot or a battery does; `without` each figure where there is no such work."""
    if work is None:
        return {f"{prefix}_{name}": without for name in _WORK}
    return {
        f"{prefix}_reads": work.reads.total,
        f"{prefix}_writes": work.writes.total,
        f"{prefix}_pads": work.pads,
        f"{prefix}_macs": work.macs,
        f"{prefix}_hashes": work.hashes,
    }


def over(figure: str, runs: Sequence[Figures], how: Over) -> float | None:
    """One number for a figure of several runs; None where one of them lacks it."""
    values = [run.get(figure) for run in runs]
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    return {"mean": math.fsum(known) / len(known), "max": max(known), "min": min(known)}[how]


def _on_chip(kept: str) -> str:
    return f"on_chip_{kept.replace('-', '_')}_bytes"


@cache
def known() -> tuple[str, ...]:
    """Every figure that a run or its recovery can have, whatever the design, the machine and the program."""
    of_boot = [f"{does}_{what}" for does in ("boot", "battery") for what in _WORK]
    of_boot += ["boot_time_ns", "boot_papers_time_ns", "on_chip_bytes", *map(_on_chip, _KEPT)]
    of_request = [name for name in get_type_hints(Run) if name in ("cores", "tx_size", "footprint")]
    of_lines = set(_numbers(LineRun)) - {"trace_clock_mhz"}
    return tuple(sorted({*of_boot, *of_request, _PER_TRANSACTION, *_numbers(Stats), *of_lines}))


def _numbers(kind: type, prefix: str = "") -> Iterator[str]:
    """The numbers of a document by joined names, as `flat` has them."""
    for name, hint in get_type_hints(kind).items():
        if name in _NO_FIGURES:
            continue
        parts = [part for part in (get_args(hint) or (hint,)) if part not in (type(None), Ellipsis)]
        for part in parts:
            if part in _LISTED:
                for item in _LISTED[part]:
                    yield from _numbers(part, f"{prefix}{name}_{item}_")
            elif get_origin(hint) is tuple:
                # What else stands in lists is no figure.
                continue
            elif is_dataclass(part) and isinstance(part, type):
                yield from _numbers(part, f"{prefix}{name}_")
            elif part in (int, float) and not (kind in _LISTED and name in ("level", "name")):
                yield f"{prefix}{name}"


def check(asked: Iterable[str], place: str = "") -> None:
    """Checks that figures exist.

    Raises:
        InputError: one does not, in a sentence that begins with the place.
    """
    for name in asked:
        if name not in known():
            raise InputError(f"{place}there is no figure '{name}'{near(name, known())}")


def check_limit(figure: str, at_most: float | None, at_least: float | None, place: str) -> None:
    """Checks that some value of a figure is within a limit.

    Raises:
        InputError: none is, in a sentence that begins with the place.
    """
    highest = 1.0 if figure.endswith(_SHARES) else math.inf
    for name, bound in (("at_most", at_most), ("at_least", at_least)):
        if bound is not None and not math.isfinite(bound):
            raise InputError(f"{place}.{name} is {bound}; it must be a finite number")
    if at_most is not None and at_most < 0:
        raise InputError(f"{place}.at_most is {at_most}; it must be at least 0, because no figure is below that")
    if at_least is not None and at_least > highest:
        raise InputError(f"{place}.at_least is {at_least}; it must be at most 1, because the figure is a share")
    if at_most is not None and at_least is not None and at_most < at_least:
        raise InputError(f"{place}: at_most is {at_most} and at_least is {at_least}, and no value is within both")


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
