"""The version stands in Cargo.toml; what has to repeat it says the same, and nothing else names one."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_FOLDERS = (".ci", "crates", "docs", "integrations", "python", "recorder", "requirements", "tests")
_TEXTS = {"", ".c", ".cc", ".cpp", ".h", ".hh", ".hpp", ".html", ".js", ".map", ".md", ".py", ".pyi", ".rs", ".sh"}
_TEXTS |= {".toml"}
_BUILT = {"target", "__pycache__", "corpus", "artifacts"}
_HEADER = _ROOT / "crates" / "c" / "include" / "counterpoint.h"
_MEASURED = _ROOT / "docs" / "calibration"
"""Its pages, like those of validation/, say which engine measured."""
_VERSION = re.compile(r"(?:counterpoint\w*|\bengine\w*|__version__|\bversion\s*=)[^\w\n]{1,8}v?\d+\.\d+\.\d+", re.I)


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def _texts() -> list[Path]:
    """The repository's own texts, apart from manifests of crates, from the change log, and from measured pages."""
    found = [_ROOT / "Makefile", _ROOT / "pyproject.toml", _ROOT / "README.md", _ROOT / "ARCHITECTURE.md"]
    for folder in _FOLDERS:
        found += [
            path
            for path in (_ROOT / folder).rglob("*")
            if path.suffix in _TEXTS and path.is_file() and not _BUILT & set(path.relative_to(_ROOT).parts)
        ]
    return [path for path in found if path.name != "Cargo.toml" and not path.is_relative_to(_MEASURED)]


@pytest.fixture(scope="module")
def version() -> str:
    return str(_toml(_ROOT / "Cargo.toml")["workspace"]["package"]["version"])


def test_crates_and_package_take_it_from_the_workspace() -> None:
    for member in _toml(_ROOT / "Cargo.toml")["workspace"]["members"]:
        manifest = _toml(_ROOT / member / "Cargo.toml")
        assert manifest["package"]["version"] == {"workspace": True}, member
        assert "version" not in manifest["dependencies"].get("counterpoint-engine", {}), member
    package = _toml(_ROOT / "pyproject.toml")["project"]
    assert package["dynamic"] == ["version"]
    assert "version" not in package


@pytest.mark.parametrize("lock", ["Cargo.lock", "crates/engine/fuzz/Cargo.lock"])
def test_lock_files_repeat_it(lock: str, version: str) -> None:
    ours = {
        package["name"]: package["version"]
        for package in _toml(_ROOT / lock)["package"]
        if package["name"].startswith("counterpoint-") and package["name"] != "counterpoint-fuzz"
    }
    assert "counterpoint-engine" in ours
    assert set(ours.values()) == {version}, ours


def test_the_change_log_begins_with_it(version: str) -> None:
    newest = next(line for line in (_ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    assert re.fullmatch(re.escape(f"## {version}, ") + r"(unreleased|\d{4}-\d\d-\d\d)", newest), newest


@pytest.mark.engine
def test_the_installed_package_and_its_engine_have_it(version: str) -> None:
    assert metadata.version("counterpoint") == version
    told = subprocess.run([sys.executable, "-m", "counterpoint", "--version"], capture_output=True, text=True)
    assert told.stdout == f"counterpoint {version}\n"


def test_the_header_of_the_c_interface_repeats_it(version: str) -> None:
    assert [found[0] for found in _VERSION.finditer(_HEADER.read_text())] == [f'COUNTERPOINT_VERSION "{version}']


def test_nothing_else_names_a_version() -> None:
    texts = [path for path in _texts() if path != _HEADER]
    assert {"counterpoint.hpp", "version.py", "index.md", "main.c"} <= {path.name for path in texts}
    named = [
        f"{path.relative_to(_ROOT)}: {found[0]}" for path in texts for found in _VERSION.finditer(path.read_text())
    ]
    assert named == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pip install counterpoint-{}-cp311-abi3-linux_x86_64.whl", True),
        ("counterpoint=={}", True),
        ('"engine_version": "{}"', True),
        ("engine {}.", True),
        ('__version__ = "{}"', True),
        ('#define COUNTERPOINT_VERSION "{}"', True),
        ("the zstd seekable format {}", False),
        ("counterpoint.h of Valgrind {}", False),
    ],
)
def test_a_version_is_found_where_it_is_counterpoints(text: str, names: bool) -> None:
    assert bool(_VERSION.search(text.format("1.20.3"))) == names
