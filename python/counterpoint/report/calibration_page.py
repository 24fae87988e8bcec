"""The page of a search over decisions: what was chosen, what was tried, how each claim depends on each decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import api
from ..papers.calibrate import Calibration, Outcome, Trial
from ..papers.declared import paper
from ..papers.model import Claim
from ..request import literal
from .markdown import markdown_table


def page(found: Calibration) -> str:
    """The page in Markdown."""
    lines = [
        f"# Decisions of the {found.paper} paper",
        "",
        f"{paper(found.paper).title}.",
        "",
        f"Written by `counterpoint calibrate {found.paper}`, engine {api.engine_version()}. Simulated:",
        f"{found.setting}.",
        "How the search goes and what a score is: [calibration](../calibration.md).",
        "",
        f"The score went from {found.start.score:.3f} to {found.chosen.score:.3f} in {_rounds(found)}.",
        "",
        "## What the paper leaves open",
        "",
        markdown_table(("decision", "tried", "start", "chosen", "why open, and why that start"), _decisions(found)),
        "",
        "## The claims, before and after",
        "",
        "At the scale of the search; the figures at the papers' footprints are in the report.",
        "",
        markdown_table(("claim", "at", "published", "start", "chosen"), _claims(found)),
        "",
        "## What the search did",
        "",
        markdown_table(("round", "decision", "kept", "score"), _steps(found)),
        "",
        "## How the claims depend on each decision",
        "",
        "One decision changed at a time, all others as chosen. Points of a claim in their order; **bold** where all",
        "of them hold.",
    ]
    for spec in found.decisions:
        trials = [trial for trial in found.rounds[-1].trials if trial.key == spec.key]
        names = [claim.id for claim in found.chosen.claims]
        header = (f"`{spec.key}`", "score", *(name.removeprefix(f"{found.paper}.") for name in names))
        lines += [
            "",
            markdown_table(
                header, (_sensitivity(trial, dict(found.chosen.values)[spec.key], names) for trial in trials)
            ),
        ]
    return "\n".join(lines) + "\n"


def _rounds(found: Calibration) -> str:
    count = len(found.rounds)
    words = f"{count} round{'' if count == 1 else 's'}"
    return f"{words}, the last of which changed nothing" if found.ended else f"{words}, and was ended there"


def _decisions(found: Calibration) -> Iterable[Sequence[str]]:
    chosen = dict(found.chosen.values)
    for spec in found.decisions:
        value = literal(chosen[spec.key])
        shown = value if chosen[spec.key] == spec.start else f"**{value}**"
        yield f"`{spec.key}`", ", ".join(map(literal, spec.range)), literal(spec.start), shown, spec.reason


def _claims(found: Calibration) -> Iterable[Sequence[str]]:
    for before, after in zip(found.start.claims, found.chosen.claims, strict=True):
        for old, new in zip(before.rows, after.rows, strict=True):
            cells = (f"**{row.measured}**" if row.holds else row.measured for row in (old, new))
            yield before.id, old.at, old.published, *cells


def _steps(found: Calibration) -> Iterable[Sequence[str]]:
    yield "", "start", "", f"{found.start.score:.3f}"
    for number, walk in enumerate(found.rounds, 1):
        for trial in walk.trials:
            if trial.kept:
                yield str(number), f"`{trial.key}`", literal(trial.value), f"{trial.outcome.score:.3f}"
    yield str(len(found.rounds)), "nothing more", "", f"{found.chosen.score:.3f}"


def _sensitivity(trial: Trial, chosen: object, names: Sequence[str]) -> Sequence[str]:
    value = literal(trial.value) + (" (chosen)" if trial.value == chosen else "")
    if trial.outcome.refused:
        return value, "refused", *("" for _ in names)
    return value, f"{trial.outcome.score:.3f}", *(_claim(trial.outcome, name) for name in names)


def _claim(outcome: Outcome, name: str) -> str:
    claim = next(claim for claim in outcome.claims if claim.id == name)
    shown = ", ".join(_measured(value) for value in _points(claim))
    return f"**{shown}**" if claim.holds else shown


def _points(claim: Claim) -> list[object]:
    return list(claim.measured.values()) if isinstance(claim.measured, dict) else [claim.measured]


def _measured(value: object) -> str:
    return " to ".join(f"{each:.3g}" for each in value) if isinstance(value, list) else f"{value:.3g}"
