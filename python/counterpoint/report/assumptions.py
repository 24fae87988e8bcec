"""Which assumption about a simulator each published result depends on: a picture and a page.

A search leaves the scores of its one-at-a-time changes in a file, a row for each claim and value. The page is of all
papers, whose searches take hours together, so it is written from the files of all of them.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from .._engine import InputError
from ..papers.calibrate import Calibration
from ..papers.decisions import Simulator, simulators
from ..system.files import prepare_folder, write_text
from ..system.paths import reason
from . import charts, colours
from .markdown import markdown_table

_CELL, _LETTERS_MAX = 26, 340
"""Pixels of a cell; pixels after which a name is cut."""

_SEEN = 0.005
"""A smaller move is shown as nothing: another seed alone moves scores as far."""

_COLUMNS = {"claim": pl.String, "decision": pl.String, "value": pl.String, "score": pl.Float64}


def write_scores(found: Calibration, path: Path) -> Path:
    """Writes how each value of each decision scores, all others as chosen: a row for each claim that depends on it.

    The columns are `claim`, `decision`, `value` and `score`, which is empty where the engine refuses the value.

    Raises:
        InputError: the file cannot be written.
    """
    rows = [
        (claim.id, each.spec.name, each.spec.text(each.spec.rows[each.place]), each.scores.get(claim.id))
        for claim in found.claims(found.chosen)
        for each in found.varied
        if claim.paper in each.outcomes
    ]
    return write_text(path, pl.DataFrame(rows, schema=_COLUMNS, orient="row").write_csv())


def write_assumptions(folder: Path) -> list[Path]:
    """Writes `assumptions.md` with its picture `img/assumptions.svg` if `folder` has the scores of all simulators.

    Returns their paths; none if the search of a simulator is missing.

    Raises:
        InputError: a file of scores is damaged, or the folder cannot be written to.
    """
    files = {one: folder / "calibration" / f"{one.name}.csv" for one in simulators()}
    if not all(path.exists() for path in files.values()):
        return []
    moves = {one: _moves(_scores(path)) for one, path in files.items()}
    picture = prepare_folder(folder / "img") / "assumptions.svg"
    return [
        write_text(picture, _picture(pl.concat(moves.values()))),
        write_text(folder / "assumptions.md", _page(moves)),
    ]


def _scores(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, schema=_COLUMNS)
    except (OSError, pl.exceptions.PolarsError) as error:
        why = reason(error) if isinstance(error, OSError) else "it does not have the columns " + ", ".join(_COLUMNS)
        raise InputError(f"scores '{path}' cannot be read: {why}") from None


def _moves(scores: pl.DataFrame) -> pl.DataFrame:
    """How far the score of each claim moves over the range of each decision."""
    by_decision = scores.drop_nulls("score").group_by("claim", "decision", maintain_order=True)
    return by_decision.agg(moves=pl.col("score").max() - pl.col("score").min())


def _page(found: Mapping[Simulator, pl.DataFrame]) -> str:
    """The page in Markdown."""
    parts = [
        "# Which assumption each published result depends on",
        "A paper gives a result and leaves much of its simulator open. The picture shows how far the score of each "
        "result moves when one decision is changed over its range, all others as [chosen](calibration.md). A score is "
        "1 where the result holds and falls with the distance from it. A cell of 0 says that the result does not "
        "depend on that assumption near the chosen point; one near 1, that the assumption decides alone whether it "
        "holds. An empty cell is a decision that the paper's machine does not have.",
        "![How far the score of each result moves over the range of each decision](img/assumptions.svg)",
        "One decision at a time shows no interplay of two. It is simulated with one seed, at the scale of the search.",
    ]
    for simulator, moves in found.items():
        cells = {(claim, decision): moved for claim, decision, moved in moves.iter_rows()}
        claims, decisions = (list(dict.fromkeys(moves[column])) for column in ("claim", "decision"))
        kept = [name for name in decisions if any(cells.get((claim, name), 0.0) >= _SEEN for claim in claims)]
        parts += [
            f"## {simulator.title}",
            markdown_table(
                ("result", *(f"`{name}`" for name in kept)),
                ((f"`{claim}`", *(_cell(cells.get((claim, name))) for name in kept)) for claim in claims),
            ),
        ]
        rest = [f"`{name}`" for name in decisions if name not in kept]
        if rest:
            parts.append(f"No result depends on {', '.join(rest)}.")
    return "\n\n".join(parts) + "\n"


def _picture(shown: pl.DataFrame) -> str:
    """A cell for each result and decision, the darker the further the score moves, as SVG text."""
    rows = shown["claim"].unique(maintain_order=True).to_list()
    columns = shown["decision"].unique(maintain_order=True).to_list()
    names: dict[str, Any] = {"labelLimit": _LETTERS_MAX, "title": None, "ticks": False, "domain": False}
    base = alt.Chart(shown).encode(
        x=alt.X("decision:N", sort=columns, axis=alt.Axis(orient="top", labelAngle=-60, **names)),
        y=alt.Y("claim:N", sort=rows, axis=alt.Axis(**names)),
    )
    scale = alt.Scale(domain=[0, 1], range=[colours.BACKGROUND, colours.COUNTER], interpolate="rgb")
    cells = base.mark_rect(stroke=colours.RULE).encode(color=alt.Color("moves:Q", scale=scale, legend=None))
    numbers = (
        base.transform_filter(alt.datum.moves >= _SEEN)
        .mark_text(fontSize=10, color=colours.TEXT)
        .encode(text=alt.Text("moves:Q", format=".2f"))
    )
    drawn = alt.LayerChart(layer=[cells, numbers]).properties(
        width=_CELL * len(columns), height=_CELL * len(rows) * 3 // 4
    )
    text = io.StringIO()
    charts.dress(drawn).save(text, format="svg")
    # A page may be shown on a dark ground.
    return text.getvalue().replace(">", f'><rect width="100%" height="100%" fill="{colours.BACKGROUND}"/>', 1) + "\n"


def _cell(move: float | None) -> str:
    if move is None:
        return ""
    return "0" if move < _SEEN else f"{move:.2f}"
