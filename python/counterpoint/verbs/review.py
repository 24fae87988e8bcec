"""What is left of a check once what is suppressed, known from an earlier check or of another class is left out."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

from .._engine import InputError
from ..contract.results import Check, Finding
from ..system.paths import read_bounded, repository
from ..system.units import count_of
from .suppressions import Suppressions, matches, source_file

Only: TypeAlias = Literal["correctness", "performance"]
"""A class of findings that alone counts."""

LeftOut: TypeAlias = Literal["suppressed", "known", "of_other_class"]
"""Why a finding is left out."""

_REASONS: tuple[LeftOut, ...] = ("suppressed", "known", "of_other_class")
_BYTES_MAX = 1 << 30
_PMDK = re.compile(r"libpmem(?:2|blk|log|obj|pool|set)?(?=\.|$)")


@dataclass(frozen=True)
class Review:
    """A check whose findings are reviewed.

    Attributes:
        found: the check, with the findings that are left; it holds if none of them counts.
        left_out: the others, by the reason.
        unused: what of files of suppressions matches nothing, in sentences.
        only: the class of findings that alone counts; None for the usual verdict, which correctness decides.
    """

    found: Check
    left_out: Mapping[LeftOut, tuple[Finding, ...]]
    unused: tuple[str, ...] = ()
    only: Only | None = None

    def counts(self, finding: Finding) -> bool:
        """Whether a finding decides the verdict."""
        return finding.class_ == (self.only or "correctness")

    @property
    def told(self) -> tuple[str, ...]:
        """What is not shown, and what of files of suppressions is not used, in sentences."""
        reasons: dict[LeftOut, str] = {
            "suppressed": "suppressed",
            "known": "known from the baseline",
            "of_other_class": f"not about {self.only}",
        }
        counts = [
            f"{count_of(len(self.left_out[reason]), 'finding')} {why}"
            for reason, why in reasons.items()
            if self.left_out[reason]
        ]
        shown = [f"Not shown: {', '.join(counts)}."] if counts else []
        return (*shown, *(f"Unused: {told}." for told in self.unused))


def review(
    found: Check,
    *,
    suppressions: Sequence[Suppressions] = (),
    baseline: Check | None = None,
    only: Only | None = None,
) -> Review:
    """Leaves out of a check what is suppressed, of another class than `only`, or known from an earlier check.

    With any of them, the document of the check has two more keys, `left_out` and `unused_suppressions`.
    """
    if not suppressions and baseline is None and only is None:
        return Review(found, dict.fromkeys(_REASONS, ()))
    root = repository()
    rules = [rule for file in suppressions for rule in file.rules]
    reasons: list[LeftOut | None] = []
    for finding in found.findings:
        if any(matches(rule, finding, root) for rule in rules):
            reasons.append("suppressed")
        else:
            reasons.append(None if only in (None, finding.class_) else "of_other_class")
    if baseline is not None:
        left = [number for number, reason in enumerate(reasons) if reason is None]
        for number in _known([found.findings[number] for number in left], baseline.findings):
            reasons[left[number]] = "known"
    unused = tuple(told for file in suppressions for told in file.unused(found.findings, root))
    return _reviewed(found, reasons, unused, only)


def _reviewed(found: Check, reasons: Sequence[LeftOut | None], unused: tuple[str, ...], only: Only | None) -> Review:
    """The review in which findings are left out for these reasons."""
    documents = found.document["findings"]

    def those(wanted: LeftOut | None) -> list[Any]:
        return [one for one, reason in zip(documents, reasons, strict=True) if reason == wanted]

    kept = those(None)
    document = {
        **found.document,
        "holds": all(one["class"] != (only or "correctness") for one in kept),
        "findings": kept,
        "left_out": {reason: those(reason) for reason in _REASONS},
        "unused_suppressions": list(unused),
    }
    left_out = {
        reason: tuple(one for one, why in zip(found.findings, reasons, strict=True) if why == reason)
        for reason in _REASONS
    }
    return Review(Check.from_dict(document), left_out, unused, only)


def load_baseline(path: str | os.PathLike[str]) -> Check:
    """Reads what `check --json` printed earlier, with the findings that it left out.

    Raises:
        InputError: bad input, in one sentence.
    """
    place = os.fspath(path)
    read = read_bounded(path, _BYTES_MAX, "a baseline")
    try:
        document = json.loads(read)
    except (ValueError, RecursionError) as error:
        raise InputError(f"baseline '{place}' is not JSON: {error}") from None
    if isinstance(document, dict) and isinstance(left_out := document.get("left_out", {}), dict):
        more = [finding for findings in left_out.values() if isinstance(findings, list) for finding in findings]
        findings = document.get("findings")
        whole = {**document, "findings": [*findings, *more]} if isinstance(findings, list) else document
        if Check.is_in(whole):
            return Check.from_dict(whole)
    raise InputError(f"baseline '{place}' is not what `counterpoint check --json` prints")


def _known(findings: Sequence[Finding], before: Iterable[Finding]) -> list[int]:
    """The numbers of the findings that an earlier check had.

    As many findings of a kind in a function are known as there were: first those at the same line, then those that have
    moved. Without any place, a finding is known that stands for no more operations than the earlier one.
    """
    earlier = list(before)
    most = {one.kind: one.count for one in earlier if not _has_place(one)}
    at_line, anywhere = Counter(map(_line, earlier)), Counter(map(_home, earlier))
    known = []
    moved = []
    for number, one in enumerate(findings):
        if not _has_place(one):
            if one.count <= most.get(one.kind, 0):
                known.append(number)
        elif at_line[_line(one)]:
            at_line[_line(one)] -= 1
            anywhere[_home(one)] -= 1
            known.append(number)
        else:
            moved.append(number)
    for number in moved:
        if anywhere[_home(findings[number])] > 0:
            anywhere[_home(findings[number])] -= 1
            known.append(number)
    return known


def _has_place(finding: Finding) -> bool:
    return (finding.source, finding.function, finding.object) != (None, None, None)


def _home(finding: Finding) -> tuple[Hashable, ...]:
    """What stays of a finding when its program is changed elsewhere, or built in another folder."""
    file = source_file(finding.source)
    names = (None if path is None else PurePath(path).name for path in (file, finding.object))
    return (finding.kind, finding.function, *names)


def _line(finding: Finding) -> tuple[Hashable, ...]:
    place = finding.place if finding.source is None else finding.source
    return (*_home(finding), PurePath(place).name)


def library_of(finding: Finding) -> str | None:
    """The library of PMDK in which a finding lies, by its object or by its source file; None for other places."""
    if finding.object is not None and (found := _PMDK.match(PurePath(finding.object).name)):
        return found[0]
    file = source_file(finding.source)
    folders = () if file is None else PurePath(file).parts[:-1]
    for folder, inner in pairwise(folders):
        if folder == "src" and _PMDK.fullmatch(inner):
            return inner
    return None
