"""The measured claims: every claim of the papers gets a row, from runs that really happened."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

VALIDATION = Path(__file__).parents[2] / "validation"
#: The papers whose claims a page holds.
PAGES = {"secpm": ("secpm", "secpm-workshop"), "counter-atomicity": ("counter-atomicity",)}
#: Claims that are tests of the engine.
ELSEWHERE = {"secpm.page-log-writes"}


def claims_of(page: str) -> set[str]:
    claims = tomllib.loads((VALIDATION / "claims.toml").read_text())["claim"]
    return {claim["id"] for claim in claims if claim["paper"] in PAGES[page]} - ELSEWHERE


def rows_of(text: str, page: str) -> list[list[str]]:
    """The cells of the table of claims."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return [cells for cells in rows if cells[0].split(".")[0] in PAGES[page] and "." in cells[0]]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("page", "runs", "transactions"),
    [
        ("secpm", 5 * 4 * 3 + 2 * 4 * 3, 500),
        # Figures 12 to 14, 15, 16 and 17 on five workloads.
        ("counter-atomicity", 5 * (7 * 4 + 2 * 2 + 2 * 2 + 2 * 3 * 2), 40),
    ],
)
def test_every_claim_is_measured(tmp_path: Path, page: str, runs: int, transactions: int) -> None:
    shown = subprocess.run(
        [sys.executable, str(VALIDATION / "measure.py"), page, "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{page}.json", f"{page}.md"]
    assert {cells[0] for cells in rows_of((tmp_path / f"{page}.md").read_text(), page)} == claims_of(page)
    documents = json.loads((tmp_path / f"{page}.json").read_text())
    assert len(documents) == runs
    assert all(document["transactions"] == transactions for document in documents if document["cores"] == 1)
    assert {document["variant"] for document in documents} == {"published"}
    assert not any("host" in document for document in documents)


@pytest.mark.parametrize("page", PAGES)
def test_every_miss_is_explained(page: str) -> None:
    """A claim that the committed table misses is named on the page of deviations, under its paper."""
    rows = rows_of((VALIDATION / f"{page}.md").read_text(), page)
    assert {cells[0] for cells in rows} == claims_of(page), "the committed table has every claim"
    sections = (VALIDATION / "DEVIATIONS.md").read_text().split("\n## ")
    explained = dict(section.split("\n", 1) for section in sections[1:])
    for claim in {cells[0] for cells in rows if cells[-1] == "**no**"}:
        paper, figure, _ = claim.split(".")
        assert f"**{figure.upper()}," in explained[paper], claim
