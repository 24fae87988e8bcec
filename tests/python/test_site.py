"""The site: every page has its place there, and what makes it is locked. `make test-site` opens it in a browser."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import conf
import sidebar

_ROOT = Path(__file__).parents[2]
_TREES = conf.sidebar["tree"]
_PAGES = {
    str(page.relative_to(_ROOT).with_suffix("")) for pattern in conf.include_patterns for page in _ROOT.glob(pattern)
}
_FIRST = "docs/index"


def _below(tree: dict[str, Any]) -> list[str]:
    """The pages of a tree; a pattern stands for all that match it, but for the page above."""
    found = []
    for entry in map(sidebar.page_of, tree["pages"]):
        if "*" in entry:
            found += sorted(page for page in _PAGES if fnmatchcase(page, entry) and page != tree["page"])
        else:
            found.append(entry)
    return found


def test_every_page_is_in_one_tree() -> None:
    counted = Counter(page for tree in _TREES for page in _below(tree))
    assert {page: times for page, times in counted.items() if times > 1} == {}
    assert set(counted) ^ _PAGES == set()
    assert {tree["page"] for tree in _TREES} <= _PAGES


def test_the_sidebar_has_the_parts_in_their_order() -> None:
    captions = [tree["caption"] for tree in _TREES if "caption" in tree]
    assert captions == [
        "Start",
        "Guide: compare designs",
        "Guide: check my program",
        "Guide: write a design",
        "Guide: use my simulator",
        "Reference",
        "Background",
    ]
    assert all((tree["page"] == _FIRST) == ("caption" in tree) for tree in _TREES)


def test_an_entry_names_its_page() -> None:
    assert sidebar.page_of("docs/crash") == "docs/crash"
    assert sidebar.page_of("Another title <docs/crash>") == "docs/crash"


def test_what_makes_the_site_is_locked_as_for_everything_else() -> None:
    groups = tomllib.loads((_ROOT / "pyproject.toml").read_text())["dependency-groups"]
    locked, others = (
        dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (_ROOT / "requirements" / f"{name}.lock").read_text(), re.MULTILINE))
        for name in ("site", "dev")
    )
    assert {re.split(r"[<>=]", package)[0] for package in groups["site"]} <= set(locked)
    # Both are installed into one place.
    assert {name: version for name, version in locked.items() if others.get(name, version) != version} == {}
