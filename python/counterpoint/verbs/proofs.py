"""Verdicts over all small programs, and where two designs differ on them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Unpack

from .. import _engine
from ..contract import results
from ..contract.commands import with_distinction_commands, with_proof_commands
from ..contract.options import DistinguishOptions, ProveOptions
from ..contract.request import check_design, completes, given
from ..system.errors import Interrupted
from . import api

if TYPE_CHECKING:
    from ..contract.results import Crash, Distinction, Proof


_OF_CRASH = ("variant", "machine", "seed", "fault", "attack")
"""The options that a proof and a crash run have in common."""


@completes(ProveOptions)
def prove(
    design: str | os.PathLike[str], *, progress: api.Progress | None = None, **options: Unpack[ProveOptions]
) -> Proof:
    """Runs every program of a few operations, cuts power after each event, and has the auditors judge what is left.

    Args:
        design: name of a design that claims to survive, or path of a design file.
        progress: told how many programs are judged.
        **options: see `ProveOptions`; the machine defaults to `small`, which a few operations fill.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `proof` is over the programs judged so far.
    """
    asked = {"design": check_design(design), **given(ProveOptions, options)}
    try:
        answer = _engine.prove(json.dumps(asked), progress)
    except _engine.Interrupted as stop:
        found = api.finished(stop)
        proof = results.Proof.from_dict(with_proof_commands(found)) if found else None
        raise Interrupted(proof=proof) from None
    return results.Proof.from_dict(with_proof_commands(json.loads(answer)))


@completes(DistinguishOptions)
def distinguish(
    design: str | os.PathLike[str],
    other: str | os.PathLike[str],
    *,
    progress: api.Progress | None = None,
    **options: Unpack[DistinguishOptions],
) -> Distinction:
    """Runs the small programs that two designs have in common on both, and finds the smallest on which they differ.

    They may differ in verdict (one fails where the other holds), in what boots show after power failures, and in how
    many lines are written.

    Args:
        design: name of a design that claims to survive, or path of a design file.
        other: the design to tell it apart from, in the same way.
        progress: told how many programs are judged.
        **options: see `DistinguishOptions`; the machine defaults to `small`, which a few operations fill.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C; its `distinction` is over the programs judged so far.
    """
    names = {"design": check_design(design), "other": check_design(other)}
    asked = {**names, **given(DistinguishOptions, options)}
    try:
        answer = _engine.distinguish(json.dumps(asked), progress)
    except _engine.Interrupted as stop:
        found = api.finished(stop)
        kept = results.Distinction.from_dict(with_distinction_commands(found)) if found else None
        raise Interrupted(distinction=kept) from None
    return results.Distinction.from_dict(with_distinction_commands(json.loads(answer)))


def counterexample(proof: Proof, *, progress: api.Progress | None = None) -> Crash:
    """The crash run of the smallest program that fails, in the first timing under which it does.

    Args:
        proof: a proof of which some program fails.
        progress: told how far the run is.

    Raises:
        InputError: the design or the machine of the proof is not there any more.
        Interrupted: Ctrl-C.
    """
    first, asked = proof.counterexamples[0], proof.document["request"]
    (timing,) = (timing for timing in proof.timings if timing.name == first.timing)
    options: dict[str, Any] = {name: value for name, value in asked.items() if name in _OF_CRASH}
    options |= {"set": [*asked.get("set", []), *timing.set], "nested": first.nested_event is not None}
    return api.crash(asked["design"], first.program, progress=progress, **options)
