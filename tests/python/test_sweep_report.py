"""The page of a sweep: complete, self-contained, and with the figures of the store."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import images
import pytest
from conftest import Cli, OpenPage, answer_at_once
from test_sweep import Inline

import counterpoint as cp

SPECS: dict[str, dict[str, Any]] = {
    "lines": {
        "name": "lines",
        "base": {"transactions": 100},
        "axes": {
            "workload": ["array", "btree"],
            "design": ["unencrypted", "secpm"],
            "tx_size": [64, 100, 1024],
            "seed": [1, 2],
        },
        "zip": [{"controller.wpq_entries": [16, 32], "device.t_wr_ns": [100, 300.5]}],
    },
    "bars": {"name": "<bars>", "axes": {"workload": ["array", "btree"], "design": ["unencrypted", "secpm"]}},
    "failed": {"name": "failed", "base": {"workload": "array", "design": "secpm"}, "axes": {"tx_size": [1, 2]}},
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Draws each sweep once: the drawing takes seconds."""

    @cache
    def draw(name: str) -> Path:
        store = tmp_path_factory.mktemp(name) / "s.duckdb"
        with pytest.MonkeyPatch.context() as patch:
            answer_at_once(patch)
            patch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
            if name == "failed":
                with pytest.raises(cp.InputError, match="every run"):
                    cp.sweep(SPECS[name], store)
            else:
                cp.sweep(SPECS[name], store)
            return cp.write_sweep_page(store, store.parent, command="counterpoint report '<x>'")

    return draw


def test_axes_of_numbers_have_charts_and_what_is_averaged_is_said(page: Callable[[str], Path]) -> None:
    text = page("lines").read_text()
    assert "<h2>By tx_size</h2>" in text
    assert "<h2>By controller.wpq_entries and device.t_wr_ns</h2>" in text, "axes that change together are one"
    assert "By seed" not in text, "a seed is no quantity"
    assert "is the mean over seed, controller.wpq_entries and device.t_wr_ns. Runs that failed are left out." in text
    assert "Error bars are 95 % intervals over the seeds." in text
    assert "is the mean over tx_size and seed." in text
    assert text.count("<figure") == 2 * 4
    assert text.count("tx_size = 100 must be a multiple of 64") >= 16, "each failure, and beside its point"
    assert "<dd>32</dd>" in text, "finished"
    assert "<dd>16</dd>" in text, "failed"


@pytest.mark.parametrize(("name", "figures"), [("bars", 4), ("failed", 0)])
def test_a_sweep_without_an_axis_of_numbers_has_bars(page: Callable[[str], Path], name: str, figures: int) -> None:
    text = page(name).read_text()
    assert text.count("<figure") == figures
    assert "<bars>" not in text, "a name is text, not markup"
    assert "<script>" in text and "src=" not in text
    assert "url(" not in text
    assert "counterpoint report &#39;&lt;x&gt;&#39;" in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [1200, 380])
def test_page_is_readable_in_a_browser(page: Callable[[str], Path], open_page: OpenPage, width: int) -> None:
    assert open_page(page("lines"), width).drawings() == 8, "each chart once, wide or narrow"


@pytest.mark.browser
def test_the_page_begins_with_what_its_first_chart_shows(page: Callable[[str], Path], open_page: OpenPage) -> None:
    tab = open_page(page("lines"), 390).tab
    said = tab.locator("main > *").nth(1).inner_text()
    assert said.startswith("From tx_size 64 B to 1 KiB, unencrypted has ") and " and secpm has " in said
    assert said.endswith("16 runs of 48 could not be computed.")
    bars = open_page(page("bars")).tab.locator(".headline").inner_text()
    assert bars.startswith("Of 2 designs, unencrypted ") and "lowest latency" in bars
    failed = open_page(page("failed")).tab.locator(".headline").inner_text()
    assert failed == "No point of this sweep has a figure. 2 runs of 2 could not be computed."


@pytest.mark.browser
def test_its_charts_and_tables_answer(page: Callable[[str], Path], open_page: OpenPage) -> None:
    opened = open_page(page("lines"))
    opened.marks_are_told()
    name, rows = opened.downloads()
    assert name == "latency_by_tx_size.csv"
    assert {(row["panel"], row["series"]) for row in rows} == {
        (work, design) for work in ("array", "btree") for design in ("unencrypted", "secpm")
    }
    sizes = opened.sorted_by("Points", "tx_size")
    assert sizes == ["64 B"] * 16 + ["100 B"] * 16 + ["1 KiB"] * 16, "by what they mean, not by their letters"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["lines", "bars"])
def test_everybody_can_read_the_page(page: Callable[[str], Path], open_page: OpenPage, name: str, scheme: str) -> None:
    open_page(page(name), 390, scheme).accessible()


def test_the_command_draws_the_sweep_that_is_named(
    page: Callable[[str], Path], cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    store = page("failed").with_name("s.duckdb")
    with pytest.raises(cp.InputError, match="every run"):
        cp.sweep({**SPECS["failed"], "name": "other"}, store)
    monkeypatch.chdir(tmp_path)
    assert cli("report", str(store)).code == 0
    assert "<h1>Sweep other</h1>" in (tmp_path / "sweep.html").read_text(), "the one asked for last"
    assert cli("report", str(store), "--sweep", "failed", "--out", str(tmp_path / "d")).code == 0
    assert "<h1>Sweep failed</h1>" in (tmp_path / "d" / "sweep.html").read_text()
    outcome = cli("report", str(store), "--sweep", "two")
    assert outcome.code == 2
    assert "there is no sweep 'two'" in outcome.err
    assert "(known: failed, other)" in outcome.err
    assert "there is no store" in cli("report", str(tmp_path / "none.duckdb")).err


@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, page: Callable[[str], Path]) -> None:
    images.held(open_page, page("lines"), "sweep")
