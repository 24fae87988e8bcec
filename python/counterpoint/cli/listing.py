"""`designs`, `workloads`, `machines`, `faults`: what exists, one line each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from .. import api
from . import screen
from .options import Json


def designs(as_json: Json = False) -> None:
    """List the designs, each with its paper."""
    found = api.designs()
    if as_json:
        return _print_json("designs", found)
    table = _table("design", "what it is", "crash test", "paper")
    for design in found:
        table.add_row(design.name, design.summary, "yes" if design.crash_consistent else "no", design.paper)
    return screen.output().print(table)


def workloads(as_json: Json = False) -> None:
    """List the workloads."""
    found = api.workloads()
    if as_json:
        return _print_json("workloads", found)
    table = _table("workload", "what it does", "undo log")
    for workload in found:
        table.add_row(workload.name, workload.summary, "yes" if workload.has_log else "no")
    return screen.output().print(table)


def machines(as_json: Json = False) -> None:
    """List the machine presets, each with the table it comes from."""
    found = api.machines()
    if as_json:
        return _print_json("machines", found)
    table = _table("machine", "source")
    for machine in found:
        table.add_row(machine.name, machine.source)
    return screen.output().print(table)


def faults(as_json: Json = False) -> None:
    """List the mechanisms that crash --fault can switch off."""
    found = api.faults()
    if as_json:
        return _print_json("faults", found)
    table = _table("fault", "what is switched off", "designs")
    for fault in found:
        table.add_row(fault.name, fault.summary, ", ".join(fault.designs))
    return screen.output().print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, column in enumerate(columns):
        table.add_column(column, no_wrap=index == 0, style="bold" if index == 0 else "")
    return table


def _print_json(key: str, found: Sequence[Any]) -> None:
    screen.print_json({"schema": 1, key: [dataclasses.asdict(item) for item in found]})
