"""The figures that goals name: those of a run, and of what its recovery costs.

Figures of runs are the keys of `run --json`, nested ones joined by an underscore, as in sweeps, and
`nvm_writes_per_transaction`. Of recovery, on the memory of the machine:

- `boot_time_ns`, `boot_papers_time_ns`, `boot_reads`, `boot_writes`, `boot_pads`, `boot_macs`, `boot_hashes`: the boot
  after the worst power failure;
- `battery_reads`, `battery_writes`, `battery_pads`, `battery_macs`, `battery_hashes`: what a battery does at that
  failure; 0 where there is none;
- `on_chip_bytes`, and of these `on_chip_adr_bytes`, `on_chip_non_volatile_bytes` and `on_chip_battery_bytes`: what
  survives a power failure on the chip.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from .._engine import InputError
from ..frames import flat
from ..results import RecoveryCost
from ..results.recovery import Work
from .goals import Over, near

Figures: TypeAlias = Mapping[str, float | None]
"""Figures by name; None where a candidate has no such figure."""

_NO_FIGURES = ("schema", "host", "seed")


def of_run(document: Mapping[str, Any]) -> dict[str, float | None]:
    """The figures of a run."""
    figures = flat({name: value for name, value in document.items() if name not in _NO_FIGURES})
    found = {name: value for name, value in figures.items() if _is_number(value)}
    done = found.get("transactions")
    if done:
        found["nvm_writes_per_transaction"] = found["nvm_writes"] / done
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
    for kept in ("adr", "non-volatile", "battery"):
        amount = sum(item.bytes for item in cost.on_chip if item.kept == kept)
        found[f"on_chip_{kept.replace('-', '_')}_bytes"] = amount
    return found


def _work(prefix: str, work: Work | None, without: int | None) -> dict[str, float | None]:
    """What a boot or a battery does; `without` each figure where there is no such work."""
    if work is None:
        return {f"{prefix}_{name}": without for name in ("reads", "writes", "pads", "macs", "hashes")}
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


def check(asked: Iterable[str], known: Sequence[str], place: str = "") -> None:
    """Checks that figures exist.

    Raises:
        InputError: one does not, in a sentence that begins with the place.
    """
    for name in asked:
        if name not in known:
            raise InputError(f"{place}there is no figure '{name}'{near(name, known)}")


def names(runs: Iterable[Figures]) -> list[str]:
    """The figures that there are."""
    return sorted({name for run in runs for name in run})


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
