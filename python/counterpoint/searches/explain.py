"""Two designs side by side: the parts and figures that differ, and what each part does by itself.

Each part that differs is exchanged alone, in both directions: the first design with the second one's value, and the
second with the first one's. Where the others contradict that, one more part is exchanged with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack, cast

from .._engine import InputError
from ..contract.options import RunOptions
from ..contract.printed import document
from ..contract.request import Variant, bounded, completes, count, given
from ..contract.spec_files import Over
from ..runs.computing import computing
from ..verbs import api, catalogue, comparison
from ..verbs.comparison import seed_numbers
from ..verbs.interval import Estimate, check_seeds
from . import figures as figures_of
from .goals import PINNED, Goals, Promise, check_program
from .judge import Judge, check
from .space import PART, Candidate, Space, Value, candidate
from .verdict import Counterexample, Judged

FIGURES = (
    "transaction_latency_ns_mean",
    "nvm_writes_per_transaction",
    "nvm_reads",
    "counter_cache_hit_rate",
    "boot_time_ns",
    "on_chip_bytes",
    "battery_writes",
)
"""The figures that are compared by default."""

_MEAN: Over = "mean"
"""How the workloads make one number."""

_LINES = ("none", "marked", "every")
"""What designs promise of lines in flight, the weakest first."""


@dataclass(frozen=True)
class Machine:
    """A design with its figures and the verdict on its crashes.

    Attributes:
        figures: the mean over the workloads, by name; None where it has no such figure.
        crash_points: power failures that it has survived.
        counterexample: one that it does not survive; None if there is none.
        refused: why the engine does not take it; empty if it does.
        halves: half the width of the 95 % interval of each figure over the seeds (Student); none with one seed.
    """

    figures: Mapping[str, float | None]
    crash_points: int
    counterexample: Counterexample | None
    refused: str = ""
    halves: Mapping[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """It survived every crash that was tried."""
        return not self.refused and self.counterexample is None

    def estimate(self, figure: str) -> Estimate | None:
        """A figure with its interval; None where it has none."""
        mean = self.figures.get(figure)
        return None if mean is None else Estimate(mean, self.halves.get(figure))


@dataclass(frozen=True)
class Exchange:
    """A part that differs, and both designs with the value of the other.

    Attributes:
        key: the part.
        values: of the first design and of the second; None where it has no effect.
        first: the first design with the second one's value.
        second: the second design with the first one's.
        first_with, second_with: the parts that had to be exchanged with it.
    """

    key: str
    values: tuple[Value | None, Value | None]
    first: Machine
    second: Machine
    first_with: tuple[str, ...]
    second_with: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Two designs side by side.

    Attributes:
        names: of the designs.
        machine: the machine that both run on.
        workloads: the programs.
        promise: what both are held to: what both promise.
        figures: the names of the figures.
        designs: the two.
        exchanges: each part that differs.
        seeds: of the runs; with one, figures have no intervals. Crashes are tried with the first.
    """

    names: tuple[str, str]
    machine: str
    workloads: tuple[str, ...]
    promise: Promise
    figures: tuple[str, ...]
    designs: tuple[Machine, Machine]
    exchanges: tuple[Exchange, ...]
    seeds: tuple[int, ...] = (1,)

    def to_dict(self) -> dict[str, Any]:
        """The document that `explain --json` prints."""
        return document(self)


@completes(RunOptions)
def explain(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    workloads: Sequence[str | os.PathLike[str]] | None = None,
    *,
    figures: Sequence[str] = FIGURES,
    seeds: int = 1,
    store: str | os.PathLike[str] | None = None,
    workers: int = 0,
    progress: api.Progress | None = None,
    **options: Unpack[RunOptions],
) -> Explanation:
    """Says why one design is better than another: what each part in which they differ does by itself.

    Args:
        first: a built-in design or a design file.
        second: another one.
        workloads: names of workloads or paths of traces; default `COMPARE_WORKLOADS`.
        figures: what is compared, see `docs/search.md`.
        seeds: with how many seeds each is measured, from `seed` on; figures of several are means with intervals.
        store: a DuckDB file of what is computed, which is not computed again; default none.
        workers: processes that compute; 0 is one per processor, and there are never more.
        progress: told how much is done.
        **options: see `RunOptions`; the machine is that of the first design by default.

    Raises:
        InputError: bad input, in one sentence.
        Interrupted: Ctrl-C.
    """
    count("workers", workers)
    check_seeds(seeds)
    wanted = tuple(dict.fromkeys(figures))
    figures_of.check(bounded("figures", wanted))
    names = (os.fspath(first), os.fspath(second))
    asked = dict(given(RunOptions, {**options, "machine": catalogue.machine_for(names, options.get("machine"))}))
    variant = cast(Variant, asked.get("variant", "hardened"))
    works = tuple(
        dict.fromkeys(os.fspath(work) for work in (comparison.COMPARE_WORKLOADS if workloads is None else workloads))
    )
    if not works or not wanted:
        raise InputError("there is nothing to compare: name at least one workload and one figure")
    for work in bounded("workloads", works):
        check_program(work)
        for name in names:
            # What the engine refuses of a design itself needs no explanation.
            api.resolve(name, work, **{**options, "machine": asked["machine"]})
    promise = _promise(names, variant)
    goals = Goals(
        name="explain",
        text="",
        workloads=works,
        crash_workloads=works,
        run=asked,
        promise=promise,
        space=Space(names[0], variant, {}, ()),
        references=(),
        objectives=(),
        limits=(),
        candidates=0,
        seed=1,
    )
    with computing(store, workers=workers) as computer:
        several = seed_numbers(seeds, asked.get("seed"))
        return _Explaining(goals, names, wanted, Judge(goals, computer), progress, several).result()


