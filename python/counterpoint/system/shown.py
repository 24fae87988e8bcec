"""Results that a notebook shows. What draws them is in a room above theirs, so the face of the package says where."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

_drawn_by: list[str] = []


def draw_by(module: str) -> None:
    """Says which module draws results; it is loaded when one is shown first."""
    _drawn_by[:] = [module]


def drawer() -> Any:
    """The module that draws results."""
    return importlib.import_module(_drawn_by[0])


class Shown:
    """A result that a notebook shows as a table with a picture."""

    __slots__ = ()

    def plot(self) -> alt.VConcatChart:
        """Its picture, as a chart of Altair."""
        chart: alt.VConcatChart = drawer().plot(self)
        return chart

    def _repr_html_(self) -> str:
        """Table and picture, for Jupyter and what reads its protocol."""
        html: str = drawer().html(self)
        return html
