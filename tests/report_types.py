"""Writes the types of results: what the engine states of each of its reports, as dataclasses of Python.

`contract.files` has the modules that this makes. What else a type can do, beyond having its figures, stands in
`counterpoint.contract.results.behaviour`, in a class of its name.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from counterpoint import _engine
from counterpoint.contract.results import behaviour

_WIDTH = 120
_WRITTEN = "Written by `make contract` from the types of reports in crates/engine/src; do not edit."
_UNTOLD = frozenset({"schema", "kind"})
"""Keys of documents that say which document it is."""


@dataclass(frozen=True)
class Module:
    """A module of types.

    Attributes:
        name: of the module.
        told: what it says of itself.
        roots: types of whole documents.
    """

    name: str
    told: str
    roots: tuple[str, ...]


MODULES = (
    Module("recording", "What a recorder wrote.", ("TraceWritten",)),
    Module("checks", "What a check of a recorded program says.", ("Check",)),
    Module(
        "runs",
        "What a simulation measured. Durations are in ns, energy in nJ, sizes in bytes, unless a name says otherwise.",
        ("Stats", "Run"),
    ),
    Module("lines", "What the replay of a trace of memory lines measured. Durations are in ns.", ("LineRun",)),
    Module("verdicts", "The auditors' verdicts on crashes.", ("Crash",)),
    Module(
        "proofs", "Verdicts over all small programs, and where two designs differ on them.", ("Proof", "Distinction")
    ),
    Module(
        "catalogue",
        "What there is: designs, workloads, machines, and mechanisms that can be switched off.",
        ("Catalogue",),
    ),
    Module("recovery", "What the recovery of a design costs. Times are in ns and sizes in bytes.", ("RecoveryCost",)),
)
"""The modules of types. A type that several need stands in the first of them."""

_PARTS = {("Run", "stats"): "Stats"}
"""Figures of a document that have a type of their own, without a key of their own in it."""
_DOCUMENTS = frozenset({"Run", "LineRun", "Crash", "Proof", "Distinction", "Check", "RecoveryCost"})
"""The types that keep the document that they were made from."""


@cache
def _roots() -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(_engine.report_schemas())
    return found


@cache
def _types() -> Mapping[str, Mapping[str, Any]]:
    """The schema of each type, by its name; where several documents have it, it is the same."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, root in _roots().items():
        for known, schema in {**root.get("$defs", {}), name: root}.items():
            bare = {key: value for key, value in schema.items() if key not in ("$defs", "$schema", "title")}
            if found.setdefault(known, bare) != bare:
                raise ValueError(f"the engine has two types {known}")
    return found


def _is_enumeration(schema: Mapping[str, Any]) -> bool:
    return "enum" in schema or ("oneOf" in schema and all("const" in one or "enum" in one for one in schema["oneOf"]))


