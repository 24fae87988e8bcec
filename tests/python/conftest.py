"""Fixtures that several files share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import fake_engine
import hypothesis
import pytest
import vl_convert
from playwright.sync_api import Browser, sync_playwright

import chromium
from counterpoint import _engine
from counterpoint.cli import main
from counterpoint.runs.executor import worker

hypothesis.settings.register_profile("counterpoint", deadline=None)
hypothesis.settings.load_profile("counterpoint")  # no test fails because a computer is busy

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if chromium.PATH is None:
        pytest.fail("no chromium on this computer; `make chromium` installs it")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.FLAGS)
        yield started
        started.close()
