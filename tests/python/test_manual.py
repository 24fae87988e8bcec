"""How man pages are written. `make test-install` compares those of every command with its help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from conftest import Cli

from counterpoint.cli import Program, manual
from counterpoint.verbs.version import __version__

_COMMAND_LINE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize(
    ("text", "troff"),
    [
        ("plain text", "plain text"),
        ("--out-dir", r"\-\-out\-dir"),
        (r"C:\new", r"C:\enew"),
        (".TH is no request\n'nor this", "\\&.TH is no request\n\\&'nor this"),
        ("after `--`, see `counterpoint designs`.", r"after \fB\-\-\fR, see \fBcounterpoint designs\fR."),
    ],
)
def test_text_is_printed_as_it_is(text: str, troff: str) -> None:
    assert manual.escaped(text) == troff


def test_a_page_has_the_arguments_and_options_of_its_command() -> None:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command(context_settings={"help_option_names": ["-h", "--help"]})
    def move(
        source: Annotated[str, typer.Argument(metavar="SOURCE", help="What is moved.")],
        by_force: Annotated[bool, typer.Option("-f", "--by-force", help=".Even so.")] = False,
        secret: Annotated[bool, typer.Option("--secret", hidden=True)] = False,
    ) -> None:
        """Move a file."""

    command: Any = typer.main.get_command(app)
    page = manual.page(typer.Context(command, info_name="move", **command.context_settings), [])
    assert f'.TH "MOVE" 1 "" "counterpoint {__version__}" "counterpoint"' in page
    assert "\n.SH NAME\nmove \\- Move a file\n.SH SYNOPSIS\n\\fBmove\\fR [OPTIONS] " in page
    assert re.search(r"\.SH ARGUMENTS\n\.TP\n\\fBSOURCE.*\\fR\nWhat is moved\.", page)
    options = re.findall(r"\n\.TP\n\\fB(.*)\\fR\n(.*)", page[page.index(".SH OPTIONS") : page.index(".SH EXIT")])
    assert options == [(r"\-f, \-\-by\-force", r"\&.Even so."), (r"\-h, \-\-help", "Show this message and exit.")]


def test_exit_codes_are_those_of_the_command_line() -> None:
    told = {code for codes, _ in manual.exit_codes() for code in re.findall(r"\d+", codes)}
    assert told == set(re.findall(r"^\| (\d+) \|", _COMMAND_LINE.read_text(), re.MULTILINE))


def test_the_page_of_a_command_is_printed_and_all_are_written(cli: Cli, tmp_path: Path) -> None:
    page = cli("man", "crash").out
    assert page.startswith('.TH "COUNTERPOINT\\-CRASH" 1 ')
    assert "\n.SH EXAMPLES\ncounterpoint crash secpm btree" in page
    folder = tmp_path / "man1"
    assert cli("man", "--out", str(folder)).code == 0
    assert (folder / "counterpoint-crash.1").read_text() == page
    names = {"counterpoint.1", *(f"counterpoint-{name}.1" for name in Program.places)}
    assert {path.name for path in folder.iterdir()} == names


def test_the_page_of_nothing_is_refused(cli: Cli, tmp_path: Path) -> None:
    assert cli("man", "crsh").refusal == "no command 'crsh': did you mean 'crash'?\n"
    assert "leave out COMMAND" in cli("man", "crash", "--out", str(tmp_path)).refusal
