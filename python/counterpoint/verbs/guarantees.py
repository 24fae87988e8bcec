"""What designs guarantee beside their speed, each shown by one small exploration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from .._engine import InputError
from ..contract.options import CrashOptions
from ..contract.printed import Guarantee
from ..contract.results import Crash
from ..system import units
from . import api, catalogue

WORKLOAD = "array"
"""What each design runs, in the form that its programs have."""

EXPLORED = CrashOptions(
    machine="small",
    transactions=6,
    attack=("replay", "replay-with-mac", "replay-with-counter", "replay-page", "rollback"),
    shrink=False,
    blame=False,
)
"""How: few transactions on small caches, every event a crash point, and old memory put back in every durable state and
before every access."""

SECRECY = frozenset({"plaintext", "pad_reuse", "tweak_reuse"})
"""The rules whose violations tell what memory holds, and lose nothing."""


_Replay = Literal["accepted", "late", "detected"]

_WORST_FIRST: tuple[_Replay, ...] = ("accepted", "late", "detected")
"""What comes of old memory."""


def guarantees(
    designs: Iterable[str | os.PathLike[str]],
    variant: Literal["published", "hardened"] = "hardened",
    *,
    set: Iterable[str] = (),
    progress: api.Progress | None = None,
) -> list[Guarantee]:
    """What each design guarantees.

    Args:
        designs: names of designs, or paths of design files.
        variant: the reading of their papers.
        set: values as after `--set`; of these, parts of the design are taken, and values of the machine are not.
        progress: told how many are known.

    Raises:
        InputError: there is no such design, in one sentence.
        Interrupted: Ctrl-C.
    """
    names = list(designs)
    parts = [one for one in set if one.startswith("design.")]
    found = []
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for guarantee in pool.map(lambda design: _explored(design, variant, parts), names):
            found.append(guarantee)
            if progress is not None:
                progress(len(found), len(names))
    return found


def told() -> str:
    """What the guarantees rest on, in a sentence."""
    programs = (
        f"{units.count_of(EXPLORED['transactions'], 'transaction')} of {WORKLOAD} on the preset {EXPLORED['machine']}"
    )
    return (
        f"Secrecy, replay and crash: {programs}; power is cut\n"
        "after every event, and old memory put back in every durable state and before every access."
    )


def _explored(
    design: str | os.PathLike[str], variant: Literal["published", "hardened"], parts: Sequence[str]
) -> Guarantee:
    options: CrashOptions = {**EXPLORED, "variant": variant, "workers": 1, "set": parts}
    try:
        if catalogue.needs_modules(design, variant):
            options["set"] = [*parts, *catalogue.MODULES]
        return _of(api.crash(design, WORKLOAD, **options))
    except InputError as error:
        return Guarantee(
            os.fspath(design), variant, secrecy=None, replay=None, crash=None, crash_points=0, why_not=str(error)
        )


def _of(crash: Crash) -> Guarantee:
    broken = {violation.rule for violation in crash.violations}
    return Guarantee(
        crash.design,
        crash.variant,
        secrecy=_secrecy(crash, bool(broken & SECRECY)),
        replay=_replay(crash),
        crash="breaks" if broken - SECRECY - {"integrity"} else "holds",
        crash_points=crash.crash_points,
        why_not=None,
    )


def _secrecy(crash: Crash, leaks: bool) -> Literal["none", "leaks", "at-rest", "repeats", "holds"]:
    """`at-rest`: lines cross the bus in the clear. `repeats`: equal plaintext at an address is equal ciphertext."""
    if not crash.secret:
        return "none"
    if crash.bus_in_the_clear and not leaks:
        return "at-rest"
    repeated = crash.attacks is not None and crash.attacks.watched is not None and crash.attacks.watched.repeated > 0
    return "leaks" if leaks else "repeats" if repeated else "holds"


def _replay(crash: Crash) -> _Replay | None:
    """The worst that comes of old memory; None if none was put back."""
    seen = {row.verdict for row in crash.attacks.rows} if crash.attacks is not None else set()
    return next((verdict for verdict in _WORST_FIRST if verdict in seen), None)
