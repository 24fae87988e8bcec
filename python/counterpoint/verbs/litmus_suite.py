"""Litmus tests: small crash runs whose verdict shows whether a design keeps one particular promise.

A litmus test takes one sentence of a paper and crashes designs for which it matters: readings that break there, and
counterparts that hold. The list is the document `LITMUS`. Each verdict is compared with the expected one; a row that
must fail has to break the rule that the test is about, in the way that it is about.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import time
import tomllib
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._engine import InputError
from ..contract import commands
from ..contract.printed import Host, document
from ..contract.request import Variant
from ..contract.results import Crash, Exercised, Violation
from ..system.errors import Interrupted
from . import api, catalogue

LITMUS = Path(__file__).with_name("litmus.toml")
"""The tests that come with Counterpoint."""

HOLDS, FAILS, DIFFERS, VOID = "holds", "fails", "differs", "void"
"""Verdicts: no rule was broken; the expected rule was broken; only other rules were broken; the run shows nothing."""

_JUDGED = ("design", "case", "expected", "rules", "says", "second_failure", "met")
_TESTED = ("name", "number", "title", "paper", "sentence", "because", "setting", "rows")
_REQUIRED = ("name", "title", "paper", "sentence", "because", "rows")
_RUN = (
    "workload",
    "variant",
    "machine",
    "set",
    "leave_out",
    "tx_size",
    "cores",
    "footprint",
    "transactions",
    "warmup",
    "seed",
    "fault",
    "explore",
    "states",
    "points",
    "at_event",
    "nested",
    "attack",
    "attack_every",
)
_MEETS = tuple(field.name for field in dataclasses.fields(Exercised))
_PULSE = 0.1


@dataclass(frozen=True, slots=True)
class Row:
    """One crash run of a litmus test, and what must come out.

    Attributes:
        case: distinguishes rows of the test with the same design and variant; else empty.
        expected: `holds` or `fails`.
        rules: for a row that must fail, the rules of which one must be broken.
        says: words that the explanation of that violation must contain, all of them.
        second_failure: that violation must be one of a second power failure.
        met: what the run must have met, keys of `exercised`.
        options: keywords of `crash`, the workload included.
    """

    design: str
    variant: Variant
    case: str
    expected: str
    rules: tuple[str, ...]
    says: tuple[str, ...]
    second_failure: bool
    met: tuple[str, ...]
    options: Mapping[str, Any] = field(hash=False)

    def shown_by(self, violation: Violation) -> bool:
        """Whether a violation is what the row is about."""
        return (
            violation.rule in self.rules
            and all(words in violation.explanation for words in self.says)
            and (violation.nested_event is not None or not self.second_failure)
        )

    def crash(self, progress: api.Progress | None = None) -> Crash:
        """Runs the row."""
        options = dict(self.options)
        return api.crash(self.design, options.pop("workload"), variant=self.variant, progress=progress, **options)

    @property
    def machine(self) -> str:
        """The machine of the run: a preset's name or the path of a file."""
        return str(self.options.get("machine") or catalogue.machine_of(self.design))

    @property
    def command(self) -> str:
        """The command line of the whole run."""
        options = [(key, self.options.get(key)) for key in _RUN if key not in ("workload", "variant")]
        workload = str(self.options["workload"])
        return commands.command("crash", self.design, workload, [("variant", self.variant), *options])


