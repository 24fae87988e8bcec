"""Every command of the pages can be called: its options are read, and names, sizes and values that it has are known.

Blocks with output are run where their page is tested; all others, also those that take minutes, are read here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

import tutorial
from counterpoint import _engine
from counterpoint.cli import app, project
from counterpoint.contract import options
from counterpoint.contract.request import given, part

pytestmark = pytest.mark.engine

_FOLDERS = ("docs", "examples", "integrations", "validation", "recorder")
_PAGES = [
    *tutorial.ROOT.glob("*.md"),
    *(page for folder in _FOLDERS for page in (tutorial.ROOT / folder).rglob("*.md")),
]
_CALL = re.compile(r"^(?:\w+=\S+ )*(?:\S*/)?counterpoint +(?P<words>[a-z].*)$")
_SYNOPSIS = re.compile(r"\.\.\.|\[--|\b[A-Z]{3,}\b(?!=)")
"""What only the form of a command has: something in brackets, or a word that stands for others."""
_RESOLVED = {"run", "crash", "cite", "annotations"}
"""Commands whose configuration the engine judges without running it."""


def _lines(page: Path) -> Iterator[str]:
    """The lines of the blocks of code of a page, with continued lines as one."""
    text = page.read_text().replace("\\\n", " ")
    for block in tutorial.blocks(text):
        if block.language in ("sh", ""):
            yield from block.body.splitlines()
    yield from re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def _calls() -> Iterator[tuple[str, list[str]]]:
    """The calls of the pages: where they stand, and their words, without what the shell does with them."""
    for page in sorted(_PAGES):
        for line in _lines(page):
            found = _CALL.match(line.partition(" #")[0].strip())
            if found and not _SYNOPSIS.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", found["words"])):
                words = shlex.split(found["words"])
                ends = [place for place, word in enumerate(words) if re.match(r"[|>&;]|\d>", word)]
                yield str(page.relative_to(tutorial.ROOT)), words[: ends[0] if ends else None]


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


_REFUSED = {
    "crash bbe array --set eadr.battery=write-only",
    "crash eadr-all-operation array --set eadr.battery=write-compute-order",
    "run secpm btree --set controller.wpq_entries=4",
}
"""What a page shows to be refused."""


def test_every_command_of_the_pages_is_taken() -> None:
    calls = {tuple(words): page for page, words in _calls()}
    assert len(calls) > 300
    refused = {" ".join(call): (page, said) for call, page in calls.items() if (said := _refusal(list(call)))}
    assert {call: told for call, told in refused.items() if call not in _REFUSED} == {}
    assert refused.keys() == _REFUSED


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