def _values(schema: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The values of an enumeration, each with what it means."""
    if "enum" in schema:
        return [(value, "") for value in schema["enum"]]
    return [
        (value, one.get("description", ""))
        for one in schema["oneOf"]
        for value in ([one["const"]] if "const" in one else one["enum"])
    ]


def _used(schema: Any) -> Iterator[str]:
    """The types that a schema names, in its order."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        fields = schema.get("properties", {})
        ordered = [fields[name] for name in _order(schema)]
        for value in (*ordered, *(value for key, value in schema.items() if key != "properties")):
            yield from _used(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _used(value)


def _needed(name: str) -> Iterator[str]:
    """A type after all that it is made of."""
    for other in dict.fromkeys(_used(_types()[name])):
        yield from _needed(other)
    yield name


@cache
def _places() -> Mapping[str, str]:
    """The module of each type, in the order in which they are written."""
    found: dict[str, str] = {}
    for module in MODULES:
        for root in module.roots:
            for name in _needed(root):
                found.setdefault(name, module.name)
    return found


def _order(schema: Mapping[str, Any]) -> list[str]:
    """The fields of a type in their order: `required` keeps it, and those that may be absent follow."""
    required = schema.get("required", [])
    return [*required, *(name for name in schema.get("properties", {}) if name not in required)]


def _annotation(schema: Mapping[str, Any]) -> str:
    """The type of Python for the values of a field."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_annotation(one) for one in schema["anyOf"]))
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " | ".join(_annotation({**schema, "type": kind}) for kind in kinds)
    if kinds == "array":
        return f"tuple[{_annotation(schema['items'])}, ...]"
    names = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
    return "Mapping[str, Any]" if kinds == "object" else names[str(kinds)]


def _text(description: str) -> str:
    """A description of the engine in words of Python."""
    return re.sub(r"`?\bnull\b`?|`None`", "None", " ".join(description.split()))


def _filled(text: str, first: int, rest: int) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _field(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _fields(name: str) -> list[tuple[str, str, str]]:
    """The fields of a type: name, type with its default, and meaning."""
    schema = _types()[name]
    known = schema.get("properties", {})
    parts = {of: part for (whole, of), part in _PARTS.items() if whole == name}
    moved = {key: (of, part) for of, part in parts.items() for key in _types()[part].get("properties", {})}
    rows: dict[str, tuple[str, str, str]] = {}
    for key in _order(schema):
        if name in _DOCUMENTS and key in _UNTOLD:
            continue
        if key in moved:
            of, part = moved[key]
            rows.setdefault(of, (of, part, _text(_types()[part]["description"])))
            continue
        field, annotation = known[key], _annotation(known[key])
        if key not in schema.get("required", ()):
            annotation = f"{annotation.removesuffix(' | None')} | None = None"
        meaning = _text(field.get("x-document", field.get("description", "")))
        if not meaning:
            raise ValueError(f"the engine does not say what {key} of {name} is")
        rows[key] = (_field(key), annotation, meaning)
    return list(rows.values())


def attribute(name: str, meaning: str) -> str:
    """What a docstring says of an attribute."""
    return f"{_filled(f'{name}: {_lower(meaning)}', 8, 12)}\n"


def _lower(text: str) -> str:
    """The text as it goes on after a colon."""
    return text if text[1:2].isupper() else text[0].lower() + text[1:]


def _enumeration(name: str) -> str:
    schema = _types()[name]
    values = _values(schema)
    literals = ", ".join(json.dumps(value) for value, _ in values)
    meaning = _text(schema["description"]).removesuffix(".")
    told = "; ".join(f"`{value}`: {_lower(_text(what)).removesuffix('.')}" for value, what in values if what)
    text = _filled(f'"""{meaning}. {told[:1].upper()}{told[1:]}."""' if told else f'"""{meaning}."""', 0, 0)
    return f"{name}: TypeAlias = Literal[{literals}]\n{text}\n"


def _dataclass(name: str) -> str:
    rows = _fields(name)
    base = f"(behaviour.{name})" if hasattr(behaviour, name) else "(behaviour.Document)" if name in _DOCUMENTS else ""
    told = "".join(attribute(field, meaning) for field, _, meaning in rows)
    typed = [f"    {field}: {annotation}\n" for field, annotation, _ in rows]
    if name in _DOCUMENTS:
        told += "        document: the document it was made from.\n"
        typed.append("    document: Mapping[str, Any] = field(repr=False, compare=False)\n")
    # What may be absent has a default, and stands last.
    typed.sort(key=lambda line: line.endswith("= None\n"))
    meaning = _filled(f'"""{_text(_types()[name]["description"])}', 4, 4)
    # A class that says how it is shown is not shown with all its figures.
    own = ", repr=False" if "__repr__" in vars(getattr(behaviour, name, behaviour)) else ""
    return (
        f"@dataclass(frozen=True, slots=True{own})\nclass {name}{base}:\n"
        f'{meaning}\n\n    Attributes:\n{told}    """\n\n{"".join(typed)}\n'
    )


def module(name: str) -> str:
    """A module of types, before it is formatted."""
    of = next(one for one in MODULES if one.name == name)
    names = [known for known, place in _places().items() if place == name]
    written = "\n\n".join(
        _enumeration(known) if _is_enumeration(_types()[known]) else _dataclass(known) for known in names
    )
    others: dict[str, list[str]] = {}
    for known in names:
        for used in _used(_types()[known]):
            if _places()[used] != name:
                others.setdefault(_places()[used], []).append(used)
    imports = "".join(f"from .{place} import {', '.join(sorted(set(used)))}\n" for place, used in others.items())
    text = f'# {_WRITTEN}\n"""{of.told}\n"""\n\nfrom __future__ import annotations\n\n'
    text += "from collections.abc import Mapping\nfrom dataclasses import dataclass, field\n"
    text += f"from typing import Any, Literal, TypeAlias\n\nfrom . import behaviour\n{imports}\n"
    return text + written


def keys_table(name: str, head: str = "key") -> str:
    """The table of a page with the keys that a type has in documents."""
    known = _types()[name]["properties"]
    text = f"| {head} | meaning |\n|---|---|\n"
    for key in _order(_types()[name]):
        told = known[key].get("x-document", known[key].get("description", ""))
        meaning = " ".join(re.sub("`None`", "null", told).split()).replace("|", "\\|")
        text += f"| `{key}` | {meaning} |\n"
    return text


def names() -> Mapping[str, tuple[str, ...]]:
    """The types of each module, sorted."""
    return {one.name: tuple(sorted(name for name, place in _places().items() if place == one.name)) for one in MODULES}


def _published(schema: Any) -> Any:
    """A schema whose descriptions are lines, and say what the front writes where it writes something else."""
    if isinstance(schema, list):
        return [_published(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    told = schema.get("x-document", schema.get("description"))
    # A field may be called description.
    lines = {"description": " ".join(told.split())} if isinstance(told, str) else {}
    return {**{key: _published(value) for key, value in schema.items() if key != "x-document"}, **lines}


def schema_text(written: str, schema: Mapping[str, Any]) -> str:
    """The file of a JSON Schema, which says first what it was written from."""
    return json.dumps({"$comment": written, **schema}, indent=2, ensure_ascii=False) + "\n"


def schema_files() -> Iterator[tuple[str, str]]:
    """The JSON Schema of each document, by the name of its file."""
    for name in sorted(_DOCUMENTS):
        yield f"{name}.json", schema_text(_WRITTEN, {**_published(_roots()[name]), "title": name})


_BY_HAND: Mapping[str, tuple[str, ...]] = {
    "documents": ("build", "fits"),
}
"""What the package has from modules that people write."""


def package() -> str:
    """`results/__init__.py`, before it is formatted: the names of all modules, imported when they are first used."""
    known = {**_BY_HAND, **names()}
    imported = "".join(f"    from .{name} import {', '.join(known[name])}\n" for name in sorted(known))
    everything = sorted(name for of in known.values() for name in of)
    return (
        f'# {_WRITTEN}\n"""The engine\'s answers as Python types."""\n\nfrom typing import TYPE_CHECKING\n\n'
        f"if TYPE_CHECKING:\n{imported}else:\n    from ...system.lazy import names_of\n\n"
        f"    __getattr__, __dir__ = names_of(__name__, {known!r})\n\n__all__ = {everything!r}\n"
    )
