"""The report: complete, self-contained, and readable on a desktop and on a phone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fake_engine
import images
import pytest
from conftest import OpenPage, backgrounds

import counterpoint as cp
from counterpoint.contract.printed import Guarantee
from counterpoint.contract.results import Run
from counterpoint.report import prepare_folder
from counterpoint.report.headline import of_comparison
from counterpoint.system import units
from counterpoint.verbs import frames, guarantees
from counterpoint.verbs.comparison import COMPARE_DESIGNS, COMPARE_WORKLOADS, EASY_PM_WORKLOADS
from counterpoint.verbs.overview import overview


def run_of(**asked: Any) -> Run:
    return Run.from_dict(fake_engine.run_document(asked))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        run_of(design=design, workload=workload, tx_size=size)
        for size in (64, 1024)
        for workload in COMPARE_WORKLOADS
        for design in COMPARE_DESIGNS
    ]
    folder = tmp_path_factory.mktemp("report") / "deep" / "folder"
    return cp.write_report(cp.frame(runs), folder, command="counterpoint compare --out '<x>'")


def test_the_page_needs_nothing_beside_itself(page: Path) -> None:
    text = page.read_text()
    assert "<script>" in text and "src=" not in text
    assert "url(" not in text
    addresses = {part.split('"')[0] for part in text.split("http")[1:]}
    assert addresses <= {"://www.w3.org/2000/svg", "://www.w3.org/1999/xlink"}, "names of formats, never fetched"
    for words in ("64 B transactions", "1 KiB transactions", "engine", cp.__version__, "counterpoint compare --out"):
        assert words in text
    assert "<x>" not in text, "a command line is text, not markup"


def test_the_picture_is_well_formed(page: Path) -> None:
    root = ElementTree.parse(page.with_name("compare.svg")).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "unencrypted" in "".join(root.itertext())


def test_nothing_but_the_results_is_left_in_the_folder(page: Path) -> None:
    assert sorted(item.name for item in page.parent.iterdir()) == ["compare.svg", "report.html"]


@pytest.fixture(scope="module")
def page_by_cores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        run_of(design=design, workload=workload, cores=cores)
        for cores in (1, 8)
        for workload in ("array", "btree")
        for design in ("ideal", "sca", "co-located-cc")
    ]
    return cp.write_report(cp.frame(runs), tmp_path_factory.mktemp("cores"))


def test_several_numbers_of_cores_and_writes_of_72_bytes_are_shown(page_by_cores: Path, page: Path) -> None:
    text = page_by_cores.read_text()
    for words in ("Throughput by cores, 1 KiB transactions", "ideal at 1 core = 1", "ideal at as many cores = 1"):
        assert words in text
    assert text.count("<h3>Bytes written</h3>") == 2
    for words in ("Throughput by cores", "<h3>Bytes written</h3>"):
        assert words not in page.read_text(), "one number of cores; every write is a line"


@pytest.fixture(scope="module")
def page_of_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        run_of(design=design, workload=workload, cores=4)
        for workload in EASY_PM_WORKLOADS
        for design in ("hw-log", "alc", "easy-pm")
    ]
    return cp.write_report(cp.frame(runs), tmp_path_factory.mktemp("logs"))


def test_hardware_logs_are_compared_by_reads_and_the_latency_of_the_first_level(page_of_logs: Path, page: Path) -> None:
    text = page_of_logs.read_text()
    for words in ("<h3>Throughput</h3>", "<h3>Read traffic</h3>", "<h3>L1 access latency</h3>"):
        assert words in text
        assert words not in page.read_text(), "no hardware writes a log there"
    run = fake_engine.run_document({"design": "easy-pm", "workload": EASY_PM_WORKLOADS[0], "cores": 4})
    assert f"<td>{run['l1_access_latency_ns']:.2f} ns</td>" in text


@pytest.fixture(scope="module")
def page_of_eadr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Caches so small that short runs write, and counters too.
    caches = ["l1.size=1KiB", "l2.size=2KiB", "l3.size=4KiB", "controller.counter_cache_size=512B"]
    runs = [
        run_of(design=design, workload=workload, tx_size=size, cores=cores, set=caches)
        for size, cores in ((64, 1), (1024, 1), (64, 8))
        for workload in COMPARE_WORKLOADS[:2]
        for design in ("eadr", "eadr-cme", "bbe", "sepencr")
    ]
    return cp.write_report(cp.frame(runs), tmp_path_factory.mktemp("eadr"))


def test_persistent_caches_are_compared_by_execution_time(page_of_eadr: Path, page: Path) -> None:
    text = page_of_eadr.read_text()
    for words in ("Execution time by transaction size, 1 core</h2>", "Execution time by cores, 64 B transactions</h2>"):
        assert text.count(words) == 1
        assert words not in page.read_text(), "nothing persists in caches there"
    assert text.count("<h3>Execution time</h3>") == 3
    assert text.count("<h2>Throughput by cores") == 1, "1 KiB was run with one core only"
    assert "mJ</td>" in text
    assert "<td>-</td></tr>" in text, "eadr has no shadow cache to recover from"


GUARANTEES = [
    Guarantee(
        "unencrypted", "hardened", secrecy="none", replay="accepted", crash="holds", crash_points=9, why_not=None
    ),
    Guarantee(
        "write-back", "hardened", secrecy="leaks", replay="accepted", crash="breaks", crash_points=9, why_not=None
    ),
    Guarantee("secpm", "hardened", secrecy="holds", replay="accepted", crash="holds", crash_points=9, why_not=None),
]


@pytest.fixture(scope="module")
def page_of_guarantees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [run_of(design=one.design, workload=work) for work in ("array", "btree") for one in GUARANTEES]
    return cp.write_report(cp.frame(runs), tmp_path_factory.mktemp("guarantees"), guarantees=GUARANTEES)


@pytest.mark.browser
def test_the_page_begins_with_its_answer_and_the_table_of_the_screen(
    open_page: OpenPage, page_of_guarantees: Path
) -> None:
    tab = open_page(page_of_guarantees).tab
    runs = [run_of(design=one.design, workload=work) for work in ("array", "btree") for one in GUARANTEES]
    over = overview(frames.compared(runs), GUARANTEES)
    assert tab.locator("main > *").nth(1).inner_text() == of_comparison(frames.compared(runs), over).text
    table = tab.locator("#overview table")
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert rows == [[row.design, *row.cells] for row in over.rows]
    heads = [head.strip() for head in table.locator("th").all_inner_texts()]
    assert heads == ["design", "latency", "lines", "bytes", "lifetime", "secrecy", "replay", "crash"]
    assert " ".join(guarantees.told().split()) in tab.locator("#overview").inner_text()


def test_without_guarantees_the_page_has_costs_alone(page_by_cores: Path, page_of_logs: Path) -> None:
    costs = page_of_logs.read_text()
    assert "What designs cost, hw-log = 1, means over the workloads." in costs and "secrecy" not in costs
    assert 'id="overview"' not in page_by_cores.read_text(), "costs are of one setting"


@pytest.mark.browser
def test_tables_are_sorted_by_their_heads(open_page: OpenPage, page_of_guarantees: Path) -> None:
    opened = open_page(page_of_guarantees)
    for _ in range(2):
        table = opened.tab.locator("#overview table")
        label = opened.tab.locator("#overview .scroll").get_attribute("aria-label") or ""
        cells = opened.sorted_by(label, "latency")
        up = table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
        assert cells == sorted(cells, key=float, reverse=not up) and len(set(cells)) == 3
    assert opened.sorted_by(label, "secrecy") == ["holds", "leaks", "plaintext"]
    shown = opened.sorted_by("Figures, 1 KiB transactions, 1 core", "latency")
    assert shown == sorted(shown, key=lambda cell: float(cell.split()[0]) * units.SCALES.get(cell.split()[1], 1))
    opened.tab.locator("th button").first.focus()
    opened.tab.keyboard.press("Enter")
    assert opened.tab.locator("#overview th").first.get_attribute("aria-sort") == "ascending"


@pytest.mark.browser
def test_marks_tell_their_values(open_page: OpenPage, page_of_guarantees: Path) -> None:
    open_page(page_of_guarantees).marks_are_told()
    open_page(page_of_guarantees, 390).marks_are_told()


@pytest.mark.browser
def test_the_data_of_a_chart_are_downloaded(open_page: OpenPage, page_of_guarantees: Path) -> None:
    opened = open_page(page_of_guarantees)
    name, rows = opened.downloads()
    assert name == "latency.csv"
    frame = cp.frame([run_of(design=one.design, workload="btree") for one in GUARANTEES])
    found = {row["design"]: float(row["relative_latency"]) for row in rows if row["workload"] == "btree"}
    assert found == dict(frame.select("design", "relative_latency").iter_rows())
    assert {row["workload"] for row in rows} == {"array", "btree", "mean"}
    name, rows = opened.downloads(1)
    assert name == "writes.csv" and "relative_counter_writes" in rows[0]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["page_of_guarantees", "page_of_eadr"])
def test_everybody_can_read_the_page(
    open_page: OpenPage, request: pytest.FixtureRequest, name: str, scheme: str
) -> None:
    open_page(request.getfixturevalue(name), 390, scheme).accessible()


@pytest.mark.usefixtures("fake")
def test_a_chart_of_nothing_is_left_out(tmp_path: Path) -> None:
    document = fake_engine.run_document({"design": "easy-pm", "workload": "array"})
    document["nvm"] |= {"reads": 0, "data_reads": 0, "counter_reads": 0}
    document["l1_access_latency_ns"] = None
    text = cp.write_report(cp.frame([Run.from_dict(document)]), tmp_path).read_text()
    assert "<h3>Throughput</h3>" in text
    for words in ("<h3>Read traffic</h3>", "<h3>L1 access latency</h3>"):
        assert words not in text


@pytest.mark.usefixtures("fake")
def test_designs_and_workloads_of_any_number_and_name(tmp_path: Path) -> None:
    frame = cp.frame(cp.replay('odd [name] <b>&"/trace.log', ["secpm"]))
    text = cp.write_report(frame, tmp_path).read_text()
    assert "trace.log" in text
    text = cp.write_report(cp.compare(["unencrypted"], ["a<i>b"]), tmp_path).read_text()
    assert "a<i>b" not in text
    assert "Counter traffic" not in text, "a design without counters has no counter traffic to draw"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "below", Path("/proc/nowhere"), Path("a\0b")):
        with pytest.raises(cp.InputError, match="cannot be written"):
            prepare_folder(folder)
    if os.geteuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        with pytest.raises(cp.InputError, match="locked"):
            prepare_folder(locked)


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390, 760, 761, 1280])
def test_the_page_fits_its_reader(open_page: OpenPage, page: Path, width: int) -> None:
    assert open_page(page, width).drawings() == 6, "one form of each of three charts, for each of two sizes"


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("name", "drawings"), [("page_by_cores", 1 + 2 * 4), ("page_of_logs", 6), ("page_of_eadr", 2 + 1 + 3 * 4)]
)
def test_pages_of_other_designs_fit_their_reader(
    open_page: OpenPage, request: pytest.FixtureRequest, name: str, drawings: int, width: int
) -> None:
    assert open_page(request.getfixturevalue(name), width).drawings() == drawings


@pytest.mark.browser
def test_the_page_is_dark_where_the_reader_prefers_it(open_page: OpenPage, page: Path) -> None:
    label = "getComputedStyle(document.querySelector('.wide svg text[fill=\"#1d2733\"]')).fill"
    assert backgrounds(open_page, page, label) == {
        "light": ["rgb(255, 255, 255)", "rgb(29, 39, 51)"],
        "dark": ["rgb(20, 26, 33)", "rgb(230, 235, 241)"],
    }


@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, page_of_guarantees: Path) -> None:
    images.held(open_page, page_of_guarantees, "comparison")
