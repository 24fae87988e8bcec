"""The report of reproduced papers: charts in the papers' form, a self-contained page, and Markdown."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import images
import pytest
import reproduced
from conftest import OpenPage
from reproduced import MANY, MISSES, SCALING, WRITES
from rich.console import Console

import counterpoint as cp
from counterpoint.cli import claim_table
from counterpoint.papers.model import Chart, Mark
from counterpoint.report import colours, figures, markdown, prose, reproduction

pytestmark = pytest.mark.usefixtures("fake")


def drawn(chart: Chart, *, wide: bool) -> ElementTree.Element:
    return ElementTree.fromstring(figures.draw(chart, wide=wide))


def marks(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    """The bars, points or lines of a drawing; each layer that has them is a group of that class."""
    return [
        mark
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        if {f"mark-{kind}", "role-mark"} <= set(group.get("class", "").split())
        for mark in group
    ]


def words(root: ElementTree.Element) -> Counter[str]:
    return Counter("".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text"))


@pytest.mark.parametrize("wide", [True, False])
def test_bars_with_a_line_and_published_values(wide: bool) -> None:
    root = drawn(WRITES, wide=wide)
    places = len(WRITES.panels) * len(WRITES.xs)
    bars = marks(root, "rect")
    assert len(bars) == len(WRITES.marks)
    assert len(Counter(bar.get("fill") for bar in bars)) == len(WRITES.series)
    assert len(marks(root, "symbol")) == 2 * places, "a circle of the line and a published diamond at each place"
    assert len(marks(root, "rule")) == len(WRITES.panels)
    said = words(root)
    for panel in WRITES.panels:
        assert said[panel] == 1
    for name in WRITES.xs:
        assert said[name] == len(WRITES.panels)
    assert said[WRITES.y_title] == said[WRITES.line_title] == (1 if wide else len(WRITES.panels))


@pytest.mark.parametrize("wide", [True, False])
def test_lines_have_a_point_at_each_place(wide: bool) -> None:
    root = drawn(SCALING, wide=wide)
    assert len(marks(root, "line")) == len(SCALING.panels) * len(SCALING.series)
    assert len(marks(root, "symbol")) == len(SCALING.marks) + len(SCALING.published)


@pytest.mark.parametrize("chart", [WRITES, SCALING], ids=["bars", "lines"])
def test_intervals_are_drawn_as_error_bars(chart: Chart) -> None:
    plain = len(marks(drawn(chart, wide=True), "rule"))
    known = replace(chart, marks=tuple(replace(mark, half=0.25 if mark.value else None) for mark in chart.marks))
    count = sum(mark.half is not None for mark in known.marks)
    assert len(marks(drawn(known, wide=True), "rule")) == plain + count
    same = replace(chart, marks=tuple(replace(mark, half=0.0) for mark in chart.marks))
    assert len(marks(drawn(same, wide=True), "rule")) == plain, "seeds that agree need no bar"


def test_marks_without_a_value_are_left_out() -> None:
    known = [mark for mark in MANY.marks if mark.value is not None]
    assert 0 < len(known) < len(MANY.marks)
    assert len(marks(drawn(MANY, wide=True), "rect")) == len(known)
    nothing = replace(MISSES, marks=tuple(replace(mark, value=None) for mark in MISSES.marks))
    assert not marks(drawn(nothing, wide=True), "symbol")
    assert words(drawn(nothing, wide=True))[MISSES.xs[0]] == 1, "its places are there all the same"


@pytest.mark.parametrize("chart", [WRITES, SCALING, MISSES, MANY], ids=["writes", "scaling", "misses", "many"])
def test_drawings_are_as_wide_as_their_readers(chart: Chart) -> None:
    wide, narrow = (float(drawn(chart, wide=wide).get("width", 0)) for wide in (True, False))
    assert 200 <= narrow <= 328, "a telephone of 360 px, with the margins of the page"
    assert narrow <= wide <= 1008


def test_a_published_value_of_no_one_bar_stands_in_the_middle_of_its_place() -> None:
    root = drawn(replace(WRITES, line=(), published=(Mark("64 B", "hash", "all", 2.0),)), wide=True)
    (diamond,) = marks(root, "symbol")
    middles = [bar for bar in marks(root, "rect") if bar.get("fill") == colours.of_series(WRITES.series, ())["SecPM"]]
    assert middles
    (x,) = re.findall(r"translate\(([\d.]+),", diamond.get("transform", ""))
    starts = sorted(float(re.findall(r"M([\d.]+),", bar.get("d", ""))[0]) for bar in marks(root, "rect"))
    first, second, third = (start for start in starts[6 * 4 :: 4][:3])
    assert first < second < float(x) < third, "in the middle bar of the third place; panels have the same coordinates"


def test_numbers_over_bars_where_there_is_room() -> None:
    few = reproduced.chart("bar", ("",), ("eadr", "bbe", "sepencr"), ("",), lambda number: (30.0, -2.5, 1234.5)[number])
    said = words(drawn(few, wide=True))
    assert said["30"] == said["-2.5"] == said["1,234"] == 1
    assert "2" not in words(drawn(replace(WRITES, rule=None, line=()), wide=True)), "too many bars for numbers"


def test_long_numbers_are_shortened() -> None:
    assert {"0", "1M"} <= set(words(drawn(MANY, wide=True)))


def test_the_baseline_is_grey_in_every_chart_of_designs() -> None:
    """Otherwise a reader takes it for one of the designs compared."""
    designs = ("unencrypted", "secpm")
    chart = reproduced.chart("bar", ("",), ("array",), designs)
    grey, other = (entry.colour for entry in figures.legend(chart))
    assert grey == colours.of_series(["eadr"], ["eadr"])["eadr"] != other
    kinds = [entry.symbol for entry in figures.legend(WRITES)]
    assert kinds == ["square", "square", "square", "circles", "diamond"]


def test_a_design_has_its_colour_on_every_page() -> None:
    names = [design.name for design in cp.designs() if design.name not in colours._BASELINES]
    alone = {name: colours.of_series([name], names)[name] for name in names}
    for some in (names[:16], names[3:9], ["secpm", "sca"], ["sca", "secpm"]):
        assert colours.of_series(some, names) == {name: alone[name] for name in some}
    frame = cp.compare(["secpm", "unencrypted", "sca"], ["array"], transactions=3, warmup=0, footprint="64KiB")
    grey = colours.of_series(["unencrypted"], ["unencrypted"])["unencrypted"]
    assert colours.of_designs(frame) == {"secpm": alone["secpm"], "unencrypted": grey, "sca": alone["sca"]}
    same = [name for name in names if alone[name] == alone[names[0]]]
    assert len(same) > 1, "there are more designs than colours"
    together = colours.of_series(same, same)
    assert together[same[0]] == alone[same[0]] and len(set(together.values())) == len(same)
    assert len(set(colours.of_series(names[:16], names).values())) == 16
    assert colours.of_series(names, names).keys() == set(names), "a chart of all has colours twice"


def test_every_colour_has_a_dark_form() -> None:
    assert set(colours._DESIGNS) <= set(colours.DARK)
    of_many = colours.of_series([str(number) for number in range(40)], ())
    assert set(of_many.values()) <= set(colours.DARK)


@pytest.mark.browser
def test_the_page_begins_with_how_many_results_hold(open_page: OpenPage, page: Path) -> None:
    tab = open_page(page).tab
    shown = reproduced.reproduction()
    measured = [one for one in shown.directions if one.verdict != "not measured"]
    assert tab.locator("main > *").nth(1).inner_text() == (
        f"{shown.held} of {len(shown.claims)} published results hold, and {shown.signs['right']} of {len(measured)} "
        "effects that were measured go as the papers say."
    )


@pytest.mark.browser
def test_its_charts_tell_and_give_their_values(open_page: OpenPage, page: Path) -> None:
    opened = open_page(page)
    opened.marks_are_told()
    name, rows = opened.downloads()
    assert name.endswith(".csv")
    shown = next(figure.charts[0] for figure in reproduced.reproduction().figures if figure.charts)
    of = {(row["panel"], row[shown.x_title], row["series"]): row for row in rows if row["source"] == "measured"}
    assert len(of) == sum(mark.value is not None for mark in shown.marks)
    for mark in shown.marks:
        if mark.value is not None:
            assert float(of[mark.panel, mark.x, mark.series][shown.y_title]) == mark.value
    assert sum(row["source"] == "published" for row in rows) == len(shown.published)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_the_page(open_page: OpenPage, page: Path, scheme: str) -> None:
    open_page(page, 390, scheme).accessible()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cp.write_reproduction(reproduced.reproduction(), tmp_path_factory.mktemp("reproduced") / "deep" / "folder")


def test_the_page_needs_nothing_beside_itself(page: Path) -> None:
    text = page.read_text()
    assert "<script>" in text and "src=" not in text
    assert "url(" not in text
    addresses = {part.split('"')[0] for part in text.split("http")[1:]}
    assert addresses <= {"://www.w3.org/2000/svg", "://www.w3.org/1999/xlink", "s://example.org/paper"}
    written = sorted(item.name for item in page.parent.iterdir())
    assert written == [
        "easy-pm.directions.md",
        "easy-pm.md",
        "report.html",
        "reproduction.json",
        "secpm.directions.md",
        "secpm.md",
    ]


def test_the_page_says_what_was_found(page: Path) -> None:
    text = page.read_text()
    for said in (
        "2 of 3 published results hold",
        "What &lt;b&gt;survives&lt;/b&gt;",
        "(b) &lt;Hit rate&gt;",
        "25 to 50 (outside: array, queue, hash)",
        "2000, instead of 8000",
        "0, 2000, 8000",
        "true, false",
        "wpq_entries 64, wpq_high_watermark 48, instead of wpq_entries 32, wpq_high_watermark 24",
        "counterpoint reproduce all --quick --out &#39;&lt;out&gt;&#39;",
        "small footprints and few transactions",
        "Results of no figure",
        "what <code>CWR</code> &lt;i&gt;removes&lt;/i&gt;",
        "program.<wbr>think_<wbr>instructions",
        "1 right, 1 wrong, 1 undecided, 1 not measured.",
        "“SecPM &lt;significantly&gt; reduces | the number of NVM writes.”",
        "right at 4 of 5 (-11.6 to +9.6 points); rbtree: -11.6 points",
        "no report has it",
    ):
        assert said in text, said
    assert text.count("✓ right") == text.count("✗ wrong") == 1
    assert text.count("✗ misses") == 1
    assert text.count("✓ holds") == 3
    assert text.count("<details>") == 2, "two figures have charts and tables; the table without a chart is open"


def test_designs_have_one_colour_in_all_figures_of_a_paper() -> None:
    both = reproduced.chart("bar", ("",), ("array",), ("No-encryption", "Ideal", "SCA"))
    few = reproduced.chart("line", ("",), ("array",), ("SCA", "secpm"))
    figure = replace(reproduced.reproduction().figures[1], paper="counter-atomicity", charts=(few, both))
    found = replace(reproduced.reproduction(), papers={"counter-atomicity": ""}, figures=(figure,))
    text = reproduction.render(found)
    shown = {
        name: {
            colour
            for colour, other in re.findall(r'(?:fill|stroke)="(#\w+)"[^>]*/></svg>([^<]+)</li>', text)
            if other == name
        }
        for name in ("No-encryption", "Ideal", "SCA", "secpm")
    }
    assert all(len(of_name) == 1 for of_name in shown.values()), shown
    assert len(set().union(*shown.values())) == 4, shown


def test_prose_has_no_dead_link_and_obeys_no_markup() -> None:
    html = prose.html(reproduced.DEVIATIONS)
    assert "<h1>" not in html
    assert "<h3>secpm</h3>" in html
    assert 'href="secpm.md"' not in html
    assert "secpm.md" in html
    assert '<a href="https://example.org/paper">there</a>' in html
    assert "<img" not in html
    assert "a picture" in html
    assert "<script" not in html
    assert re.search(r'<div class="scroll"[^>]*><table>', html)


def test_markdown_has_claims_first() -> None:
    text = markdown.page(reproduced.reproduction(), "secpm")
    lines = text.splitlines()
    assert "2 of 3 hold. [DEVIATIONS.md](DEVIATIONS.md) explains the others." in lines
    assert "| `secpm.f11.removed` | 64 B | 22 to 37 ± 5 | 25 to 50 (outside: array, queue, hash) | **no** |" in lines
    assert "| `secpm.page-log` |  | 128 \\| 65 | 128, 65 | yes |" in lines, "a bar would open another cell"
    assert lines.index("## Figures") > lines.index("| claim | at | published | measured | holds |")
    assert "### Figure 11: NVM writes by transaction size" in lines
    assert "| 64 B | Unsec-PM | 1.00 | 2.05 | - | 1,234.5 | 1.50 |" in lines
    assert "easy-pm.f5" not in text
    assert "a prediction" in markdown.page(reproduced.reproduction(), "easy-pm")


def test_directions_of_a_paper_have_a_page() -> None:
    text = markdown.directions(reproduced.reproduction(), "secpm")
    assert "the model shows: 1 right, 1 wrong. [DEVIATIONS.md]" in text
    assert (
        '| `secpm.f11.fewer` | 4.2.1 | "SecPM <significantly> reduces \\| the number of NVM writes." | writes |' in text
    )
    assert "| rises from 8 to 128 | right at 4 of 5 (-11.6 to +9.6 points); rbtree: -11.6 points | **wrong** |" in text
    assert "easy-pm" not in text
    other = markdown.directions(reproduced.reproduction(), "easy-pm")
    assert "1 undecided, 1 not measured." in other and "|  |  | no report has it | not measured |" in other
    none = replace(reproduced.reproduction(), directions=())
    assert 'id="directions"' not in reproduction.render(none)


def test_the_screen_has_what_is_not_right() -> None:
    console = Console(width=200, file=io.StringIO())
    console.print(claim_table.scorecard(replace(reproduced.reproduction(), facts={"simulations": "7"})))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "directions: 1 of 4 right, 1 wrong, 1 undecided, 1 not measured" in shown
    assert "secpm.f13.longer" in shown and "easy-pm.f5.over" in shown
    assert "secpm.f11.fewer" not in shown and "easy-pm.waits" not in shown


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 760, 761, 1280])
def test_the_page_fits_its_reader(open_page: OpenPage, page: Path, width: int) -> None:
    shown = open_page(page, width)
    shown.tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    shown.fits()
    assert shown.drawings() == 4, "one form of each chart"


@pytest.mark.browser
def test_every_link_inside_the_page_leads_somewhere(open_page: OpenPage, page: Path) -> None:
    tab = open_page(page).tab
    links = tab.locator("a[href^='#']")
    targets = {link.get_attribute("href") or "" for link in links.all()}
    assert {"#secpm.f11", "#easy-pm.f5", "#secpm.others", "#directions", "#decisions", "#deviations"} <= targets
    missing = [target for target in targets if not tab.evaluate("id => !!document.getElementById(id)", target[1:])]
    assert missing == []
    tab.locator("a.mark.misses").click()
    assert tab.url.endswith("#secpm.f11")
    assert tab.evaluate("document.getElementById('secpm.f11').getBoundingClientRect().top") < 100


@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, page: Path) -> None:
    images.held(open_page, page, "reproduction")
