"""Files that say which findings of a check are not shown (see `docs/ci.md`)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any, get_args

from .._engine import InputError
from ..contract.results import Finding
from ..contract.results.checks import FindingKind
from ..contract.spec_files import Suppression, SuppressionsFile, keys_of
from ..system.paths import below, file_and_line, read_bounded
from ..system.units import excerpt, near

_BYTES_MAX = 1 << 20
_KINDS: tuple[str, ...] = get_args(FindingKind)


@dataclass(frozen=True)
class Suppressions:
    """A file of suppressions.

    Attributes:
        path: of the file.
        rules: the suppressions, in its order.
    """

    path: str
    rules: tuple[Suppression, ...]

    def unused(self, findings: Iterable[Finding], root: Path) -> list[str]:
        """What of the file matches none of these findings, in sentences."""
        found = list(findings)
        if not self.rules:
            return [f"{self.path} has no suppressions"]
        numbered = enumerate(self.rules, 1)
        idle = [(number, rule) for number, rule in numbered if not any(matches(rule, one, root) for one in found)]
        if len(idle) == len(self.rules) > 1:
            return [f"{self.path}: no suppression matches a finding"]
        return [f"{self.path}: suppression {number} ({_told(rule)}) matches no finding" for number, rule in idle]


def load(path: str | os.PathLike[str]) -> Suppressions:
    """Reads a file of suppressions.

    Raises:
        InputError: bad input, in one sentence that names the place.
    """
    place = os.fspath(path)
    read = read_bounded(path, _BYTES_MAX, "a file of suppressions")
    try:
        document = tomllib.loads(read.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{place}' is not TOML: {error}") from None
    _check_keys(document, keys_of(SuppressionsFile), f"{place}: ")
    tables = document.get("suppress", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{place}: suppress must be tables, each begun by [[suppress]]")
    return Suppressions(place, tuple(_rule(table, f"{place}: suppress {n}: ") for n, table in enumerate(tables, 1)))


def matches(rule: Suppression, finding: Finding, root: Path) -> bool:
    """Whether a suppression is about a finding."""
    file = source_file(finding.source)
    relative = None if file is None or rule.file is None else below(root, file)
    function = finding.function
    bare = None if function is None else function.partition("(")[0]
    return (
        _fits(rule.function, function, bare)
        and _fits(rule.file, file, relative, _name(file))
        and _fits(rule.object, finding.object, _name(finding.object))
        and _fits(rule.kind, finding.kind)
    )


def source_file(source: str | None) -> str | None:
    """The file of a place in the form `file:line`."""
    return None if source is None else file_and_line(source)[0]


def _name(path: str | None) -> str | None:
    return None if path is None else PurePath(path).name


def _fits(pattern: str | None, *texts: str | None) -> bool:
    return pattern is None or any(text is not None and fnmatchcase(text, pattern) for text in texts)


def _rule(table: Mapping[str, Any], place: str) -> Suppression:
    _check_keys(table, keys_of(Suppression), place)
    for key, value in table.items():
        if not isinstance(value, str):
            raise InputError(f"{place}{key} is {excerpt(str(value))}; it must be a text")
    if not table.keys() - {"reason"}:
        raise InputError(f"{place}it matches every finding; name a function, file, object or kind")
    kind = table.get("kind")
    if kind is not None and not any(fnmatchcase(known, kind) for known in _KINDS):
        raise InputError(f"{place}kind '{excerpt(kind)}' is no kind of finding{near(kind, _KINDS)}")
    return Suppression(**table)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"{place}{key} does not exist{near(key, known)}")


def _told(rule: Suppression) -> str:
    given = ((key, getattr(rule, key)) for key in keys_of(Suppression) if key != "reason")
    return ", ".join(f"{key} '{excerpt(value)}'" for key, value in given if value is not None)
