"""The playground: the engine in a page computes what the engine of this computer does."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import playground
from counterpoint import _engine

_NODE = shutil.which("node")
_LACKS = playground.why_not()
built = pytest.mark.skipif(_LACKS is not None, reason=_LACKS or "")
_CALL = Path(__file__).parents[1] / "site/call.mjs"
_PROGRAM = "store A; clwb A; store B; clwb B; sfence"
_TYPED = 'base = "secpm"\nname = "mine"\ncounter_coalescing = "off"\n'


def _in_node(calls: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """What the engine of the playground answers to each call."""
    assert _NODE is not None
    words = [_NODE, str(_CALL), str(playground.ENGINE)]
    done = subprocess.run(words, input=json.dumps(calls), capture_output=True, text=True, check=True)
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


def _on(design: str, workload: str, **more: Any) -> dict[str, Any]:
    return {"design": design, "workload": workload, "machine": "small", "transactions": 5, **more}


def _without_times(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what depends on the computer."""
    return {key: value for key, value in report.items() if key != "host"}


@built
@pytest.mark.skipif(_NODE is None, reason="Node is not installed")
def test_runs_have_the_same_digests_and_crashes_the_same_verdicts_as_on_this_computer() -> None:
    designs = ("secpm", "write-back", "xts-tree", "sca", "easy-pm", "sepencr", "horus", "dolos", _TYPED)
    asked = [_on(design, workload) for design in designs for workload in ("queue", "btree")]
    runs = [{**one, "warmup": 1, "footprint": 65536} for one in asked]
    crashes = [{**one, "shrink": False, "blame": False, "footprint": 16384} for one in asked]
    crashes += [_on(design, _PROGRAM, transactions=None) for design in designs]
    answers = _in_node([("run", one) for one in runs] + [("crash", one) for one in crashes])
    assert [answer for answer in answers if "error" in answer] == []
    native = json.loads(_engine.run_many(json.dumps({"runs": runs})))["results"]
    theirs = [answer["answer"]["results"][0] for answer in answers[: len(runs)]]
    assert [run["event_digest"] for run in theirs] == [run["event_digest"] for run in native]
    assert [_without_times(run) for run in theirs] == [_without_times(run) for run in native]
    for one, answer in zip(crashes, answers[len(runs) :], strict=True):
        assert _without_times(answer["answer"]) == _without_times(json.loads(_engine.crash(json.dumps(one)))), one


@built
@pytest.mark.skipif(_NODE is None, reason="Node is not installed")
def test_what_needs_a_computer_is_refused_in_a_sentence() -> None:
    calls = [
        ("crash", _on("secpm", "queue", time_budget=5)),
        ("crash", _on("secpm", "trace.cpt")),
        ("crash", _on("mine.toml", "queue")),
        ("crash", _on("secpm", "store A; fly A")),
        ("run", _on("secpm", "queue", timeline="x.json")),
    ]
    budget, trace, file, program, timeline = (answer["error"] for answer in _in_node(calls))
    assert budget == "time_budget: 5 s cannot be measured, because this engine has no clock"
    assert trace.startswith("workload 'trace.cpt' does not exist and is not a trace file")
    assert file.startswith("design file 'mine.toml' cannot be read: ")
    assert "fly" in program
    assert timeline.endswith("cannot be written: this engine writes no files")


@built
def test_the_engine_is_small() -> None:
    assert playground.ENGINE.stat().st_size < 3_000_000
    assert len(playground.page()) < 300_000 - 20_000, "beside the scripts"


def test_designs_are_grouped_and_none_is_missing() -> None:
    grouped = [design["name"] for _, designs in playground.families() for design in designs]
    there = json.loads(_engine.describe())["designs"]
    assert sorted(grouped) == sorted(design["name"] for design in there if design["crash_consistent"])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page."""
    folder = tmp_path_factory.mktemp("site")
    playground.write(folder / "playground")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/playground/index.html"
    server.shutdown()


@pytest.fixture
def tab(browser: Browser, address: str) -> Iterator[Page]:
    """A tab that asks for nothing but the page and the engine, and complains of nothing."""
    tab = browser.new_page()
    tab.set_default_timeout(120_000)
    wrong: list[str] = []
    origin = address.rpartition("/playground/")[0]
    tab.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith((origin, "data:")) else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    yield tab
    assert wrong == []
    tab.close()


def _verdict(tab: Page) -> str:
    heading = tab.locator("#verdict")
    heading.wait_for()
    return heading.inner_text()


@built
@pytest.mark.browser
def test_a_program_is_crashed_its_crash_is_dragged_and_its_address_shows_it_again(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.get_by_label("Program").fill(_PROGRAM)
    tab.get_by_role("button", name="Crash it").click()
    native = json.loads(
        _engine.crash(json.dumps({**_on("write-back", _PROGRAM), "transactions": None, "blame": False}))
    )
    failed = native["crash_points"] - native["recovered"]
    assert _verdict(tab) == f"write-back fails after {failed} of {native['crash_points']} power failures"
    expect(tab.locator("#coverage")).to_have_text(native["coverage"])
    first = native["violations"][0]["crash_event"]
    handle = tab.get_by_role("slider").first
    expect(handle).to_have_attribute("aria-valuenow", str(first))
    handle.focus()
    tab.keyboard.press("ArrowRight")
    expect(handle).to_have_attribute("aria-valuenow", str(first + 1))
    assert f"event={first + 1}" in tab.url
    command = tab.locator(".reproduce").inner_text()
    assert command.startswith(f"counterpoint crash write-back '{_PROGRAM}' --variant hardened --")
    assert command.endswith(f"--at-event {first + 1}")
    shared = tab.url
    tab.goto("about:blank")
    tab.goto(shared)
    assert _verdict(tab).startswith("write-back fails")
    expect(tab.get_by_role("slider").first).to_have_attribute("aria-valuenow", str(first + 1))
    expect(tab.get_by_label("Program")).to_have_value(_PROGRAM)


@built
@pytest.mark.browser
def test_a_design_that_is_typed_runs_and_mistakes_are_told_in_the_engines_words(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.get_by_label("Design", exact=True).select_option("secpm")
    tab.get_by_label("Design", exact=True).select_option("")
    file = tab.get_by_label("Design file")
    expect(file).to_have_value('base = "secpm"\n')
    file.fill(_TYPED)
    tab.get_by_role("button", name="Crash it").click()
    assert _verdict(tab).startswith("mine ")
    file.fill('base = "secpm"\nwrite_pat = 1\n')
    tab.get_by_role("button", name="Crash it").click()
    expect(tab.get_by_role("alert")).to_contain_text("typed.toml:2: ")
    assert tab.locator("#result").is_hidden()


@built
@pytest.mark.browser
def test_a_long_run_can_be_cancelled(tab: Page, address: str) -> None:
    tab.goto(address)
    tab.get_by_label("Program").fill("btree")
    tab.get_by_label("Transactions of a workload").fill("200")
    tab.get_by_role("button", name="Crash it").click()
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.get_by_role("status")).to_have_text("Cancelled.")
    tab.get_by_label("Program").fill("store A")
    tab.get_by_role("button", name="Crash it").click()
    assert "power failure" in _verdict(tab)
