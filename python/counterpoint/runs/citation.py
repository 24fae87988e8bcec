"""What a paper says of a run, so that readers can repeat it: configuration, version, digest, an entry of BibTeX."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from .. import _engine
from .._engine import InputError
from ..contract.commands import command
from ..contract.options import RunOptions
from ..contract.printed import document
from ..contract.request import completes, request
from ..system.paths import checked_text, is_file
from ..verbs import api, catalogue
from . import keys

_STATED = ("variant", "seed")
_OF_WORKLOAD = ("cores", "tx_size", "footprint", "warmup", "transactions")
"""Options whose values the command states, given or not: of every run, and of one of a built-in workload."""

_SHOWN = 16
"""Digits of a digest in a bibliography."""

_TITLE = "Counterpoint: simulator and crash verifier of encrypted persistent memory"
_AUTHOR = "The Counterpoint developers"


@dataclass(frozen=True)
class Citation:
    """What a paper says of a run.

    Attributes:
        command: repeats it; states the value of every option.
        version: of Counterpoint.
        engine_build: digest of the engine's sources; equal builds give equal results.
        digest: SHA-256 over the configuration, the bytes of a trace and the engine's build. A store keeps the run under
            it.
        configuration: the complete configuration, with every value of the machine.
        bibtex: an entry for a bibliography.
    """

    command: str
    version: str
    engine_build: str
    digest: str
    configuration: Mapping[str, Any]
    bibtex: str

    def to_dict(self) -> dict[str, Any]:
        """The document that `--json` prints."""
        return document(self)


@completes(RunOptions)
def cite(design: str | os.PathLike[str], workload: str | os.PathLike[str], **options: Unpack[RunOptions]) -> Citation:
    """What a paper says of the run with these options. Nothing is simulated.

    Args:
        design: name of a design, or path of a design file.
        workload: name of a workload, or path of a trace.
        **options: see `RunOptions`.

    Raises:
        InputError: bad input, in one sentence.
    """
    asked = request(RunOptions, design, workload, options)
    if not is_built_in(asked["workload"]):
        _check_program(asked)
    resolved = api.resolve_request(keys.absolute(asked))
    version, build = catalogue.engine_version(), catalogue.engine_build()
    digest = keys.key(resolved, build)
    recorded = ("allow_truncated", "serial", *(() if is_built_in(asked["workload"]) else ("cores",)))
    workload_options = _OF_WORKLOAD if is_built_in(asked["workload"]) else ()
    stated = {name: resolved[name] for name in (*_STATED, *workload_options)}
    machine = asked.get("machine", resolved["machine"]["name"])
    given = {"machine": machine, "set": asked.get("set"), **{name: asked.get(name) for name in recorded}}
    return Citation(
        command=command("run", asked["design"], asked["workload"], [*stated.items(), *given.items()]),
        version=version,
        engine_build=build,
        digest=digest,
        configuration=resolved,
        bibtex=_bibtex(version, build, digest),
    )


def is_built_in(workload: str) -> bool:
    """Whether a workload that the engine takes is built in; any other is a trace, or a program that is written out."""
    return workload in catalogue.programs()


def _check_program(asked: Mapping[str, Any]) -> None:
    """Refuses what is neither recorded nor written out, as the engine does only when it runs a program."""
    path = asked["workload"]
    if not is_file(path):
        # Of a few operations: it takes a moment. Everything else is refused.
        api.simulate([asked])
    elif _engine.trace_kind(checked_text(path, "workload")) == "lines":
        raise InputError(f"{path}: a trace of memory lines has no program")


def _bibtex(version: str, build: str, digest: str) -> str:
    # `misc` is known to every style.
    return (
        "@misc{counterpoint,\n"
        f"  author = {{{{{_AUTHOR}}}}},\n"
        f"  title = {{{_TITLE}}},\n"
        f"  note = {{Version {version}, engine build {build[:_SHOWN]}, run {digest[:_SHOWN]}}},\n"
        "}\n"
    )
