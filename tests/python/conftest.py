"""Fixtures that several files share."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import fake_engine
import hypothesis
import pytest
import vl_convert
from playwright.sync_api import Browser, Page, sync_playwright

import chromium
import samples
from counterpoint import _engine
from counterpoint.cli import main
from counterpoint.runs.executor import worker

hypothesis.settings.register_profile("counterpoint", deadline=None)
hypothesis.settings.load_profile("counterpoint")  # no test fails because a computer is busy

_AXE = Path(__file__).parents[2] / "target/axe/node_modules/axe-core/axe.min.js"
_VIOLATIONS = """async () => (await axe.run({resultTypes: ["violations"]})).violations
    .map(({id, nodes}) => `${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 200)}`)"""

_LONGEST_FIRST = (
    "test_tutorial.py",
    "test_papers.py",
    "test_calibrate.py",
    "test_streams.py",
    "test_report.py",
    "test_litmus.py",
    "test_campaign.py",
    "test_sweep_cluster.py",
    "test_interruption.py",
    "test_store.py",
    "test_reproduction_page.py",
    "test_pages.py",
    "test_crash_page.py",
    "test_sweep.py",
    "test_one_machine.py",
    "test_border.py",
    "test_explain.py",
    "test_gem5.py",
)
"""Files that take long. They begin first, so that no processor waits for the last of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Orders the files of tests; the tests of a file keep their order."""
    ranks = {name: rank for rank, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(ranks)))


@pytest.fixture(scope="session", autouse=True)
def listens() -> Iterator[None]:
    """Makes Ctrl-C work in this process and those it starts, even if a shell started the tests in the background."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes the engine answer at once; the returned object changes it further."""
    answer_at_once(monkeypatch)
    return monkeypatch


def answer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts what answers at once in the place of the engine."""
    for name in ("resolve", "run_many", "replay", "crash", "scene"):
        monkeypatch.setattr(_engine, name, getattr(fake_engine, name))
    monkeypatch.setattr(worker, "_session", fake_engine.Session)


def altered(patch: pytest.MonkeyPatch, call: str, change: Callable[[Any], object]) -> None:
    """Changes what the engine answers to a call."""
    real = getattr(_engine, call)

    def answer(*given: Any) -> str:
        document = json.loads(real(*given))
        change(document)
        return json.dumps(document)

    patch.setattr(_engine, call, answer)


def asked_of(patch: pytest.MonkeyPatch, call: str) -> list[Any]:
    """What the engine is asked from now on by this call; it answers as before."""
    real, seen = getattr(_engine, call), []

    def answer(request: str, *more: Any) -> Any:
        seen.append(json.loads(request))
        return real(request, *more)

    patch.setattr(_engine, call, answer)
    return seen


def interrupted(patch: pytest.MonkeyPatch, *calls: str) -> None:
    """Ends calls of the engine as Ctrl-C does before anything is finished."""

    def stop(*_: object) -> str:
        raise _engine.Interrupted(None)

    for call in calls:
        patch.setattr(_engine, call, stop)


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """Draws nothing, for pages whose charts no test looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", lambda *_, **__: '<svg width="1" height="1"></svg>')
        yield


@dataclass(frozen=True)
class Outcome:
    """The result of a command: exit code and output."""

    code: int
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The sentence of a command that refuses its input, and does and says nothing else."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.startswith("error: ") and self.err.count("\n") == 1, self
        return self.err.removeprefix("error: ")


def program(*words: str, cwd: Path | None = None) -> Outcome:
    """Runs the command line in a process of its own."""
    call = [sys.executable, "-m", "counterpoint", *words]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=cwd)
    return Outcome(done.returncode, done.stdout, done.stderr)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs the command line in this process."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr("sys.argv", ["counterpoint", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        code = stop.value.code
        assert isinstance(code, int)
        return Outcome(code, captured.out, captured.err)

    return run


def rules_again(cli: Cli, command: str) -> set[str]:
    """The rules that a printed command breaks."""
    name, *words = shlex.split(command)
    assert name == "counterpoint"
    outcome = cli(*words, "--json")
    assert outcome.code == 1, (command, outcome.err)
    return {violation["rule"] for violation in json.loads(outcome.out)["violations"]}


