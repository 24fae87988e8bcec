"""Writes what follows from what the engine states: options of each kind of request, figures of each kind of report.

That is: the keywords of calls, the flags of commands, and a schema for each kind of request. `make contract` writes the
files that `files` gives; `tests/python/test_contract.py` fails where one of them is not what would be written. How
options are grouped into types of Python stands here (`GROUPS`), and what their kinds of values are there (`KINDS`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import document_types
import file_tables
import project_schema
import report_types
from counterpoint import _engine

ROOT = Path(__file__).parents[1]
_WRITTEN = "Written by `make contract` from the options in crates/engine/src/api/request/options.rs; do not edit."
_OF_COMMANDS = "Written by `make contract` from the options of the commands; do not edit."
_SUBJECT = ("design", "other", "workload", "trace")
"""What a call is about, which no type of options has."""


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes:
        annotation: its type in Python.
        check: the function of `request` that checks a value and converts it.
        metavar: the value of a flag.
        note: what the page on Python adds to the name of an option.
    """

    annotation: str
    check: str
    metavar: str | None = None
    note: str = ""


KINDS: Mapping[str, Kind] = {
    "count": Kind("int | None", "count", "N"),
    "counts": Kind("Iterable[int] | None", "counts", "N", " (numbers)"),
    "flag": Kind("bool", "flag"),
    "left-out": Kind("str | None", "check_leave_out", "NAME"),
    "name": Kind("str | None", "check_name", "NAME"),
    "name-or-path": Kind("str | os.PathLike[str] | None", "path", "NAME|FILE.toml"),
    "names": Kind("Iterable[str] | None", "check_names", "NAME", " (names)"),
    "path": Kind("str | os.PathLike[str] | None", "path", "FILE"),
    "points": Kind("int | str | None", "check_points", "all|N"),
    "set": Kind("Mapping[str, object] | Iterable[str] | None", "assignments", "PATH.TO.KEY=VALUE"),
    "size": Kind("Size | None", "size", "SIZE"),
    "sizes": Kind("Size | Iterable[Size] | None", "sizes", "SIZE[,SIZE...]"),
    "span": Kind("Span | None", "span", "TIME"),
    "switch": Kind("bool | None", "switch"),
    "variant": Kind("Variant | None", "check_name"),
}


@dataclass(frozen=True)
class Group:
    """A type of options.

    Attributes:
        name: of the type.
        request: the kind of request whose options these are.
        told: what is said of it.
        calls: the functions that take it, on the page on Python.
        base: the type whose options it has, too.
        only: its own options; none: all of the request that no base has.
        but: options of the request that the function takes in another way.
        more: what the page on Python adds.
    """

    name: str
    request: str
    told: str
    calls: str
    base: str | None = None
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    more: str = ""


GROUPS = (
    Group(
        "MachineOptions",
        "run",
        "The options of every simulation, also of memory lines.",
        "all that follow but `cp.recovery`",
        only=("variant", "machine", "set", "seed"),
    ),
    Group(
        "CommonOptions",
        "every simulation",
        "The options of every simulation of a program: those of `MachineOptions`, and these.",
        "`cp.compare`, `cp.run_matrix`",
        "MachineOptions",
        but=("tx_size", "cores"),
        more="; lists for `tx_size` and `cores`",
    ),
    Group(
        "RunOptions",
        "run",
        "The options of a single simulation: those of `CommonOptions`, and the two that `compare` takes lists of.",
        "`cp.resolve`",
        "CommonOptions",
        ("tx_size", "cores"),
    ),
    Group(
        "SingleRunOptions",
        "run",
        "The options of `run`: those of `RunOptions`, and these.",
        "`cp.run`",
        "RunOptions",
    ),
    Group(
        "ReplayOptions",
        "run",
        "The options of `replay`: those of `RunOptions`, and these.",
        "`cp.replay`",
        "RunOptions",
        ("by_line",),
    ),
    Group(
        "LineOptions",
        "replay_lines",
        "The options of `replay_lines`: those of `CommonOptions`, where transactions change nothing, and these.",
        "`cp.replay_lines`",
        "CommonOptions",
        but=("tx_size", "cores"),
    ),
    Group(
        "AnnotationOptions",
        "crash",
        "The options of `annotations`: those of `RunOptions`, and these, as for `crash`.",
        "`cp.annotations`",
        "RunOptions",
        ("points", "recover", "recover_prints", "recover_timeout", "recover_jobs", "recover_folder"),
    ),
    Group(
        "CheckOptions",
        "check",
        "The options of `check`: those of `MachineOptions`, which need a design, and these.",
        "`cp.check`",
        "MachineOptions",
        but=("top",),
    ),
    Group(
        "ProveOptions",
        "prove",
        "The options of `prove`: those of `MachineOptions`, and these.",
        "`cp.prove`",
        "MachineOptions",
    ),
    Group(
        "DistinguishOptions",
        "distinguish",
        "The options of `distinguish`: those of `MachineOptions`, and these.",
        "`cp.distinguish`",
        "MachineOptions",
    ),
    Group("RecoveryOptions", "recovery", "The options of `recovery`.", "`cp.recovery`", but=("measure",)),
    Group(
        "SceneOptions",
        "scene",
        "The options of `scene`: those of `RunOptions`, and these.",
        "`cp.scene`",
        "RunOptions",
    ),
    Group(
        "CrashOptions",
        "crash",
        "The options of `crash`: those of `RunOptions`, and these.",
        "`cp.crash`",
        "RunOptions",
        but=("recorder",),
    ),
)
"""The types of options, in the order in which they are written."""

