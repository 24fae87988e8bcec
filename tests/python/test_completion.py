"""What shells ask the program when a command is completed. `make test-install` types into the shells themselves."""

from __future__ import annotations

import re

import pytest
from conftest import Cli

from counterpoint.cli import Program
from counterpoint.cli.completion import VARIABLE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_program(cli: Cli, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    monkeypatch.setenv(VARIABLE, f"source_{shell}")
    outcome = cli("crash", "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"{VARIABLE}=complete_{shell}" in outcome.out
    assert "Usage" not in outcome.out


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", list(Program.places)),
        ("rec", ["recovery", "record"]),
        ("crash secpm btree --no-", ["--no-preflight", "--no-shrink", "--no-blame"]),
        ("run secpm btree --variant p", ["published"]),
        ("nothing", []),
    ],
)
def test_commands_options_and_choices_are_completed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, found: list[str]
) -> None:
    words = ["counterpoint", *typed.split(" ")]
    monkeypatch.setenv(VARIABLE, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    outcome = cli()
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(outcome.out.split()) == sorted(found)


@pytest.mark.parametrize(("typed", "code"), [("counterpoint cra", 0), ("counterpoint replay trace", 1)])
def test_fish_hears_in_the_exit_code_whether_there_is_something_to_complete(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    monkeypatch.setenv(VARIABLE, "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", typed)
    assert cli().code == code


@pytest.mark.parametrize("instruction", ["bash", "bash_source", "source_csh", "install_bash", "complete_bash"])
def test_unknown_completion_request_is_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch, instruction: str) -> None:
    monkeypatch.setenv(VARIABLE, instruction)
    outcome = cli("designs")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(rf"error: {VARIABLE} is .*\n", outcome.err)


def test_an_empty_variable_is_as_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert cli("--version").out.startswith("counterpoint ")
