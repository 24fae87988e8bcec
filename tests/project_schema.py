"""The JSON Schema of `counterpoint.toml`, from the options of the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer.main

from counterpoint.cli import app, project

_ONE: Mapping[str, Any] = {"type": ["string", "number"]}
_SEVERAL: Mapping[str, Any] = {"type": "array", "items": _ONE}


def _value(option: Any) -> dict[str, Any]:
    """What a key may have."""
    if option.is_flag:
        return {"type": "boolean"}
    forms = [_ONE]
    if option.multiple or project.is_comma_list(option):
        forms.append(_SEVERAL)
    if option.name == "set":
        forms.append({"type": "object"})
    return {"anyOf": forms} if len(forms) > 1 else dict(_ONE)


def _keys(known: Mapping[str, Any]) -> dict[str, Any]:
    return {key: {"description": option.help, **_value(option)} for key, option in sorted(known.items())}


def schema() -> dict[str, Any]:
    """Keys before the first table, each in every form that a command takes, and a table for each command."""
    group: Any = typer.main.get_command(app)
    commands = {name: project.options_of(group.get_command(None, name)) for name in group.list_commands(None)}
    every: dict[str, list[dict[str, Any]]] = {}
    for known in commands.values():
        for key, form in _keys(known).items():
            if form not in every.setdefault(key, []):
                every[key].append(form)
    tables = {
        name: {"type": "object", "properties": _keys(known), "additionalProperties": False}
        for name, known in commands.items()
        if known
    }
    properties = {key: forms[0] if len(forms) == 1 else {"anyOf": forms} for key, forms in sorted(every.items())}
    for name, table in tables.items():
        properties[name] = {"anyOf": [table, properties[name]]} if name in properties else table
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "A project's defaults, counterpoint.toml.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
