"""The page of a search: complete, self-contained, and in a browser it tells of the point that is pointed at."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import images
import pytest
from conftest import OpenPage
from playwright.sync_api import FloatRect
from test_searches import SURVIVOR

import counterpoint as cp
from counterpoint.report import headline, notebook, search_page
from counterpoint.searches.naming import Names
from counterpoint.searches.outcome import SearchReport
from counterpoint.system import units


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
    opened = open_page(page)
    tab = opened.tab
    one = found.front[0]
    tab.locator(f'#picture circle.front[data-name="{one.candidate.name}"]').hover()
    told = tab.locator("#told").inner_text()
    assert f"1: {found.names.of(one.candidate)}, built in as secpm-no-cwr" in told
    assert "controller.wpq_entries=" in told
    assert f"{one.crash_points:,} power failures survived" in told
    assert "no counterexample" in told
    latency = units.figure(one.figures["transaction_latency_ns_mean"])
    assert opened.told().splitlines()[:2] == [
        found.names.of(one.candidate),
        f"transaction_latency_ns_mean {latency}",
    ]
    tab.mouse.move(0, 0)
    assert tab.locator(".tip.shown").count() == 0


def test_candidates_are_named_by_their_parts_and_no_digest_is_told(page: Path, found: SearchReport) -> None:
    names = [found.names.of(one.candidate) for one in found.judged]
    assert len(set(names)) == len(names), "two names for two machines"
    assert "secpm-no-cwr with wpq_entries 32" in names
    assert all("wpq_entries" in name and not re.search(r"\bc[0-9a-f]{9}\b", name) for name in names)
    points = search_page.picture(found)["points"]
    assert not any(re.search(r"\bc[0-9a-f]{9}\b", point["name"] + point["covered"]) for point in points)
    shown = page.read_text().partition('id="found"')[0]
    assert shown.count(found.front[0].candidate.name) == 4, "in the data, as the file, twice in the command"


def test_a_text_has_names_in_the_place_of_digests(found: SearchReport) -> None:
    one = found.front[0].candidate
    name = found.names.of(one)
    assert found.names.in_words(f"beaten by {one.name}, {one.name}, ...") == f"beaten by {name}; {name}; ..."
    assert found.names.in_words("beaten by c123456789") == "beaten by c123456789", "of another search"


def test_parts_that_the_known_design_lacks_are_named(found: SearchReport) -> None:
    (one, *_) = (one.candidate for one in found.judged)
    parts = {key: value for key, value in one.parts.items() if key != "minor_reset"}
    known = {"full": {**parts, "minor_reset": "x", "more": "y"}, "far": {}}
    assert Names(known, [one]).of(one).startswith(f"full with minor_reset {one.parts['minor_reset']}, no more, ")
    assert Names({"far": {}}, [one]).brief(one) == f"far with {len(one.parts)} other parts"
    assert Names({"same": one.parts}, [one]).brief(one) == Names({"same": one.parts}, [one]).of(one)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_telephone_the_picture_is_on_the_first_screen(open_page: OpenPage, page: Path, scheme: str) -> None:
    tab = open_page(page, 390, scheme).tab
    box = tab.locator("#picture").bounding_box()
    assert box is not None and box["y"] + box["height"] < 844
    assert tab.locator("main > *").nth(1).get_attribute("class") == "headline"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_names_cover_nothing_and_ticks_are_round(open_page: OpenPage, page: Path, width: int) -> None:
    tab = open_page(page, width).tab
    boxes = [box for one in tab.locator("#picture .label").all() if (box := one.bounding_box())]
    assert len(boxes) > 1
    marks = [box for one in tab.locator("#picture circle:not(.other)").all() if (box := one.bounding_box())]
    for place, one in enumerate(boxes):
        assert not any(_meet(one, other) for other in [*boxes[:place], *marks])
    titles = tab.locator("#picture .title").all_text_contents()
    assert titles == ["\u2191 on_chip_bytes, lower is better", "transaction_latency_ns_mean, lower is better \u2192"]
    for anchor in ("middle", "end"):
        ticks = tab.locator(f"#picture text:not(.label):not(.title)[text-anchor={anchor}]").all_text_contents()
        values = [float(tick.replace(",", "")) for tick in ticks]
        (step,) = {round(after - before, 6) for before, after in pairwise(values)}
        assert f"{step:.0e}"[0] in "125" and all(value % step == 0 for value in values), ticks


@pytest.mark.browser
def test_small_figures_of_an_axis_are_not_cut(open_page: OpenPage, page: Path, tmp_path: Path) -> None:
    text = page.read_text()
    match = re.search(r'(?<=id="found">).*(?=</script>)', text)
    assert match is not None
    drawn = json.loads(match[0])
    for number, point in enumerate(drawn["points"]):
        point["at"] = [at and at * 1e-9 * 10 ** (number % 3) for at in point["at"]]
        point["half"] = [None for _ in point["half"]]
    small = tmp_path / "small.html"
    small.write_text(text.replace(match[0], json.dumps(drawn)))
    tab = open_page(small, 1280).tab
    picture = tab.locator("#picture").bounding_box()
    assert picture is not None
    ticks = tab.locator("#picture text:not(.label):not(.title)[text-anchor=end]").all()
    assert len(ticks) > 2
    for tick in ticks:
        box = tick.bounding_box()
        assert box is not None and box["x"] >= picture["x"], tick.text_content()
        assert 0 < float(tick.text_content() or "") < 1e-3


def _meet(one: FloatRect, other: FloatRect) -> bool:
    # The circle of a mark fills less than its box.
    return (
        one["x"] < other["x"] + other["width"] - 2
        and other["x"] < one["x"] + one["width"] - 2
        and one["y"] < other["y"] + other["height"] - 2
        and other["y"] < one["y"] + one["height"] - 2
    )


@pytest.mark.browser
def test_the_page_has_tables_that_sort_causes_that_are_folded_and_data(
    open_page: OpenPage, page: Path, found: SearchReport
) -> None:
    opened = open_page(page)
    sizes = opened.sorted_by("The front", "on_chip_bytes")
    assert sizes == sorted(sizes, key=lambda cell: float(cell.replace(",", "")))
    assert opened.tab.locator("details").count() > 1 and opened.tab.locator("details[open]").count() == 0
    broken = {one.counterexample.rule for one in found.judged if one.counterexample and one.state == "refuted"}
    heads = opened.tab.locator("details details > summary").all_text_contents()
    assert {head.partition(":")[0] for head in heads} == broken
    name, rows = opened.downloads()
    assert name == "search.csv"
    assert len(rows) == len(search_page.picture(found)["points"])
    front = {row["design"]: row for row in rows if row["kind"] == "front"}
    for one in found.front:
        row = front[found.names.of(one.candidate)]
        assert float(row["on_chip_bytes"]) == one.figures["on_chip_bytes"] and row["candidate"] == one.candidate.name


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_page(open_page: OpenPage, page: Path, scheme: str) -> None:
    open_page(page, 390, scheme).accessible()


def test_the_headline_says_how_many_and_what_they_gain(found: SearchReport) -> None:
    said = headline.of_search(found).text
    assert said.startswith("2 of 48 candidates survived every power failure that was tried and are beaten by no other")
    best = units.figure(found.front[0].figures["transaction_latency_ns_mean"])
    assert f"The best transaction_latency_ns_mean, {best}, is that of no. 1, secpm-no-cwr with wpq_entries " in said
    held = replace(found, references=())
    assert "no built-in design that was judged survives within the limits" in headline.of_search(held).text


def test_points_are_reached_by_the_keyboard_and_axes_can_be_exchanged(open_page: OpenPage, page: Path) -> None:
    tab = open_page(page).tab
    tab.locator("#up").focus()
    tab.keyboard.press("Tab")
    assert tab.locator("#picture circle:focus").count() == 1
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
    assert "None of 4 candidates survives within the limits." in text
    assert 'id="picture"' not in text and 'id="found"' not in text


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


@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, page: Path) -> None:
    images.held(open_page, page, "search")