class _Explaining:
    """An explanation that is being computed."""

    def __init__(
        self,
        goals: Goals,
        names: tuple[str, str],
        wanted: tuple[str, ...],
        judge: Judge,
        progress: api.Progress | None,
        seeds: Sequence[int],
    ) -> None:
        self._goals, self._names, self._wanted, self._judge, self._progress = goals, names, wanted, judge, progress
        self._seeds = tuple(seeds)
        self._parts = [dict(catalogue.effective_parts(name, variant=goals.space.variant)) for name in names]

    def result(self) -> Explanation:
        """Computes it."""
        mine, other = self._parts
        keys = [key for key in dict.fromkeys([*mine, *other]) if mine.get(key) != other.get(key) and key not in PINNED]
        asked: list[Candidate | str] = [self._made(0, ()), self._made(1, ())]
        exchanged = [[self._exchanged(side, key, keys) for side in (0, 1)] for key in keys]
        asked += [made for pair in exchanged for made, _ in pair]
        machines = self._machines(asked)
        exchanges = []
        for place, key in enumerate(keys):
            first, second = machines[2 + 2 * place : 4 + 2 * place]
            with_first, with_second = (others for _, others in exchanged[place])
            exchanges.append(Exchange(key, (mine.get(key), other.get(key)), first, second, with_first, with_second))
        machine = str(self._goals.run["machine"])
        return Explanation(
            self._names,
            machine,
            self._goals.workloads,
            self._goals.promise,
            self._wanted,
            (machines[0], machines[1]),
            tuple(exchanges),
            self._seeds,
        )

    def _exchanged(self, side: int, key: str, keys: Sequence[str]) -> tuple[Candidate | str, tuple[str, ...]]:
        """A design with the value of the other for a part, and for another one where it takes that."""
        alone = self._made(side, (key,))
        if not isinstance(alone, str):
            return alone, ()
        for another in keys:
            both = self._made(side, (key, another)) if another != key else alone
            if not isinstance(both, str):
                return both, (another,)
        return alone, ()

    def _made(self, side: int, keys: Sequence[str]) -> Candidate | str:
        """A design with the values of the other for some parts; a sentence where that contradicts the rest."""
        theirs = self._parts[1 - side]
        stated = {PART + key: theirs[key] for key in keys if key in theirs}
        if keys and not stated:
            return f"'{self._names[1 - side]}' has no value of {keys[0]} to take over"
        try:
            made = candidate(self._names[side], self._goals.space.variant, {**stated, **self._goals.promise.stated})
            if keys:
                check(self._goals, made)
        except InputError as error:
            return str(error)
        if stated and not any(made.parts.get(key) == theirs[key] for key in keys if key in theirs):
            return f"{keys[0]} has no effect with the other parts"
        return made

    def _machines(self, asked: Sequence[Candidate | str]) -> list[Machine]:
        """What comes of each; of the two designs themselves as well if they do not hold."""
        valid = list(dict.fromkeys(one for one in asked if not isinstance(one, str)))
        failed: dict[Candidate, Judged] = {}
        measured: dict[Candidate, tuple[list[figures_of.Figures], str]] = {}
        for done, one in enumerate(valid):
            failed |= self._judge.tested([one])
            measured |= dict(zip([one], self._judge.measured([one]), strict=True))
            if self._progress is not None:
                self._progress(done + 1, len(valid))
        intervals: dict[Candidate, dict[str, Estimate]] = {}
        if len(self._seeds) > 1:
            taken = [one for one in valid if measured[one][0]]
            over = dict.fromkeys(self._wanted, _MEAN)
            intervals = dict(zip(taken, self._judge.over_seeds(taken, self._seeds, over), strict=True))
        found = []
        for made in asked:
            if isinstance(made, str):
                found.append(Machine({}, 0, None, made))
                continue
            runs, refused = measured[made]
            judged = failed.get(made)
            why = refused or (judged.why if judged is not None else "")
            values = {name: figures_of.over(name, runs, "mean") for name in self._wanted} if runs else {}
            spread = intervals.get(made, {})
            values |= {name: value.mean for name, value in spread.items()}
            halves = {name: value.half for name, value in spread.items() if value.half is not None}
            points = self._judge.survived(made)
            shown = None if judged is None else judged.counterexample
            found.append(Machine(values, points, shown, why, halves))
        return found


def _promise(names: Sequence[str], variant: Variant) -> Promise:
    """What both designs promise."""
    parts = [catalogue.effective_parts(name, variant=variant) for name in names]
    for name, of in zip(names, parts, strict=True):
        if of["crash_consistent"] is not True:
            raise InputError(f"design '{name}' promises nothing after a power failure: {of['crash_consistent']}")
    lines = min((str(of["line_atomic"]) for of in parts), key=_LINES.index)
    return Promise(lines, all(of["secret"] is True for of in parts))
