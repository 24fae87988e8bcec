"""The rooms of the front: as they are drawn, and of a size that can be read."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGE = _ROOT / "python/counterpoint"
_FILE_LINES_MAX = 520
_FUNCTION_LINES_MAX = 70


def _sources() -> list[Path]:
    return [*_ROOT.glob("install/*.py"), *_PACKAGE.rglob("*.py"), *_ROOT.glob("tests/*.py")]


def _functions(text: str) -> Iterator[tuple[str, int]]:
    """The functions of a file, each with its number of lines from its signature on."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_the_rooms_are_those_that_are_drawn_in_the_order_in_which_they_import_each_other() -> None:
    page = (_ROOT / "ARCHITECTURE.md").read_text()
    drawing = page.partition("    python/counterpoint/\n")[2].partition("\n\n")[0]
    drawn = re.findall(r"^ {6}(\w+)/ ", drawing, re.MULTILINE)
    folders = {path.name for path in _PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(drawn) == folders
    rooms = [name for name in drawn if (_PACKAGE / name / "__init__.py").exists()]
    layers, _ = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert rooms == [name for name in reversed(layers["layers"]) if name != "__main__"]
    told = re.findall(r"\*\*`(\w+)/`\*\*", page.partition("## The rooms of the front")[2])
    assert [name for name in told if name in rooms] == rooms


def test_nothing_lies_beside_the_rooms_but_the_face() -> None:
    files = {path.name for path in _PACKAGE.iterdir() if path.is_file() and path.suffix != ".so"}
    assert files == {"__init__.py", "__main__.py", "_engine.pyi", "gem5.py", "py.typed"}


def test_a_room_takes_nothing_from_the_face_but_the_engine() -> None:
    """The face imports every room, so that this would be a circle; import-linter does not see what is compiled."""
    rooms = {path.parent.name for path in _PACKAGE.glob("*/__init__.py")}
    for path in _PACKAGE.rglob("*/*.py"):
        depth = len(path.relative_to(_PACKAGE).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is None and node.level == depth:
                assert {name.name for name in node.names} <= {"_engine", *rooms}, path


def test_a_file_can_be_read_in_one_sitting() -> None:
    for path in _sources():
        lines = path.read_text().splitlines()
        generated = lines[:1] and lines[0].startswith("# Written by `make")
        assert generated or len(lines) <= _FILE_LINES_MAX, f"{path} has {len(lines)} lines"


def test_no_function_is_longer_than_a_page() -> None:
    longer = [
        f"{name} in {path} has {lines} lines"
        for path in _sources()
        for name, lines in _functions(path.read_text())
        if lines > _FUNCTION_LINES_MAX
    ]
    assert longer == []
    assert list(_functions("@cache\ndef f():\n    def g():\n        pass\n    return g\n")) == [("f", 4), ("g", 2)]