_BY_NAME: Mapping[str, Group] = {group.name: group for group in GROUPS}


@cache
def schemas() -> Mapping[str, Mapping[str, Any]]:
    """The schema of each kind of request."""
    found: dict[str, dict[str, Any]] = json.loads(_engine.schemas())
    return found


@cache
def fields(request: str) -> Mapping[str, Mapping[str, Any]]:
    """The fields of a kind of request, in their order; those of every simulation are what all of these have."""
    if request != "every simulation":
        schema = schemas()[request]
        return {name: schema["properties"][name] for name in schema["x-order"]}
    simulations = [fields(one) for one in ("run", "replay_lines", "crash", "scene")]
    return {name: field for name, field in simulations[0].items() if all(name in one for one in simulations)}


def kind(field: Mapping[str, Any]) -> str:
    """The name of the kind of value that a field has: as stated, or what follows from its type."""
    if stated := field.get("x-kind"):
        return str(stated)
    if field["type"] == "array":
        return {"string": "names", "integer": "counts"}[field["items"]["type"]]
    return {"boolean": "flag", "string": "name"}[field["type"]]


def _inherited(group: Group) -> set[str]:
    return set() if group.base is None else {*own(_BY_NAME[group.base]), *_inherited(_BY_NAME[group.base])}


@cache
def own(group: Group) -> Mapping[str, Mapping[str, Any]]:
    """The options that a type adds to those of its base."""
    known = fields(group.request)
    if group.only:
        return {name: known[name] for name in group.only}
    left = {*_SUBJECT, *group.but, *_inherited(group)}
    return {name: field for name, field in known.items() if name not in left}


def options(name: str) -> Mapping[str, Mapping[str, Any]]:
    """All options of a type, with those of its bases."""
    group = _BY_NAME[name]
    return {**(options(group.base) if group.base else {}), **own(group)}


def _stated(key: str) -> dict[str, Any]:
    """What is stated of each option under a key; where several requests state it, they say the same."""
    found: dict[str, Any] = {}
    for request in schemas():
        for name, field in fields(request).items():
            if key in field and found.setdefault(name, field[key]) != field[key]:
                raise ValueError(f"{key} of {name} is '{found[name]}' and '{field[key]}'")
    return found


def python_types() -> str:
    """python/counterpoint/contract/options.py: the types of options."""
    checks = sorted({KINDS[kind(field)].check for group in GROUPS for field in own(group).values()})
    typed = _stated("x-typed")
    order = ", ".join(f'"{name}"' for name in sorted(typed, key=lambda name: int(typed[name])))
    text = f'''# {_WRITTEN}
"""The options of each call: the keywords of the functions, the options of the commands and the keys of requests.

A function takes `**options: Unpack[...]` of one of these types, and so does the command of the same name
(`cli.options.takes`). None, or leaving an option out, means the default. The function annotated beside a type checks a
value and converts it for the request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypedDict

from .request import Size, Span, Variant, {", ".join(checks)}

TYPED = ({order},)
"""The options of a printed crash command, in this order: first what is run, last where power fails."""

'''
    return _formatted(text + "\n\n".join(map(_python_type, GROUPS)), "options.py")


def _python_type(group: Group) -> str:
    told = "".join(
        report_types.attribute(name, field.get("x-python", field["description"])) for name, field in own(group).items()
    )
    typed = "".join(f"    {name}: {_annotation(field)}\n" for name, field in own(group).items())
    return (
        f"class {group.name}({group.base or 'TypedDict'}, total=False):\n"
        f'    """{group.told}\n\n    Attributes:\n{told}    """\n\n{typed}\n'
    )


