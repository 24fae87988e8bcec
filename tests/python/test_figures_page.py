"""The page on figures for papers: its commands run, print what it shows, and draw its picture."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import tutorial

_PAGE = tutorial.ROOT / "docs/figures.md"
_PICTURE = tutorial.ROOT / "docs/img/column.svg"

pytestmark = pytest.mark.engine


def test_its_commands_print_what_it_shows_and_draw_its_picture(tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    command = commands / "counterpoint"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m counterpoint "$@"\n')
    command.chmod(0o700)
    folder = tmp_path / "paper"
    folder.mkdir()
    place = tutorial.Place(folder, {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"})
    text = _PAGE.read_text()
    played = 0
    for done in place.play(text):
        tutorial.check(done)
        played += 1
    assert played == text.count("```sh")
    drawn = (folder / "figures/latency.svg").read_text()
    if "COUNTERPOINT_WRITE_PAGES" in os.environ:
        _PICTURE.write_text(drawn)
    assert _PICTURE.read_text() == drawn, "COUNTERPOINT_WRITE_PAGES=1 draws it"
