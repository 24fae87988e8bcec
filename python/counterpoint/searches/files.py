"""The front as files that other commands take: a design for each candidate, and a machine where values of it vary."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..contract.options import LineOptions, RunOptions
from ..contract.request import part
from ..runs.keys import absolute
from ..runs.matrix import is_of_lines
from ..system.files import prepare_folder, write_text
from ..verbs import catalogue
from .outcome import SearchReport
from .space import PART, Candidate, Value
from .verdict import Judged


def write_designs(report: SearchReport, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes the front into a folder, `NAME.toml` and where needed `NAME.machine.toml`; returns the paths.

    Raises:
        InputError: the folder cannot be written to.
    """
    path = prepare_folder(folder)
    written = []
    for one in report.front:
        written.append(write_text(path / f"{one.candidate.name}.toml", design_text(report, one)))
        if one.candidate.machine and _preset(report):
            machine = machine_text(report, one.candidate)
            written.append(write_text(path / f"{one.candidate.name}.machine.toml", machine))
    return written


def design_text(report: SearchReport, one: Judged) -> str:
    """The design file of a candidate."""
    goals = report.goals
    found = f"found by the search '{goals.name}'; survives {one.crash_points:,} power failures that were tried there"
    # A file is found from the folder of the file that builds on it.
    base = absolute({"design": goals.space.base})["design"]
    lines = [f"base = {json.dumps(base)}", f"summary = {json.dumps(found)}"]
    if _is_preset(goals.machine):
        lines.append(f"machine = {json.dumps(goals.machine)}")
    of_base = catalogue.effective_parts(goals.space.base, variant=goals.space.variant)
    parts = {key: value for key, value in one.candidate.parts.items() if of_base.get(key) != value}
    return "\n".join([*lines, "", *_assignments(parts)]) + "\n"


def machine_text(report: SearchReport, one: Candidate) -> str:
    """The machine file of a candidate."""
    sets = [text.partition("=")[::2] for text in report.goals.run.get("set", ())]
    lines = [f"base = {json.dumps(_preset(report))}", ""]
    return "\n".join([*lines, *(f"{key} = {_bare(value)}" for key, value in sets), *_assignments(one.machine)]) + "\n"


def command(report: SearchReport, one: Judged, folder: str = "") -> str:
    """The command line that shows the figures of a candidate of the front, from its files in a folder."""
    goals, prefix = report.goals, f"{folder}/" if folder else ""
    words = ["counterpoint", "run", f"{prefix}{one.candidate.name}.toml", goals.workloads[0]]
    preset = _preset(report)
    if one.candidate.machine and preset:
        words += ["--machine", f"{prefix}{one.candidate.name}.machine.toml"]
    else:
        words += ["--machine", goals.machine]
    if not (one.candidate.machine and preset):
        words += [word for text in goals.run.get("set", ()) for word in ("--set", text)]
        words += [word for text in one.candidate.sets if not text.startswith(PART) for word in ("--set", text)]
    taken = part(LineOptions if is_of_lines(goals.workloads[0]) else RunOptions, goals.run)
    for name, value in taken.items():
        if name not in ("machine", "set"):
            words += [f"--{name.removesuffix('_mhz').replace('_', '-')}", str(value)]
    return shlex.join(words)


def _preset(report: SearchReport) -> str | None:
    """The preset of the machine of the goals; None if it is a file, on which no other file can build."""
    return report.goals.machine if _is_preset(report.goals.machine) else None


def _is_preset(name: str) -> bool:
    return any(one.name == name for one in catalogue.machines())


def _assignments(values: Mapping[str, Value]) -> Iterable[str]:
    return (f"{key} = {_toml(value)}" for key, value in values.items())


def _toml(value: Value) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _bare(text: str) -> str:
    """A value as `set` has it, for a file: what is no number and no boolean is text."""
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(text)
    return text
