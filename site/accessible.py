"""Mends what Sphinx and Furo write in a way that a screen reader cannot follow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PARAMETERS = re.compile(r"<dl>\n((?:<dd>.*</dd>\n)+)</dl>")
"""The parameters of a function, one on each line: a list of definitions that defines no term."""


def _mend(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    navigation = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = navigation.replace('role="heading"', 'role="heading" aria-level="2"')
    if "body" in context:
        context["body"] = _PARAMETERS.sub(_as_lines, context["body"])


def _as_lines(found: re.Match[str]) -> str:
    lines = found[1].replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")
    return lines.rstrip("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Comes after Furo, which writes the sidebar."""
    app.connect("html-page-context", _mend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
