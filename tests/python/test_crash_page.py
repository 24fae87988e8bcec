"""The picture of a crash: its handle moves, its panels follow, and it needs no other files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_engine
import pytest
from conftest import Opened, OpenPage, backgrounds
from playwright.sync_api import Browser, Page

import counterpoint as cp
import pictures
from counterpoint.contract.commands import with_commands
from counterpoint.contract.results import Crash
from counterpoint.verbs import api

_FAILS_AT = 142
"""After this event the log line at 0 of write-back on queue must be readable and is not (docs/crash.md)."""
_LOG_LINE = 'tr[data-address="0"] .state'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    verdict = cp.crash("write-back", "queue", transactions=20, shrink=False)
    return cp.write_crash_page(verdict, tmp_path_factory.mktemp("crash") / "deep")


def test_the_page_is_whole_and_small(page: Path) -> None:
    text = page.read_text()
    assert len(text) < 5_000_000
    assert "url(" not in text
    addresses = {part.split('"')[0] for part in text.split("http")[1:]}
    assert addresses == {"://www.w3.org/2000/svg"}, "the name of a format, never fetched"
    assert sorted(file.name for file in page.parent.iterdir()) == ["crash.html", "crash.trace.json"]


def test_page_is_drawn_from_a_saved_document(page: Path, tmp_path: Path) -> None:
    verdict = cp.crash("write-back", "queue", transactions=20, shrink=False)
    saved = json.loads(json.dumps(verdict.to_dict()))
    assert cp.write_crash_page(Crash.from_dict(saved), tmp_path).read_text() == page.read_text()


def test_page_is_of_the_run_that_was_asked_for(tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        "machine": "small",
        "variant": "published",
        "set": ["controller.wpq_entries=16"],
        "transactions": 4,
        "footprint": "16KiB",
        "schedule": 1,
        "leave_out": "mutate-flush",
        "at_event": 500,
        "blame": False,
    }
    verdict = cp.crash("write-back", "btree", **asked)
    assert {name: verdict.request[name] for name in asked} == asked | {"footprint": 16 << 10}
    assert (verdict.request["design"], verdict.request["workload"]) == ("write-back", "btree")
    assert (verdict.request["seed"], verdict.request["tx_size"], verdict.request["warmup"]) == (1, 256, 0)
    drawn: list[Any] = []
    scene = api.scene

    def asked_for(*words: Any, **options: Any) -> dict[str, Any]:
        drawn.append((words, options))
        return scene(*words, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "scene", asked_for)
        cp.write_crash_page(verdict, tmp_path)
    ((words, options),) = drawn
    run = {name: value for name, value in verdict.request.items() if name not in ("design", "workload", "blame")}
    assert words == ("write-back", "btree")
    assert {name: value for name, value in options.items() if name != "progress"} == run


def test_the_trace_has_every_lane_and_its_times_run_forwards(page: Path) -> None:
    events = json.loads(page.with_name("crash.trace.json").read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert list(names.values()) == ["core 0", "caches", "counter cache", "AES", "WPQ", "device", "a crash"]
    for pid, name in names.items():
        kinds = {event["ph"] for event in events if event["pid"] == pid}
        assert kinds & {"i", "X"}, f"nothing happens in {name}"
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")
    verdicts = [event for event in events if names[event["pid"]] == "a crash" and event["ph"] == "X"]
    failed = next(event for event in verdicts if event["args"]["event"] == _FAILS_AT)
    assert failed["name"] == "a rule is broken"
    assert "line" in failed["args"]["rules"]
    assert verdicts[0]["name"] == "recovers"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of attacks on a design without MACs, with MACs alone, and with a tree."""
    shape: dict[str, Any] = {"machine": "small", "tx_size": 128, "footprint": "16KiB", "transactions": 20}
    pages = {}
    for name, design, sets in (
        ("nothing", "secpm", []),
        ("macs", "secpm", ["design.integrity=macs"]),
        ("tree", "secpm-tree", []),
    ):
        verdict = cp.crash(
            design, "btree", attack=["all"], attack_every=8, shrink=False, blame=False, set=sets, **shape
        )
        pages[name] = cp.write_crash_page(verdict, tmp_path_factory.mktemp(name))
    return pages


