"""The goals of a search, as a TOML file says them (see `docs/search.md`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args, get_type_hints

from .. import _engine
from .._engine import InputError
from ..contract.options import RunOptions
from ..contract.request import Variant, check_numbers, count, literal
from ..contract.request import given as of_kind
from ..contract.spec_files import GoalsFile, LimitTable, ObjectiveTable, Over, PromiseTable, keys_of
from ..runs import matrix
from ..system.paths import is_there
from ..system.units import near
from ..verbs import api, catalogue, comparison
from . import figures
from .space import PART, Dimension, Row, Space, Value, When, of_designs, typed

Spec: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""The path of a goals file, or the content of one."""

CANDIDATES = 2000
"""How many valid candidates a search looks at by default."""

CANDIDATES_MAX = 1_000_000

VALUES_MAX = 1_000
"""Most values of one key: more are a sweep. Each is checked before anything is computed."""

POINTS_MAX = 10**18
"""Most points of a space. Of a larger one, no search sees enough to say anything."""

_ALL = "all"
"""Every value of a part that is no seeded fault."""

_OVER: tuple[Over, ...] = get_args(Over)
_BEST = {"minimise": 1, "maximise": -1}
PINNED = ("crash_consistent", "line_atomic", "secret")
"""Parts that say what a design promises: the goals set them for all candidates alike."""

_CLOCK = "trace_clock_mhz"
"""The option of traces of memory lines."""

_RUN = (*(name for name in get_type_hints(RunOptions) if name not in ("set", "allow_truncated", "serial")), _CLOCK)


@dataclass(frozen=True)
class Objective:
    """A figure that a search makes small or large.

    Attributes:
        figure: its name, one of `figures.names`.
        sign: 1 if less is better, -1 if more is.
        over: how the workloads make one number.
    """

    figure: str
    sign: int
    over: Over = "mean"


@dataclass(frozen=True)
class Limit:
    """A bound on a figure.

    Attributes:
        figure: its name.
        at_most: the largest value that is allowed; None for any.
        at_least: the smallest.
        over: how the workloads make one number.
    """

    figure: str
    at_most: float | None
    at_least: float | None
    over: Over = "mean"

    def excess(self, value: float | None) -> float:
        """By what share of the bound a value is beyond it; 0 if it is within. No value is beyond every bound."""
        if value is None:
            return 1.0
        over = 0.0 if self.at_most is None else value - self.at_most
        under = 0.0 if self.at_least is None else self.at_least - value
        bound = self.at_most if over >= under else self.at_least
        return max(over, under, 0.0) / (abs(bound or 0.0) or 1.0)


@dataclass(frozen=True)
class Promise:
    """What a candidate must keep, whatever happens.

    Attributes:
        line_atomic: which lines in flight hold their old or their new value after a crash.
        secret: nothing leaves the chip in plaintext, and no pad is used twice.
        integrity: an attacker who changes memory is found before anything wrong is used.
    """

    line_atomic: str = "none"
    secret: bool = True
    integrity: bool = False

    @property
    def parts(self) -> dict[str, Value]:
        """The parts that say so."""
        return {"crash_consistent": True, "line_atomic": self.line_atomic, "secret": self.secret}

    @property
    def stated(self) -> dict[str, Value]:
        """The same, with keys as `space.candidate` takes them."""
        return {PART + key: value for key, value in self.parts.items()}


@dataclass(frozen=True)
class Goals:
    """What a search looks for.

    Attributes:
        text: the file.
        workloads: the programs that are measured.
        crash_workloads: those of the crash tests.
        run: options of every run, machine values under `set`; the machine is always among them.
        space: what varies.
        references: designs that are judged as well, to see where they lie.
        candidates: how many valid candidates are looked at, at most.
        seed: of what is proposed.
    """

    name: str
    text: str
    workloads: tuple[str, ...]
    crash_workloads: tuple[str, ...]
    run: Mapping[str, Any]
    promise: Promise
    space: Space
    references: tuple[str, ...]
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    candidates: int
    seed: int

    @property
    def machine(self) -> str:
        """The one machine of all candidates and known designs: a preset's name or the path of a file."""
        return str(self.run["machine"])

    @property
    def figures(self) -> list[str]:
        """The figures that objectives and limits name, each once."""
        names = [one.figure for one in self.objectives]
        return list(dict.fromkeys([*names, *(one.figure for one in self.limits)]))


def load(spec: Spec) -> Goals:
    """Reads goals.

    Raises:
        InputError: bad input, in one sentence that names the place.
    """
    if isinstance(spec, Mapping):
        check_numbers(spec, "goals")
        return _Reader(spec, json.dumps(spec, indent=2, default=str), "goals", "search").goals()
    document, text = matrix.document_and_text(spec)
    return _Reader(document, text, os.fspath(spec), Path(spec).stem).goals()


