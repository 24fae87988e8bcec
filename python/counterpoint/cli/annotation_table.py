"""The check of annotations on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units
from .crash_table import explained

if TYPE_CHECKING:
    from ..verbs.annotation_checks import Annotations, Outcome


def annotation_check(found: Annotations) -> RenderableType:
    """Whether the annotations suffice, which of them are needed, and what breaks without each."""
    subject = f"{found.design} ({found.variant}) on {units.name_of(found.workload)}, seed {found.seed}"
    complete = found.complete
    tried = units.count_of(complete.crash_points, "crash", "es")
    if found.holds:
        sentence, colour = f"Sufficient: the complete program lost nothing in {tried}.", "green"
    else:
        failed = units.number(complete.crash_points - complete.recovered)
        sentence, colour = f"Not sufficient: {failed} of {tried} of the complete program failed.", "red"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("annotation", no_wrap=True, style="bold")
    recorded = any(annotation.place is not None for annotation in found.annotations)
    for column in ("at" if recorded else "stage", "verdict", "without it", "breaks", "first in transaction", "line"):
        table.add_column(column)
    examples = list(_first(complete, "complete program: "))
    for annotation in found.annotations:
        without = annotation.without
        shown = _failed(without) if without else ("-",) * 4
        where = annotation.place or (annotation.stage or "").capitalize()
        table.add_row(annotation.name, where, annotation.verdict, *shown)
        if without and annotation.verdict == "needed":
            named = annotation.name if annotation.place is None else f"{annotation.name} at {annotation.place}"
            examples += _first(without, f"without {named}: ")
    head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style=colour, expand=False)
    rests_on = [Text(proviso, style="bold") for proviso in found.provisos]
    return Group(head, *rests_on, Text(""), table, *examples)


def _failed(without: Outcome) -> tuple[str, str, str, str]:
    """How many crashes fail, by which rules, and the transaction, its stage and the line of the first violation."""
    failed = f"{units.number(without.crash_points - without.recovered)} of {units.number(without.crash_points)} fail"
    first = without.first
    if first is None:
        return failed, "-", "-", "-"
    stage = f", {first.stage.capitalize()}" if first.stage else ""
    transaction = "-" if first.transaction is None else f"{first.transaction}{stage}"
    rules = ", ".join(rule.replace("_", " ") for rule in without.rules)
    return failed, rules, transaction, "-" if first.line is None else f"{first.line:#x}"


def _first(outcome: Outcome, subject: str) -> Iterable[RenderableType]:
    if outcome.first is not None:
        yield from explained(outcome.first, subject)