def _cells(tab: Page, moment: str, attack: str) -> dict[str, str]:
    table = tab.get_by_role("region", name=f"Verdicts: {moment}").get_by_role("table")
    heads = table.locator("thead th").all_inner_texts()
    row = table.locator("tbody tr").filter(has=tab.get_by_role("rowheader", name=attack, exact=True))
    return dict(zip(heads[1:], row.locator("td").all_inner_texts(), strict=True))


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "moment", "attack", "kind", "verdict"),
    [
        ("nothing", "power is off", "changes a bit", "data", "not detected"),
        ("nothing", "the machine runs", "changes a bit", "data", "not detected"),
        ("nothing", "power is off", "puts back the whole memory", "several together", "not detected"),
        ("macs", "power is off", "changes a bit", "data", "detected"),
        ("macs", "power is off", "puts back a line with its MAC", "several together", "detected"),
        ("macs", "power is off", "puts back a line with its MAC and its counter", "several together", "not detected"),
        ("macs", "the machine runs", "puts back the whole memory", "several together", "not detected"),
        ("tree", "power is off", "puts back a line with its MAC and its counter", "several together", "detected"),
        ("tree", "power is off", "changes a bit", "MACs", "denial only"),
        ("tree", "the machine runs", "puts back the whole memory", "several together", "detected"),
        ("tree", "the machine runs", "changes a bit", "data", "detected"),
    ],
)
def test_the_page_says_which_attacks_are_detected(
    open_page: OpenPage, attacked: dict[str, Path], name: str, moment: str, attack: str, kind: str, verdict: str
) -> None:
    assert _cells(open_page(attacked[name]).tab, moment, attack)[kind].startswith(f"{verdict}, ")


@pytest.mark.browser
def test_the_page_says_in_words_what_an_attacker_achieves(open_page: OpenPage, attacked: dict[str, Path]) -> None:
    told = {name: open_page(page, 360).tab.inner_text("#attacks") for name, page in attacked.items()}
    assert "were not detected: the program was given bytes that it had not stored" in told["nothing"]
    assert "with its MAC and its counter block, as it was after event" in told["macs"]
    assert "the program reads the old value, and no check fails" in told["macs"]
    assert "No attack gave the program a wrong byte" in told["tree"]
    assert "Detected before any wrong byte is used" in told["tree"]
    assert "One of 8 distinct durable states was attacked" in told["tree"]


def test_a_page_without_attacks_does_not_speak_of_them(page: Path) -> None:
    assert 'id="attacks"' not in page.read_text()


@pytest.mark.usefixtures("fake")
def test_text_of_the_run_is_no_markup(tmp_path: Path) -> None:
    verdict = cp.crash("write-back", "a<b>c")
    text = cp.write_crash_page(verdict, tmp_path).read_text()
    assert "</script><b>" not in text
    assert "a<b>c" not in text


@pytest.mark.usefixtures("fake")
def test_the_page_opens_at_the_smallest_run_that_fails(tmp_path: Path) -> None:
    document = with_commands(fake_engine.crash_document({"design": "write-back", "workload": "btree"}))

    def opened(**more: Any) -> str:
        verdict = Crash.from_dict(document | more)
        return cp.write_crash_page(verdict, tmp_path).read_text()

    leak, lost = (document["violations"][0] | change for change in ({"rule": "pad_reuse", "crash_event": 90}, {}))
    assert 'data-open="517"' in opened(violations=[lost, leak]), "the first one"
    assert 'data-open="90"' in opened(violations=[leak])
    assert 'data-open="2"' in opened(violations=[]), "the middle of the beginning"
    shape = {"transactions": 1, "tx_size": 64, "footprint": 4096, "cores": 1, "schedule": 0, "nested_event": None}
    found = {"explanation": "", "reproduce": "", "tried": 3, "minimal": True, **shape}
    leaks, loses = ({"rule": "pad_reuse", "crash_event": 17, **found}, {"rule": "line", "crash_event": 31, **found})
    assert 'data-open="31"' in opened(shrunk=[loses, leaks])
    assert 'data-open="17"' in opened(shrunk=[leaks], violations=[leak])


class Explorer(Opened):
    """The page, at an event."""

    def event(self) -> int:
        return int(self.tab.inner_text("#event"))

    def go(self, event: int) -> None:
        self.tab.locator("#range").fill(str(event))
        assert self.event() == event


@pytest.fixture
def opened(browser: Browser, page: Path) -> Iterator[Explorer]:
    shown = Explorer(browser, page, 1280, "light")
    yield shown
    shown.close()


