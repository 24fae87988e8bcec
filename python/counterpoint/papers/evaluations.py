"""The evaluations of a search as a file, from which it is repeated without a simulation.

A Parquet file has a row for each claim of an evaluation, in the order in which the search asked. What the engine
refused has one row, without a claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from .._engine import InputError
from ..searches.space import Point
from ..system.files import write_table
from ..system.paths import reason
from .evaluate import Outcome
from .model import Claim, ClaimRow, Interval
from .pool import Ask, Space

COLUMNS = ("evaluation", "paper", "scale", "seeds", "values", "refused", "claim", "score", "holds", "document")
"""`evaluation` counts from 0; `seeds` are those that were judged together, `values` those of the decisions by key,
`refused` the engine's sentence, and `document` the claim as `reproduce --json` has it. Lists and objects are JSON."""


def write(space: Space, outcomes: Mapping[Ask, Outcome], path: Path) -> Path:
    """Writes evaluations.

    Raises:
        InputError: the file cannot be written.
    """
    import polars as pl

    schema = dict.fromkeys(COLUMNS, pl.String) | {"evaluation": pl.Int64, "score": pl.Float64, "holds": pl.Boolean}
    rows = [row for number, known in enumerate(outcomes.items()) for row in _rows(space, number, *known)]
    return write_table(pl.DataFrame(rows, schema=schema, orient="row"), path, "parquet")


def read(space: Space, path: Path) -> dict[Ask, Outcome]:
    """Reads the evaluations of a search, in their order.

    Raises:
        InputError: the file cannot be read, or is one of other decisions.
    """
    import polars as pl

    try:
        frame = pl.read_parquet(path)
        rows = frame.select(COLUMNS).iter_rows()
    except (OSError, pl.exceptions.PolarsError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error).splitlines()[0]
        raise InputError(f"evaluations '{path}' cannot be read: {why}") from None
    found = {}
    for _, group in groupby(rows, key=lambda row: row[0]):
        claims = list(group)
        _, paper, scale, seeds, values, refused, *_ = claims[0]
        try:
            point = _point(space, paper, json.loads(values))
        except KeyError as error:
            raise InputError(f"evaluations '{path}': {paper} has other decisions now: {error.args[0]}") from None
        ask = Ask(paper, point, scale, tuple(json.loads(seeds)))
        found[ask] = Outcome({}, refused) if refused else _outcome(claims)
    return found


def _rows(space: Space, number: int, ask: Ask, outcome: Outcome) -> Iterator[tuple[Any, ...]]:
    paper, point, scale, seeds = ask
    front = (number, paper, scale, json.dumps(seeds), json.dumps(space.values(paper, point)), outcome.refused)
    if outcome.refused:
        yield (*front, None, None, None, None)
    for claim in outcome.claims:
        yield (*front, claim.id, outcome.scores[claim.id], claim.holds, json.dumps(asdict(claim)))


def _outcome(rows: list[tuple[Any, ...]]) -> Outcome:
    scores = {claim: score for *_, claim, score, _, _ in rows}
    return Outcome(scores, claims=tuple(_claim(json.loads(document)) for *_, document in rows))


def _claim(document: dict[str, Any]) -> Claim:
    del document["detail"]
    document["rows"] = tuple(ClaimRow(**row) for row in document["rows"])
    document["intervals"] = tuple(Interval(**one) for one in document["intervals"])
    return Claim(**document)


def _point(space: Space, paper: str, values: Mapping[str, Any]) -> Point:
    """The choices that set values.

    Raises:
        KeyError: no choices do.
    """
    specs = space.decisions_of(paper)
    if other := set(values) ^ {key for spec in specs for key in spec.keys}:
        raise KeyError(", ".join(sorted(other)))
    return tuple(spec.place(tuple(values[key] for key in spec.keys)) for spec in specs)