@pytest.fixture
def furnished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with small files of each kind that commands take."""
    monkeypatch.chdir(tmp_path)
    furnish(tmp_path)
    return tmp_path


def furnish(folder: Path) -> None:
    """Writes small files of each kind that commands take."""
    (folder / "trace.log").write_bytes(samples.PMEMCHECK)
    (folder / "lines.nvmain").write_text("10 R 0x1040 0 0\n12 W 0x2040 0 0\n")
    (folder / "goals.toml").write_text('[space]\ndesigns = ["secpm"]\n[objectives]\nnvm_writes = "minimise"\n')
    (folder / "sweep.toml").write_text(SWEEP)


SWEEP = '[base]\ndesign = "secpm"\nworkload = "btree"\nmachine = "small"\ntransactions = 2\n[axes]\nseed = [1]\n'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium.PATH is None:
        pytest.fail("no chromium on this computer; `make chromium` installs it")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.FLAGS)
        yield started
        started.close()


class Opened:
    """A page in a browser. It must fit its width, complain of nothing, and ask for nothing but itself."""

    def __init__(self, browser: Browser, page: Path, width: int, scheme: Literal["dark", "light"]) -> None:
        self.tab: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self._page, self._requested, self._complaints = page, list[str](), list[str]()
        self.tab.on("request", lambda asked: self._requested.append(asked.url))
        self.tab.on("console", lambda message: self._complaints.append(message.text))
        self.tab.on("pageerror", lambda error: self._complaints.append(str(error)))
        self.tab.goto(page.as_uri())
        self.fits()

    def fits(self) -> None:
        """Nothing sticks out at the side."""
        assert self.tab.evaluate("document.documentElement.scrollWidth - window.innerWidth") == 0

    def drawings(self) -> int:
        """The charts that are shown, none of which is too small to be read."""
        shown = self.tab.locator("figure svg:visible")
        for one in shown.all():
            box = one.bounding_box()
            assert box is not None
            assert box["width"] >= 0.7 * float(one.get_attribute("width") or 0)
            assert box["width"] > 200
            assert box["height"] > 80
        return shown.count()

    def accessible(self) -> None:
        """Nothing in it keeps readers out, as axe-core sees it, whatever the colours."""
        if not _AXE.exists():
            pytest.skip(f"no {_AXE.name}: `make test-site` installs it")
        self.tab.evaluate(_AXE.read_text())
        assert self.tab.evaluate(_VIOLATIONS) == []

    def sorted_by(self, region: str, column: str) -> list[str]:
        """The cells of a column of the first table of that name, after a click on its head."""
        table = self.tab.get_by_role("region", name=region, exact=True).first.get_by_role("table")
        table.get_by_role("button", name=column, exact=True).click()
        heads = [head.strip() for head in table.locator("thead th").all_inner_texts()]
        return table.locator(f"tbody td:nth-child({heads.index(column) + 1})").all_inner_texts()

    def told(self) -> str:
        """What the box says that tells of a mark."""
        return self.tab.locator(".tip.shown").inner_text()

    def marks_are_told(self) -> None:
        """The marks of the first chart tell what they are, to the pointer and to the keys."""
        figure = self.tab.locator("figure.drawn").first
        marks = figure.locator(".role-mark:is(.mark-rect, .mark-symbol) > [aria-label]:visible")
        named = [mark.get_attribute("aria-label") for mark in marks.all()]
        assert len(named) > 1
        marks.last.hover()  # no other one lies on it
        assert self.told() == named[-1]
        self.tab.mouse.move(0, 0)
        assert self.tab.locator(".tip.shown").count() == 0
        figure.focus()
        for name in named[:2]:
            self.tab.keyboard.press("ArrowRight")
            assert self.told() == name
        self.tab.keyboard.press("End")
        assert self.told() == named[-1]
        self.tab.keyboard.press("Escape")
        assert self.tab.locator(".tip.shown").count() == 0

    def downloads(self, number: int = 0) -> tuple[str, list[dict[str, str]]]:
        """The name and the rows of the file that a link to the data of a chart gives."""
        with self.tab.expect_download() as begun:
            self.tab.locator(".download > *:visible").nth(number).click()
        with Path(begun.value.path()).open(encoding="utf-8", newline="") as file:
            return begun.value.suggested_filename, list(csv.DictReader(file))

    def close(self) -> None:
        assert [url for url in self._requested if not url.startswith("data:")] == [self._page.as_uri()]
        assert self._complaints == []
        self.tab.close()


OpenPage = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages: at a width, 1280 unless told, and for readers of a colour scheme, light unless told."""
    pages: list[Opened] = []

    def opened(page: Path, width: int = 1280, scheme: Literal["dark", "light"] = "light") -> Opened:
        pages.append(Opened(browser, page, width, scheme))
        return pages[-1]

    yield opened
    for one in pages:
        one.close()


def backgrounds(open_page: OpenPage, page: Path, *more: str) -> dict[str, list[str]]:
    """The background of a page for readers of each colour scheme, and what else a script finds there."""
    scripts = ("getComputedStyle(document.body).backgroundColor", *more)
    return {
        scheme: [open_page(page, scheme=scheme).tab.evaluate(one) for one in scripts] for scheme in ("light", "dark")
    }
