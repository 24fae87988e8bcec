"""Every command of the pages can be called: its options are read, and names, sizes and values that it has are known.

Blocks with output are run where their page is tested, and `make test-pages` runs all others; here they are read.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import page_calls
import tutorial
from counterpoint import _engine
from counterpoint.cli import app, project
from counterpoint.contract import options
from counterpoint.contract.request import given, part

pytestmark = pytest.mark.engine

_RESOLVED = {"run", "crash", "cite", "annotations"}
"""Commands whose configuration the engine judges without running it."""


@cache
def _program() -> Any:
    return typer.main.get_command(app)


def _refusal(words: list[str]) -> str | None:
    """Why a call is refused, as far as that needs no file and no run."""
    group = _program()
    name, *rest = words
    command = group.get_command(None, name)
    if command is None:
        return f"there is no command {name}"
    parent = typer.Context(group, info_name="counterpoint")
    try:
        context = command.make_context(name, ["--no-project", *rest] if project.options_of(command) else rest, parent)
        if name in _RESOLVED and not str(context.params["design"]).endswith(".toml"):
            asked = given(options.RunOptions, part(options.RunOptions, context.params))
            machine = str(asked.get("machine", ""))
            if not machine.endswith(".toml"):
                subject = {"design": context.params["design"], "workload": context.params["workload"]}
                _engine.resolve(json.dumps({**subject, **asked}))
    except typer.TyperException as error:
        return error.format_message()
    except _engine.InputError as error:
        return str(error)
    return None


def test_every_command_of_the_pages_is_taken() -> None:
    calls = {tuple(words): page_calls.name_of(page) for page in page_calls.PAGES for words in page_calls.of_page(page)}
    assert len(calls) > 300
    refused = {" ".join(call): (page, said) for call, page in calls.items() if (said := _refusal(list(call)))}
    assert {call: told for call, told in refused.items() if call not in page_calls.REFUSED} == {}
    assert refused.keys() == page_calls.REFUSED


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run secmp queue", "design 'secmp' does not exist"),
        ("run secpm queue --machine smal", "machine 'smal' does not exist"),
        ("crash secpm queue --set controller.wpq_entris=4", "there is no key"),
        ("crash secpm queue --tx-size 63", "tx_size"),
        ("replay x.log --trace-clok 3", "No such option"),
        ("sweep a.toml --workers x", "whole number"),
        ("crahs secpm queue", "there is no command crahs"),
    ],
)
def test_a_command_that_is_not_taken_is_found(words: str, said: str) -> None:
    assert said in (_refusal(words.split()) or "")


def test_the_first_design_file_does_what_its_page_says(tmp_path: Path) -> None:
    begin, _, _ = (tutorial.ROOT / "docs/design-files.md").read_text().partition("## What a file says")
    (done,) = tutorial.beside(tmp_path).play(begin)
    tutorial.check(done)


def test_pages_that_are_run_elsewhere_are_named_there() -> None:
    for page, test in page_calls.PLAYED.items():
        text = (tutorial.ROOT / test).read_text()
        assert Path(page).name in text or "tutorial.PAGE" in text, page
        assert "tutorial" in text, "which runs the blocks of a page"


def test_a_call_of_a_page_that_fails_is_found(tmp_path: Path) -> None:
    assert page_calls.call(["designs", "secpm"], tmp_path, 60) is None
    assert "exit code 2: error: design 'secmp'" in (page_calls.call(["designs", "secmp"], tmp_path, 60) or "")
    assert page_calls.call(["crash", "secpm", "btree", "--transactions", "100000"], tmp_path, 3) is None
