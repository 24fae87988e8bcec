"""`annotations`: the check that a program's annotations suffice, and that it needs each of them."""

# No `from __future__ import annotations`: its name would hide the function's.

from typing import Unpack

import typer

from ..contract.options import AnnotationOptions
from ..verbs.annotation_checks import annotations, annotations_of
from . import options, screen
from .crash import VIOLATED


@options.takes(AnnotationOptions, but=("allow_truncated",))
def check(
    design: options.DesignName,
    workload: options.WorkloadName,
    as_json: options.Json = False,
    **given: Unpack[AnnotationOptions],
) -> None:
    """Check that a program's annotations suffice, and which of them it needs."""
    found, interrupted = screen.kept_of(
        f"crashing {design} on {workload} with and without annotations",
        lambda progress: annotations(design, workload, progress=progress, **given),
        lambda stop: stop.annotations,
    )
    if as_json:
        screen.print_json(found.to_dict())
    else:
        from . import annotation_table

        screen.output().print(annotation_table.annotation_check(found), crop=False)
    if interrupted:
        screen.stop_interrupted(f"{len(found.annotations)} of {len(annotations_of(design))} annotations were left out")
    if not found.holds:
        raise typer.Exit(VIOLATED)
