"""`designs`, `parts`, `workloads`, `machines`, `faults`: what exists, one line each; `include`: where the header is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, get_args

import typer

from ..contract.request import Variant
from ..verbs import catalogue
from . import screen
from .options import Json


def designs(
    design: Annotated[
        str | None, typer.Argument(metavar="DESIGN", help="One design, by name or file: its parts.")
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print the design file of a built-in design.")] = False,
    as_json: Json = False,
) -> None:
    """List the designs, each with its paper, or the parts of one."""
    if toml:
        if design is None or as_json:
            raise typer.BadParameter("--toml prints the file of one design: name the design, and leave out --json")
        return screen.output().print(
            catalogue.design_file(design), end="", markup=False, highlight=False, soft_wrap=True
        )
    if design is not None:
        return _parts_of(design, as_json)
    found = catalogue.designs()
    if as_json:
        return _print_json(designs=found)
    table = screen.columns("design", "what it is", "crash test", "paper")
    for known in found:
        table.add_row(known.name, known.summary, "yes" if known.crash_consistent else "no", known.paper)
    return screen.output().print(table)


def _parts_of(design: str, as_json: bool) -> None:
    found = catalogue.design(design)
    readings = {variant: catalogue.design_parts(design, variant) for variant in get_args(Variant)}
    if as_json:
        return screen.print_json({"schema": 1, "design": dataclasses.asdict(found) | {"parts": readings}})
    screen.output().print(f"{found.name}: {found.summary} ({found.paper})", highlight=False)
    table = screen.columns("part", *readings)
    known = [part.key for part in catalogue.parts()]
    stated = {key for parts in readings.values() for key in parts}
    for key in [*(key for key in known if key in stated), *sorted(stated.difference(known))]:
        table.add_row(key, *(_shown(parts.get(key)) for parts in readings.values()))
    return screen.output().print(table)


def _shown(value: object) -> str:
    """A part as a cell of a table; an absent register, and a part without effect, are a dash."""
    match value:
        case None | "absent":
            return "-"
        case list():
            return ", ".join(map(str, value)) or "nothing"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def parts(as_json: Json = False) -> None:
    """List the parts that a design file can name: what each means, and which paper has it."""
    found = catalogue.parts()
    if as_json:
        return _print_json(parts=found)
    table = screen.columns("part", "value", "what it means", "paper")
    for part in found:
        table.add_section()
        table.add_row(part.key, "", part.meaning, "")
        for value in part.values:
            table.add_row("", value.name, value.meaning, value.paper)
    return screen.output().print(table)


def workloads(as_json: Json = False) -> None:
    """List the workloads, and the probes, which measure memory and keep nothing."""
    found, probes = catalogue.workloads(), catalogue.probes()
    if as_json:
        return _print_json(workloads=found, probes=probes)
    table = screen.columns("workload", "what it does", "undo log")
    for workload in found:
        table.add_row(workload.name, workload.summary, "yes" if workload.has_log else "no")
    table.add_section()
    for probe in probes:
        table.add_row(probe.name, probe.summary, "probe")
    return screen.output().print(table)


def machines(as_json: Json = False) -> None:
    """List the machine presets, each with the table it comes from."""
    found = catalogue.machines()
    if as_json:
        return _print_json(machines=found)
    table = screen.columns("machine", "source")
    for machine in found:
        table.add_row(machine.name, machine.source)
    return screen.output().print(table)


def faults(as_json: Json = False) -> None:
    """List the mechanisms that crash --fault can switch off."""
    found = catalogue.faults()
    if as_json:
        return _print_json(faults=found)
    table = screen.columns("fault", "what is switched off", "designs")
    for fault in found:
        table.add_row(fault.name, fault.summary, ", ".join(fault.designs))
    return screen.output().print(table)


def include() -> None:
    """Print the folder of counterpoint_program.h, for the -I of a compiler."""
    from ..verbs.recorder import INCLUDE

    screen.print_text(str(INCLUDE))


def _print_json(**lists: Sequence[Any]) -> None:
    screen.print_json(
        {"schema": 1, **{key: [dataclasses.asdict(one) for one in found] for key, found in lists.items()}}
    )
