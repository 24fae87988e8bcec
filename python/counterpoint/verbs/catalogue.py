"""What the engine says of itself: designs, their parts, workloads, machines, faults."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..contract import results
from ..contract.request import Variant, check_design, literal

if TYPE_CHECKING:
    from ..contract.results import Design, DesignPart, Fault, Machine, Probe, Workload


def designs() -> list[Design]:
    """All built-in designs."""
    return list(_catalogue().designs)


def design(name: str | os.PathLike[str]) -> Design:
    """The design with this name, or of this design file.

    Raises:
        InputError: it does not exist, or the file is not a design, in one sentence.
    """
    return results.build(results.Design, described(name))


SET = "set."
"""Before the key of a machine value that a design sets, among its parts."""

MODULES = ("controller.policy=continuous", "module.kind=buffered")
"""Values that give modules to a machine of banks."""


def needs_modules(name: str | os.PathLike[str], variant: Variant = "hardened") -> bool:
    """Whether it is modules that encrypt for a design, which not every machine has.

    Raises:
        InputError: there is no such design, in one sentence.
    """
    return design_parts(name, variant).get("encryption") == "module-xts"


def everywhere() -> list[str]:
    """The names of the built-in designs that run on every machine."""
    return [one.name for one in designs() if not needs_modules(one.name)]


def design_parts(name: str | os.PathLike[str], variant: Variant = "hardened") -> dict[str, Any]:
    """The parts of a built-in design or of a design file, by key; parts without effect are left out.

    Raises:
        InputError: there is no such design, or the file is not a design, in one sentence.
    """
    parts = described(name)["parts"]
    if variant not in parts:
        raise _engine.InputError(f"variant '{variant}' does not exist: published or hardened")
    return dict(parts[variant])


def effective_parts(
    name: str | os.PathLike[str], stated: Mapping[str, object] | None = None, *, variant: Variant = "hardened"
) -> dict[str, bool | str | tuple[str, ...]]:
    """The parts of a design with some of them stated otherwise; those without an effect then are left out.

    Args:
        name: a built-in design or a design file.
        stated: parts by key; what is stated of a part that has no effect then changes nothing.
        variant: the reading of the design.

    Raises:
        InputError: the parts contradict each other, or there is no such design, part or value.
    """
    return dict(_effective(check_design(name), tuple((stated or {}).items()), variant))


def check_set(key: str, value: object) -> None:
    """Checks that there is a machine value `key`, or with `design.` before it a part, and that it may have this value.

    Whether the value goes with others is not checked.

    Raises:
        InputError: there is none, or it may not, in a sentence that does not say where the value stands.
    """
    _engine.check_set(f"{key}={literal(value)}")


@lru_cache(1024)
def _effective(
    design: str, stated: tuple[tuple[str, Any], ...], variant: str
) -> Mapping[str, bool | str | tuple[str, ...]]:
    sets = [f"{key}={json.dumps(value)}" for key, value in stated]
    found = json.loads(_engine.effective_parts(design, variant, sets))
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def design_file(name: str) -> str:
    """The design file of a built-in design, as a user writes one.

    Raises:
        InputError: there is no such design.
    """
    text = _engine.design_file(name)
    if text is None:
        known = design(name).name
        raise _engine.InputError(f"design '{known}' is a file already: {name}")
    return text


def parts() -> list[DesignPart]:
    """Every part that a design file can name, in the order in which a design is read."""
    return list(_catalogue().parts)


def workloads() -> list[Workload]:
    """All workloads."""
    return list(_catalogue().workloads)


def probes() -> list[Probe]:
    """All probes, which are workloads that measure memory and keep nothing."""
    return list(_catalogue().probes)


def programs() -> list[str]:
    """The names of all workloads and probes, in their order: every other workload is the path of a trace."""
    return [*(one.name for one in workloads()), *(one.name for one in probes())]


def machines() -> list[Machine]:
    """All machine presets."""
    return list(_catalogue().machines)


def faults() -> list[Fault]:
    """The mechanisms that `crash` can switch off."""
    return list(_catalogue().faults)


def engine_version() -> str:
    """The version of the engine, which is that of the package."""
    return _catalogue().engine_version


def engine_build() -> str:
    """The digest of the sources that the engine was built from: equal builds give equal results."""
    return _catalogue().engine_build


def form_of(design: str | os.PathLike[str]) -> str:
    """The form of the program that a design runs.

    Raises:
        InputError: there is no such design.
    """
    return str(described(design)["form"])


def machine_of(design: str | os.PathLike[str]) -> str:
    """The machine preset of a design.

    Raises:
        InputError: there is no such design.
    """
    return str(described(design)["machine"])


def machine_for(designs: Sequence[str | os.PathLike[str]], machine: str | os.PathLike[str] | None) -> str:
    """The one machine of all designs of a call: the one that is asked for, else the preset of the first design.

    Every call that takes several designs gets its machine here.

    Raises:
        InputError: there is no such design.
    """
    return machine_of(designs[0]) if machine is None else os.fspath(machine)


def check_names(designs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The names of designs in results; some of the designs may be files.

    Raises:
        InputError: there is no such design, or two of them have the same name.
    """
    called: dict[str, str] = {}
    names = [str(described(design)["name"]) for design in designs]
    for name, text in zip(names, [os.fspath(design) for design in designs], strict=True):
        if called.setdefault(name, text) != text:
            raise _engine.InputError(
                f"designs {called[name]} and {text} are both called '{name}'; rename one of them with `name = ...`"
            )
    return names


def described(design: str | os.PathLike[str]) -> dict[str, Any]:
    """What the engine says of a design: all of its parts, also those of the files that its own builds on."""
    document: dict[str, Any] = json.loads(_engine.describe_design(check_design(design)))
    return document


def _catalogue() -> results.Catalogue:
    return _described_by(_engine.describe)


@lru_cache(1)
def _described_by(describe: Callable[[], str]) -> results.Catalogue:
    """What an engine says of itself. It takes longer to say this than to simulate a short run."""
    return results.build(results.Catalogue, json.loads(describe()))