@pytest.mark.browser
def test_the_picture_of_the_pages_shows_this_page(browser: Browser, page: Path) -> None:
    drawn, text = pictures.crash(browser, page)
    assert pictures.text_of(pictures.CRASH.read_bytes()) == text, "`make pictures` draws it"
    assert (pictures.text_of(drawn), pictures.text_of(pictures.with_text(drawn, "ä"))) == (None, "ä")


@pytest.mark.browser
def test_the_page_opens_where_recovery_first_fails_and_says_why(opened: Explorer) -> None:
    tab = opened.tab
    assert opened.event() == _FAILS_AT
    assert tab.inner_text("#verdict-word") == "A rule is broken"
    assert "the log line at 0x0 (undo log of core 0) does not decrypt" in tab.inner_text("#violations details[open]")
    assert tab.inner_text("#reproduce").endswith(f"--transactions 20 --at-event {_FAILS_AT}")
    assert "reads as zero" in tab.inner_text(_LOG_LINE)


@pytest.mark.browser
def test_the_panels_follow_the_keys(opened: Explorer) -> None:
    tab = opened.tab
    tab.focus("#handle")
    tab.keyboard.press("ArrowLeft")
    assert opened.event() == _FAILS_AT - 1
    assert "as flushed" in tab.inner_text(_LOG_LINE)
    assert "newer stores in flight" in tab.inner_text(_LOG_LINE)
    assert tab.get_attribute("#handle", "aria-valuenow") == str(_FAILS_AT - 1)
    tab.keyboard.press("ArrowRight")
    assert "reads as zero" in tab.inner_text(_LOG_LINE)
    tab.keyboard.press("Shift+ArrowRight")
    assert opened.event() == _FAILS_AT + 10
    tab.keyboard.press("Home")
    assert opened.event() == 1
    assert tab.inner_text("#verdict-word") == "Every rule holds"
    assert tab.locator("#violations details").count() == 0
    tab.keyboard.press("ArrowLeft")
    assert opened.event() == 1, "there is nothing before the first event"
    tab.keyboard.press("End")
    assert opened.event() == _FAILS_AT + 100
    assert int(tab.input_value("#range")) == _FAILS_AT + 100


@pytest.mark.browser
def test_the_handle_is_dragged(opened: Explorer) -> None:
    tab = opened.tab
    box = tab.locator("#handle rect").bounding_box()
    lanes = tab.locator("#lanes").bounding_box()
    assert box is not None
    assert lanes is not None
    y = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] / 2, y)
    tab.mouse.down()
    seen = []
    for share in (0.9, 0.5, 0.2):
        tab.mouse.move(lanes["x"] + lanes["width"] * share, y, steps=3)
        seen.append(opened.event())
    tab.mouse.up()
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > _FAILS_AT > seen[1] > seen[2] > 1
    assert tab.inner_text("#verdict-word") == "Every rule holds"
    tab.mouse.move(lanes["x"] + lanes["width"] * 0.8, y)
    assert opened.event() == seen[2], "it was let go"


@pytest.mark.browser
def test_the_buttons_go_from_violation_to_violation_and_to_the_next_persist(opened: Explorer) -> None:
    tab = opened.tab
    opened.go(1)
    assert tab.is_disabled("#previous")
    tab.click("#persist")
    persist = opened.event()
    assert "data persists" in tab.inner_text("#marks")
    assert "1 write drained to the media (1 data, 0 counters)" in tab.inner_text("#boot")
    opened.go(1)
    passed = []
    while tab.is_enabled("#next"):
        tab.click("#next")
        passed.append(opened.event())
        assert "since this event" in tab.inner_text("#violations")
    assert passed[0] >= persist
    assert _FAILS_AT in passed
    tab.click("#previous")
    assert opened.event() == passed[-2]


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 390, 861, 1280])
def test_the_page_fits_its_reader(browser: Browser, page: Path, width: int) -> None:
    shown = Explorer(browser, page, width, "light")
    for event in (1, _FAILS_AT, _FAILS_AT + 80):
        shown.go(event)
        shown.fits()
    shown.close()


@pytest.mark.browser
def test_the_page_is_dark_where_the_reader_prefers_it(open_page: OpenPage, page: Path) -> None:
    assert backgrounds(open_page, page) == {"light": ["rgb(255, 255, 255)"], "dark": ["rgb(20, 26, 33)"]}
