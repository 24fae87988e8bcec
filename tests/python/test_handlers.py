"""Signal handlers are installed for the time of a context, and the earlier ones are restored afterwards."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import Any

import pytest

from counterpoint.system.handlers import STOPS, handled


def _now() -> list[Any]:
    return [signal.getsignal(number) for number in STOPS]


def _always(*_: object) -> bool:
    return True


@pytest.mark.parametrize("how", ["ends", "raises"])
def test_earlier_signal_handler_is_restored(how: str) -> None:
    before, heard = _now(), []
    with (
        contextlib.suppress(LookupError),
        handled(STOPS, lambda number, _: heard.append(number), instead_of=_always),
    ):
        for number in STOPS:
            signal.raise_signal(number)
        if how == "raises":
            raise LookupError
    assert heard == list(STOPS)
    assert _now() == before


def test_only_those_asked_for_are_taken() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handled(STOPS, print, instead_of=lambda _, handler: handler is not signal.SIG_IGN):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is print
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_handler_that_is_not_pythons_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    real, taken = signal.getsignal, []
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGTERM else real(number))
    monkeypatch.setattr(signal, "signal", lambda number, handler: taken.append(number))
    with handled(STOPS, print, instead_of=_always):
        pass
    assert taken == [signal.SIGINT, signal.SIGHUP] * 2


def test_another_thread_handles_no_signals() -> None:
    before, seen = _now(), []

    def work() -> None:
        with handled(STOPS, print, instead_of=_always):
            seen.append(_now())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
