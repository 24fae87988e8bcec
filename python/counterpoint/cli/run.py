"""`run`: one simulation and all its figures."""

from __future__ import annotations

from typing import Unpack

from ..contract.options import SingleRunOptions
from ..verbs import api, frames
from . import options, screen
from .written import Files


@options.takes(SingleRunOptions)
def run(
    design: options.DesignName,
    workload: options.WorkloadName,
    top: options.Top = options.TOP,
    csv: options.Csv = None,
    parquet: options.Parquet = None,
    as_json: options.Json = False,
    **given: Unpack[SingleRunOptions],
) -> None:
    """Simulate one design on one workload or trace."""
    files = Files(csv, parquet)
    with screen.progress(f"{design} on {workload}") as progress:
        result = api.run(design, workload, progress=progress, **given)
    if as_json:
        screen.print_json(result.to_dict())
    else:
        from . import run_table, site_table

        screen.output().print(run_table.one_run(result))
        if result.sites is not None:
            screen.output().print(site_table.site_table([result], top))
    files.write(lambda: frames.frame([result]))
