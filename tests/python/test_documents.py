"""The keys of JSON documents that pages name are those that the program writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import pages

pytestmark = pytest.mark.engine

_DOCS = pages.ROOT / "docs"
_SMALL = ("--machine", "small", "--transactions", "2", "--json")
_TRACE = "tests/data/btree-5.pmemcheck.log"
_LINES = "tests/data/nvmain-pcm.nvt.gz"


def _keys(value: object) -> Iterator[str]:
    """Every key of a document."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _told(page: str, after: str) -> set[str]:
    """The keys in the block that shows a document, the first one of a page after a text."""
    block = (_DOCS / page).read_text().split(after)[1].split("\n    {")[1].split("\n\n")[0]
    return set(re.findall(r'"([a-z_0-9]+)"(?!\s*\|)(?![^"]*"\|)', re.sub(r': "[^"]*"(?:\|"[^"]*")*', "", block)))


@pytest.mark.parametrize(
    ("page", "after", "words"),
    [
        ("cli.md", "\n## annotations\n", ("annotations", "sca", "linked-list", *_SMALL)),
        ("cli.md", "\n## replay\n", ("replay", _LINES, "-d", "secpm", "--json")),
        ("figures.md", "\n## What to cite\n", ("cite", "secpm", "array", *_SMALL)),
        ("check.md", "\n## As JSON\n", ("check", _TRACE, "--design", "secpm", "--json")),
        ("litmus.md", "\n## A row\n", ("litmus", "torn-pair", "--json")),
        ("recovery.md", "\n## As JSON\n", ("recovery", "osiris", "bbe", "ideal", "--memory", "16GiB", "--json")),
    ],
)
def test_the_keys_of_a_document_are_those_of_its_page(page: str, after: str, words: tuple[str, ...], cli: Cli) -> None:
    document: dict[str, Any] = json.loads(cli(*words).out)
    told = _told(page, after)
    assert len(told) > 4
    assert told <= set(_keys(document))
    assert set(document) <= told


def test_the_keys_of_a_sweep_are_those_of_its_page(cli: Cli, tmp_path: Path) -> None:
    spec = tmp_path / "sweep.toml"
    spec.write_text(
        '[base]\nworkload = "array"\nmachine = "small"\ntransactions = 2\n[axes]\ndesign = ["secpm", "ideal"]\n'
        "tx_size = [64, 100]\n"
    )
    document = json.loads(cli("sweep", str(spec), "--store", str(tmp_path / "s.duckdb"), "--json").out)
    assert document["failures"]
    assert _told("cli.md", "\n## sweep\n") == set(_keys(document)) - set(_keys(document["failures"][0]["request"]))
