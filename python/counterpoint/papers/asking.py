"""What the experiments of papers ask of the engine, and the values that their runs have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from .._engine import InputError
from ..runs.matrix import Value
from ..searches.space import Row
from ..verbs import api, catalogue
from .decisions import DecisionSpec
from .declared import Experiment, paper


def content(request: Mapping[str, Any]) -> str:
    """A request as a key."""
    return json.dumps(request, sort_keys=True)


def placed(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """A request with the full path of its trace in the package, if it has one."""
    trace = resources.files(__package__) / request.get("machine", "") / request["workload"]
    return {**request, "workload": str(trace)} if trace.is_file() else request


def requests_of(declared: Iterable[Experiment]) -> Iterator[Mapping[str, Any]]:
    """The runs of experiments that have no recoveries."""
    for experiment in declared:
        for matrix in experiment.matrices.values():
            for point in matrix.points:
                yield placed(point.request)


def refused(declared: Iterable[Experiment]) -> str:
    """Why the engine refuses a run; empty if it refuses none."""
    for asked in requests_of(declared):
        try:
            api.resolve_request(asked)
        except InputError as error:
            return str(error)
    return ""


def set_now(name: str, spec: DecisionSpec) -> Row:
    """What the runs of a paper have for a decision: values of its preset, or of `paper.toml`."""
    preset = next(machine.values for machine in catalogue.machines() if machine.name == name)
    return tuple(_value(name, preset, key) for key in spec.keys)


def _value(name: str, preset: Mapping[str, Any], key: str) -> Value:
    section, _, value = key.partition(".")
    if not value and key not in paper(name).document["full"]:
        raise ValueError(f"decision {key} of {name}: [full] of its paper.toml must have it, as the runs do")
    found: Value = preset[section][value] if value else paper(name).document["full"][key]
    return found
