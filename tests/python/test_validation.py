"""The measured claims: every claim of the papers gets a row, from runs that really happened."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import fake_engine
import pytest

import counterpoint as cp
from counterpoint import _engine

VALIDATION = Path(__file__).parents[2] / "validation"
#: The papers whose claims a page holds.
PAGES = {
    "secpm": ("secpm", "secpm-workshop"),
    "counter-atomicity": ("counter-atomicity",),
    "easy-pm": ("easy-pm",),
    "sepencr": ("sepencr",),
}
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
        # The preset, five decisions of two values, three of three, and three more sizes of transactions.
        ("easy-pm", 5 * 3 * (1 + 5 * 1 + 3 * 2 + 3), 40),
        # Figures 10 with 3, 11 and 12; three decisions of three values, two of two and two of four, at two sizes.
        ("sepencr", 5 * (5 * 5 + 3 * 4 + 3 * 2 + (4 * 2 + 1 + 3 + 3) * 2 * 4), 40),
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
    for document in documents:
        # Measuring ends with the first core that is through.
        assert transactions <= document["transactions"] <= document["cores"] * transactions
    assert {document["variant"] for document in documents} == {"published"}
    assert not any("host" in document for document in documents)


@pytest.mark.usefixtures("fake")
def test_the_figures_of_hardware_logging_are_what_the_runs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(VALIDATION))
    import easy_pm

    claims = {claim["id"]: claim for claim in tomllib.loads((VALIDATION / "claims.toml").read_text())["claim"]}
    measured = easy_pm.measure(claims, quick=True)
    documents = json.loads(measured.runs)
    assert {document["cores"] for document in documents} == {4}
    point = {(run["design"], run["workload"]): run for run in documents[: 3 * len(cp.EASY_PM_WORKLOADS)]}

    def ratios(key: str, above: str, below: str) -> list[float]:
        return [point[above, work][key] / point[below, work][key] for work in cp.EASY_PM_WORKLOADS]

    more = [100 * ratio - 100 for ratio in ratios("throughput_tps", "easy-pm", "hw-log")]
    over_alc = [100 * ratio - 100 for ratio in ratios("throughput_tps", "easy-pm", "alc")]
    found = {row.claim.rsplit(".")[-1]: row.measured for row in measured.rows}
    assert found == {
        "over-hw-log": f"{sum(more) / 5:.1f}",
        "best": f"{max(more):.1f}",
        "over-alc": f"{sum(over_alc) / 5:.1f}",
    }
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in measured.page.splitlines()]
    assert ["easy-pm", "CNT_RD", *["50.0"] * 6] in cells, "1,000 counters read by hw-log, 500 by easy-pm"
    assert ["easy-pm", "REQ_RD", *["10.0"] * 6] in cells, "of 5,000 reads in all"
    assert ["easy-pm", *["18.8"] * 7] in cells, "26 ns to the first level instead of 32 ns"


@pytest.mark.usefixtures("fake")
def test_the_figures_of_persistent_caches_are_what_the_runs_say(
    fake: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(VALIDATION))
    import sepencr

    asked: list[dict[str, Any]] = []

    def run_many(request: str, workers: int = 0, progress: fake_engine.Progress = None) -> str:
        """Sepencr takes longer with large transactions, and with much to do for its exclusive-or."""
        answer = json.loads(fake_engine.run_many(request, workers, progress))
        for run, of in zip(answer["results"], json.loads(request)["runs"], strict=True):
            asked.append(of)
            if run["design"] == "sepencr":
                run["throughput_tps"] /= (run["tx_size"] == 1024) + 1 + ("eadr.xor_cycles=0" not in of.get("set", ()))
        return json.dumps(answer)

    fake.setattr(_engine, "run_many", run_many)
    claims = {claim["id"]: claim for claim in tomllib.loads((VALIDATION / "claims.toml").read_text())["claim"]}
    measured = sepencr.measure(claims, quick=False)
    found = {(row.claim, row.at): (row.measured, row.holds) for row in measured.rows}
    assert found[("sepencr.f10", "bbe")] == ("1.07 to 1.07", True)
    assert found[("sepencr.f10", "sepencr")] == ("2.78 to 4.16 (outside: 64 B, 128 B, 256 B, 512 B, 1024 B)", False)
    assert found[("sepencr.t3", "bbe, 8 cores")] == ("54.4297", True)
    assert found[("sepencr.f12", "sepencr, 32 MiB")] == ("0.0524", True)
    assert not sepencr.exact(claims["sepencr.t3"], "", [47.7342, 47.7343], 47.7343).holds, "on every workload"

    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in measured.page.splitlines()]
    documents = json.loads(measured.runs)
    usual = [run for run in documents if not run["set"] and "warm-up" not in run["figure"]]
    point = {(run["design"], run["workload"], run["tx_size"], run["cores"]): run for run in usual}
    for design, size, cores, name in (
        ("adr", 64, 1, "64 B"),
        ("sepencr", 1024, 1, "1024 B"),
        ("bbe", 64, 8, "8 cores"),
    ):
        ratios = [
            point["eadr", work, size, cores]["throughput_tps"] / point[design, work, size, cores]["throughput_tps"]
            for work in cp.COMPARE_WORKLOADS
        ]
        by_workload = {work: f"{ratio:.2f}" for work, ratio in zip(cp.COMPARE_WORKLOADS, ratios, strict=True)}
        assert [design, name, *(by_workload[work] for work in sepencr.WORKLOADS), f"{sum(ratios) / 5:.2f}"] in rows
    xor = {row[1]: row for row in rows if row[:1] == ["eadr.xor_cycles"]}
    assert float(xor["1 (preset)"][4]) == pytest.approx(2 * float(xor["0"][4]), abs=0.02)
    assert ["sepencr", "23.8672", "5.8867", "-", "29.7539"] in rows
    assert ["32 MiB", "bbe", "0.1049", "0.0524", "50.0"] in rows

    written = {(of["tx_size"], of["warmup"]) for of in asked if not of["set"]}
    footprints = (1 / 4, 1 / 2, 1, 2)
    assert written >= {(size, share * 2**19 // size) for size in (64, 1024) for share in footprints}
    assert {of["warmup"] for of in asked if of["set"] == ["program.footprint=4MiB"]} == {2**23 // 64, 2**23 // 1024}
    largest = [of["set"] for of in asked if "l3.size=16384KiB" in of["set"]]
    assert largest[0] == ["l1.size=1024KiB", "l2.size=8192KiB", "l3.size=16384KiB"], "eight of them, 32 MiB in all"


@pytest.mark.parametrize("page", PAGES)
def test_every_miss_is_explained(page: str) -> None:
    """A claim that the committed table misses is named on the page of deviations, under its paper."""
    rows = rows_of((VALIDATION / f"{page}.md").read_text(), page)
    assert {cells[0] for cells in rows} == claims_of(page), "the committed table has every claim"
    sections = (VALIDATION / "DEVIATIONS.md").read_text().split("\n## ")
    explained = dict(section.split("\n", 1) for section in sections[1:])
    for claim in {cells[0] for cells in rows if cells[-1] == "**no**"}:
        paper, figure, *_ = claim.split(".")
        assert f"**{figure.upper()}," in explained[paper], claim