def _annotation(field: Mapping[str, Any]) -> str:
    of = KINDS[kind(field)]
    names = ", ".join(map(json.dumps, field.get("enum", ())))
    annotation = f"Literal[{names}] | None" if names and of.annotation == "str | None" else of.annotation
    return f"Annotated[{annotation}, {of.check}]"


def flags() -> str:
    """python/counterpoint/contract/flags.py: how the command line gives options."""
    helps, names, metavars = (_stated(key) for key in ("x-help", "x-flag", "x-metavar"))
    rows = {}
    for group in GROUPS:
        for name, field in own(group).items():
            if name in helps and name not in rows:
                value = metavars.get(name, "|".join(field.get("enum", ())) or KINDS[kind(field)].metavar)
                of = kind(field)
                shown = None if of == "variant" else value
                rows[name] = (of, names.get(name, f"--{name.replace('_', '-')}"), shown, helps[name])
    text = f'''# {_WRITTEN}
"""How each option of the calls is given on the command line."""

from collections.abc import Mapping

FLAGS: Mapping[str, tuple[str, str, str | None, str]] = {{
'''
    text += "".join(f"    {json.dumps(name)}: ({', '.join(map(_literal, row))}),\n" for name, row in rows.items())
    text += (
        '}\n"""By the name of an option in calls: its kind of value, its flag, the name of its value, its help."""\n'
    )
    return _formatted(text, "flags.py")


def _literal(value: str | None) -> str:
    return "None" if value is None else json.dumps(value, ensure_ascii=False)


def _formatted(text: str, name: str) -> str:
    """A module as ruff leaves it."""
    for command in (["check", "--quiet", "--select", "I,F401", "--fix"], ["format"]):
        words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"]
        text = subprocess.run(words, input=text, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return text


def schema_file(request: str) -> str:
    """docs/schema/REQUEST.json."""
    schema = {key: value for key, value in schemas()[request].items() if key != "x-order"}
    properties = {
        name: {key: value for key, value in field.items() if key != "x-python"}
        for name, field in fields(request).items()
    }
    return report_types.schema_text(_WRITTEN, {**schema, "properties": properties})


def python_table() -> str:
    """The table of types of docs/python.md."""
    text = "| type | calls | options |\n|---|---|---|\n"
    for group in GROUPS:
        options = [] if group.base is None else [f"those of `{group.base}`"]
        options += [f"`{name}`{_note(field)}" for name, field in own(group).items()]
        text += f"| `{group.name}` | {group.calls} | {', '.join(options)}{group.more} |\n"
    return text


def _note(field: Mapping[str, Any]) -> str:
    return " (seconds)" if field.get("x-metavar") == "SECONDS" else KINDS[kind(field)].note


_SCHEMAS: Mapping[str, str] = {
    "": "what the engine is asked",
    "reports": "what the engine reports",
    "files": "files that users write",
    "documents": "what commands that the front answers print with `--json`",
    "calls": "what calls that the front answers take",
}
"""What the folders of docs/schema have."""


def schema_table() -> str:
    """The table of schemas of docs/python.md."""
    folder = ROOT / "docs/schema"
    found = sorted(path.relative_to(folder) for path, _ in files() if path.suffix == ".json")
    text = "| of | schemas |\n|---|---|\n"
    for name, what in _SCHEMAS.items():
        links = [f"[{one.stem}](schema/{one})" for one in found if one.parent == Path(name)]
        text += f"| {what} | {', '.join(links)} |\n"
    return text


def files() -> Iterator[tuple[Path, str]]:
    """Every file that is written, with its text."""
    contract = ROOT / "python/counterpoint/contract"
    yield contract / "options.py", python_types()
    yield contract / "flags.py", flags()
    yield contract / "results/__init__.py", _formatted(report_types.package(), "__init__.py")
    for one in report_types.MODULES:
        yield contract / f"results/{one.name}.py", _formatted(report_types.module(one.name), f"{one.name}.py")
    for request in schemas():
        yield ROOT / "docs/schema" / f"{request}.json", schema_file(request)
    for name, text in report_types.schema_files():
        yield ROOT / "docs/schema/reports" / name, text
    for name, text in file_tables.schema_files():
        yield ROOT / "docs/schema/files" / name, text
    yield ROOT / "docs/schema/files/project.json", report_types.schema_text(_OF_COMMANDS, project_schema.schema())
    for name, text in document_types.schema_files(options):
        yield ROOT / "docs/schema" / name, text


def main() -> None:
    """Writes every file."""
    for path, text in files():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
