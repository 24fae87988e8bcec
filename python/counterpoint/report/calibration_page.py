"""The page of a search over decisions: what was chosen, what it predicts, how each claim depends on each decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..papers import evaluations
from ..papers.asking import set_now
from ..papers.calibrate import Calibration
from ..papers.crossvalidate import mean_of
from ..papers.declared import paper
from ..papers.finish import Finalist
from ..papers.model import Claim
from ..papers.pool import SEEDS
from ..papers.sensitivity import Varied
from ..searches.space import Point
from ..system.files import prepare_folder, write_text
from ..verbs import catalogue
from . import assumptions
from .markdown import markdown_table

_BEST = 10


def write_pages(found: Sequence[Calibration], folder: Path) -> list[Path]:
    """Writes what searches found into a folder, and returns the paths.

    These are, in `calibration`, `SIMULATOR.md`, the scores `SIMULATOR.csv` and the evaluations `SIMULATOR.parquet` for
    each search and, if the folder has the scores of all simulators, `assumptions.md` with its picture
    `img/assumptions.svg`.

    Raises:
        InputError: the folder cannot be written to, or a file of scores that is there is damaged.
    """
    pages = prepare_folder(folder / "calibration")
    written = []
    for one in found:
        written.append(write_text(pages / f"{one.simulator.name}.md", page(one)))
        written.append(assumptions.write_scores(one, pages / f"{one.simulator.name}.csv"))
        written.append(evaluations.write(one.space, one.pool.outcomes, pages / f"{one.simulator.name}.parquet"))
    return written + assumptions.write_assumptions(folder)


def page(found: Calibration) -> str:
    """The page in Markdown."""
    parts = [
        f"# Decisions of the papers that cite {found.simulator.title}",
        "".join(f"- {name}: {paper(name).title}\n" for name in found.space.own).rstrip(),
        _setting(found),
        "## What the papers leave open",
        "What the simulator ships, or the paper's text suggests, is given where one of them says something. **Bold** "
        "is what departs from it. Decisions without a paper are shared.",
        markdown_table(
            ("paper", "decision", "range", "start", "shipped", "chosen", "preset", "why open, and why that start"),
            _decisions(found),
        ),
        "## Points",
        markdown_table(("point", "score", "departures"), _points(found)),
        f"The best {_BEST} of the points that were evaluated with all seeds, under the chosen weight of the prior:",
        markdown_table(
            ("score", "departures", "differs from the chosen one in"),
            _best(found),
        ),
        "## What the points predict",
        _folds(found),
        "## The finish",
        _finish(found),
        "## What the choice costs",
        "The point is chosen for the claims of all papers, and for what it predicts. Beside it, what fits each paper's "
        "claims best by itself, of all that was evaluated at more length with the first seed.",
        markdown_table(
            ("paper", "best score", "chosen score", "claims lost", "claims won", "the best has"), _costs(found)
        ),
        "## The claims",
        "In short, with the first seed; the figures as they are, are in the report.",
        markdown_table(("claim", "at", "published", *found.named), _claims(found)),
        "## How the claims depend on each decision",
        "One decision changed at a time, all others as chosen, in short, with the first seed. Points of a claim in "
        "their order; **bold** where all of them hold.",
        *_sensitivities(found),
    ]
    refused = _refused(found)
    if refused:
        parts += ["## What the engine refuses", refused]
    return "\n\n".join(parts) + "\n"


def _setting(found: Calibration) -> str:
    names = " ".join(found.space.own)
    lines = [
        f"Written by `counterpoint calibrate {names} --budget {found.budget} --seed {found.seed}`, engine "
        f"{catalogue.engine_version()}.",
        f"{found.evaluated} evaluations of a paper, and {len(found.refused)} refused; the chosen point was measured",
        f"with the seeds {', '.join(map(str, SEEDS))}. How the search goes and what a score is:",
        "[calibration](../calibration.md). Simulated:",
        "",
        *(f"- {name}: {setting}" for name, setting in found.settings.items()),
    ]
    return "\n".join(lines)


def _decisions(found: Calibration) -> Iterable[Sequence[str]]:
    for name, spec, place in found.by_decision(found.chosen):
        chosen = spec.text(spec.rows[place])
        presets = dict.fromkeys(spec.text(set_now(one, spec)) for one in ([name] if name else found.space.own))
        yield (
            name,
            f"`{spec.name}`",
            ("; " if spec.is_group else ", ").join(map(spec.text, spec.rows)),
            spec.text(spec.start),
            spec.text(spec.shipped),
            f"**{chosen}**" if spec.departs(place) else chosen,
            " / ".join(presets),
            spec.reason,
        )


def _points(found: Calibration) -> Iterable[Sequence[str]]:
    for name, point in found.named.items():
        yield name, _score(found.score(point)), str(found.space.departures(point))


def _best(found: Calibration) -> Iterable[Sequence[str]]:
    for point in found.best(_BEST):
        yield _score(found.score(point)), str(found.space.departures(point)), _difference(found, point) or "nothing"


def _difference(found: Calibration, point: Point) -> str:
    pairs = zip(found.by_decision(point), found.by_decision(found.chosen), strict=True)
    return "; ".join(
        f"{name + ' ' if name else ''}`{spec.name}` {spec.text(spec.rows[place])}"
        for (name, spec, place), (_, _, chosen) in pairs
        if place != chosen
    )


def _folds(found: Calibration) -> str:
    tested = found.validation
    rows = [
        (
            f"{weight:g}" + (" (chosen)" if weight == tested.weight else ""),
            f"{tested.fitted(weight):.3f}",
            f"{tested.predicted(weight):.3f}",
        )
        for weight in tested.weights
    ]
    folds = [
        (
            f"`{fold.left_out}`",
            f"{fold.fitted:.3f}",
            f"{fold.predicted:.3f}",
            str(len(fold.alike)),
            _score(found.score(fold.best)),
            _difference(found, fold.best) or "nothing",
        )
        for fold in tested.under(tested.weight)
    ]
    return "\n\n".join(
        (
            "Each figure (with one figure, each claim) is left out in turn; the best point on the others, and the "
            "points that the others do not tell from it, are scored on it, each alike. The weight of the prior that "
            "predicts best is chosen, of equals the largest.",
            markdown_table(("weight of the prior", "fitted", "predicted"), rows),
            f"With the weight {tested.weight:g}:",
            markdown_table(
                ("left out", "fitted", "predicted", "points", "overall", "its best differs from the chosen one in"),
                folds,
            ),
            "The cross-validated error of a paper is one less the mean score of its claims that were left out:",
            markdown_table(
                ("paper", "predicted", "cross-validated error"),
                [
                    (name, f"{predicted:.3f}", f"{1 - predicted:.3f}")
                    for name in found.space.own
                    for predicted in [tested.predicted_of(name, tested.weight)]
                ],
            ),
        )
    )


def _finish(found: Calibration) -> str:
    rows = [_finalist(found, one) for one in found.finalists]
    before = [] if found.before is None else [_finalist(found, found.before)]
    header = ("differs from the chosen one in", "claims that hold", "score", "missed")
    weak = found.before is not None and found.finalists and found.before.held > found.finalists[0].held
    return "\n\n".join(
        (
            "The best point of the search was measured as the figures are: at full length, over all seeds, where a "
            "claim holds if its interval meets what is published. So were changes of little cost with which a claim "
            "that it misses holds in the search. The point of which most claims hold is chosen.",
            markdown_table(header, rows),
            "What the presets had when the search began, which is no part of it:"
            + (" more claims hold there, so the search was too weak." if weak else ""),
            markdown_table(header, before),
        )
    )


def _finalist(found: Calibration, one: Finalist) -> Sequence[str]:
    return (
        _difference(found, one.point) or "nothing",
        f"{one.held} of {len(one.claims)}",
        f"{one.score:.3f}",
        ", ".join(f"`{claim.id}`" for claim in one.claims if not claim.holds) or "none",
    )


def _costs(found: Calibration) -> Iterable[Sequence[str]]:
    for name in found.space.own:
        (best, alone), (chosen, together) = found.alone(name), found.together(name)
        held = [{claim.id for claim in one.claims if claim.holds} for one in (alone, together)]
        pairs = zip(found.space.decisions_of(name), best, chosen, strict=True)
        yield (
            name,
            *(_score(mean_of(one.scores, one.scores)) for one in (alone, together)),
            *(
                ", ".join(f"`{one}`" for one in sorted(some)) or "none"
                for some in (held[0] - held[1], held[1] - held[0])
            ),
            "; ".join(f"`{spec.name}` {spec.text(spec.rows[there])}" for spec, there, here in pairs if there != here)
            or "the same",
        )


def _claims(found: Calibration) -> Iterable[Sequence[str]]:
    columns = [{claim.id: claim for claim in found.claims(point)} for point in found.named.values()]
    for claim in found.claims(found.chosen):
        for number, row in enumerate(claim.rows):
            cells = []
            for column in columns:
                held = column[claim.id].rows[number] if claim.id in column else None
                cells.append("refused" if held is None else f"**{held.measured}**" if held.holds else held.measured)
            yield claim.id, row.at, row.published, *cells


def _sensitivities(found: Calibration) -> Iterable[str]:
    for name, spec, chosen in found.by_decision(found.chosen):
        some = [each for each in found.varied if each.spec is spec and (not name or set(each.outcomes) == {name})]
        claims = [claim.id for claim in found.claims(found.chosen) if not name or claim.paper == name]
        header = (f"`{spec.name}`" + (f" ({name})" if name else ""), "score", *claims)
        yield markdown_table(header, (_row(each, chosen, claims) for each in some))


def _row(each: Varied, chosen: int, claims: Sequence[str]) -> Sequence[str]:
    value = each.spec.text(each.spec.rows[each.place]) + (" (chosen)" if each.place == chosen else "")
    if each.refused:
        return value, "refused", *("" for _ in claims)
    measured = {claim.id: claim for outcome in each.outcomes.values() for claim in outcome.claims}
    score = sum(each.scores.values()) / len(each.scores)
    return value, f"{score:.3f}", *(_shown(measured[name]) for name in claims)


def _shown(claim: Claim) -> str:
    points = list(claim.measured.values()) if isinstance(claim.measured, dict) else [claim.measured]
    shown = ", ".join(_measured(value) for value in points)
    return f"**{shown}**" if claim.holds else shown


def _measured(value: object) -> str:
    return " to ".join(f"{each:.3g}" for each in value) if isinstance(value, list) else f"{value:.3g}"


def _refused(found: Calibration) -> str:
    return "\n".join(f"- {sentence}" for sentence in dict.fromkeys(why for _, why in found.refused))


def _score(score: float | None) -> str:
    return "refused" if score is None else f"{score:.3f}"
