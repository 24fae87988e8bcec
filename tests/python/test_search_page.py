"""The page of a search: complete, self-contained, and in a browser it tells of the point that is pointed at."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import OpenPage
from test_searches import SURVIVOR

import counterpoint as cp
from counterpoint.report import notebook
from counterpoint.searches.outcome import SearchReport


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> SearchReport:
    return cp.search({**SURVIVOR, "name": "<survivor>"}, tmp_path_factory.mktemp("page") / "s.duckdb")


@pytest.fixture(scope="module")
def page(found: SearchReport) -> Path:
    return cp.write_search_page(found, found.store.parent)


def test_the_page_has_everything_and_escapes_what_it_quotes(page: Path, found: SearchReport) -> None:
    text = page.read_text()
    assert "<survivor>" not in text
    assert "&lt;survivor&gt;" in text
    for one in found.front:
        assert one.candidate.name in text
    for rule in found.rules:
        assert str(rule).split(",")[0] in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("width", [1200, 380])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_has_a_point_for_each_candidate_of_the_front(
    open_page: OpenPage, page: Path, found: SearchReport, width: int, scheme: str
) -> None:
    tab = open_page(page, width, scheme).tab
    assert tab.locator("#picture circle.front").count() == len(found.front)
    held = [one for one in found.references if one.judged.state == "holds"]
    assert tab.locator("#picture circle.reference").count() == len(held)
    box = tab.locator("#picture").bounding_box()
    assert box is not None
    for mark in tab.locator("#picture circle").all():
        place = mark.bounding_box()
        assert place is not None
        assert box["x"] <= place["x"] <= box["x"] + box["width"]
        assert box["y"] <= place["y"] <= box["y"] + box["height"]


def test_a_point_tells_its_parts_and_how_far_it_was_tested(
    open_page: OpenPage, page: Path, found: SearchReport
) -> None:
    tab = open_page(page).tab
    one = found.front[0]
    tab.locator(f'#picture circle[data-name="{one.candidate.name}"]').hover()
    told = tab.locator("#told").inner_text()
    assert one.candidate.name in told
    assert "controller.wpq_entries=" in told
    assert f"{one.crash_points:,} power failures survived" in told
    assert "no counterexample" in told


def test_points_are_reached_by_the_keyboard_and_axes_can_be_exchanged(open_page: OpenPage, page: Path) -> None:
    tab = open_page(page).tab
    tab.locator("#up").focus()
    tab.keyboard.press("Tab")
    assert "survived" in tab.locator("#told").inner_text()
    first = tab.locator("#picture circle.front").first
    before = first.get_attribute("cx"), first.get_attribute("cy")
    tab.select_option("#across", index=1)
    tab.select_option("#up", index=0)
    after = first.get_attribute("cx"), first.get_attribute("cy")
    assert before != after


def test_a_search_without_a_front_says_so(tmp_path: Path) -> None:
    none = {**SURVIVOR, "limits": {"on_chip_bytes": {"at_most": 1}}, "candidates": 4, "references": []}
    report = cp.search(none, tmp_path / "s.duckdb")
    text = cp.write_search_page(report, tmp_path).read_text()
    assert "No candidate survives within the limits." in text
    assert "<script" not in text


def test_a_notebook_has_the_front_as_a_table_with_a_picture(found: SearchReport) -> None:
    front = f"{len(found.front)} design{'' if len(found.front) == 1 else 's'} on the front of"
    assert str(found).startswith(f"<Search <survivor>: {front} ")
    html = found._repr_html_()
    assert "<survivor>" not in html and front in html and "<svg" in html
    for one in found.front:
        assert one.candidate.name in html
    (picture,) = (notebook._view(found).picture or {})["vconcat"]
    kinds = [point["kind"] for point in picture["data"]["values"]]
    assert kinds.count("on the front") == len(found.front)
    held = [one for one in found.references if one.judged.state == "holds"]
    assert kinds.count("built-in design") == len(held)
