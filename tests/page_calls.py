"""The calls of `counterpoint` that pages show, and their running.

Usage: page_calls.py [--every N] [--seconds S]. Calls what the pages show, page by page, in a folder for each with the
files that it shows; of one page of N. A call ends with 0, or with 1, which is a verdict. After S seconds it is
terminated: then it was taken, and had begun. What `PLAYED` has is run elsewhere, with what is printed.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tutorial

FOLDERS = ("docs", "examples", "integrations", "validation", "recorder")
PAGES = sorted(
    [
        *tutorial.ROOT.glob("*.md"),
        *(page for folder in FOLDERS for page in (tutorial.ROOT / folder).rglob("*.md")),
    ]
)
REFUSED = {
    "crash bbe array --set eadr.battery=write-only",
    "crash eadr-all-operation array --set eadr.battery=write-compute-order",
    "run secpm btree --set controller.wpq_entries=4",
}
"""What a page shows to be refused, by its words alone."""
REFUSED_WHEN_RUN = {"crash ideal queue", "crash write-back-tree queue"}
"""What a page shows to be refused, by what is crashed."""
PLAYED: Mapping[str, str] = {
    "docs/bugs.md": "tests/recorder/story.py",
    "docs/ci.md": "tests/python/test_ci_page.py",
    "docs/figures.md": "tests/python/test_figures_page.py",
    "docs/project.md": "tests/python/test_project.py",
    "docs/record.md": "tests/recorder/story.py",
    "docs/ten-minutes.md": "tests/python/test_ten_minutes.py",
    "docs/tutorial.md": "tests/python/test_tutorial.py",
    "examples/README.md": "tests/python/test_examples.py",
}
"""Pages whose blocks a test runs, and compares with what they print."""

_CALL = re.compile(r"^(?:\w+=\S+ )*(?:\S*/)?counterpoint +(?P<words>[a-z].*)$")
_SYNOPSIS = re.compile(r"\.\.\.|\[--|\b[A-Z]{3,}\b(?!=)")
"""What only the form of a command has: something in brackets, or a word that stands for others."""
_OF_READER = re.compile(r"^\./|\.cptrace$|COMMAND|^tcp:|^tls:|^docs$")
"""What only a reader has: a program, its trace, a cluster; and the folder that the pages themselves are written to."""
_BESIDE = ("docs", "examples", "tests")
"""Folders of the repository that calls name."""


def _lines(page: Path) -> Iterator[str]:
    """The lines of the blocks of code of a page, with continued lines as one."""
    text = page.read_text().replace("\\\n", " ")
    for block in tutorial.blocks(text):
        if block.language in ("sh", ""):
            yield from block.body.splitlines()
    yield from re.findall(r"^    (\S.*)$", text, re.MULTILINE)


def of_page(page: Path) -> Iterator[list[str]]:
    """The calls of a page: their words, without what the shell does with them."""
    for line in _lines(page):
        found = _CALL.match(line.partition(" #")[0].strip())
        if found and not _SYNOPSIS.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", found["words"])):
            words = shlex.split(found["words"])
            ends = [place for place, word in enumerate(words) if re.match(r"[|>&;]|\d>", word)]
            yield words[: ends[0] if ends else None]


def name_of(page: Path) -> str:
    """A page as `PLAYED` has it."""
    return str(page.relative_to(tutorial.ROOT))


def furnish(folder: Path, page: Path) -> None:
    """Puts the files into a folder that a page shows: blocks with a title, or with a name as their first line.

    For a reader's own sweep and design those of the examples stand.
    """
    for name in _BESIDE:
        (folder / name).symlink_to(tutorial.ROOT / name)
    shutil.copy(tutorial.ROOT / "examples/sweep/queue.toml", folder)
    shutil.copy(tutorial.ROOT / "examples/design/split-pairs.toml", folder / "mine.toml")
    for block in tutorial.blocks(page.read_text()):
        first = re.match(r"# (\w+\.toml)\n", block.body)
        if name := block.title or (str(first[1]) if first else ""):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block.body)


def call(words: list[str], folder: Path, seconds: float) -> str | None:
    """What is wrong with a call, if anything."""
    process = subprocess.Popen(
        [sys.executable, "-m", "counterpoint", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, said = process.communicate(timeout=seconds)
        allowed = {2} if " ".join(words) in REFUSED | REFUSED_WHEN_RUN else {0, 1}
    except subprocess.TimeoutExpired:
        process.terminate()
        _, said = process.communicate()
        allowed = {0, 1, 128 + signal.SIGTERM, -signal.SIGTERM}
    return None if process.returncode in allowed else f"exit code {process.returncode}: {said.strip()}"


def main() -> int:
    """Calls what pages show; the exit code is 1 if one of them fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    asked: Any = parser.parse_args()
    wrong, done = 0, set()
    for page in [page for page in PAGES if name_of(page) not in PLAYED][:: asked.every]:
        with tempfile.TemporaryDirectory() as folder:
            furnish(Path(folder), page)
            for words in of_page(page):
                if tuple(words) in done or any(map(_OF_READER.search, words)):
                    continue
                done.add(tuple(words))
                if said := call(words, Path(folder), asked.seconds):
                    wrong += 1
                    print(f"error: {name_of(page)}: counterpoint {shlex.join(words)}: {said}", file=sys.stderr)
    print(f"{len(done)} calls of the pages were run")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
