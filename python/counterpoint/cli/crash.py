"""`crash`: power lost after events of a run, recovery, and the auditors' verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from .._engine import InputError
from ..contract.options import CrashOptions
from ..verbs import api, catalogue
from . import options, screen

if TYPE_CHECKING:
    from pathlib import Path

    from ..contract.results import Crash

VIOLATED = 1
_OF_THE_FIRST = (
    "at_event",
    "attack",
    "attack_every",
    "fault",
    "leave_out",
    "nested",
    "nested_depth",
    "omit_annotations",
    "points",
    "recover_keep",
    "stages",
)
"""Options of a call that say nothing of the design beside."""
_PROGRAM = ("transactions", "tx_size", "footprint", "cores", "seed", "warmup")
"""Options that must be those of the first run, also where they follow from its machine."""


@options.takes(CrashOptions, but=("shrink", "blame", "recover_keep"))
def crash(
    design: options.DesignName,
    workload: options.WorkloadName,
    no_shrink: Annotated[
        bool, typer.Option("--no-shrink", help="Do not look for smaller runs that break the same rules.")
    ] = False,
    no_blame: Annotated[bool, typer.Option("--no-blame", help="Do not find out what is to blame.")] = False,
    by_line: Annotated[
        bool, typer.Option("--by-line", help="Show which source lines of a recorded program explain the failures.")
    ] = False,
    beside: options.Beside = None,
    out: options.Out = None,
    as_json: options.Json = False,
    output_format: options.OutputFormat = None,
    **given: Unpack[CrashOptions],
) -> None:
    """Cut power after every event, recover, and prove or refute that nothing was lost or leaked."""
    shown = options.format_of(output_format, as_json)
    if by_line and given.get("recover") is None:
        raise InputError("--by-line: only a recovery of the program's own, --recover, says which memories fail")
    if beside is not None:
        _check_beside(design, beside, out, given)
    options.say_fewer("--recover-jobs", given.get("recover_jobs"))
    options.check_workers(given.get("workers") or 0)
    options.prepare_out(out)
    given |= {"shrink": False if no_shrink else None, "blame": False if no_blame else None}
    if given.get("recover") is not None:
        given["recover_keep"] = out
    verdict, interrupted = screen.kept_of(
        f"crashing {design} on {workload}",
        lambda progress: api.crash(design, workload, progress=progress, **given),
        lambda stop: stop.verdict,
    )
    _show(verdict, shown, by_line)
    if out is not None:
        from ..report import drawable, write_crash_page, write_json

        screen.note(f"verdict: {write_json(verdict.to_dict(), out / 'crash.json')}")
    if out is not None and not drawable(verdict):
        screen.note("no picture: the violation is in a legal state that belongs to no schedule")
    elif out is not None and not interrupted:
        other = None if beside is None else _beside(beside, verdict, out, given)
        with screen.progress(f"drawing {design} on {workload}") as progress:
            page = write_crash_page(verdict, out, beside=other, progress=progress)
        screen.note(f"page: {page}")
        if verdict.causes is None:
            screen.note(f"trace for Perfetto: {page.with_name('crash.trace.json')}")
    if interrupted:
        screen.stop_interrupted(f"{verdict.crash_points} crash points were tried")
    if verdict.holds is False:
        raise typer.Exit(VIOLATED)


def _check_beside(design: str, beside: str, out: Path | None, given: Mapping[str, Any]) -> None:
    """Refuses a design beside where there is no page to show it on, or nothing that it differs in."""
    if out is None:
        raise InputError("--beside: the page that shows both designs needs a folder, --out")
    if given.get("recover") is not None:
        raise InputError("--beside: a program with its own recovery, --recover, is judged on one design at a time")
    catalogue.check_names([design, beside])
    if not catalogue.described(beside)["crash_consistent"]:
        raise InputError(f"--beside: '{beside}' leaves nothing that a crash could test")
    left_out = given.get("fault") or given.get("leave_out") or given.get("omit_annotations")
    parts = any(one.startswith("design.") for one in given.get("set") or ())
    if catalogue.described(design)["name"] == catalogue.described(beside)["name"] and not (left_out or parts):
        raise InputError(f"--beside: '{beside}' is the design itself, of which nothing is left out")


def _beside(design: str, verdict: Crash, out: Path, given: Mapping[str, Any]) -> Crash:
    """The verdict on the same program on another design, whole, on the machine of the first."""
    from ..report import write_json

    asked = {name: value for name, value in given.items() if name not in _OF_THE_FIRST}
    asked |= {name: verdict.request[name] for name in _PROGRAM if name in verdict.request}
    asked["machine"] = catalogue.machine_for([verdict.request["design"]], given.get("machine"))
    asked |= {"shrink": False, "blame": False}
    asked["set"] = [one for one in given.get("set") or () if not one.startswith("design.")]
    with screen.progress(f"crashing {design} on {verdict.workload}") as progress:
        other = api.crash(
            design, verdict.request["workload"], progress=progress, **asked | {"shrink": False, "blame": False}
        )
    screen.note(f"verdict beside: {write_json(other.to_dict(), out / 'beside.json')}")
    return other


def _show(verdict: Crash, shown: options.Format, by_line: bool) -> None:
    """Prints a verdict in a format."""
    if shown == "json":
        screen.print_json(verdict.to_dict())
    elif shown == "text":
        from . import crash_table

        screen.output().print(crash_table.verdict(verdict, by_line=by_line), crop=False)
    else:
        from ..report import ci

        screen.print_document(ci.WRITTEN[shown](ci.of_crash(verdict)))
