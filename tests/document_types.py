"""JSON Schemas of what the front reads and writes itself, from its types: files, documents, and what calls take.

`contract.files` has them. A type's docstring says what it is, its "Attributes:" what each key is.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema  # type: ignore[import-untyped]
import polars
import pydantic
from pydantic.json_schema import GenerateJsonSchema
from referencing import Registry, Resource

import counterpoint as cp
from counterpoint.contract import printed, spec_files
from counterpoint.papers.model import ReproductionDocument
from counterpoint.runs.citation import Citation
from counterpoint.runs.sweeps import SweepReport
from counterpoint.searches.document import SearchDocument
from counterpoint.searches.explain import Explanation
from counterpoint.verbs.litmus_suite import LitmusDocument
from report_types import schema_text

_WRITTEN = "Written by `make contract` from the types in python/counterpoint; do not edit."

_FOLDER = Path(__file__).parents[1] / "docs/schema"

FILES: Mapping[str, type] = {
    "sweep": spec_files.SweepFile,
    "goals": spec_files.GoalsFile,
    "suppressions": spec_files.SuppressionsFile,
}
"""Files that users write, by the name of the schema."""

DOCUMENTS: Mapping[str, type] = {
    "cite": Citation,
    "compare": printed.Runs,
    "explain": Explanation,
    "litmus": LitmusDocument,
    "recovery": printed.Recoveries,
    "replay_lines": printed.LineRuns,
    "reproduce": ReproductionDocument,
    "search": SearchDocument,
    "sweep": SweepReport,
}
"""What commands print with `--json`, by the name of the schema."""

_OF_THE_ENGINE = ("Run", "LineRun", "RecoveryCost")
"""Types that have a schema in `docs/schema/reports`."""


_ROW = r"^ {4}(\w[\w, ]*): ((?:.*\n?(?!    \w))*)"
"""What a docstring says of an attribute or an argument."""


def _rows(told: str, title: str) -> dict[str, str]:
    """What a docstring says below a title, by name."""
    _, _, rows = told.partition(f"\n\n{title}:\n")
    found = re.findall(_ROW, rows.partition("\n\n")[0], re.MULTILINE)
    return {name: " ".join(what.split()) for names, what in found for name in names.split(", ")}


def _summary(told: str) -> str:
    return " ".join(told.partition("\n\n")[0].split())


class _Generator(GenerateJsonSchema):
    """JSON Schemas of dataclasses, with what their docstrings say."""

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        """The schema of a dataclass; its keys are those of documents, and no others."""
        made = super().dataclass_schema(schema)
        meanings: dict[str, str] = {}
        for kind in reversed(schema["cls"].__mro__):
            meanings |= _rows(inspect.cleandoc(kind.__doc__ or ""), "Attributes")
        if missing := [name for name in made["properties"] if name not in meanings]:
            raise ValueError(f"the docstring of {schema['cls'].__name__} does not say what {', '.join(missing)} is")
        properties = {
            name.removesuffix("_"): {**_bare(value), "description": _sentence(meanings[name])}
            for name, value in made["properties"].items()
        }
        required = [name.removesuffix("_") for name in made.get("required", ())]
        return {
            "description": _summary(made["description"]),
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in ("title", "default")}


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _schema(kind: Any, mode: Any) -> dict[str, Any]:
    schema: dict[str, Any] = pydantic.TypeAdapter(kind).json_schema(mode=mode, schema_generator=_Generator)
    if mode == "validation":
        schema = _without_null(schema)
    for name in set(_OF_THE_ENGINE) & set(schema.get("$defs", {})):
        schema["$defs"][name] = {"$ref": f"../reports/{name}.json"}
    used: set[str] = set()
    new = {"": {key: value for key, value in schema.items() if key != "$defs"}}
    while new:
        found = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(list(new.values())))) - used
        used |= found
        new = {name: schema["$defs"][name] for name in found}
    defs = {name: one for name, one in schema.get("$defs", {}).items() if name in used}
    return {key: value for key, value in schema.items() if key != "$defs"} | ({"$defs": defs} if defs else {})


def _without_null(schema: Any) -> Any:
    """The schema of a file in TOML, which has no null: what is None in Python is left out."""
    if isinstance(schema, list):
        return [_without_null(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _without_null(value) for key, value in schema.items()}
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
    return {**schema, "anyOf": choices} if choices else schema


_PROJECT: Mapping[str, Any] = {
    "description": "What the command has taken from a file of defaults; absent if nothing.",
    "type": "object",
    "properties": {
        "path": {"description": "The file.", "type": "string"},
        "keys": {"description": "The options that it gave.", "type": "array", "items": {"type": "string"}},
    },
    "required": ["path", "keys"],
    "additionalProperties": False,
}
"""What `screen.print_json` adds to every document."""


def _document(kind: Any) -> dict[str, Any]:
    schema = _schema(kind, "serialization")
    of_schema = {"const": 1, "description": "The version of the document."}
    schema["properties"] = {"schema": of_schema, **schema["properties"], "project": _PROJECT}
    # What is None is absent from documents of results.
    absent = {one.name for one in fields(kind) if one.default is None} if issubclass(kind, printed.Printed) else set()
    required = [name for name in schema["required"] if name not in absent]
    return {**schema, "required": ["schema", *required]}


def _file(name: str, options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    schema = _schema(FILES[name], "validation")
    properties = schema["properties"]
    of_run = {key: {"description": field["description"], **_value(field)} for key, field in options.items()}
    if name == "sweep":
        properties["base"]["properties"] = of_run
        properties["axes"]["properties"] = {
            key: {
                "description": field["description"],
                "anyOf": [{"type": "array", "items": _value(field), "minItems": 1}, {"$ref": "#/$defs/Range"}],
            }
            for key, field in of_run.items()
        }
        schema.setdefault("$defs", {})["Range"] = _schema(spec_files.Range, "validation")
    elif name == "goals":
        properties["run"]["properties"] = {
            key: field for key, field in of_run.items() if key not in ("design", "workload")
        }
    return schema


def _value(field: Mapping[str, Any]) -> dict[str, Any]:
    """The value of an option, without what is only for flags and Python."""
    return {key: value for key, value in field.items() if not key.startswith("x-") and key != "description"}


CALLS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "compare": (cp.compare, ("CommonOptions",)),
    "explain": (cp.explain, ("RunOptions",)),
    "litmus": (cp.litmus, ()),
    "recoveries": (cp.recovery, ("RecoveryOptions",)),
}
"""Calls that the front answers, each with the types of its options; those of `sweep` and `search` take a file."""

_OF_PROCESS = ("progress", "workers", "cluster", "executor")


def _call(name: str, options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    call, _ = CALLS[name]
    # What it returns is no part of this.
    hints, told = get_type_hints(call, localns={"pl": polars}), inspect.getdoc(call) or ""
    # The arguments of `compare` are those of `run_matrix`.
    meanings = _rows(inspect.getdoc(cp.run_matrix) or "", "Args") | _rows(told, "Args")
    properties, required = {}, []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name not in hints or parameter.name in _OF_PROCESS:
            continue
        schema = _bare(_schema(hints[parameter.name], "serialization"))
        properties[parameter.name] = {**schema, "description": _sentence(meanings[parameter.name])}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    for key, field in options.items():
        properties.setdefault(key, {"description": field["description"], **_value(field)})
    schema = {"description": _summary(told), "type": "object", "properties": properties}
    return {**schema, "required": required, "additionalProperties": False}


def schema_files(options_of: Callable[[str], Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """The JSON Schemas by the paths of their files below docs/schema; `options_of` has the options of a type."""
    of_run = options_of("RunOptions")
    for name, kind in DOCUMENTS.items():
        yield f"documents/{name}.json", _text(_document(kind))
    for name in FILES:
        yield f"files/{name}.json", _text(_file(name, of_run))
    for name, (_, kinds) in CALLS.items():
        options = {key: field for kind in kinds for key, field in options_of(kind).items()}
        yield f"calls/{name}.json", _text(_call(name, options))


def _text(schema: Mapping[str, Any]) -> str:
    return schema_text(_WRITTEN, {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def check(path: str, document: Any) -> None:
    """Checks a document against a schema below docs/schema, with the schemas that it names.

    Raises:
        jsonschema.ValidationError: it is not what the schema says.
    """
    known = [(f"../reports/{one.name}", json.loads(one.read_text())) for one in (_FOLDER / "reports").glob("*.json")]
    registry: Any = Registry().with_resources((uri, Resource.from_contents(schema)) for uri, schema in known)
    schema = json.loads((_FOLDER / path).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema, registry=registry).validate(json.loads(json.dumps(document)))
