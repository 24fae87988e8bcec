"""Runs what a page of the documentation says, in order, in a copy of the repository, and compares the output.

Of fenced blocks

- ``sh`` is run, line by line as the shell of a reader would;
- ``text`` right after it is what it prints, where ``[...]`` stands for anything, and for any lines where it is alone
  in one; a block that says ``exit=1`` behind ``sh`` ends with that code, all others with 0; one that says
  ``needs="sweep"`` is passed over where ``counterpoint`` has no such command;
- any other one with ``title="PATH"`` is a file to write;
- ``diff`` is applied to the files that it names.

``python tests/tutorial.py`` puts what is printed into ``docs/tutorial.md``; blocks with ``[...]`` stay as they are.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
ELIDED = "[...]"
WIDTH = "120"
"""Columns of the terminal that the page was written at."""

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}) *(?P<language>[^\s`]*)(?P<rest>[^`]*)$")
_TITLE = re.compile(r'\btitle="([^"]+)"')
_NEEDS = re.compile(r'\bneeds="([^"]+)"')
_EXIT = re.compile(r"\bexit=(\d+)\b")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: `line` is that of its fence, from 1."""

    language: str
    body: str
    line: int
    title: str | None = None
    code: int = 0
    needs: str | None = None

    @property
    def end(self) -> int:
        """The line of the closing fence."""
        return self.line + self.body.count("\n") + 1


class Stale(AssertionError):
    """The page differs from what happens."""


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = enumerate(page.splitlines(keepends=True), start=1)
    for number, line in lines:
        if not (opened := _FENCE.match(line.rstrip("\n"))):
            continue
        body = []
        for _, inner in lines:
            if inner.strip() == opened["fence"]:
                break
            body.append(inner)
        else:
            raise Stale(f"line {number}: the block has no end")
        title, code, needs = (of.search(opened["rest"]) for of in (_TITLE, _EXIT, _NEEDS))
        found.append(
            Block(
                opened["language"],
                "".join(body),
                number,
                title[1] if title else None,
                int(code[1]) if code else 0,
                needs[1] if needs else None,
            )
        )
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether `printed` matches `expected`, except for `[...]` and spaces at the ends of lines."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == ELIDED:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split(ELIDED)) + r"\n"
    return re.fullmatch(pattern, _trimmed(printed)) is not None


def _trimmed(printed: str) -> str:
    lines = [line.rstrip() for line in printed.splitlines()]
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Done:
    """A block that has been run, and what it printed."""

    block: Block
    printed: str
    expected: Block | None


class Place:
    """A folder in which the commands of a page are run."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None) -> None:
        """Commands see `environment` in place of that of this process."""
        self.folder = folder
        self.environment = {
            **(environment or os.environ),
            "COLUMNS": WIDTH,
            "NO_COLOR": "1",
            # Edits go to the files of this folder, whatever repository it lies in.
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
        }

    def play(self, page: str) -> Iterator[Done]:
        """Runs `page`, block by block.

        Raises:
            Stale: a command ends otherwise than it should, or a file or an edit has no place.
        """
        found = blocks(page)
        for number, block in enumerate(found):
            if block.title is not None:
                path = self.folder / block.title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.body)
            elif block.language == "diff":
                self._run(block, "git apply --whitespace=nowarn -", block.body)
            elif block.language == "sh" and self.offers(block.needs):
                following = found[number + 1] if number + 1 < len(found) else None
                expected = following if following and following.language == "text" else None
                yield Done(block, self._run(block, block.body), expected)

    def offers(self, command: str | None) -> bool:
        """Whether there is nothing that a block needs, or `counterpoint` has the command that it needs."""
        asked = f".venv/bin/counterpoint {command} --help"
        return (
            command is None
            or not subprocess.run(
                ["bash", "-c", asked], cwd=self.folder, env=self.environment, capture_output=True
            ).returncode
        )

    def _run(self, block: Block, command: str, told: str = "") -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            input=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != block.code:
            what = f"line {block.line}: exit code {done.returncode} and not {block.code}"
            raise Stale(f"{what}\n{command}\n{done.stdout}")
        return done.stdout


def beside(folder: Path) -> Place:
    """A folder with nothing but the commands of this environment, in `.venv/bin` and on the path."""
    commands = folder / ".venv" / "bin"
    commands.mkdir(parents=True)
    (commands / "python").symlink_to(sys.executable)
    command = commands / "counterpoint"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m counterpoint "$@"\n')
    command.chmod(0o700)
    return Place(folder, {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"})


class Copy(Place):
    """A copy of the repository in `folder`, as a reader has it after `make engine`; what cargo has built is shared."""

    def __init__(self, folder: Path) -> None:
        """Creates the copy, in place of what is there."""
        ours = ("PYTEST_", "VIRTUAL_ENV", "PYTHONPATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        super().__init__(folder, {"CARGO_TARGET_DIR": str(ROOT / "target"), **kept})
        shutil.rmtree(folder, ignore_errors=True)
        listed = _output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
        for name in filter(None, listed.split("\0")):
            if (source := ROOT / name).is_file():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        self._add_packages()

    def _add_packages(self) -> None:
        """An environment of its own with the packages of this one, and the engine that is installed here."""
        packages = self.folder / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", packages], check=True)
        theirs = Path(_output(sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        ours = packages / theirs.relative_to(sys.prefix)
        for entry in theirs.iterdir():
            if not entry.name.startswith("counterpoint"):
                (ours / entry.name).symlink_to(entry)
        for name in ("maturin",):
            (packages / "bin" / name).symlink_to(Path(sys.prefix) / "bin" / name)
        (ours / "counterpoint.pth").write_text(f"{self.folder / 'python'}\n")
        command = packages / "bin" / "counterpoint"
        command.write_text(
            f"#!{packages / 'bin' / 'python'}\nimport sys\nfrom counterpoint.cli import main\nsys.exit(main())\n"
        )
        command.chmod(0o755)
        for engine in (ROOT / "python" / "counterpoint").glob("_engine*.so"):
            shutil.copy2(engine, self.folder / "python" / "counterpoint")
        stamps = packages / "stamps"
        stamps.mkdir()
        for name in ("packages", "engine"):
            (stamps / name).touch()


def check(done: Done) -> None:
    """Raises `Stale` if the output differs from the page."""
    if done.expected is None or matches(done.expected.body, done.printed):
        return
    difference = difflib.unified_diff(
        done.expected.body.splitlines(), _trimmed(done.printed).splitlines(), "the page", "printed", lineterm=""
    )
    raise Stale("\n".join([f"line {done.block.line}: {done.block.body.strip()}", *difference]))


def folder() -> Path:
    """Where the copy lies: always the same place, so that cargo replaces what it built there."""
    return ROOT / "target" / "tutorial" / "counterpoint"


def update(page: Path = PAGE) -> None:
    """Puts what the commands of the page print into it."""
    text = page.read_text()
    lines = text.splitlines(keepends=True)
    for done in reversed(list(Copy(folder()).play(text))):
        if done.expected is not None and ELIDED not in done.expected.body:
            lines[done.expected.line : done.expected.end - 1] = [_trimmed(done.printed)]
    page.write_text("".join(lines))


def _output(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    update()
