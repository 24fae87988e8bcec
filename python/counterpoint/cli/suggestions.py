"""What is said of a name that does not exist: the nearest ones, and the command that lists all, not a long list."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

_LISTED = {
    "bug": "bugs",
    "design": "designs",
    "fault": "faults",
    "machine": "machines",
    "workload": "workloads",
}
"""By what a sentence calls a name: the command that lists all."""

_SHORT = 8
"""Lists of so many names are shown as they are."""
_NEAR = 3

_UNKNOWN = re.compile(
    rf"(?P<said>.*?\b(?P<what>{'|'.join(_LISTED)}) '(?P<name>[^']*)' does not exist[^(:]*)"
    r"(?:: did you mean '[^']*'\?)? \(known: (?P<known>[^()]*)\)(?P<after>.*)",
    re.DOTALL,
)


def shortened(sentence: str) -> str:
    """A sentence about a name that does not exist, without a long list of those that do."""
    found = _UNKNOWN.fullmatch(sentence)
    if found is None:
        return sentence
    known = found["known"].split(", ")
    if len(known) <= _SHORT:
        return sentence
    names = [f"'{one}'" for one in nearest(found["name"], known)]
    if not names and re.search(r"[./]", found["name"]):
        # It is a path, and the sentence says that there is no such file.
        return f"{found['said']}{found['after']}"
    said = " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    meant = f": did you mean {said}?" if names else ""
    return f"{found['said']}{meant} (`counterpoint {_LISTED[found['what']]}` lists all {len(known)}){found['after']}"


def nearest(name: str, known: Sequence[str]) -> list[str]:
    """The names that may be meant, the nearest first: beginnings, then what is written alike."""
    low = name.lower()
    begun = sorted((one for one in known if low and one.lower().startswith(low)), key=len)
    alike = difflib.get_close_matches(low, known, n=_NEAR)
    return list(dict.fromkeys([*begun, *alike]))[:_NEAR]


def of_usage(sentence: str, context: Any) -> str:
    """A sentence about an option or a command that does not exist, or about arguments, with what helps."""
    if context is None or re.search(r"Possible|Did you mean", sentence):
        return sentence
    if missing := re.match(r"No such (option|command)\b", sentence):
        return f"{sentence.rstrip('.')}; `{context.command_path} --help` lists all {missing[1]}s"
    if re.match(r"Missing argument\b|Got unexpected extra argument\b", sentence):
        return f"{sentence.rstrip('.')}. {context.command.epilog}"
    return sentence
