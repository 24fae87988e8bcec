"""The findings of a check, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import Check, Finding
from ..contract.results.provisos import provisos
from ..system import units
from ..verbs.review import Review, library_of
from .site_table import short_names


def check_table(reviewed: Review, top: int, *, fold: bool = False) -> RenderableType:
    """The `top` most frequent findings of each class, and what their kinds mean.

    With `fold`, those inside PMDK's libraries are only counted.
    """
    found = reviewed.found
    name = units.name_of(found.trace)
    counts = ((found.stores, "store"), (found.flushes, "flush", "es"), (found.fences, "fence"))
    parts: list[RenderableType] = [Text(f"{name}: {', '.join(units.count_of(*count) for count in counts)}")]
    lost = [finding for finding in found.findings if finding.correctness]
    useless = [finding for finding in found.findings if not finding.correctness]
    left_out = [finding for findings in reviewed.left_out.values() for finding in findings]
    if lost:
        parts += [Text(""), Text("Stores that a power failure may lose", style="bold")]
        parts += _class(lost, top, costs=False, fold=fold)
    elif reviewed.only != "performance":
        apart = ", apart from what is not shown" if any(one.correctness for one in left_out) else ""
        parts.append(Text(f"Holds, as far as this check can tell{apart}."))
    if useless:
        parts += [Text(""), Text("Useless flushes and fences", style="bold")]
        parts += _class(useless, top, costs=found.cost is not None, fold=fold)
    if found.cost is not None:
        whole = f"on {found.cost.design} the program takes {units.time(found.cost.simulated_ns)}"
        hidden = any(not one.correctness for one in left_out)
        these = "all useless flushes and fences" if hidden else "all of these"
        less = f", and without {these} {units.time(found.cost.all_ns)} less" if useless or hidden else ""
        parts += [Text(""), Text(f"{whole[0].upper()}{whole[1:]}{less}.")]
    told = [Text(sentence) for sentence in reviewed.told]
    return Group(*parts, *([Text(""), *told] if told else []), Text(""), *_scope(found))


def _class(findings: Sequence[Finding], top: int, *, costs: bool, fold: bool) -> Iterable[RenderableType]:
    """The findings of a class; those inside PMDK's libraries as one line for each library."""
    inside = Counter(library for one in findings if fold and (library := library_of(one)) is not None)
    own = [one for one in findings if not inside or library_of(one) is None]
    if own:
        yield from _findings(own, top, costs)
    for library, count in sorted(inside.items()):
        yield Text(f"in {library}: {units.count_of(count, 'finding')} (--all shows them)")


def _scope(found: Check) -> Iterable[RenderableType]:
    """What was checked and what was not, with the commands that check the rest, and what the trace lacks."""
    yield Text(f"Checked: {found.checked}")
    for one in found.not_checked:
        yield Text(f"Not checked: {one.what}")
        if one.command is not None:
            yield Text(f"  {one.command}", style="bold")
    yield from (Text(told, style="bold") for told in provisos(None, found.lacks))


def _findings(findings: Sequence[Finding], top: int, costs: bool) -> list[RenderableType]:
    shown = findings[:top]
    later = any(finding.later is not None for finding in shown)
    fenced = any(finding.fenced_by is not None for finding in shown)
    calls = [finding.example.called_at for finding in shown if finding.example.called_at is not None]
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("kind", no_wrap=True, header_style="dim")
    table.add_column("function", no_wrap=True, overflow="ellipsis", max_width=32, header_style="dim")
    table.add_column("count", justify="right", header_style="dim")
    if costs:
        table.add_column("cost", justify="right", header_style="dim")
    if later:
        table.add_column("overtaken by", no_wrap=True, header_style="dim")
    if fenced:
        table.add_column("fenced only by", no_wrap=True, header_style="dim")
    if calls:
        table.add_column("called at", no_wrap=True, header_style="dim")
    table.add_column("for example", no_wrap=True, header_style="dim")
    places = [finding.place for finding in shown]
    others = [other.place for finding in shown for other in (finding.later, finding.fenced_by) if other is not None]
    names = short_names([*places, *others, *calls])
    for finding in shown:
        table.add_row(
            names[finding.place],
            finding.kind,
            units.printable(finding.function or ""),
            units.number(finding.count),
            *([units.time(finding.cost_ns)] if costs else []),
            *([names[finding.later.place] if finding.later is not None else ""] if later else []),
            *([names[finding.fenced_by.place] if finding.fenced_by is not None else ""] if fenced else []),
            *([names.get(finding.example.called_at or "", "")] if calls else []),
            _example(finding),
        )
    parts: list[RenderableType] = [table]
    if len(findings) > len(shown):
        more = units.count_of(len(findings) - len(shown), "finding")
        parts.append(Text(f"and {more} more; --top shows more", style="dim"))
    kinds = {finding.kind: finding.sentence.removesuffix(finding.detail or "").rstrip() for finding in shown}
    parts += [Text(f"{kind}: {sentence}", style="dim") for kind, sentence in kinds.items()]
    return parts


_SIZE_OF = "size:"
"""How the name of what stands for the size of a file begins (docs/trace-format.md)."""
_UNMAPPED = 1 << 63
"""Addresses from here on are those of parts of files that the program has not mapped."""


def _example(finding: Finding) -> str:
    example = finding.example
    file = Path(example.file or "").name
    if (example.file or "").startswith(_SIZE_OF):
        at = f", the size of {file}"
    elif example.address is not None and example.address >= _UNMAPPED:
        at = f", offset {example.offset:#x} of {file}"
    else:
        at = "" if example.address is None else f", address {example.address:#x}"
    return f"record {example.record:,}{at}"
