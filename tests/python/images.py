"""Stored images of pages, in tests/data/pages/, for people to look at when a page changes.

Pixels differ from one browser and its fonts to the next. So an image has, as a text beside its pixels, what decides how
the page looks: its titles, columns, buttons and charts, without their numbers, and a digest of its styles and scripts.
A test compares this text with the page of today; ``make images`` draws the images again.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from conftest import OpenPage
from playwright.sync_api import Page

import pictures

FOLDER = Path(__file__).parents[1] / "data" / "pages"
REDRAW = "COUNTERPOINT_IMAGES"
"""The variable that asks for the images to be drawn again."""

_HEIGHT_MAX = 1600
_VIEWS = {"wide": (1280, "light"), "narrow": (390, "dark")}
_PARTS = """() => [...document.querySelectorAll("h1, h2, h3, th, caption, figcaption, button, summary, label, figure")]
    .filter((part) => part.checkVisibility())
    .map((part) => `${part.localName} ${part.localName === "figure" ? part.className : part.innerText}`)"""
_STYLES = """() => [...document.querySelectorAll("style, script:not([type='application/json'])")]
    .map((part) => part.textContent).join("\\n")"""
_NUMBER = re.compile(r"0x[0-9a-f]+|\d[\d,.]*")


def looks(tab: Page) -> str:
    """What decides how the page in `tab` looks, in lines."""
    parts = [_NUMBER.sub("#", " ".join(part.split())) for part in tab.evaluate(_PARTS)]
    once = [part for number, part in enumerate(parts) if part not in parts[:number]]
    return "\n".join([*once, "styles " + hashlib.sha256(tab.evaluate(_STYLES).encode()).hexdigest()[:16]])


def held(open_page: OpenPage, page: Path, name: str) -> None:
    """Holds the stored images of a page, wide and narrow, to the page of today, or draws them again."""
    for view, (width, scheme) in _VIEWS.items():
        path = FOLDER / f"{name}-{view}.png"
        tab = open_page(page, width, scheme).tab
        text = looks(tab)
        if os.environ.get(REDRAW):
            path.parent.mkdir(exist_ok=True)
            height = min(tab.evaluate("document.documentElement.scrollHeight"), _HEIGHT_MAX)
            drawn = tab.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
            path.write_bytes(pictures.with_text(drawn, text))
        stored = pictures.text_of(path.read_bytes()) if path.exists() else None
        assert stored == text, f"the page has changed: draw {path.name} with `make images`, and look at it"