@dataclass(frozen=True)
class _Reader:
    """A goals file that is being read."""

    document: Mapping[str, Any]
    text: str
    place: str
    stem: str

    def goals(self) -> Goals:
        self._check_names(self.document, keys_of(GoalsFile), "")
        name = self._text("name", self.stem)
        run = self._run()
        promise = self._promise()
        variant = run.get("variant", "hardened")
        if variant not in get_args(Variant):
            raise InputError(f"{self.place}: run.variant is {matrix.shown(variant)}; it must be published or hardened")
        space, designs = self._space(variant, promise)
        run["machine"] = catalogue.machine_for([space.base], run.get("machine"))
        workloads = self._names("workloads", self.document, comparison.COMPARE_WORKLOADS)
        for work in workloads:
            check_workload(work, f"{self.place}: ")
        programs = [work for work in workloads if not matrix.is_of_lines(work)]
        crashed = self._names("crash_workloads", self.document, programs)
        if not crashed:
            raise InputError(
                f"{self.place}: workloads has only traces of memory lines, which cannot be crashed; name a program in "
                "crash_workloads"
            )
        for work in crashed:
            check_program(work, f"{self.place}: ")
        for work in dict.fromkeys([*workloads, *crashed]):
            # What the engine refuses of the base itself needs no search.
            api.resolve_request(matrix.run_request(space.base, work, run))
        objectives = tuple(self._objectives())
        if not objectives:
            raise InputError(f'{self.place}: there are no objectives; name a figure, as in nvm_writes = "minimise"')
        candidates = count("candidates", self.document.get("candidates", CANDIDATES))
        if not 1 <= candidates <= CANDIDATES_MAX:
            raise InputError(f"{self.place}: candidates is {candidates}; it must be from 1 to {CANDIDATES_MAX}")
        return Goals(
            name=name,
            text=self.text,
            workloads=workloads,
            crash_workloads=crashed,
            run=run,
            promise=promise,
            space=space,
            references=self._references(designs),
            objectives=objectives,
            limits=tuple(self._limits()),
            candidates=candidates,
            seed=count("seed", self.document.get("seed", 1)),
        )

    def _references(self, designs: Sequence[str]) -> tuple[str, ...]:
        if "references" not in self.document:
            return tuple(dict.fromkeys([*designs, *catalogue.everywhere()]))
        names = self._names("references", self.document, (), may_be_empty=True)
        catalogue.check_names(names)
        return names

    def _run(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        machine: dict[str, Any] = {}
        for key, value in matrix.leaves(self._table("run")):
            if "." in key and not key.startswith(PART):
                machine[key] = value
            elif key in _RUN:
                options[key] = value
            else:
                raise InputError(f"{self.place}: run.{key} does not exist{near(key, _RUN)}")
        if machine:
            options["set"] = [f"{key}={literal(value)}" for key, value in machine.items()]
        clock = {name: count(name, value) for name, value in options.items() if name == _CLOCK}
        return {**of_kind(RunOptions, {name: one for name, one in options.items() if name != _CLOCK}), **clock}

    def _promise(self) -> Promise:
        table = self._table("promise")
        self._check_names(table, keys_of(PromiseTable), "promise.")
        for key in ("secret", "integrity"):
            if not isinstance(table.get(key, True), bool):
                raise InputError(f"{self.place}: promise.{key} is {matrix.shown(table[key])}; it must be true or false")
        lines = table.get("line_atomic", "none")
        known = _values_of_part("line_atomic")
        if lines not in known:
            allowed = ", ".join(map(str, known))
            raise InputError(f"{self.place}: promise.line_atomic is {matrix.shown(lines)}; it must be one of {allowed}")
        return Promise(lines, table.get("secret", True), table.get("integrity", False))

    def _space(self, variant: Variant, promise: Promise) -> tuple[Space, tuple[str, ...]]:
        table = dict(self._table("space"))
        designs = self._names("space.designs", {"space.designs": table.pop("designs", None)}, ())
        base = table.pop("base", designs[0] if designs else None)
        if not isinstance(base, str):
            raise InputError(
                f"{self.place}: space has neither a base nor designs; name a design that parts are stated on"
            )
        rows = table.pop("zip", [])
        if not isinstance(rows, list):
            raise InputError(
                f"{self.place}: space.zip is {matrix.shown(rows)}; it must be tables, each begun by [[space.zip]]"
            )
        fixed: dict[str, Value] = {}
        dimensions: dict[str, Dimension] = {}
        for key, found in of_designs(designs, variant, PINNED).items():
            if len(found) == 1:
                fixed[key] = found[0]
            else:
                dimensions[PART + key] = Dimension((PART + key,), tuple((value,) for value in found))
        stated = dict.fromkeys((key for key, _ in matrix.leaves(self._table("run"))), "run")
        for key, given in matrix.leaves(table):
            place = f"{self.place}: space.{key}"
            rows_of_key = tuple((value,) for value in self._values(key, given, place))
            self._state(stated, key, "space")
            fixed.pop(key.removeprefix(PART), None)
            dimensions[key] = Dimension((key,), _distinct(rows_of_key, place))
        zipped = [self._zipped(one, number) for number, one in enumerate(rows, 1)]
        for number, one in enumerate(zipped, 1):
            for key in one.keys:
                self._state(stated, key, f"space.zip {number}")
                dimensions.pop(key, None)
                fixed.pop(key.removeprefix(PART), None)
        varied = (*dimensions.values(), *zipped)
        space = Space(base, variant, {**fixed, **promise.parts}, varied)
        if space.size > POINTS_MAX:
            raise InputError(f"{self.place}: the space has {space.size} points; at most {POINTS_MAX} are allowed")
        return Space(base, variant, space.fixed, varied, tuple(self._conditions(varied))), designs

    def _state(self, stated: dict[str, str], key: str, table: str) -> None:
        """Remembers that a table states a key, which no other one may."""
        if stated.setdefault(key, table) != table:
            raise InputError(f"{self.place}: {key} is given twice, in {stated[key]} and in {table}")

    def _values(self, key: str, given: Any, place: str) -> tuple[Value, ...]:
        """The values of a key, each of which a part or a machine can have."""
        found = self._stated(key, given, place)
        if len(found) > VALUES_MAX:
            raise InputError(f"{place} has {len(found)} values; at most {VALUES_MAX} are allowed")
        for value in found:
            try:
                catalogue.check_set(key, value)
            except InputError as error:
                raise InputError(f"{place}: {error}") from None
        return found

    def _stated(self, key: str, given: Any, place: str) -> tuple[Value, ...]:
        if not key.startswith(PART):
            if "." not in key:
                raise InputError(
                    f"{self.place}: space.{key} does not exist (known: base, designs, zip, design.PART, and "
                    "machine values by their path)"
                )
            return matrix.values_of(given, place)
        part = key.removeprefix(PART)
        if part in PINNED:
            raise InputError(f"{place}: what a design promises does not vary; state it in [promise]")
        if given == _ALL:
            return _values_of_part(part)
        if not isinstance(given, list) or not given:
            raise InputError(f'{place} is {matrix.shown(given)}; it must be a list of values, or "all"')
        return tuple(tuple(value) if isinstance(value, list) else value for value in given)

    def _zipped(self, table: Any, number: int) -> Dimension:
        place = f"{self.place}: space.zip {number}"
        if not isinstance(table, Mapping):
            raise InputError(f"{place} is {matrix.shown(table)}; it must be a table, begun by [[space.zip]]")
        columns = {key: self._values(key, given, f"{place}: {key}") for key, given in matrix.leaves(table)}
        lengths = {key: len(values) for key, values in columns.items()}
        if not columns or len(set(lengths.values())) > 1:
            counted = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise InputError(f"{place}: lists that go together must be of one length ({counted or 'there are none'})")
        return Dimension(tuple(columns), _distinct(tuple(zip(*columns.values(), strict=True)), place))

    def _conditions(self, varied: Sequence[Dimension]) -> Iterator[When]:
        values = {key: rows for one in varied for key, rows in zip(one.keys, zip(*one.rows, strict=True), strict=True)}
        tables = self.document.get("when", [])
        if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
            raise InputError(f"{self.place}: when is {matrix.shown(tables)}; it must be tables, each begun by [[when]]")
        for number, table in enumerate(tables, 1):
            place = f"{self.place}: when {number}"
            given = dict(table)
            then = given.pop("then", None)
            if not isinstance(then, Mapping):
                raise InputError(f"{place} has no table 'then' with what is allowed")
            parts = [dict(matrix.leaves(one)) for one in (given, then)]
            for key in (*parts[0], *parts[1]):
                if key not in values:
                    raise InputError(f"{place}: {key} does not vary{near(key, sorted(values))}")
            conditions = [
                {key: self._among(key, some, values[key], f"{place}: {key}") for key, some in one.items()}
                for one in parts
            ]
            yield When(conditions[0], conditions[1])

    def _among(self, key: str, given: Any, varied: Sequence[Value], place: str) -> tuple[Value, ...]:
        """Values of a key in a condition, all of which the space has."""
        found = self._values(key, given, place)
        for value in found:
            if given != _ALL and value not in varied:
                said = near(literal(value), list(map(literal, varied)))
                raise InputError(f"{place}: the space has no {key} = {literal(value)}{said}")
        return found

    def _objectives(self) -> Iterator[Objective]:
        for figure, given in self._table("objectives").items():
            place = f"{self.place}: objectives.{figure}"
            figures.check([figure], f"{self.place}: objectives: ")
            table = given if isinstance(given, Mapping) else {"goal": given}
            self._check_names(table, keys_of(ObjectiveTable), f"objectives.{figure}.")
            goal = table.get("goal")
            if goal not in _BEST:
                raise InputError(f"{place} is {matrix.shown(goal)}; it must be 'minimise' or 'maximise'")
            yield Objective(figure, _BEST[goal], self._over(table, place))

    def _limits(self) -> Iterator[Limit]:
        for figure, given in self._table("limits").items():
            place = f"{self.place}: limits.{figure}"
            figures.check([figure], f"{self.place}: limits: ")
            if not isinstance(given, Mapping) or not {"at_most", "at_least"} & set(given):
                raise InputError(f"{place} is {matrix.shown(given)}; it must be a table with at_most or at_least")
            self._check_names(given, keys_of(LimitTable), f"limits.{figure}.")
            for bound in ("at_most", "at_least"):
                value = given.get(bound, 0)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise InputError(f"{place}.{bound} is {matrix.shown(value)}; it must be a number")
            figures.check_limit(figure, given.get("at_most"), given.get("at_least"), place)
            yield Limit(figure, given.get("at_most"), given.get("at_least"), self._over(given, place))

    def _over(self, table: Mapping[str, Any], place: str) -> Over:
        over = table.get("over", "mean")
        for known in _OVER:
            if over == known:
                return known
        raise InputError(f"{place}.over is {matrix.shown(over)}; it must be one of {', '.join(_OVER)}")

    def _table(self, name: str) -> Mapping[str, Any]:
        table = self.document.get(name, {})
        if not isinstance(table, Mapping):
            raise InputError(f"{self.place}: {name} is {matrix.shown(table)}; it must be a table")
        return table

    def _text(self, name: str, default: str) -> str:
        text = self.document.get(name, default)
        if not isinstance(text, str) or not text or any(letter in text for letter in "/\\\0\n"):
            raise InputError(f"{self.place}: {name} is {matrix.shown(text)}; it must be text without slashes")
        return text

    def _names(
        self, name: str, table: Mapping[str, Any], default: Sequence[str], *, may_be_empty: bool = False
    ) -> tuple[str, ...]:
        found = table.get(name)
        if found is None:
            return tuple(default)
        if not isinstance(found, list) or not (found or may_be_empty) or not all(isinstance(one, str) for one in found):
            raise InputError(f"{self.place}: {name} is {matrix.shown(found)}; it must be a list of names")
        return tuple(dict.fromkeys(found))

    def _check_names(self, table: Mapping[str, Any], known: Sequence[str], prefix: str) -> None:
        for key in table:
            if key not in known:
                raise InputError(f"{self.place}: {prefix}{key} does not exist{near(key, known)}")


def _distinct(rows: tuple[Row, ...], place: str) -> tuple[Row, ...]:
    """Rows of values, no two of which are the same."""
    if len(set(map(typed, rows))) < len(rows):
        raise InputError(f"{place} has the same values twice")
    return rows


def _values_of_part(part: str) -> tuple[Value, ...]:
    """Every value of a part that is no seeded fault.

    Raises:
        InputError: there is no such part.
    """
    for one in catalogue.parts():
        if one.key == part:
            return tuple(value.name for value in one.values if value.paper != "seeded fault")
    known = [one.key for one in catalogue.parts()]
    raise InputError(f"there is no part '{part}'{near(part, known)}")


def check_workload(work: str, place: str = "") -> None:
    """Checks that there is such a workload, or a trace.

    Raises:
        InputError: there is none, in a sentence that begins with the place.
    """
    known = [one.name for one in catalogue.workloads()]
    if work in known:
        return
    if not is_there(work):
        what = f"workload '{work}' does not exist and is not a trace file"
        raise InputError(f"{place}{what}{near(work, known)}")
    # A file that is no trace is refused.
    _engine.trace_kind(work)


def check_program(work: str, place: str = "") -> None:
    """Checks that there is such a workload, or a trace with a program.

    Raises:
        InputError: there is none, in a sentence that begins with the place.
    """
    check_workload(work, place)
    if matrix.is_of_lines(work):
        raise InputError(f"{place}{work}: a trace of memory lines has no program that can be crashed")
