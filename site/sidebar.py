"""Puts the trees of `sidebar.toml` under the pages, which stay as a forge shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ENTRY = re.compile(r"(?:(?P<title>.*) <)?(?P<page>[^<>]+)>?")


def page_of(entry: str) -> str:
    """The page that an entry of a tree leads to, without the title that it may have there."""
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ValueError(f"{entry!r} is no entry of a tree")
    return found["page"]


def _directive(tree: dict[str, Any]) -> str:
    options = [":hidden:", ":glob:", *([f":caption: {tree['caption']}"] if "caption" in tree else [])]
    entries = []
    for entry in tree["pages"]:
        page = page_of(entry)
        # The first page names itself by its place: it cannot be below itself.
        address = "self" if page == tree["page"] else f"/{page}"
        entries.append(entry.replace(page, address) if page != entry else address)
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def _append(app: Sphinx, page: str, source: list[str]) -> None:
    trees = [tree for tree in app.config.sidebar["tree"] if tree["page"] == page]
    source[0] += "".join(map(_directive, trees))


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the trees as a setting: pages are read again if they change."""
    app.add_config_value("sidebar", None, "env", types=[dict])
    app.connect("source-read", _append)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
