"""The examples: those of pages are what the pages show, whose tests run them; the others are run here, or installed.

`make test-install` builds and runs those of `examples/embedding`, `make test-recorder` those of `examples/programs`.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import example_programs
import pytest

import counterpoint as cp
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
    assert folders == {"champsim", "ci", "design", "embedding", "lines", "notebooks", "programs", "sweep", "traces"}
    assert all(f"]({name}/" in _PAGE for name in folders)


def test_every_program_is_built_and_crashed() -> None:
    cases = {case.source for case in example_programs.CASES}
    assert {path for path in (_FOLDER / "programs").iterdir() if path.is_file()} < cases
    for case in example_programs.CASES:
        assert len(example_programs.broken(case.source.read_text(), case.durable)) < case.source.stat().st_size


def test_the_small_traces_are_what_the_scripts_write(tmp_path: Path) -> None:
    for script, where, count in (("lines/write_traces.py", ".", "8"), ("champsim/write_trace.py", "champsim.xz", "64")):
        subprocess.run([sys.executable, _FOLDER / script, tmp_path / where, count], check=True)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    shown = {path.name: path.read_bytes() for path in (_FOLDER / "traces").iterdir()}
    for traces in (written, shown):
        traces["champsim.xz"] = lzma.decompress(traces["champsim.xz"])
    assert written == shown


@pytest.mark.engine
def test_a_small_trace_of_each_simulator_is_replayed() -> None:
    traces = _FOLDER / "traces"
    (run,) = cp.replay(traces / "champsim.xz", ["secpm"], machine="small")
    assert run.stats.instructions == 3 * 64 * 2
    for name in ("dramsim2.k6", "dramsim3.trace", "nvmain.nvt", "ramulator.trace"):
        (found,) = cp.replay_lines(traces / name, ["secpm"], machine="small")
        assert (found.reads, found.writes) == (16, 8), name


@pytest.mark.engine
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    shutil.copytree(_FOLDER, tmp_path / "examples")
    played = list(tutorial.beside(tmp_path).play(_PAGE))
    for done in played:
        tutorial.check(done)
    assert len(played) == 4
