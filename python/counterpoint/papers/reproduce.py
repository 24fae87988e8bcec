"""Reproduces papers: simulates what their experiments declare, draws their figures, and judges their claims."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from .._engine import EngineError, InputError
from ..runs import sweeps
from ..runs.computing import Computer, computing, store_in
from ..runs.sweeps import SweepProgress
from ..system import units
from ..verbs import api, catalogue, recoveries
from ..verbs.interval import check_seeds
from . import charts, claims, directions, recoverability
from .asking import content, placed, set_now
from .declared import PAPERS, PREDICTIONS, Experiment, Scale, experiments, paper
from .defaults import ALL
from .dependence import SHORT_SEED, dependence
from .model import Claim, Decision, Direction, Figure, Reproduction
from .quantity import Document, Key, key_of

SEEDS = 5
"""Seeds that what is published is measured with."""

Simulate = Callable[[Sequence[Mapping[str, Any]]], Sequence[Document]]
"""A function that returns the documents of requests, in their order."""


@dataclass(frozen=True)
class Measured:
    """An experiment with its runs: by matrix, with each seed, by their position on its axes."""

    experiment: Experiment
    runs: Mapping[str, Sequence[Mapping[Key, Document]]]


def names_of(asked: str, known: Sequence[str] = (*PAPERS, *PREDICTIONS)) -> tuple[str, ...]:
    """The papers that a name stands for; `all` are those that are reproduced on their own machines.

    Raises:
        InputError: there is no such paper.
    """
    if asked == ALL:
        return PAPERS
    if asked not in known:
        raise InputError(f"paper '{asked}' does not exist (known: {ALL}, {', '.join(known)})")
    return (asked,)


def reproduce(
    asked: str = ALL,
    *,
    quick: bool = False,
    seeds: int | None = None,
    depends: bool = False,
    store: str | os.PathLike[str] | None = None,
    workers: int = 0,
    cluster: str | None = None,
    progress: SweepProgress | None = None,
    command: str | None = None,
) -> Reproduction:
    """Reproduces the figures, tables and claims of one paper or of all.

    Args:
        asked: a paper, `"all"`, `"integrity"`, predictions on integrity trees, or `"optane"`, measurements of modules.
        quick: small footprints and few transactions, to see that everything works; the figures mean little.
        seeds: every figure is measured with the seeds 1 to this, as a mean with an interval; default 5, `quick` 1.
        depends: also measure how each prediction depends on what its paper leaves open, in short runs of their own.
        store: the file that keeps the simulations, as `sweep` has it, so that one that was stopped goes on; without,
            they are forgotten.
        workers: processes that simulate; 0 is one per processor, and there are never more. The results do not depend
            on it.
        cluster: address of a Dask scheduler whose workers simulate instead.
        progress: told how far the simulations are.
        command: the command line that gives it again, shown in the report.

    Raises:
        InputError: there is no such paper, or the store or the cluster is no good.
        EngineError: a simulation failed.
        Interrupted: Ctrl-C; what was finished is in the store.
    """
    scale: Scale = "quick" if quick else "full"
    names, used = names_of(asked), _seeds(seeds, quick)
    declared = [
        [experiment for name in names for experiment in experiments(name, scale, {"seed": one, **api.TIMING_ONLY})]
        for one in used
    ]
    documents: list[Document] = []

    def simulate(requests: Sequence[Mapping[str, Any]]) -> Sequence[Document]:
        plan = sweeps.plan_requests(f"reproduce-{asked}-{scale}", requests)
        with store_in(store) as opened:
            sweeps.put(plan, opened)
            report = sweeps.compute(plan, opened, workers=workers, cluster=cluster, progress=progress)
            if report.failures:
                failed = report.failures[0]
                raise EngineError(f"a simulation failed: {failed.sentence} ({json.dumps(dict(failed.request))})")
            runs = opened.runs(plan.requests)
            documents.extend(runs[key].document for key, _ in plan.points)
        return documents

    measured = over_seeds(measure([one for each in declared for one in each], simulate), len(used))
    judged = {claim.id: claim for entry in measured for claim in judge(entry)}
    found = Reproduction(
        papers={name: paper(name).title for name in names},
        figures=tuple(_figure(entry) for entry in measured),
        claims=tuple(judged[name] for name in claims.published() if name in judged),
        decisions=tuple(decision for name in names for decision in decisions(name)),
        deviations=resources.files(__package__).joinpath("DEVIATIONS.md").read_text(encoding="utf-8"),
        quick=quick,
        seeds=len(used),
        facts=_facts(names, documents, scale, used),
        directions=tuple(direction for name in names for direction in judged_directions(name, measured)),
        command=command,
    )
    if not depends:
        return found
    with computing(store, workers=workers, cluster=cluster) as computer:
        return _with_dependence(found, computer, progress)


def _with_dependence(measured: Reproduction, computer: Computer, progress: SweepProgress | None) -> Reproduction:
    """A reproduction with what its predictions depend on."""

    def show(done: int, total: int) -> None:
        if progress is not None:
            progress(done, total, 0)

    scale: Scale = "quick" if measured.quick else "short"
    names = list(dict.fromkeys(figure.paper for figure in measured.figures if figure.prediction))
    found = [one for name in names for one in dependence(name, computer, show, scale=scale)]
    return replace(
        measured,
        figures=tuple(
            replace(one, depends=tuple(each for each in found if each.figure == one.id)) if one.prediction else one
            for one in measured.figures
        ),
        facts={**measured.facts, **_shortened(names, scale)},
    )


def measure(declared: Iterable[Experiment], simulate: Simulate) -> list[Measured]:
    """Experiments with their runs and recoveries. Runs that several experiments need are simulated once."""
    declared = list(declared)
    asked = _requests(declared, of_recovery=False)
    found = dict(zip(asked, simulate([placed(one) for one in asked.values()]) if asked else (), strict=True))
    found |= {content: _recovered(request) for content, request in _requests(declared, of_recovery=True).items()}
    return [
        Measured(
            experiment,
            {
                name: [{key_of(point): found[content(point.request)] for point in matrix.points}]
                for name, matrix in experiment.matrices.items()
            },
        )
        for experiment in declared
    ]


def _requests(declared: Iterable[Experiment], *, of_recovery: bool) -> dict[str, Mapping[str, Any]]:
    """What is asked of the engine, by content: runs or recoveries."""
    return {
        content(point.request): point.request
        for experiment in declared
        for name, matrix in experiment.matrices.items()
        if (name in experiment.recoveries) == of_recovery
        for point in matrix.points
    }


def _recovered(asked: Mapping[str, Any]) -> Document:
    """What a boot of a design on a machine costs, as `counterpoint recovery --json` has it of one size of memory."""
    found = recoveries.recovery(
        [asked["design"]],
        measure=False,
        machine=asked["machine"],
        variant=asked["variant"],
        memory=[],
        set=asked.get("set", {}),
    )
    cost: Document = found[0].to_dict()["costs"][0]
    return cost


def over_seeds(measured: Sequence[Measured], seeds: int) -> list[Measured]:
    """Experiments with the runs of all seeds, from those with one each, all of the first seed first.

    Recoveries depend on no seed, so they are there once.
    """
    figures = len(measured) // seeds
    return [
        Measured(
            one.experiment,
            {
                name: [
                    run
                    for seed in range(1 if name in one.experiment.recoveries else seeds)
                    for run in measured[seed * figures + place].runs[name]
                ]
                for name in one.runs
            },
        )
        for place, one in enumerate(measured[:figures])
    ]


def _seeds(asked: int | None, quick: bool) -> range:
    if asked is None:
        asked = 1 if quick else SEEDS
    check_seeds(asked)
    return range(1, asked + 1)


def judge(measured: Measured) -> list[Claim]:
    """The claims that an experiment measures."""
    experiment = measured.experiment
    return [
        claims.judge(spec, experiment.matrices[spec.matrix], measured.runs[spec.matrix]) for spec in experiment.claims
    ]


def judged_directions(name: str, measured: Iterable[Measured]) -> list[Direction]:
    """What a paper says about effects, with what its experiments show; what belongs to no figure comes last."""
    of_figures = [
        directions.judge(spec, name, one.experiment, one.runs)
        for one in measured
        if one.experiment.paper == name
        for spec in one.experiment.directions
    ]
    return of_figures + [directions.judge(spec, name, None, {}) for spec in paper(name).directions]


def decisions(name: str) -> list[Decision]:
    """What a paper leaves open, with the values that its runs have."""
    return [
        Decision(
            paper=name,
            key=spec.name,
            value=spec.plain(set_now(name, spec)),
            start=spec.plain(spec.start),
            shipped=spec.plain(spec.shipped),
            range=tuple(map(spec.plain, spec.rows)),
            reason=spec.reason,
            shared=spec.simulator,
        )
        for spec in paper(name).decisions
    ]


def _figure(measured: Measured) -> Figure:
    experiment = measured.experiment
    names = paper(experiment.paper).names
    drawn = [
        charts.chart(spec, experiment.matrices[spec.matrix], measured.runs[spec.matrix], names)
        for spec in experiment.charts
    ]
    tables = [charts.numbers(chart, spec.digits) for chart, spec in zip(drawn, experiment.charts, strict=True)]
    tables += [
        charts.table(spec, experiment.matrices[spec.matrix], measured.runs[spec.matrix], names)
        for spec in experiment.tables
    ]
    tables += [recoverability.table(spec) for spec in experiment.recoverability]
    return Figure(
        id=experiment.id,
        paper=experiment.paper,
        name=experiment.name,
        title=experiment.title,
        section=experiment.section,
        note=experiment.note,
        prediction=experiment.prediction,
        charts=tuple(drawn),
        tables=tuple(tables),
        claims=tuple(spec.id for spec in experiment.claims),
        runs=sum(len(matrix.points) * len(measured.runs[name]) for name, matrix in experiment.matrices.items())
        + len(experiment.recoverability),
    )


def _facts(names: Sequence[str], documents: Sequence[Document], scale: Scale, seeds: range) -> dict[str, str]:
    counted = sorted({run["transactions"] // max(run["cores"], 1) for run in documents if run["transactions"]})
    facts = {
        "papers": ", ".join(names),
        "reading": "published",
        "scale": "quick: small footprints and few transactions" if scale == "quick" else "the papers' footprints",
        "machines": ", ".join(dict.fromkeys(run["machine"] for run in documents)),
        "simulations": f"{len(documents):,}",
        "transactions per core": " to ".join(f"{count:,}" for count in dict.fromkeys((counted[0], counted[-1])))
        if counted
        else "",
        "seed" if len(seeds) == 1 else "seeds": ", ".join(map(str, seeds)),
        "intervals": "means over the seeds, ± half of Student's t interval of 95 %" if len(seeds) > 1 else "",
        "engine": f"{catalogue.engine_version()}",
    }
    return {name: value for name, value in facts.items() if value}


def _shortened(names: Sequence[str], scale: Scale) -> dict[str, str]:
    """How it is measured what predictions depend on."""
    counted = {paper(name).document[scale]["transactions"] for name in names}
    runs = ", ".join(units.count_of(count, "transaction") for count in sorted(counted))
    said = f"one decision changed at a time, {runs} per core, seed {SHORT_SEED}"
    return {"dependence of predictions": said} if names else {}
