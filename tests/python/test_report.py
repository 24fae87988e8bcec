"""The report: complete, self-contained, and readable on a desktop and on a phone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fake_engine
import pytest
from conftest import OpenPage, backgrounds

import counterpoint as cp
from counterpoint.contract.results import Run
from counterpoint.report import prepare_folder
from counterpoint.verbs.comparison import COMPARE_DESIGNS, COMPARE_WORKLOADS, EASY_PM_WORKLOADS


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
    assert "<script" not in text
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
        for workload in COMPARE_WORKLOADS
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
