"""Verdicts of litmus tests on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units

if TYPE_CHECKING:
    from ..verbs.litmus_suite import LitmusReport, Verdict

_OBSERVED = {"differs": "fails in another way", "void": "shows nothing"}
"""Verdicts of litmus tests in words, if their names do not explain them."""


def litmus(report: LitmusReport) -> RenderableType:
    """The expected and the observed verdict of each row; unexpected ones are explained."""
    rows = units.count_of(len(report.verdicts), "litmus row")
    strange = [verdict for verdict in report.verdicts if not verdict.as_expected]
    if strange:
        sentence, colour = f"{units.number(len(strange))} of {rows} did not end as expected.", "red"
    else:
        sentence, colour = f"As expected: all {rows}.", "green"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("litmus test", "design", "variant", "case", "expected", "observed", "rule"):
        table.add_column(column, no_wrap=True)
    above = ""
    for verdict in report.verdicts:
        test, row = verdict.test, verdict.row
        name, above = Text("" if test.name == above else test.name, style="bold"), test.name
        rule = Text((verdict.rule or "-").replace("_", " "))
        observed = Text(verdict.observed, style=_verdict_style(verdict))
        table.add_row(name, row.design, row.variant, row.case or "-", row.expected, observed, rule)
    machines = units.machines(verdict.row.machine for verdict in report.verdicts)
    head = Panel(
        Text(sentence), title=f"litmus tests, {machines}", title_align="left", border_style=colour, expand=False
    )
    return Group(head, Text(""), table, *(part for verdict in strange for part in _unexpected(verdict)))


def _verdict_style(verdict: Verdict) -> str:
    if not verdict.as_expected:
        return "bold red reverse"
    from ..verbs.litmus_suite import HOLDS

    return "green" if verdict.observed == HOLDS else "red"


def _unexpected(verdict: Verdict) -> Iterable[RenderableType]:
    row = verdict.row
    case = f", {row.case}" if row.case else ""
    yield Text("")
    subject = f"{verdict.test.name}: {row.design} ({row.variant}{case}): {row.expected} was expected"
    yield Text(f"{subject}, and it {_OBSERVED.get(verdict.observed, verdict.observed)}", style="bold red")
    yield Text(verdict.explanation)
    yield Text("reproduce:", style="dim")
    yield Text(f"  {verdict.reproduce}", no_wrap=True, overflow="ignore")
