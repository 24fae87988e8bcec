"""`cite`: what a paper says of a run."""

from __future__ import annotations

from typing import Unpack

from ..contract.options import RunOptions
from ..system import units
from . import options, screen


@options.takes(RunOptions)
def cite(
    design: options.DesignName,
    workload: options.WorkloadName,
    as_json: options.Json = False,
    **given: Unpack[RunOptions],
) -> None:
    """Print what a paper says of a run: configuration, version, digest, and an entry of BibTeX."""
    from ..runs.citation import cite as cited
    from ..runs.citation import is_built_in

    found = cited(design, workload, **given)
    if as_json:
        screen.print_json(found.to_dict())
        return
    asked = found.configuration
    size = f", {units.size(asked['tx_size'])} transactions" if is_built_in(workload) else ""
    machine = units.name_of(asked["machine"]["name"])
    screen.print_text(
        f"{asked['design']} ({asked['variant']}) on {units.name_of(asked['workload'])}, machine {machine}{size}, "
        f"{units.count_of(asked['cores'], 'core')}, seed {asked['seed']}\n\n"
        f"version       {found.version}\n"
        f"engine build  {found.engine_build}\n"
        f"digest        {found.digest}\n"
        f"command       {found.command}\n\n"
        f"{found.bibtex}".rstrip("\n")
    )
