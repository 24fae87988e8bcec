"""Long proofs: parts that together are all programs, and a store from which they go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import campaign
import counterpoint as cp
import long_proofs

pytestmark = pytest.mark.engine

_BOUND = {"operations": 3, "lines": 1}


def test_parts_are_all_programs_and_a_second_call_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(long_proofs, "PREFIX", 2)
    store = tmp_path / "s.jsonl"
    words = ["--operations", "3", "--lines", "1", "--design", "eadr", "--store", str(store)]
    monkeypatch.setattr("sys.argv", ["long_proofs", *words, "--minutes", "0"])
    assert long_proofs.main() == 0 and "nothing was proven yet" in capsys.readouterr().out
    # A line that was cut off is proven again.
    store.write_text(json.dumps(long_proofs.row(("eadr", "hardened", ""), _BOUND))[:30])
    monkeypatch.setattr("sys.argv", ["long_proofs", *words])
    assert long_proofs.main() == 0
    proof = cp.prove("eadr", operations=3, lines=1)
    told = capsys.readouterr().out
    assert f", {proof.programs:,} programs, {proof.crash_points:,} crashes; no program fails" in told
    before = store.read_text()
    assert long_proofs.main() == 0 and store.read_text() == before
    monkeypatch.setattr("sys.argv", ["long_proofs", *words, "--status"])
    assert long_proofs.main() == 0 and capsys.readouterr().out == told * 2
    assert long_proofs.read(store, {"operations": 4, "lines": 1}) == {}


def test_a_program_that_fails_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "promises", lambda design, variant: True)
    words = ["--operations", "2", "--lines", "1", "--design", "write-back", "--store", str(tmp_path / "s.jsonl")]
    monkeypatch.setattr("sys.argv", ["long_proofs", *words])
    assert long_proofs.main() == 1
    assert "write-back (hardened) does not hold: counterpoint crash write-back 'nt-store A'" in capsys.readouterr().out
