"""What shells ask the program when a command is completed. `make test-install` types into the shells themselves."""

from __future__ import annotations

import re
from pathlib import Path

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
        ("crash secpm btree --no-", ["--no-preflight", "--no-shrink", "--no-blame", "--no-project"]),
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


@pytest.mark.parametrize(
    ("shell", "written"), [("bash", ".bash_completions/counterpoint.sh"), ("zsh", ".zfunc/_counterpoint")]
)
def test_completions_are_installed_for_the_shell_that_asks(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shell: str, written: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: shell)
    outcome = cli("--install-completion")
    assert (outcome.code, outcome.out.endswith(f"{tmp_path / written}\n")) == (0, True)
    assert f"{VARIABLE}=complete_{shell}" in (tmp_path / written).read_text()


@pytest.mark.parametrize("shell", [None, "pwsh"])
def test_other_shells_get_no_completions(cli: Cli, monkeypatch: pytest.MonkeyPatch, shell: str | None) -> None:
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: shell)
    assert cli("--install-completion").refusal == "--install-completion: call it from bash, zsh or fish\n"


def test_completions_that_cannot_be_written_are_told_in_a_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("typer._completion_shared._get_shell_name", lambda: "bash")
    assert cli("--install-completion").refusal.startswith("--install-completion: ")
