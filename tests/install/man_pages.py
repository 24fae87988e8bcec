"""The man pages: one for each command, with its options, without a warning of the formatter."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout, suppress
from pathlib import Path

from clean import commands, require, told

from counterpoint import cli

_OPTION = re.compile(r"^ +(?:-\w, )?(--[a-z-]+)\b", re.MULTILINE)
_FOLDER = "share/man/man1"


def names() -> set[str]:
    """Where the pages are, from the prefix."""
    return {f"{_FOLDER}/counterpoint.1", *(f"{_FOLDER}/counterpoint-{name}.1" for name in commands())}


def helped(name: str) -> str:
    """The help of a command."""
    with redirect_stdout(io.StringIO()) as said, suppress(SystemExit):
        cli.main([*filter(None, [name]), "--help"])
    return said.getvalue()


def complete(prefix: Path) -> str:
    """Every page shows the options that its command's help shows, and the page of the program every command."""
    options = 0
    for name in ("", *commands()):
        page = prefix / _FOLDER / f"counterpoint{'-' if name else ''}{name}.1"
        warnings = told(["groff", "-man", "-ww", "-z", page])
        require(warnings == "", f"{page.name}: {warnings}")
        shown = told(["groff", "-man", "-Tascii", "-P-cbou", "-rLL=100n", page])
        expected = set(_OPTION.findall(helped(name).partition("\nOptions:\n")[2]))
        found = set(_OPTION.findall(shown.partition("\nOPTIONS\n")[2].partition("\nEXIT STATUS\n")[0]))
        require("--help" in expected and found == expected, f"{page.name} differs in {found ^ expected}")
        require(re.search(rf"counterpoint{'-' if name else ''}{name} - \w", shown) is not None, f"{page.name}: no NAME")
        require(re.search(r"^ +141 +\w", shown, re.MULTILINE) is not None, f"{page.name} lacks exit codes")
        listed = set(re.findall(r"\bcounterpoint-([a-z]+)\(1\)", shown[shown.index("SEE ALSO") :]))
        require(name != "" or listed == set(commands()), f"{page.name} names {listed}")
        options += len(expected)
    return f"{options} options in {len(names())} pages"
