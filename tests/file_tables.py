"""The tables of pages on machine and design files, from the schemas of these files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import counterpoint as cp
from counterpoint import _engine
from page_tables import table
from report_types import schema_text

_UNITS = (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0))


@cache
def schemas() -> Mapping[str, Mapping[str, Any]]:
    """The schema of each kind of file that the engine reads."""
    found: dict[str, dict[str, Any]] = json.loads(_engine.file_schemas())
    return found


def published(schema: Any) -> Any:
    """A schema with its keys in their order, and descriptions of one line."""
    if isinstance(schema, list):
        return [published(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    order = schema.get("x-order", ())
    rest = {key: published(value) for key, value in schema.items() if key not in ("x-order", "title")}
    if isinstance(schema.get("properties"), Mapping):
        rest["properties"] = {key: rest["properties"][key] for key in order}
    if isinstance(told := rest.get("description"), str):
        rest["description"] = " ".join(told.split())
    return rest


def schema_files() -> Iterator[tuple[str, str]]:
    """The JSON Schemas by the names of their files."""
    written = "Written by `make contract` from the types in crates/engine/src; do not edit."
    for name, schema in schemas().items():
        yield f"{name}.json", schema_text(written, published(schema))


def machine_keys() -> str:
    """Every key of a machine file, with its values in the presets."""
    schema = published(schemas()["machine"])
    machines = cp.machines()
    text = ""
    for section, of in schema["properties"].items():
        if "properties" not in of:
            continue
        rows = [
            [f"`{key}`", _meaning(field), _allowed(field), *(_value(one.values[section][key]) for one in machines)]
            for key, field in of["properties"].items()
        ]
        head = ["key", "meaning and unit", "allowed", *(f"`{one.name}`" for one in machines)]
        text += f"### [{section}]\n\n{of['description']}\n\n{table(head, map(_escaped, rows))}\n"
    return text


def _escaped(cells: Iterable[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def _meaning(field: Mapping[str, Any]) -> str:
    values = "; ".join(f"`{one['const']}`: {_clause(one['description'])}" for one in field.get("oneOf", ()))
    return f"{field['description']} {values[:1]}{values[1:]}.".strip() if values else str(field["description"])


def _clause(sentences: str) -> str:
    """Sentences after a colon."""
    return (sentences if sentences[1:2].isupper() else sentences[0].lower() + sentences[1:]).removesuffix(".")


def _allowed(field: Mapping[str, Any]) -> str:
    if "oneOf" in field:
        return ", ".join(f"`{one['const']}`" for one in field["oneOf"])
    if "enum" in field:
        return ", ".join(map(str, field["enum"]))
    if field["type"] == "boolean":
        return "`true`, `false`"
    if "multipleOf" in field:
        low, high, step = (_size(field[key]) for key in ("minimum", "maximum", "multipleOf"))
        return f"{low} to {high}, multiple of {step}"
    return f"{field['minimum']:,} to {field['maximum']:,}"


def _size(number: int) -> str:
    unit, bits = next(one for one in _UNITS if number % (1 << one[1]) == 0 and number >> one[1])
    return f"{number >> bits} {unit}"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def design_texts() -> str:
    """The keys of a design file that are no parts."""
    keys = published(schemas()["design"])["properties"]
    return table(["key", "what it is"], ([f"`{key}`", of["description"]] for key, of in keys.items() if _is_text(of)))


def _is_text(field: Mapping[str, Any]) -> bool:
    return field.get("type") == "string"


def design_parts() -> str:
    """Every part of a design file, with its values."""
    keys = published(schemas()["design"])["properties"]
    text, tables = "", dict[str, str]()
    for key, of in keys.items():
        if not _is_text(of) and "properties" not in of:
            values = _values(of)
            if (same := tables.setdefault(values, key)) != key:
                values = f"The values are those of [`{same}`](#{same}).\n"
            text += f"### `{key}`\n\n{_quoted(of['description'])}\n\n{values}\n"
    registers = keys["registers"]["properties"]
    rows = ([f"`{key}`", _quoted(of["description"])] for key, of in registers.items())
    text += f"### `[registers]`\n\n{keys['registers']['description']}\n\n{table(['register', 'what it holds'], rows)}\n"
    text += f"{_values(next(iter(registers.values())))}\n"
    sections = keys["set"]["properties"].items()
    rows = (
        [f"[`{section}.{key}`](machine-files.md#{section})", _quoted(of["description"]).partition(_ONLY_WITH)[2][:-1]]
        for section, values in sections
        for key, of in values["properties"].items()
    )
    return f"{text}### `[set]`\n\n{keys['set']['description']}\n\n{table(['value', 'has an effect only with'], rows)}\n"


_ONLY_WITH = " Has an effect only with "


def _quoted(text: str) -> str:
    """A description in which parts that it needs stand as code."""
    what, only_with, part = text.partition(_ONLY_WITH)
    return what + only_with + re.sub(r'(?:\w+ = )?"[^"]+"', r"`\g<0>`", part)


def _values(field: Mapping[str, Any]) -> str:
    rows = [
        [f"`{_value(one['const'])}`" if "const" in one else "a text", one["description"], one.get("x-paper", "")]
        for one in field.get("items", field)["oneOf"]
    ]
    return table(["value", "meaning", "paper"], map(_escaped, rows))
