"""One colour per meaning, in a light and a dark form.

Charts are drawn in the light colours. In the page, and in the picture, a style rule per colour exchanges them where
the reader prefers dark, so that one drawing serves both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from itertools import cycle
from zlib import crc32

import polars as pl

from ..verbs import catalogue

TEXT, MUTED, RULE, BACKGROUND = "#1d2733", "#5b6877", "#d9dfe6", "#ffffff"
DATA, LOG, COUNTER, REMOVED = "#3f74b5", "#8fb4dd", "#d9782d", "#f0d3bb"
KEPT, BROKEN, LEAKS = "#2b7a5f", "#b04a5a", "#8d6bb8"
MAC, NODE, TABLE = "#2b7a5f", "#8d6bb8", "#b3a12f"
_BASELINE = "#8a94a0"
_DESIGNS = (
    "#b04a5a", "#d98a3d", "#8d6bb8", "#4f8fc0", "#2b7a5f", "#b3a12f", "#5f6fc4", "#a8578f",
    "#3aa39b", "#6f9632", "#7c2f3b", "#8a5a2b", "#54397f", "#1f5a85", "#c2527a", "#7a6f9b",
)  # fmt: skip
_SERIES = ("#0072b2", "#e08e00", "#009e73", "#c4699a", "#3fa2d9", "#c8500a", "#882255", "#8a8a2b", "#332288", "#6b5344")
"""For series that are no designs: told apart with any colour vision (Okabe and Ito; Tol), darkened for white."""
_BASELINES = ("unencrypted", "ideal", "eadr", "hw-log")

DARK = {
    TEXT: "#e6ebf1",
    MUTED: "#9aa7b5",
    RULE: "#36424f",
    BACKGROUND: "#141a21",
    DATA: "#6b9fdc",
    LOG: "#3d5f87",
    COUNTER: "#ec9850",
    REMOVED: "#5f4632",
    _BASELINE: "#7d8895",
    "#b04a5a": "#dd7a89",
    "#d98a3d": "#e7a763",
    "#8d6bb8": "#b395dc",
    "#4f8fc0": "#74b3e2",
    "#2b7a5f": "#53b594",
    "#b3a12f": "#d3c35a",
    "#5f6fc4": "#8c9aea",
    "#a8578f": "#d184b8",
    "#3aa39b": "#63cfc6",
    "#6f9632": "#a6cf5e",
    "#7c2f3b": "#b5606f",
    "#8a5a2b": "#b98a58",
    "#54397f": "#8d74c4",
    "#1f5a85": "#4c8fc2",
    "#c2527a": "#ea8aac",
    "#7a6f9b": "#a79dcb",
    "#0072b2": "#4aa3df",
    "#e08e00": "#f2b03d",
    "#009e73": "#2fc79b",
    "#c4699a": "#e093bd",
    "#3fa2d9": "#8fd0f5",
    "#c8500a": "#f07f3c",
    "#882255": "#c4578f",
    "#8a8a2b": "#c4c45a",
    "#332288": "#8c7fe0",
    "#6b5344": "#b39a88",
}


def of_designs(frame: pl.DataFrame) -> dict[str, str]:
    """A colour for each design of a comparison, in their order."""
    return _own(frame["design"].unique(maintain_order=True).to_list(), frame["baseline"][0])


def of_series(series: Sequence[str], designs: Collection[str]) -> dict[str, str]:
    """A colour for each series of a chart, in their order: those of designs where all are, the first baseline grey."""
    if not series or not all(name in designs for name in series):
        return dict(zip(series, cycle(_SERIES), strict=False))
    return _own(series, next((name for name in series if name in _BASELINES), None))


def _own(designs: Sequence[str], baseline: str | None) -> dict[str, str]:
    """The colour of each design, which it has on every page; a baseline that encrypts nothing is grey.

    There are more designs than colours that can be told apart. Of two with the same colour in one chart, the later one
    of the catalogue takes the next free one.
    """
    found = {baseline: _BASELINE} if baseline in _BASELINES and baseline is not None else {}
    ranked = sorted((name for name in designs if name not in found), key=_place)
    free = list(_DESIGNS)
    for name in ranked:
        start = _place(name) % len(_DESIGNS)
        if not free:
            free = list(_DESIGNS)
        found[name] = next(each for each in (*_DESIGNS[start:], *_DESIGNS[:start]) if each in free)
        free.remove(found[name])
    return {name: found[name] for name in designs}


def _place(design: str) -> int:
    """The place of a design among all; that of a user's own follows from its name."""
    known = _places()
    return known.get(design, len(known) + crc32(design.encode()))


@cache
def _places() -> dict[str, int]:
    names = (design.name for design in catalogue.designs())
    return {name: place for place, name in enumerate(name for name in names if name not in _BASELINES)}


def dark_rules(scope: str, used: Collection[str] = DARK) -> str:
    """Style rules that replace the light colours that are `used` inside `scope` by their dark forms."""
    return "\n".join(
        f'{scope} [fill="{light}"] {{ fill: {dark}; }} {scope} [stroke="{light}"] {{ stroke: {dark}; }}'
        for light, dark in DARK.items()
        if light in used
    )
