"""A run over time as a drawing: bandwidth, write queue and counter misses, one above another, over one axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..system import units
from ..verbs import over_time
from . import colours, column, figures

if TYPE_CHECKING:
    from ..contract.results import LineRun, Run

NAME = "over-time"
"""Of its files."""

_PANELS = (
    ("bandwidth in GB/s", (("read_gb_per_s", "read"), ("write_gb_per_s", "written"))),
    ("queued writes", (("wpq_mean", "mean"),)),
    ("counter misses", (("counter_misses", "misses"),)),
    ("instructions", (("instructions", "instructions"),)),
)
"""The panels: title of the axis, and columns with their names. One without a value above zero is left out."""

_WIDTH, _HEIGHT = 270, 70


def drawing(run: Run | LineRun) -> figures.Spec:
    """The drawing in the words of Vega-Lite."""
    columns = over_time.columns(over_time.of(run))
    what = f"{run.design} ({run.variant}) on {units.name_of(run.workload)}, machine {run.machine}"
    panels = [
        _panel(title, [(name, columns[key]) for key, name in series], columns["from_ns"])
        for title, series in _PANELS
        if any(value > 0 for key, _ in series for value in columns[key])
    ]
    if panels:
        panels[0]["title"] = {"text": what, "anchor": "start", "fontSize": 11, "fontWeight": "normal"}
        panels[-1]["encoding"]["x"]["axis"] = {"title": "simulated time in µs", "tickCount": 6}
    apart = {"scale": {"color": "independent"}, "legend": {"color": "independent"}}
    return {**column.on_white(panels), "resolve": apart}


def _panel(title: str, series: list[tuple[str, Sequence[float]]], from_ns: Sequence[float]) -> figures.Spec:
    values = [
        {"at": at / 1e3, "value": value, "what": name}
        for name, each in series
        for at, value in zip(from_ns, each, strict=True)
    ]
    names = [name for name, _ in series]
    legend = (
        {"orient": "top-right", "title": None, "symbolType": "stroke", "offset": 0, "direction": "horizontal"}
        if len(names) > 1
        else None
    )
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2},
        "encoding": {
            "x": {
                "field": "at",
                "type": "quantitative",
                "scale": {"nice": False},
                "axis": {"title": None, "labels": False, "tickCount": 6},
            },
            "y": {"field": "value", "type": "quantitative", "title": title, "axis": {"tickCount": 3, "minExtent": 34}},
            "color": {
                "field": "what",
                "type": "nominal",
                "sort": names,
                "scale": {"domain": names, "range": list(colours.of_series(names, ()).values())},
                "legend": legend,
            },
        },
    }
