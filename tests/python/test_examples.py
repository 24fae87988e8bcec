"""The examples: those of pages are what the pages show, whose tests run them; the others are run here, or installed.

`make test-install` builds and runs those of `examples/embedding`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pages
import tutorial

_FOLDER = tutorial.ROOT / "examples"
_PAGE = (_FOLDER / "README.md").read_text()


def test_examples_of_pages_are_what_the_pages_show() -> None:
    shown = dict(pages.examples())
    folders = [pages.ROOT / folder for folder in pages.EXAMPLES]
    found = {path: path.read_text() for folder in folders for path in folder.rglob("*") if path.is_file()}
    assert found == shown, "`make pages` writes them"


def test_every_folder_of_examples_is_listed() -> None:
    folders = {path.name for path in _FOLDER.iterdir() if path.is_dir()}
    assert folders == {"champsim", "ci", "design", "embedding", "lines", "notebooks", "sweep"}
    assert all(f"]({name}/" in _PAGE for name in folders)


@pytest.mark.engine
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(_FOLDER, tmp_path / "examples")
    played = list(tutorial.beside(tmp_path).play(_PAGE))
    for done in played:
        tutorial.check(done)
    assert len(played) == 3
