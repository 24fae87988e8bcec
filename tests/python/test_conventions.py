"""What a visitor of the repository looks for under a known name says what the package says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

_ROOT = Path(__file__).parents[2]
_PROJECT: dict[str, Any] = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
_WORKSPACE: dict[str, Any] = tomllib.loads((_ROOT / "Cargo.toml").read_text())["workspace"]["package"]
_CITATION: dict[str, Any] = yaml.safe_load((_ROOT / "CITATION.cff").read_text())
_TEMPLATES = sorted((_ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
_FORMS = [path for path in _TEMPLATES if path.stem != "config"]


def test_the_citation_says_what_the_package_says() -> None:
    assert _CITATION["title"].lower() == _PROJECT["name"]
    assert _CITATION["abstract"] == _PROJECT["description"]
    assert _CITATION["authors"] == _PROJECT["authors"]
    assert _CITATION["keywords"] == _PROJECT["keywords"]
    assert _CITATION["version"] == _WORKSPACE["version"]
    # A list is a choice. The recorder, which comes along as sources, is a program of its own.
    assert " OR ".join(_CITATION["license"]) == _WORKSPACE["license"]
    assert _PROJECT["license"].startswith(f"({_WORKSPACE['license']}) AND ")


def test_the_citation_has_the_day_of_the_release() -> None:
    newest = re.search(r"^## \S+, (.*)$", (_ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert str(_CITATION.get("date-released", "unreleased")) == newest[1]


def test_the_address_of_the_repository_is_one_setting() -> None:
    urls = _PROJECT.get("urls", {})
    address = urls.get("Repository")
    assert _CITATION.get("repository-code") == address
    assert all(url.startswith(address) for url in urls.values()), "the others are below it"
    assert ("no public address yet" in (_ROOT / "CONTRIBUTING.md").read_text()) == (address is None)


@pytest.mark.parametrize("path", _FORMS, ids=lambda path: path.stem)
def test_forms_of_issues_ask_what_is_needed(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert set(form) == {"name", "description", "labels", "body"}
    fields = form["body"]
    assert len({one["id"] for one in fields}) == len(fields)
    assert {one["type"] for one in fields} <= {"textarea", "input", "checkboxes"}
    assert any(one.get("validations", {}).get("required") for one in fields)
    for one in fields:
        assert one["attributes"]["label"]
        for name in re.findall(r"[\w./]+\.md", str(one)):
            assert (_ROOT / name).exists() or (_ROOT / "validation" / name).exists(), name
