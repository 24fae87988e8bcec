"""The diagrams: drawn by their script, told to those who cannot see them, and legible for those who can."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast
from xml.etree import ElementTree

import pytest
from conftest import OpenPage

import diagrams
import drawing

pytestmark = pytest.mark.engine

_SVG = "{http://www.w3.org/2000/svg}"
_SMALLEST = 11
"""Pixels that words on a telephone must have."""

_LOOK = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
  const wrong = [], whole = svg.getBoundingClientRect(), name = svg.querySelector('title').textContent;
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect(), text]);
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const holds = (a, b, room) =>
    b.left >= a.left + room && b.right <= a.right - room && b.top >= a.top && b.bottom <= a.bottom;
  const rects = [...svg.querySelectorAll('rect')].map(rect => rect.getBoundingClientRect());
  texts.forEach(([words, box, text], place) => {
    if (!holds(whole, box, 8)) wrong.push(`${words}: leaves the picture`);
    const own = text.closest('.box')?.querySelector('rect').getBoundingClientRect();
    if (own && !holds(own, box, 3)) wrong.push(`${words}: leaves its box`);
    for (const rect of rects)
      if (meets(rect, box) && !holds(rect, box, 1)) wrong.push(`${words}: is crossed by an edge`);
    for (const [others, other] of texts.slice(place + 1))
      if (meets(box, other)) wrong.push(`${words}: lies on ${others}`);
    for (const line of svg.querySelectorAll('line')) {
      const way = line.getTotalLength(), at = line.getScreenCTM();
      for (let done = 0; done <= way; done += 2) {
        const point = line.getPointAtLength(done).matrixTransform(at);
        if (meets({left: point.x - 2, right: point.x + 2, top: point.y - 2, bottom: point.y + 2}, box)) {
          wrong.push(`${words}: is crossed by a line`);
          break;
        }
      }
    }
    const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
    if (size < SMALLEST) wrong.push(`${words}: ${size} pixels`);
    const light = colour => {
      const [r, g, b] = colour.match(/\\d+/g).map(part => part / 255)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const ground = light(getComputedStyle(svg.querySelector('rect')).fill), ink = light(getComputedStyle(text).fill);
    if (Math.max(ground / ink, ink / ground) < 4.5) wrong.push(`${words}: too pale`);
  });
  return wrong.map(one => `${name}: ${one}`);
})""".replace("SMALLEST", f"{_SMALLEST}")


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_a_diagram_is_what_its_script_draws(name: str) -> None:
    drawn = diagrams.DIAGRAMS[name]().svg()
    assert (diagrams.FOLDER / f"{name}.svg").read_text() == drawn, "`make diagrams` draws it"


def _roots() -> Iterator[ElementTree.Element]:
    return (ElementTree.parse(diagrams.FOLDER / f"{name}.svg").getroot() for name in diagrams.DIAGRAMS)


def test_diagrams_are_told_to_those_who_cannot_see_them() -> None:
    for root in _roots():
        assert root.get("role") == "img"
        texts = {
            one.get("id"): one.text or ""
            for one in (root.find(f"{_SVG}title"), root.find(f"{_SVG}desc"))
            if one is not None
        }
        assert list(texts) == (root.get("aria-labelledby") or "").split()
        assert all(texts.values())


def test_diagrams_ask_for_nothing_but_themselves() -> None:
    for name in diagrams.DIAGRAMS:
        text = (diagrams.FOLDER / f"{name}.svg").read_text()
        assert text.count("://") == 1, "the name of the format"
        assert not any(word in text for word in ("url(", "href", "@import", "@font-face", "<script"))


def _shown(drawings: list[str], folder: Path, style: str = "") -> Path:
    page = folder / "diagrams.html"
    head = f"<!DOCTYPE html><meta charset='utf-8'><style>body {{ margin: 16px }} svg {{ max-width: 100%; {style} }}"
    page.write_text(f"{head} svg {{ height: auto; display: block }}</style>{''.join(drawings)}")
    return page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_words_lie_on_nothing_stay_in_their_boxes_and_can_be_read(
    width: int, scheme: str, open_page: OpenPage, tmp_path: Path
) -> None:
    drawn = [(diagrams.FOLDER / f"{name}.svg").read_text() for name in diagrams.DIAGRAMS]
    # There are computers whose letters are a little wider.
    page = _shown(drawn, tmp_path, "letter-spacing: 0.2px")
    opened = open_page(page, width=width, scheme=cast(Literal["light", "dark"], scheme))
    assert opened.tab.evaluate(_LOOK) == []


@pytest.mark.browser
def test_words_that_cannot_be_read_are_found(open_page: OpenPage, tmp_path: Path) -> None:
    one = drawing.Drawing("bad", "all of it", 200)
    narrow = one.box(16, 16, 40, "much too wide")
    one.box(160, 20, 80, "crossed")
    one.line(narrow.right, (260, 32))
    one.words(300, 30, "one")
    one.words(305, 34, "another that is wide")
    found = open_page(_shown([one.svg()], tmp_path), width=390).tab.evaluate(_LOOK)
    for wrong in ("wide: leaves its box", "crossed by a line", "one: lies on another", "wide: leaves the picture"):
        assert any(wrong in text for text in found), (wrong, found)
