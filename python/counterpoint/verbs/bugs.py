"""The corpus of bugs of programs on persistent memory, which comes with the package (see `docs/bugs.md`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .._engine import InputError
from ..system.files import prepare_folder, write_bytes
from ..system.units import near

FOLDER = Path(__file__).parents[1] / "_bugs"
"""Sources and table of the corpus; a link to `bugs/` of the repository."""

MARK = "/* BUG: "
"""What stands behind the store that a program is about."""


@dataclass(frozen=True)
class Bug:
    """A program with one bug.

    Attributes:
        name: its source is `name.c`; with `-DFIXED` it is compiled without the bug.
        kind: what is wrong: flush, fence, order, atomicity or recovery.
        description: the bug in one sentence.
        check: the kind of finding that `counterpoint check` has at the marked line; None if only a crash shows the bug.
    """

    name: str
    kind: str
    description: str
    check: str | None


@cache
def table() -> dict[str, Any]:
    """The table of the corpus as it stands in its file."""
    return tomllib.loads((FOLDER / "corpus.toml").read_text())


def bugs() -> list[Bug]:
    """All programs of the corpus, in its order."""
    return [Bug(row["name"], row["kind"], row["description"], row.get("check")) for row in table()["program"]]


def source(name: str) -> str:
    """The source of a program.

    Raises:
        InputError: there is none of this name.
    """
    names = [one.name for one in bugs()]
    if name not in names:
        raise InputError(f"bug '{name}' does not exist{near(name, names)}")
    return (FOLDER / f"{name}.c").read_text()


def copy(folder: Path) -> Path:
    """Writes all programs, with what they include and the table, into a folder.

    Raises:
        InputError: they cannot be written.
    """
    out = prepare_folder(folder)
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in {".c", ".h", ".toml"}:
            write_bytes(out / path.name, path.read_bytes())
    return out
