"""Writes man pages and shell completions of the command, from the command itself, as they lie under a prefix.

Usage: manual.py FOLDER. The folder is made anew. Man pages are made from the tree of commands that Typer has, and
completions by Typer. (click-man knows only commands of Click, and Typer's no longer are.)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from counterpoint import cli
from counterpoint.cli.completion import VARIABLE
from counterpoint.verbs.version import __version__

PROGRAM = "counterpoint"
COMPLETIONS = {
    "bash": f"share/bash-completion/completions/{PROGRAM}",
    "zsh": f"share/zsh/site-functions/_{PROGRAM}",
    "fish": f"share/fish/vendor_completions.d/{PROGRAM}.fish",
}
"""Where each shell looks for completions, from the prefix."""

FIRST_IN_ZSH = f"""
# Zsh loads this file when the command is completed first: this time is answered, too.
if [ "${{zsh_eval_context[-1]}}" = loadautofunc ]; then _{PROGRAM}_completion; fi
"""


def escaped(text: str) -> str:
    """Text that troff prints as it is; a name between backquotes is bold."""
    literal = text.replace("\\", r"\e").replace("-", r"\-")
    lines = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", literal).splitlines()
    # At the beginning of a line, these two would be a request.
    return "\n".join(rf"\&{line}" if line.startswith((".", "'")) else line for line in lines)


def page(context: typer.Context, commands: list[str]) -> str:
    """The man page of a command, which lists the `commands` below it and names the pages beside it."""
    command: Any = context.command
    name = context.command_path.replace(" ", "-")
    summary = escaped(command.help)
    lines = [
        rf'.TH "{escaped(name.upper())}" 1 "" "{PROGRAM} {__version__}" "{PROGRAM}"',
        # Words are neither divided nor spread over the line: options stay whole.
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"{escaped(name)} \- {summary.removesuffix('.')}",
        ".SH SYNOPSIS",
        rf"\fB{escaped(context.command_path)}\fR {escaped(' '.join(command.collect_usage_pieces(context)))}",
        ".SH DESCRIPTION",
        summary,
    ]
    for title, kind in (("ARGUMENTS", "argument"), ("OPTIONS", "option")):
        records = [p.get_help_record(context) for p in command.get_params(context) if p.param_type_name == kind]
        entries = [record for record in records if record is not None]
        if entries:
            lines += [f".SH {title}", *_described(entries)]
    if commands:
        summaries = [(one, command.get_command(context, one).help) for one in commands]
        lines += [".SH COMMANDS", *_described(summaries)]
    lines += [".SH EXIT STATUS", *_described(exit_codes())]
    pages = [f"{PROGRAM}-{one}" for one in commands] or [PROGRAM]
    lines += [".SH SEE ALSO", ",\n".join(rf"\fB{escaped(one)}\fR(1)" for one in pages)]
    return "\n".join(lines) + "\n"


def _described(entries: list[tuple[str, str]]) -> Iterator[str]:
    for name, text in entries:
        yield from (".TP", rf"\fB{escaped(name)}\fR", escaped(text) or r"\&")


def exit_codes() -> list[tuple[str, str]]:
    """What the description of the command line says about them."""
    told = re.search(r"^Exit codes: (.*?)\.\s", cli.__doc__ or "", re.DOTALL | re.MULTILINE)
    entries = " ".join(told[1].split()).split("; ") if told else []
    found = [re.fullmatch(r"([0-9]+(?:(?:, | and )[0-9]+)*) (.*)", entry) for entry in entries]
    return [(match[1], f"{match[2][0].upper()}{match[2][1:]}.") for match in found if match]


def pages() -> Iterator[tuple[str, str]]:
    """Names of the man pages and what is in them: that of the command, and one for each of its commands."""
    group: Any = typer.main.get_command(cli.app)
    context = typer.Context(group, info_name=PROGRAM, **group.context_settings)
    names = group.list_commands(context)
    yield PROGRAM, page(context, names)
    for name in names:
        command = group.get_command(context, name)
        below = typer.Context(command, info_name=name, parent=context, **command.context_settings)
        yield f"{PROGRAM}-{name}", page(below, [])


def completion(shell: str) -> str:
    """The script that lets a shell complete the command."""
    command = [sys.executable, "-m", "counterpoint"]
    environment = {**os.environ, VARIABLE: f"source_{shell}"}
    script = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return script.strip() + "\n" + (FIRST_IN_ZSH if shell == "zsh" else "")


def main(folder: Path) -> None:
    """Writes them all."""
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    written = {f"share/man/man1/{name}.1": text for name, text in pages()}
    written |= {path: completion(shell) for shell, path in COMPLETIONS.items()}
    for name, text in written.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
