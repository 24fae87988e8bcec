"""The picture of a crash: its handle moves, its panels follow, and it needs no other files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_engine
import images
import pytest
from conftest import Cli, Opened, OpenPage, backgrounds
from playwright.sync_api import Browser, Page

import counterpoint as cp
import pictures
from counterpoint.contract.commands import with_commands
from counterpoint.contract.results import Crash
from counterpoint.report import crash_scenes
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

    def opened(**more: Any) -> int:
        verdict = Crash.from_dict(document | more)
        shown = _document(cp.write_crash_page(verdict, tmp_path))
        return int(shown["open"] + shown["designs"][0]["begin"])

    leak, lost = (document["violations"][0] | change for change in ({"rule": "pad_reuse", "crash_event": 90}, {}))
    assert opened(violations=[lost, leak]) == 517, "the first one"
    assert opened(violations=[leak]) == 90
    assert opened(violations=[]) == 2, "data becomes durable"
    shape = {"transactions": 1, "tx_size": 64, "footprint": 4096, "cores": 1, "schedule": 0, "nested_event": None}
    found = {"explanation": "", "reproduce": "", "tried": 3, "minimal": True, **shape}
    leaks, loses = ({"rule": "pad_reuse", "crash_event": 17, **found}, {"rule": "line", "crash_event": 31, **found})
    assert opened(shrunk=[loses, leaks]) == 31
    assert opened(shrunk=[leaks], violations=[leak]) == 17


def _document(page: Path) -> dict[str, Any]:
    """What a page draws."""
    text = page.read_text().partition('id="page">')[2].partition("</script>")[0]
    document: dict[str, Any] = json.loads(text)
    return document


class Explorer(Opened):
    """The page, at an event."""

    def event(self, design: int = 0) -> int:
        return int(self.tab.locator(".where .event").nth(design).inner_text())

    def steps(self, design: int = 0) -> list[str]:
        """The steps of the chosen line: how each stands."""
        items = self.tab.locator(f"#design-{design} .story li").all()
        return [str(item.get_attribute("class")) for item in items]

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
    assert tab.inner_text(".verdict-word") == "A rule is broken"
    assert tab.inner_text("h1") == "On queue, write-back fails after 3,082 of 3,194 power failures"
    tab.locator(".violations summary").first.click()
    assert "the log line at 0x0 (undo log of core 0) does not decrypt" in tab.inner_text(".violations details[open]")
    assert tab.inner_text(".reproduce").endswith(f"--transactions 20 --at-event {_FAILS_AT}")
    assert "reads as zero" in tab.inner_text(_LOG_LINE)


@pytest.mark.browser
def test_the_panels_follow_the_keys(opened: Explorer) -> None:
    tab = opened.tab
    tab.focus("#handle")
    tab.keyboard.press("ArrowLeft")
    assert opened.event() == _FAILS_AT - 1
    assert "as before the run" in tab.inner_text(_LOG_LINE)
    assert "newer stores in flight" in tab.inner_text(_LOG_LINE)
    assert tab.get_attribute("#handle", "aria-valuenow") == str(_FAILS_AT - 1)
    tab.keyboard.press("ArrowRight")
    assert "reads as zero" in tab.inner_text(_LOG_LINE)
    tab.keyboard.press("Shift+ArrowRight")
    assert opened.event() == _FAILS_AT + 10
    tab.keyboard.press("Home")
    assert opened.event() == 1
    assert tab.inner_text(".verdict-word") == "Every rule holds"
    assert tab.locator(".violations details").count() == 0
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
    assert tab.inner_text(".verdict-word") == "Every rule holds"
    tab.mouse.move(lanes["x"] + lanes["width"] * 0.8, y)
    assert opened.event() == seen[2], "it was let go"


@pytest.mark.browser
def test_the_buttons_go_from_violation_to_violation_and_to_the_next_persist(opened: Explorer) -> None:
    tab = opened.tab
    opened.go(1)
    assert tab.is_disabled("#previous")
    tab.click("#persist")
    persist = opened.event()
    assert "data persists" in tab.inner_text(".marks")
    assert "1 write drained to the media (1 of data, 0 of counters)" in tab.inner_text(".boot")
    opened.go(1)
    passed = []
    while tab.is_enabled("#next"):
        tab.click("#next")
        passed.append(opened.event())
        assert "since this event" in tab.inner_text(".violations")
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


@pytest.fixture(scope="module")
def holds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cp.write_crash_page(cp.crash("secpm", "queue", transactions=20), tmp_path_factory.mktemp("holds"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    verdict = cp.crash("write-back", "queue", transactions=20, shrink=False)
    other = cp.crash("secpm", "queue", transactions=20)
    return cp.write_crash_page(verdict, tmp_path_factory.mktemp("pair"), beside=other)


@pytest.mark.browser
def test_the_explanation_is_five_steps_that_light_up_in_the_lanes(opened: Explorer) -> None:
    tab = opened.tab
    names = ["Stored", "Flushed", "Encrypted", "Durable", "Relied on"]
    assert tab.locator(".story b").all_inner_texts() == names
    places = [int(str(badge.get_attribute("data-event"))) for badge in tab.locator(".badge").all()]
    assert places == [59, 108, 112, 113, _FAILS_AT], "as the auditors' explanation says"
    assert opened.steps() == ["done"] * 5
    end = tab.inner_text(".end")
    assert "A boot reads the line as zero. It was encrypted with counter 0.1, and the durable counter is 0.0" in end
    assert end.endswith("The program relies on what it stored there: a rule is broken.")
    tab.locator(".story button").nth(2).click()
    assert opened.event() == 112
    assert opened.steps() == ["done"] * 3 + ["ahead"] * 2
    assert tab.locator(".badge.done").count() == 3
    assert tab.inner_text(".end") == "Power fails now. A boot finds the line as before the run."
    tab.locator(".story button").nth(3).focus()
    assert tab.get_attribute(".badge.lit", "data-step") == "4"
    opened.go(1)
    assert opened.steps() == ["ahead"] * 5


@pytest.mark.browser
def test_a_line_is_chosen_by_keys_and_a_violation_brings_its_own(opened: Explorer) -> None:
    tab = opened.tab
    tab.locator('tr[data-address="256"] button').focus()
    tab.keyboard.press("Enter")
    assert tab.inner_text(".story-title").startswith("The line at 0x100 in five steps")
    assert tab.locator("tr.chosen").get_attribute("data-address") == "256"
    assert tab.evaluate("document.activeElement.textContent") == "0x100", "the focus stays where it was"
    tab.click("#next")
    violation = tab.locator(".violations summary", has_text="since this event").first.inner_text()
    assert tab.inner_text(".story-title").split()[3] in violation


@pytest.mark.browser
def test_nothing_is_as_flushed_before_anything_is_flushed(opened: Explorer, holds: Path, open_page: OpenPage) -> None:
    flushed = _FAILS_AT
    for event in (1, 60, flushed - 1):
        opened.go(event)
        assert "flushed" not in opened.tab.inner_text(".table")
        assert "flushed" not in opened.tab.inner_text(".tally")
    opened.go(flushed)
    assert "3 as flushed" in opened.tab.inner_text(".tally")
    tab = open_page(holds).tab
    tab.locator("#range").fill("1")
    assert "flushed" not in tab.inner_text(".table")


@pytest.mark.browser
def test_the_address_names_the_event_and_the_line(opened: Explorer, page: Path) -> None:
    tab = opened.tab
    tab.goto(page.as_uri() + "#event=113")
    assert opened.event() == 113
    opened.go(120)
    assert tab.evaluate("location.hash").startswith("#event=120&line=0x")
    tab.evaluate("location.hash = 'event=130&line=0x140'")
    tab.wait_for_function("document.querySelector('.where .event').textContent === '130'")
    assert tab.inner_text(".story-title").startswith("The line at 0x140")
    for wrong in ("event=x", "event=99999&line=0x7", "event=-1", "<b>"):
        tab.evaluate(f"location.hash = {json.dumps(wrong)}")
        assert 1 <= opened.event() <= _FAILS_AT + 100


@pytest.mark.browser
def test_the_axis_has_ticks_with_units(opened: Explorer, page: Path) -> None:
    texts = opened.tab.locator("#lanes .unit").all_text_contents()
    assert {"event", "time in ns", "12 entries"} <= set(texts)
    scene = _document(page)["designs"][0]["scene"]
    for event in (1, 20, 100, 240):
        at = texts.index(f"{event}", texts.index("time in ns"))
        assert texts[at + 1] == f"{round(scene['ns'][event - 1]):,}"


@pytest.mark.browser
def test_every_mark_says_what_it_is(opened: Explorer, page: Path) -> None:
    tab = opened.tab
    lanes = tab.locator("#lanes").bounding_box()
    assert lanes is not None
    marks = tab.locator("#lanes rect.mark").all()
    assert len(marks) == len(_document(page)["designs"][0]["scene"]["marks"])
    for mark in marks:
        box = mark.bounding_box()
        assert box is not None
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert tab.locator("#tip").inner_text().startswith("event ")
        opened.fits()
    tab.mouse.move(lanes["x"] + lanes["width"] / 2, lanes["y"] + lanes["height"] - 5)
    assert tab.locator("#tip").is_hidden()
    first = tab.locator("#lanes rect.mark").first.bounding_box()
    assert first is not None
    tab.mouse.move(first["x"] + 1, first["y"] + 3)
    assert tab.locator("#tip").inner_text().split("\n") == [
        "event 1, 0 ns, core 0",
        "transaction begins: transaction 0",
    ]


@pytest.mark.browser
def test_a_run_that_holds_opens_where_the_boot_has_something_to_do(open_page: OpenPage, holds: Path) -> None:
    tab = open_page(holds).tab
    assert tab.inner_text("h1") == "On queue, secpm recovers from all 3,287 power failures"
    assert "1 log entry undone" in tab.inner_text(".boot")
    tab.keyboard.press("Tab")
    tab.locator("#handle").focus()
    tab.keyboard.press("ArrowLeft")
    assert "nothing to undo" in tab.inner_text(".boot"), "it is the first such event"


def test_a_long_transaction_opens_beyond_its_first_reads(tmp_path: Path) -> None:
    drawn = _document(cp.write_crash_page(cp.crash("eadr", "queue", transactions=2), tmp_path))
    (design,) = drawn["designs"]
    assert design["begin"] > 500
    point = next(one for one in design["scene"]["points"] if one["n"] == design["begin"] + drawn["open"])
    assert any("lines" in step for step in design["scene"]["boots"][point["boot"]])


@pytest.mark.browser
def test_two_designs_stand_under_one_handle(browser: Browser, pair: Path) -> None:
    shown = Explorer(browser, pair, 1280, "light")
    tab = shown.tab
    assert tab.inner_text("h1") == (
        "On queue, write-back fails after 3,082 of 3,194 power failures; secpm recovers from all 3,287 power failures"
    )
    words = [tab.inner_text(f"#design-{design} .verdict-word") for design in (0, 1)]
    assert words == ["A rule is broken", "Every rule holds"]
    assert [shown.event(design) for design in (0, 1)] == [_FAILS_AT, _FAILS_AT], "the fence completes in both"
    assert shown.steps(0) == shown.steps(1) == ["done"] * 5
    assert "0.0, which means never written" in tab.inner_text("#design-0 .end")
    assert tab.inner_text("#design-1 .end") == "Power fails now. A boot finds the line as flushed."
    assert tab.locator("#handle").count() == 1
    pills = tab.locator("#handle text").all_text_contents()
    assert pills == [str(_FAILS_AT), str(_FAILS_AT)]
    tab.focus("#handle")
    tab.keyboard.press("Home")
    assert [shown.event(design) for design in (0, 1)] == [1, 1]
    tab.goto(pair.as_uri() + "#event=214")
    assert shown.event(0) == 214
    assert "fence complete" in tab.inner_text("#design-0 .marks")
    assert "fence complete" in tab.inner_text("#design-1 .marks"), "the same step of the program"
    assert shown.event(1) > 214, "for which secpm needs more events"
    shown.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 861])
def test_two_designs_fit_their_reader_and_paper(open_page: OpenPage, pair: Path, width: int) -> None:
    shown = open_page(pair, width)
    shown.fits()
    shown.tab.emulate_media(media="print")
    shown.fits()
    assert shown.tab.locator("#range").is_hidden()
    lanes = shown.tab.locator("#lanes").bounding_box()
    assert lanes is not None
    assert lanes["x"] + lanes["width"] <= width


@pytest.mark.parametrize(("design", "other"), [("write-back", "secpm"), ("secpm", "hw-log"), ("write-back", "bbe")])
def test_the_common_axis_puts_equal_steps_of_the_program_in_one_column(design: str, other: str) -> None:
    options: dict[str, Any] = {"transactions": 4, "at_event": None, "footprint": "64KiB", "machine": "secpm"}
    ours, theirs = (api.scene(name, "queue", tx_size=256, warmup=0, **options) for name in (design, other))
    steps = crash_scenes.common_steps(ours, theirs)
    (begin, columns), (other_begin, other_columns) = crash_scenes.common_axis(ours, theirs)
    assert len(steps) > 10
    for here, there in steps:
        assert columns[here - begin] == other_columns[there - other_begin]
    for of in (columns, other_columns):
        assert of == sorted(set(of)), "each event has a column of its own, in their order"
    assert set(range(max(columns) + 1)) == set(columns) | set(other_columns), "no column is empty"


def test_the_other_design_leads_where_only_it_fails(tmp_path: Path) -> None:
    shape: dict[str, Any] = {"transactions": 4, "tx_size": 64, "footprint": "16KiB", "machine": "small"}
    fails = cp.crash("write-back", "queue", shrink=False, **shape)
    stands = cp.crash("secpm", "queue", **shape)
    drawn = _document(cp.write_crash_page(stands, tmp_path, beside=fails))
    assert [design["name"] for design in drawn["designs"]] == ["secpm", "write-back"]
    begin, columns = drawn["designs"][1]["begin"], drawn["designs"][1]["columns"]
    assert columns[fails.violations[0].crash_event - begin] == drawn["open"]


def test_a_verdict_on_another_program_is_not_shown_beside(tmp_path: Path) -> None:
    verdict, other = (cp.crash("secpm", "queue", transactions=count, machine="small") for count in (1, 2))
    with pytest.raises(cp.InputError, match="its transactions is 2, and not 1"):
        cp.write_crash_page(verdict, tmp_path, beside=other)


def test_the_command_shows_a_design_beside_and_refuses_what_it_cannot(cli: Cli, tmp_path: Path) -> None:
    run = ("crash", "secpm", "linked-list", "--machine", "small", "--transactions", "4", "--fault", "staging-register")
    found = cli(*run, "--beside", "secpm", "--out", str(tmp_path))
    assert found.code == 1, "the exit code is that of the design, not of the one beside"
    names = [design["name"] for design in _document(tmp_path / "crash.html")["designs"]]
    assert names == ["secpm without staging-register", "secpm"]
    beside = json.loads((tmp_path / "beside.json").read_text())
    assert (beside["holds"], beside["fault"]) == (True, None)
    trace = json.loads((tmp_path / "crash.trace.json").read_text())["traceEvents"]
    processes = [event["args"]["name"] for event in trace if event["name"] == "process_name"]
    assert "secpm: WPQ" in processes
    assert "secpm without staging-register: WPQ" in processes
    for words, sentence in (
        (("crash", "secpm", "queue", "--beside", "sca"), "needs a folder, --out"),
        (("crash", "secpm", "queue", "--beside", "secpm", "--out", str(tmp_path)), "is the design itself"),
        (("crash", "secpm", "queue", "--beside", "ideal", "--out", str(tmp_path)), "nothing that a crash could test"),
        (("crash", "secpm", "queue", "--beside", "wat", "--out", str(tmp_path)), "design 'wat' does not exist"),
    ):
        assert sentence in cli(*words).refusal


def _bytes(tab: Page, design: int = 0) -> dict[str, bytes]:
    """The rows of bytes of the chosen line, in their order; those of the boot begin with "boot"."""
    body = tab.locator(f"#design-{design} .bytes-body")
    script = "it => [...it.children].map(row => [row.tagName, row.firstChild.firstChild?.data ?? row.textContent, "
    script += "row.querySelector('code')?.textContent])"
    found, group = {}, ""
    for kind, name, dump in body.evaluate(script):
        if kind == "P":
            group = "boot: " if "power failure" in name else ""
        else:
            found[group + name] = bytes.fromhex(dump)
    return found


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(left ^ right for left, right in zip(one, other, strict=True))


@pytest.mark.browser
def test_plaintext_pad_and_ciphertext_of_the_line_are_shown(browser: Browser, pair: Path) -> None:
    shown = Explorer(browser, pair, 1280, "light")
    tab = shown.tab
    lost, kept = _bytes(tab, 0), _bytes(tab, 1)
    written = ["plaintext", "⊕ pad of counter 0.1", "= ciphertext"]
    assert list(lost) == [*written, "boot: durable ciphertext", "boot: a boot finds"]
    assert list(kept) == [*written, "boot: durable ciphertext", "boot: ⊕ pad of counter 0.1", "boot: = a boot finds"]
    for rows in (lost, kept):
        assert {len(row) for row in rows.values()} == {64}
        assert _xor(rows[written[0]], rows[written[1]]) == rows[written[2]] == rows["boot: durable ciphertext"]
        assert len(set(rows[written[1]])) > 20, "a pad looks random"
    assert lost["plaintext"] == kept["plaintext"] != bytes(64), "it is the same program"
    assert lost["boot: a boot finds"] == bytes(64), "its counter says never written"
    assert kept["boot: = a boot finds"] == kept["plaintext"]
    assert "are not those written" in tab.inner_text("#design-0 .bytes")
    assert tab.locator("#design-0 .bytes .other").count() == sum(byte != 0 for byte in lost["plaintext"])
    assert "the bytes that were written" in tab.inner_text("#design-1 .bytes")
    tab.goto(pair.as_uri() + "#event=111&line=0x0")
    assert list(_bytes(tab)) == ["plaintext", "boot: a boot finds"], "nothing is durable before event 113"
    shown.close()


@pytest.mark.browser
def test_memory_that_holds_plaintext_has_no_pads(open_page: OpenPage, tmp_path: Path) -> None:
    tab = open_page(cp.write_crash_page(cp.crash("unencrypted", "queue", transactions=4), tmp_path)).tab
    assert list(_bytes(tab)) == ["written", "boot: a boot finds"]
    assert "not at all: memory holds plaintext" in tab.inner_text(".story")


@pytest.mark.browser
def test_the_stored_image_shows_this_page(open_page: OpenPage, page: Path) -> None:
    images.held(open_page, page, "crash")


@pytest.mark.browser
def test_the_stored_image_shows_two_designs(open_page: OpenPage, pair: Path) -> None:
    images.held(open_page, pair, "crash-beside")
