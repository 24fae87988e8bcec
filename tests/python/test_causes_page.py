"""`crash.html` of the legal states of a recorded program: causes with their source lines, in a browser too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import images
import pytest
from conftest import Cli, OpenPage

import counterpoint as cp
import pictures
from counterpoint.contract.results import Cause, Crash, KeptLine, LostLine, Place
from counterpoint.report import causes_page
from counterpoint.report.causes_page import Mark

_SOURCE = """\
void append(struct log *log, uint64_t value) {
    record->value = value;
    flush(record);
    if (1 < 2) {
    }
    log->count++;
    flush(&log->count);



    fence();
}
"""
_TRACE = """\
==7== pmemcheck-1.0, a simple persistent store checker
==7== START|REGISTER_FILE;pool;0x1000;0x1000;0x0|STORE;0x1040;0x61;0x8|FLUSH;0x1040;0x8|STORE;0x1080;0x62;0x8|FENCE
==7== |STOP
"""


def place(file: Path, line: int) -> Place:
    return Place(f"{file}:{line}", f"{file}:{line}", "append", None)


def cause(file: Path) -> Cause:
    """The store in line 2 is flushed in line 3, and no fence comes before the store in line 6."""
    lost = LostLine("pool", 0x40, 0, place(file, 2), None, "missing-fence", place(file, 3), None, place(file, 6))
    kept = (KeptLine("pool", 0, place(file, 6)), KeptLine("pool", 0x80, place(file, 2)))
    return Cause("failed", "missing-fence", 3, 17, place(file, 11), None, None, (lost,), 1, kept, 2, "It is <lost>.")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "log.c"
    file.write_text(_SOURCE)
    return file


@pytest.fixture
def verdict(tmp_path: Path) -> Crash:
    """A verdict of which causes can be replaced."""
    trace = tmp_path / "program.log"
    trace.write_text(_TRACE)
    return cp.crash("unencrypted", trace, explore="legal", recover="! grep -q b {pool} || grep -q a {pool}")


def test_a_listing_says_what_happened_at_each_line(source: Path) -> None:
    (one,) = causes_page.listings(cause(source))
    assert (one.name, one.places) == (str(source), ())
    assert [line.number for line in one.lines] == list(range(1, 13)), "three lines between are no gap"
    assert [line.text for line in one.lines] == _SOURCE.splitlines()
    assert {line.number: line.marks for line in one.lines if line.marks} == {
        2: (Mark("lost", "stored here, and lost"), Mark("kept", "stored here, and kept")),
        3: (Mark("flushed", "flushed here"),),
        6: (Mark("kept", "a fence is needed before this store, which is kept"),),
        11: (Mark("power", "power fails just before this"),),
    }


def test_the_call_of_what_stores_is_shown(source: Path) -> None:
    told = cause(source)
    called = replace(told, lost=(replace(told.lost[0], called_at=f"{source}:10"),))
    (one,) = causes_page.listings(called)
    marks = {line.number: line.marks for line in one.lines}
    assert marks[10] == (Mark("lost", "the function that stores it is called here"),)


def test_lines_that_bear_on_nothing_are_left_out(source: Path) -> None:
    source.write_text("\n".join(f"line {number}" for number in range(1, 41)))
    far = replace(cause(source), before=place(source, 30), kept=())
    (one,) = causes_page.listings(far)
    assert [line.number for line in one.lines] == [*range(1, 9), None, *range(28, 33)]


@pytest.mark.parametrize("content", [None, "void append() {\n", "\n" * (causes_page._SOURCE_MAX + 1)])
def test_a_source_file_that_is_gone_or_another_one_leaves_the_places(content: str | None, source: Path) -> None:
    source.unlink() if content is None else source.write_text(content)
    (one,) = causes_page.listings(cause(source))
    assert one.lines == ()
    assert one.places[0] == (f"{source}:2", Mark("lost", "stored here, and lost"))
    assert len(one.places) == 5


def test_places_without_a_source_line_are_named() -> None:
    unknown = Place("log+0x1234", None, None, "log")
    lost = LostLine("pool", 0x40, 0, unknown, None, "missing-flush", None, None, unknown)
    told = Cause("failed", "missing-flush", 1, 5, None, None, None, (lost, lost), 2, (), 0, "")
    (one,) = causes_page.listings(told)
    assert one.name == ""
    assert one.places == (
        ("log+0x1234", Mark("lost", "stored here, and lost")),
        ("log+0x1234", Mark("kept", "a flush is needed before this store, which is kept")),
    )


def test_a_stretch_in_which_nothing_is_lost_has_its_first_and_its_last_store(source: Path) -> None:
    told = replace(
        cause(source), kind="not-atomic", begins_at=place(source, 2), ends_at=place(source, 6), lost=(), lost_lines=0
    )
    (one,) = causes_page.listings(told)
    assert {line.number: line.marks for line in one.lines if line.marks} == {
        2: (Mark("lost", "fails from here on, with nothing lost"),),
        6: (Mark("kept", "this store mends it"),),
        11: (Mark("power", "power fails just before this"),),
    }


@pytest.mark.engine
def test_the_command_writes_the_page(cli: Cli, tmp_path: Path) -> None:
    trace, out = tmp_path / "program.log", tmp_path / "out"
    trace.write_text(_TRACE)
    command = ("crash", "unencrypted", str(trace), "--explore", "legal", "--out", str(out), "--recover")
    found = cli(*command, "! grep -q b {pool} || grep -q a {pool}")
    assert found.code == 1
    assert f"page: {out / 'crash.html'}" in found.err and "Perfetto" not in found.err
    page = (out / "crash.html").read_text()
    assert "A flush is not completed in time" in page and "missing-fence, 1 memory" in page
    assert "<code>unknown</code>" in page and "--at-event 5" in page
    holds = cli(*command, "true {pool}")
    assert (holds.code, "No memory that was tried fails." in (out / "crash.html").read_text()) == (0, True)


@pytest.mark.engine
def test_causes_are_limited_and_escaped(verdict: Crash, source: Path) -> None:
    many = replace(verdict, causes=(cause(source),) * (causes_page.SHOWN + 1))
    page = causes_page.render(many)
    assert page.count('<section class="cause">') == causes_page.SHOWN
    assert "The first 50 of 51 causes; crash.json has all." in page
    assert "It is &lt;lost&gt;." in page and "if (1 &lt; 2) {" in page


@pytest.mark.engine
@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_its_reader(
    open_page: OpenPage, verdict: Crash, source: Path, tmp_path: Path, width: int
) -> None:
    tab = open_page(cp.write_crash_page(replace(verdict, causes=(cause(source),)), tmp_path), width).tab
    assert tab.locator("li.lost .text").inner_text().strip() == "record->value = value;"
    assert tab.locator("li.lost .mark.lost").inner_text() == "stored here, and lost"


@pytest.mark.engine
@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_begins_with_the_cause_of_most_memories(
    open_page: OpenPage, verdict: Crash, source: Path, tmp_path: Path, scheme: str
) -> None:
    one = cause(source)
    far = replace(one.lost[0], file="other", offset=0x1000)
    many = replace(verdict, causes=(replace(one, count=1), replace(one, lost=(one.lost[0], far))))
    opened = open_page(cp.write_crash_page(many, tmp_path), 390, scheme)
    assert opened.tab.locator("main > *").nth(1).inner_text() == (
        "3 memories that a crash may leave fail, because a flush is not completed in time (log.c:2). "
        "It is one of 2 causes."
    )
    assert opened.sorted_by("Lines that are lost, cause 2", "line that is lost") == ["other", "pool"]
    opened.accessible()


@pytest.mark.engine
@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, verdict: Crash, source: Path, tmp_path: Path) -> None:
    page = cp.write_crash_page(replace(verdict, causes=(cause(source),)), tmp_path)
    page.write_text(page.read_text().replace(str(tmp_path), pictures.SHOWN_FOLDER))
    images.held(open_page, page, "causes")
