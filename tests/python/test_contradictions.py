"""validation/CONTRADICTIONS.md: each contradiction says which claims cannot hold together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from counterpoint.papers import claims

_PAGE = (Path(__file__).parents[2] / "validation" / "CONTRADICTIONS.md").read_text()
_ENTRIES = {
    title: text for title, text in re.findall(r"^### (.+)\n((?:(?!##).*\n?)*)", _PAGE, re.MULTILINE) if title != "Slips"
}
_TOGETHER, _NONE = "**Claims that cannot hold together.** ", "**Claims.** None: "


def _line(title: str) -> str:
    """What an entry says of claims."""
    (found,) = (part for part in _ENTRIES[title].split("\n\n") if part.startswith("**Claims"))
    return " ".join(found.split())


@pytest.mark.parametrize("title", _ENTRIES)
def test_every_contradiction_names_claims_of_the_file(title: str) -> None:
    line = _line(title)
    assert line.startswith((_TOGETHER, _NONE))
    named = re.findall(r"`([\w-]+\.[\w.-]+)`", line)
    assert set(named) <= claims.published().keys()
    assert len(set(named)) >= 2 or line.startswith(_NONE), "it takes two"


def test_some_claims_cannot_hold_together() -> None:
    found = [title for title in _ENTRIES if _line(title).startswith(_TOGETHER)]
    assert 0 < len(found) < len(_ENTRIES)


def test_the_arithmetic_of_the_writes_in_two_papers_is_that_of_the_claims() -> None:
    published = claims.published()
    removed, more = published["secpm.f11.counter-writes-removed"], published["secpm-workshop.f8.writes"]
    saved, factor = published["secpm-workshop.f8.64B"], published["secpm.f11.without-cwr"]
    least = factor["low"] - factor["tol"]

    def left(percent: float, of: float) -> float:
        return 1 + (1 - percent / 100) * (of - 1)

    for size, (low, high) in removed["by_tx_size"].items():
        name = f"{size} B" if int(size) < 1024 else f"{int(size) // 1024} KiB"
        if size in more["by_tx_size"]:
            other, most = (1 + (more["by_tx_size"][size] + tolerance) / 100 for tolerance in (0, more["tol"]))
        else:
            other, most = 2 * (1 - saved["value"] / 100), least * (1 - (saved["value"] - saved["tol"]) / 100)
        cells = (
            f"{low} to {high} %",
            f"{left(high, 2):.2f} to {left(low, 2):.2f}",
            *(f"{one:.2f}" for one in (other, left(high + removed["tol"], least), most)),
        )
        assert f"| {name} | {' | '.join(cells)} |" in _ENTRIES["The writes of SecPM in two papers"]