@dataclass(frozen=True, slots=True)
class LitmusTest:
    """One litmus test.

    Attributes:
        number: its place in the original list; None for tests that were found later.
        title: what it is about, in a line.
        paper: paper and section.
        sentence: the paper's sentence that it tests.
        because: why the sentence does not suffice, or what it means.
    """

    name: str
    number: int | None
    title: str
    paper: str
    sentence: str
    because: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a row showed.

    Attributes:
        test: the test that the row belongs to.
        observed: `holds`; `fails`, if what the row is about was broken; `differs`, if only something else was broken;
            `void`, if the run shows nothing: it met too little, or the auditors and a real boot disagree.
        rule: the rule of the violation that is explained; None if it holds.
        explanation: that violation in words, or how much was covered.
        reproduce: the command line that shows it again.
        crash: the whole verdict of the crash run.
    """

    test: LitmusTest
    row: Row
    observed: str
    rule: str | None
    explanation: str
    reproduce: str
    crash: Crash = field(repr=False, compare=False)

    @property
    def as_expected(self) -> bool:
        """Whether the observed verdict is the expected one."""
        return self.observed == self.row.expected

    @property
    def document(self) -> LitmusRow:
        """The row, as `--json` prints it."""
        return LitmusRow(
            name=self.test.name,
            number=self.test.number,
            title=self.test.title,
            design=self.row.design,
            variant=self.row.variant,
            workload=str(self.row.options["workload"]),
            machine=self.row.machine,
            case=self.row.case,
            expected=self.row.expected,
            observed=self.observed,
            rule=self.rule,
            paper=f"{self.test.paper}: {self.test.sentence}",
            because=self.test.because,
            explanation=self.explanation,
            reproduce=self.reproduce,
        )


@dataclass(frozen=True, slots=True)
class LitmusRow:
    """What a row of a litmus test showed.

    Attributes:
        name: of the test.
        number: its place in the original list; None for tests that were found later.
        title: what it is about, in a line.
        design: that is crashed.
        variant: the reading of the design.
        workload: the program.
        machine: a preset's name or the path of a file.
        case: distinguishes rows of the test with the same design and variant; else empty.
        expected: `holds` or `fails`.
        observed: `holds`, `fails`, `differs` or `void`.
        rule: the rule of the violation that is explained; None if it holds.
        paper: paper, section and sentence that it tests.
        because: why the sentence does not suffice, or what it means.
        explanation: that violation in words, or how much was covered.
        reproduce: the command line that shows it again.
    """

    name: str
    number: int | None
    title: str
    design: str
    variant: Variant
    workload: str
    machine: str
    case: str
    expected: str
    observed: str
    rule: str | None
    paper: str
    because: str
    explanation: str
    reproduce: str


@dataclass(frozen=True, slots=True)
class LitmusDocument:
    """The verdicts of litmus tests.

    Attributes:
        litmus: each row, in the order of the list.
        host: what this computer needed.
    """

    litmus: tuple[LitmusRow, ...]
    host: Host


@dataclass(frozen=True, slots=True)
class LitmusReport:
    """The verdicts of litmus tests, in the order of the list.

    Attributes:
        seconds: the time they took on this computer.
    """

    verdicts: tuple[Verdict, ...]
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the expected one."""
        return all(verdict.as_expected for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """The whole document, as `--json` prints it."""
        rows = tuple(verdict.document for verdict in self.verdicts)
        return document(LitmusDocument(rows, Host(self.seconds)))


def litmus_tests(source: str | os.PathLike[str] | None = None) -> list[LitmusTest]:
    """The litmus tests of a list, in its order.

    Args:
        source: a TOML document, default `LITMUS`, whose first comment explains the format.

    Raises:
        InputError: the list cannot be read, in one sentence.
    """
    source = LITMUS if source is None else source
    try:
        document = tomllib.loads(Path(source).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the litmus tests of {os.fspath(source)} cannot be read: {error}") from None
    common = document.get("setting", {})
    return [_test(test, common, os.fspath(source)) for test in document.get("litmus", [])]


def litmus(
    names: Iterable[str] | None = None,
    *,
    source: str | os.PathLike[str] | None = None,
    workers: int = 0,
    progress: api.Progress | None = None,
) -> LitmusReport:
    """Runs litmus tests and compares their verdicts with what is expected.

    Args:
        names: names of tests; default all.
        source: the list of tests, a TOML document; default `LITMUS`.
        workers: crash runs at a time; 0 is one per processor. The verdicts do not depend on it.
        progress: called with the number of rows that are done, and the total.

    Raises:
        InputError: a name that is not in the list, or a bad list, in one sentence, before anything is simulated.
        Interrupted: Ctrl-C; its `litmus` is over the rows that were finished.
    """
    started = time.monotonic()
    tests = _chosen(litmus_tests(source), names)
    work = [(test, row) for test in tests for row in test.rows]
    finished: dict[int, Verdict] = {}
    stopped = False

    def still_wanted(_done: int, _total: int) -> None:
        if stopped:
            raise KeyboardInterrupt

    def judged(test: LitmusTest, row: Row) -> Verdict:
        return _judge(test, row, row.crash(still_wanted))

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        waiting: dict[Future[Verdict], int] = {pool.submit(judged, *one): place for place, one in enumerate(work)}
        try:
            while waiting:
                # On some systems a wait without a time limit would not react to Ctrl-C.
                done, _ = wait(waiting, timeout=_PULSE, return_when=FIRST_COMPLETED)
                for future in done:
                    finished[waiting.pop(future)] = future.result()
                if done and progress is not None:
                    progress(len(finished), len(work))
        except KeyboardInterrupt:
            raise Interrupted(litmus=_report(finished, started)) from None
        finally:
            stopped = True
            for future in waiting:
                future.cancel()
    return _report(finished, started)


def _report(finished: Mapping[int, Verdict], started: float) -> LitmusReport:
    seconds = round(time.monotonic() - started, 3)
    return LitmusReport(tuple(finished[place] for place in sorted(finished)), seconds)


def _judge(test: LitmusTest, row: Row, crash: Crash) -> Verdict:
    shown = next((violation for violation in crash.violations if row.shown_by(violation)), None)
    first = shown or next(iter(crash.violations), None)
    if crash.internal_errors:
        return Verdict(test, row, VOID, None, " ".join(crash.internal_errors), row.command, crash)
    missed = [what for what in row.met if not getattr(crash.exercised, what)]
    if missed:
        return Verdict(test, row, VOID, None, f"The run exercised no {' and no '.join(missed)}.", row.command, crash)
    if first is None:
        return Verdict(test, row, HOLDS, None, f"{_tried(crash)} {crash.coverage}", row.command, crash)
    explanation = first.explanation
    if row.expected == FAILS and shown is None:
        meant = " or ".join(row.rules) + "".join(f", with '{words}'" for words in row.says)
        again = " at a second power failure" if row.second_failure else ""
        explanation = f"What must break ({meant}{again}) did not; this did: {explanation}"
    besides = sorted({violation.rule for violation in crash.violations} - {*row.rules, first.rule})
    if besides:
        explanation += f" Other rules broken: {', '.join(besides)}."
    observed = DIFFERS if row.expected == FAILS and shown is None else FAILS
    return Verdict(test, row, observed, first.rule, explanation, first.reproduce, crash)


def _tried(crash: Crash) -> str:
    again = f" and {crash.nested_points} more during recovery" if crash.nested_points else ""
    return f"held at {crash.crash_points} crash points{again}."


def _chosen(tests: list[LitmusTest], names: Iterable[str] | None) -> list[LitmusTest]:
    known = {test.name: test for test in tests}
    wanted = [_known(name, known) for name in ([names] if isinstance(names, str) else names or known)]
    return [known[name] for name in dict.fromkeys(wanted)]


def _known(name: str, known: Mapping[str, LitmusTest]) -> str:
    if name in known:
        return name
    near = [one for one in known if name and one.startswith(name)] or difflib.get_close_matches(
        name, known, n=1, cutoff=0.4
    )
    question = f": did you mean '{near[0]}'?" if near else ""
    raise InputError(f"litmus test '{name}' does not exist{question} (known: {', '.join(known)})")


def _test(test: Mapping[str, Any], common: Mapping[str, Any], source: str) -> LitmusTest:
    place = f"the litmus test '{test.get('name', '?')}' of {source}"
    missing = [key for key in _REQUIRED if not test.get(key)]
    if missing:
        raise InputError(f"{place} has no '{missing[0]}'")
    _check_keys(test, _TESTED, place)
    settings = common, test.get("setting", {})
    rows = tuple(_row((*settings, row), place) for row in test["rows"])
    return LitmusTest(rows=rows, number=test.get("number"), **{key: test[key] for key in _REQUIRED if key != "rows"})


def _row(layers: Iterable[Mapping[str, Any]], place: str) -> Row:
    layers = list(layers)
    merged: dict[str, Any] = {key: value for layer in layers for key, value in layer.items()}
    _check_keys(merged, (*_JUDGED, *_RUN), f"a row of {place}")
    merged["set"] = [one for layer in layers for one in layer.get("set", [])]
    for key in ("design", "variant", "workload", "expected"):
        if key not in merged:
            raise InputError(f"a row of {place} has no '{key}'")
    expected, rules = merged["expected"], tuple(merged.get("rules", ()))
    if expected not in (HOLDS, FAILS):
        raise InputError(f"a row of {place} expects '{expected}'; it must be {HOLDS} or {FAILS}")
    for what in merged.get("met", ()):
        if what not in _MEETS:
            raise InputError(f"a row of {place} must meet '{what}'; known: {', '.join(_MEETS)}")
    if expected == FAILS and not rules:
        raise InputError(f"a row of {place} must fail and names no rules")
    failing = expected == FAILS
    return Row(
        design=merged["design"],
        variant=merged["variant"],
        case=merged.get("case", ""),
        expected=expected,
        rules=rules if failing else (),
        says=tuple(merged.get("says", ())) if failing else (),
        second_failure=failing and merged.get("second_failure", False),
        met=tuple(merged.get("met", ())),
        options={key: merged[key] for key in _RUN if key in merged and key != "variant"},
    )


def _check_keys(given: Iterable[str], known: Iterable[str], place: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(f"{place} has an unknown key '{key}' (known: {', '.join(known)})")
