"""One paper's figures, tables and claims as Markdown, for a repository."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..papers.model import Claim, Direction, Figure, Reproduction, Table
from ..papers.predicted import PREDICTION, sentence


def page(reproduction: Reproduction, paper: str) -> str:
    """Claims first, with how many hold, then figures with the numbers of their charts.

    Args:
        reproduction: what `reproduce` found.
        paper: the name of one of its papers.
    """
    claims = [claim for claim in reproduction.claims if claim.paper == paper]
    figures = [figure for figure in reproduction.figures if figure.paper == paper]
    parts = [f"# Measured claims: {reproduction.papers[paper]}", _head(reproduction, paper)]
    if claims:
        held = sum(claim.holds for claim in claims)
        parts += [
            f"{held} of {len(claims)} hold. [DEVIATIONS.md](DEVIATIONS.md) explains the others.",
            markdown_table(("claim", "at", "published", "measured", "holds"), _claim_rows(claims)),
        ]
    if any(claim.source for claim in claims):
        rows = [[f"`{claim.id}`", claim.what, claim.source] for claim in claims]
        parts.append(markdown_table(("claim", "what is measured", "where it is published"), rows))
    if figures:
        parts.append("## Figures")
    for figure in figures:
        parts += _figure(figure)
    return "\n\n".join(parts) + "\n"


def directions(reproduction: Reproduction, paper: str) -> str:
    """What a paper says about effects beside what was measured.

    Args:
        reproduction: what `reproduce` found.
        paper: the name of one of its papers.
    """
    found = [one for one in reproduction.directions if one.paper == paper]
    counted = Counter(one.verdict for one in found)
    said = ", ".join(f"{counted[sign]} {sign}" for sign in reproduction.signs if counted[sign])
    parts = [
        f"# Directions: {reproduction.papers[paper]}",
        _head(reproduction, paper),
        f"What the paper says about effects, and the sign or order that the model shows: {said}. "
        "[DEVIATIONS.md](DEVIATIONS.md) explains what is wrong.",
        markdown_table(
            ("direction", "section", "what", "measured", "expected", "shown", ""),
            [_direction_row(one) for one in found],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _direction_row(one: Direction) -> list[str]:
    verdict = f"**{one.verdict}**" if one.verdict in ("wrong", "undecided") else one.verdict
    return [f"`{one.id}`", one.section, f'"{one.says}"', one.measured, one.expected, one.shown, verdict]


def _head(reproduction: Reproduction, paper: str) -> str:
    facts = {
        name: value for name, value in reproduction.facts.items() if name not in ("papers", "machines", "simulations")
    }
    said = "; ".join(f"{name}: {value}" for name, value in facts.items())
    depends = any(figure.depends is not None for figure in reproduction.figures)
    scale = f"{' --quick' if reproduction.quick else ''} --seeds {reproduction.seeds}{' --depends' if depends else ''}"
    return f"{said + '.' if said else ''}\nWritten by `counterpoint reproduce {paper}{scale} --out DIR`.".strip()


def _claim_rows(claims: Iterable[Claim]) -> list[list[str]]:
    return [
        [f"`{claim.id}`", row.at, row.published, row.measured, "yes" if row.holds else "**no**"]
        for claim in claims
        for row in claim.rows
    ]


def _figure(figure: Figure) -> list[str]:
    said = [f"Section {figure.section}." if figure.section else "", figure.note]
    if figure.prediction:
        said.append(PREDICTION)
    if figure.depends is not None:
        said.append(sentence(figure.depends))
    parts = [f"### {figure.name}: {figure.title}", " ".join(filter(None, said))]
    for table in figure.tables:
        parts += [table.title if table.title in ("", figure.title) else f"{table.title}:", _of(table)]
    return [part for part in parts if part]


def _of(table: Table) -> str:
    return markdown_table(table.header, table.rows)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells of text."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
