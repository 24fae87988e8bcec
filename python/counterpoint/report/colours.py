"""One colour per meaning, in a light and a dark form.

Charts are drawn in the light colours. In the page, and in the picture, a style rule per colour exchanges them where
the reader prefers dark, so that one drawing serves both.
"""

from __future__ import annotations

from itertools import cycle

import polars as pl

TEXT, MUTED, RULE, BACKGROUND = "#1d2733", "#5b6877", "#d9dfe6", "#ffffff"
DATA, LOG, COUNTER, REMOVED = "#3f74b5", "#8fb4dd", "#d9782d", "#f0d3bb"
KEPT, BROKEN, LEAKS = "#2b7a5f", "#b04a5a", "#8d6bb8"
_BASELINE = "#8a94a0"
_DESIGNS = ("#b04a5a", "#d98a3d", "#8d6bb8", "#4f8fc0", "#2b7a5f", "#b3a12f", "#5f6fc4", "#a8578f")

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
}


def of_designs(frame: pl.DataFrame) -> dict[str, str]:
    """A colour for each design of a comparison, in their order; the baseline is grey."""
    baseline = frame["baseline"][0]
    coloured = cycle(_DESIGNS)
    return {
        design: _BASELINE if design == baseline else next(coloured)
        for design in frame["design"].unique(maintain_order=True)
    }


def dark_rules(scope: str) -> str:
    """Style rules that exchange every light colour inside `scope` for its dark form."""
    return "\n".join(
        f'{scope} [fill="{light}"] {{ fill: {dark}; }} {scope} [stroke="{light}"] {{ stroke: {dark}; }}'
        for light, dark in DARK.items()
    )
