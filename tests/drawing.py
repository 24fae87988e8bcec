"""Draws diagrams: boxes, regions, arrows and words, as one SVG file that needs nothing beside itself.

A drawing is as wide as a telephone shows it, and has an opaque ground, so that it can be read on a page of any colour;
where the reader prefers dark, a style rule exchanges the colours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree import ElementTree

from counterpoint.report import charts, colours

WIDTH = 440
"""Units from the left to the right edge; on a page at least as wide, one is `SCALE` pixels."""

SCALE = 1.2
SIZE = 14
"""Height of all words in units."""

_LEADING = 18
_SVG = "http://www.w3.org/2000/svg"
_HEAD_LENGTH, _HEAD_WIDTH = 9.0, 4.5

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box that has been drawn, with the points where arrows begin and end."""

    x: float
    y: float
    width: float
    height: float

    def top(self, part: float = 0.5) -> Point:
        """A point of the upper edge, at this part of its length."""
        return self.x + part * self.width, self.y

    def bottom(self, part: float = 0.5) -> Point:
        """A point of the lower edge."""
        return self.x + part * self.width, self.y + self.height

    @property
    def left(self) -> Point:
        """The middle of the left edge."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        """The middle of the right edge."""
        return self.x + self.width, self.y + self.height / 2


class Drawing:
    """A diagram; what is drawn later lies on top."""

    def __init__(self, title: str, description: str, height: float) -> None:
        """An empty one. Title and description are read to those who cannot see it."""
        self._used = {colours.BACKGROUND}
        self._root = ElementTree.Element(
            "svg",
            {
                "xmlns": _SVG,
                "width": f"{WIDTH * SCALE:g}",
                "height": f"{height * SCALE:g}",
                "viewBox": f"0 0 {WIDTH} {height:g}",
                "role": "img",
                "aria-labelledby": "title description",
                "font-family": charts.FONT,
                "font-size": f"{SIZE}",
            },
        )
        self._add(self._root, "title", id="title").text = title
        self._add(self._root, "desc", id="description").text = description
        self._style = self._add(self._root, "style")
        self._add(self._root, "rect", width="100%", height="100%", rx="8", fill=colours.BACKGROUND)

    def box(
        self, x: float, y: float, width: float, *lines: str, colour: str = colours.MUTED, lost: bool = False
    ) -> Box:
        """A box around lines of words, the first of several in bold; what is `lost` has a broken edge."""
        height = _LEADING * len(lines) + 14
        group = self._add(self._root, "g", **{"class": "box"})
        edge = self._rect(group, x, y, width, height, colour, 2)
        if lost:
            edge.set("stroke-dasharray", "5 4")
        for place, line in enumerate(lines):
            bold = len(lines) > 1 and place == 0
            self._text(group, x + width / 2, y + 7 + 14 + _LEADING * place, line, "middle", colours.TEXT, bold)
        return Box(x, y, width, height)

    def region(self, y: float, height: float, caption: str, colour: str, *, below: bool = False) -> None:
        """A part of the machine over the whole width; its caption is at the top, or at the bottom."""
        self._rect(self._root, 8, y, WIDTH - 16, height, colour, 1.5, rx=10)
        self._text(self._root, 20, y + (height - 10 if below else 22), caption, "start", colours.MUTED, True)

    def words(self, x: float, y: float, *lines: str, bold: bool = False, anchor: str = "start") -> None:
        """Lines of words; `y` is the foot of the first."""
        for place, line in enumerate(lines):
            self._text(self._root, x, y + _LEADING * place, line, anchor, colours.TEXT, bold)

    def exclusive_or(self, x: float, y: float) -> Box:
        """The sign of an exclusive or, around a point."""
        radius = 12.0
        self._used.add(colours.TEXT)
        ring = {"fill": "none", "stroke": colours.TEXT, "stroke-width": "1.5"}
        self._add(self._root, "circle", cx=f"{x:g}", cy=f"{y:g}", r=f"{radius:g}", **ring)
        cross = f"M{x - radius:g} {y:g}H{x + radius:g}M{x:g} {y - radius:g}V{y + radius:g}"
        self._add(self._root, "path", d=cross, **ring)
        return Box(x - radius, y - radius, 2 * radius, 2 * radius)

    def line(self, start: Point, end: Point, *, broken: bool = False) -> None:
        """A straight line."""
        self._used.add(colours.TEXT)
        way = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        drawn = self._add(self._root, "line", **{name: f"{value:g}" for name, value in way.items()})
        drawn.attrib |= {"stroke": colours.TEXT, "stroke-width": "1.5"}
        if broken:
            drawn.set("stroke-dasharray", "5 4")

    def arrow(self, start: Point, end: Point, *, broken: bool = False) -> None:
        """A straight arrow; a `broken` one is a way that is not taken."""
        length = math.dist(start, end)
        along = (end[0] - start[0]) / length, (end[1] - start[1]) / length
        foot = end[0] - _HEAD_LENGTH * along[0], end[1] - _HEAD_LENGTH * along[1]
        self.line(start, foot, broken=broken)
        sides = ((foot[0] - side * along[1], foot[1] + side * along[0]) for side in (_HEAD_WIDTH, -_HEAD_WIDTH))
        corners = " ".join(f"{x:.5g},{y:.5g}" for x, y in (end, *sides))
        self._add(self._root, "polygon", points=corners, fill=colours.TEXT)

    def svg(self) -> str:
        """The file."""
        rules = colours.dark_rules("svg", self._used)
        self._style.text = f"@media (prefers-color-scheme: dark) {{\n{rules}\n}}"
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding="unicode") + "\n"

    def _rect(
        self,
        within: ElementTree.Element,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str,
        thick: float,
        rx: int = 5,
    ) -> ElementTree.Element:
        self._used.add(colour)
        place = {"x": x, "y": y, "width": width, "height": height, "rx": rx, "stroke-width": thick}
        shape = {name: f"{value:g}" for name, value in place.items()}
        return self._add(within, "rect", **shape, fill="none", stroke=colour)

    def _text(
        self, within: ElementTree.Element, x: float, y: float, line: str, anchor: str, colour: str, bold: bool
    ) -> None:
        self._used.add(colour)
        text = self._add(within, "text", x=f"{x:g}", y=f"{y:g}", fill=colour)
        text.text = line
        if anchor != "start":
            text.set("text-anchor", anchor)
        if bold:
            text.set("font-weight", "bold")

    @staticmethod
    def _add(within: ElementTree.Element, name: str, **attributes: str) -> ElementTree.Element:
        return ElementTree.SubElement(within, name, attributes)
