"""`litmus`: small crash runs, each for one sentence of a paper, and whether they end as they must."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs.litmus_suite import litmus as judge
from . import options, screen
from .crash import VIOLATED


def litmus(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Litmus tests; default all.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run the litmus tests, and check that what must break breaks and what must hold holds."""
    report, interrupted = screen.kept_of(
        "litmus tests", lambda progress: judge(options.names(names), progress=progress), lambda stop: stop.litmus
    )
    if as_json:
        screen.print_json(report.to_dict())
    else:
        from . import litmus_table

        screen.output().print(litmus_table.litmus(report), crop=False)
    if interrupted:
        screen.stop_interrupted(f"{len(report.verdicts)} rows were finished")
    if not report.as_expected:
        raise typer.Exit(VIOLATED)
