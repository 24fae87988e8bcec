"""`man`: the man pages of the program, made from its tree of commands; `make install` installs them.

(click-man knows only commands of Click, and Typer's no longer are.)
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from .._engine import InputError
from ..system.files import prepare_folder, write_text
from ..system.units import excerpt, near
from ..verbs.version import __version__
from . import screen

PROGRAM = "counterpoint"


def man(
    command: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="A command; the page of the program without one.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for all pages.")] = None,
) -> None:
    """Show the man page of a command, or write all of them into DIR."""
    name = PROGRAM if command is None else f"{PROGRAM}-{command}"
    found = dict(pages())
    if name not in found:
        known = [one.removeprefix(f"{PROGRAM}-") for one in found if one != PROGRAM]
        raise InputError(f"no command '{excerpt(command or '')}'{near(command or '', known)}")
    if out is not None:
        if command is not None:
            raise typer.BadParameter("--out writes all pages: leave out COMMAND")
        folder = prepare_folder(out)
        for one, text in found.items():
            write_text(folder / f"{one}.1", text)
    elif sys.stdout.isatty() and shutil.which("man"):
        subprocess.run(["man", "-l", "-"], input=found[name], text=True, check=False)
    else:
        screen.print_text(found[name].rstrip("\n"))


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
    examples = [command.epilog] if command.epilog else []
    lines += [one for text in examples for one in (".SH EXAMPLES", escaped(text.partition(": ")[2]))]
    lines += [".SH EXIT STATUS", *_described(exit_codes())]
    pages = [f"{PROGRAM}-{one}" for one in commands] or [PROGRAM]
    lines += [".SH SEE ALSO", ",\n".join(rf"\fB{escaped(one)}\fR(1)" for one in pages)]
    return "\n".join(lines) + "\n"


def _described(entries: list[tuple[str, str]]) -> Iterator[str]:
    for name, text in entries:
        yield from (".TP", rf"\fB{escaped(name)}\fR", escaped(text) or r"\&")


def exit_codes() -> list[tuple[str, str]]:
    """What the description of the command line says about them."""
    from . import __doc__ as told_of_the_command_line

    told = re.search(r"^Exit codes: (.*?)\.\s", told_of_the_command_line or "", re.DOTALL | re.MULTILINE)
    entries = " ".join(told[1].split()).split("; ") if told else []
    found = [re.fullmatch(r"([0-9]+(?:(?:, | and )[0-9]+)*) (.*)", entry) for entry in entries]
    return [(match[1], f"{match[2][0].upper()}{match[2][1:]}.") for match in found if match]


def pages() -> Iterator[tuple[str, str]]:
    """Names of the man pages and what is in them: that of the command, and one for each of its commands."""
    from . import app

    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name=PROGRAM, **group.context_settings)
    names = group.list_commands(context)
    yield PROGRAM, page(context, names)
    for name in names:
        command = group.get_command(context, name)
        below = typer.Context(command, info_name=name, parent=context, **command.context_settings)
        yield f"{PROGRAM}-{name}", page(below, [])
