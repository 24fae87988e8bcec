"""Fixtures that several files share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import fake_engine
import pytest

from counterpoint import _engine
from counterpoint.cli import main


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The front on an engine that answers at once; what is returned changes it further."""
    for name in ("describe", "resolve", "run_many", "replay", "crash", "scene"):
        monkeypatch.setattr(_engine, name, getattr(fake_engine, name))
    return monkeypatch


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

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
