"""What recovery costs: lines read and written, MACs, hashes, time, and the bytes on the chip that it relies on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Unpack

from .. import _engine
from ..contract.options import RecoveryOptions
from ..contract.request import bounded, check_design, completes, given
from ..contract.results import RecoveryCost
from ..system.errors import Interrupted
from . import api, catalogue

RECOVERY_MEMORY = ("16GiB", "64GiB", "256GiB", "1TiB", "4TiB", "16TiB")
"""The default sizes of memory of `recovery`."""


@completes(RecoveryOptions)
def recovery(
    designs: Sequence[str | os.PathLike[str]],
    *,
    measure: bool = True,
    progress: api.Progress | None = None,
    **options: Unpack[RecoveryOptions],
) -> list[RecoveryCost]:
    """What the recovery of designs costs, all on one machine, for every size of memory and of the metadata caches.

    Args:
        designs: names of designs, or paths of design files.
        measure: also recover a small memory of each design and count what its boot does.
        progress: told how much is known.
        **options: see `RecoveryOptions`; the machine defaults to the first design's preset, and `memory` to
            `RECOVERY_MEMORY`.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    names = list(designs)
    if not names:
        raise _engine.InputError("there is nothing to recover: name at least one design")
    catalogue.check_names(names)
    machine = catalogue.machine_for(names, options.get("machine"))
    asked: dict[str, Any] = {"memory": list(RECOVERY_MEMORY), "measure": measure}
    asked |= given(RecoveryOptions, {**options, "machine": machine})
    bounded("memory with each size of cache", product(asked["memory"], asked.get("cache", [None])))
    return [_of(design, asked, place, len(names), progress) for place, design in enumerate(names)]


def compared(
    designs: Sequence[str | os.PathLike[str]], protecting: Iterable[str], **options: Unpack[RecoveryOptions]
) -> list[RecoveryCost]:
    """The costs of the designs of a comparison on its own machine, if one of them protects integrity; else none.

    Args:
        designs: those compared, the first of which chooses the machine.
        protecting: the names of those that protect integrity.
        **options: see `RecoveryOptions`; the memory is that of the machine.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    if not any(protecting):
        return []
    own: RecoveryOptions = {"memory": [], **options}
    return recovery(designs, measure=False, **own)


def _of(
    design: str | os.PathLike[str],
    asked: dict[str, object],
    place: int,
    designs: int,
    progress: api.Progress | None,
) -> RecoveryCost:
    def tell(done: int, total: int) -> None:
        if progress is not None:
            progress(place * total + done, designs * total)

    request = {**asked, "design": check_design(design)}
    try:
        return RecoveryCost.from_dict(json.loads(_engine.recovery(json.dumps(request), tell)))
    except _engine.Interrupted:
        raise Interrupted from None
