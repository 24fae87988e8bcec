"""The smallest reproduction and who is to blame, as the front shows them; and that the printed command is right."""

from __future__ import annotations

import json
import shlex
from typing import Any

import fake_engine
import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.contract.commands import with_commands
from counterpoint.contract.results import Crash
from counterpoint.verbs import api

_SMALL = ("--machine", "small", "--transactions", "30")


@pytest.mark.engine
@pytest.mark.parametrize(
    ("arguments", "who"),
    [
        (("write-back", "btree"), "design"),
        (("secpm", "queue", "--leave-out", "mutate-flush"), "program"),
        (("sca", "linked-list", "--leave-out", "commit-counter-atomic"), "annotations"),
    ],
)
def test_the_shrunk_command_breaks_the_same_rule_at_its_event(cli: Cli, arguments: tuple[str, ...], who: str) -> None:
    outcome = cli("crash", *arguments, *_SMALL, "--json")
    assert outcome.code == 1
    found = Crash.from_dict(json.loads(outcome.out))
    assert found.blame is not None and found.blame.who == who
    assert found.shrunk
    for shrunk in found.shrunk:
        words = shlex.split(shrunk.reproduce)
        assert words[:4] == ["counterpoint", "crash", *arguments[:2]]
        again = cli(*words[1:], "--json")
        assert again.code == 1
        repeated = Crash.from_dict(json.loads(again.out))
        assert repeated.crash_points == 1 and not repeated.shrunk
        assert (shrunk.rule, shrunk.crash_event) in {(one.rule, one.crash_event) for one in repeated.violations}


@pytest.mark.engine
def test_the_screen_shows_the_smallest_reproduction_before_the_violations(cli: Cli) -> None:
    out = cli("crash", "write-back", "array", *_SMALL).out
    assert "To blame: the design. Without encryption the same program holds" in out
    smallest = out.index("smallest reproduction found: power lost after event")
    assert smallest < out.index("reproduce:")
    assert "  1 transaction of 64 B, 4 KiB footprint, 1 core (1 smaller run explored)" in out
    assert "smallest" not in cli("crash", "write-back", "array", *_SMALL, "--no-shrink").out
    assert "To blame" not in cli("crash", "write-back", "array", *_SMALL, "--no-blame").out


def _shape(value: Any) -> Any:
    """The keys of a document and of what is in it; what is null or empty may be anything."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    return [_shape(value[0])] if isinstance(value, list) and value else None


def _same(one: Any, other: Any) -> bool:
    if not one or not other:
        return True
    if isinstance(one, list):
        return _same(one[0], other[0])
    return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)


@pytest.mark.engine
def test_documents_of_tests_have_the_keys_of_the_engines() -> None:
    small: dict[str, Any] = {"machine": "small", "transactions": 2, "footprint": "64KiB"}
    for design in ("secpm", "sepencr"):
        ran = cp.run(design, "array", **small).to_dict()
        assert _same(_shape(ran), _shape(fake_engine.run_document({"design": design, "workload": "array"}))), design
    crash = cp.crash("write-back", "array", stages=True, **small).to_dict()
    asked = {"design": "write-back", "workload": "array", "stages": True, **small}
    assert _same(_shape(crash), _shape(with_commands(fake_engine.crash_document(asked))))


def test_the_screen_shows_stages_where_they_were_asked_for(cli: Cli, fake: None) -> None:
    out = cli("crash", "write-back", "array", "--stages").out
    rows = {words[0]: words[1:] for words in map(str.split, out.splitlines()) if words}
    assert rows["prepare"] == ["100", "0", "0", "wrong", "wrong", "correct", "correct"]
    assert rows["mutate"] == ["100", "7", "7", "correct", "unknown", "wrong", "wrong"]
    assert rows["commit"] == ["100", "7", "7", "correct", "unknown", "correct", "unknown"]
    plain = cli("crash", "unencrypted", "array", "--stages").out
    assert ["mutate", "100", "0", "0", "correct", "-", "wrong", "-"] in map(str.split, plain.splitlines())
    assert "stage of the transaction" not in cli("crash", "write-back", "array").out


def _lost(stored: str, flushed: str | None, failed: int, recovered: int, similarity: float) -> dict[str, object]:
    def place(at: str) -> dict[str, object]:
        return {"place": at, "source": f"/src/{at}", "function": "append", "object": "/bin/log"}

    return {
        "stored": place(stored),
        "flushed": None if flushed is None else place(flushed),
        "failed": failed,
        "recovered": recovered,
        "similarity": similarity,
        "schedule": 0,
        "at_event": 7,
    }


def test_lines_that_explain_the_failures_are_a_table(cli: Cli, fake: pytest.MonkeyPatch) -> None:
    document = with_commands(fake_engine.crash_document({"design": "write-back", "workload": "array"}))
    lines = [_lost("log.c:12", None, 2100, 0, 1), *[_lost("log.c:30", "log.c:31", 3, 1500, 0.02)] * 15]

    def shown(by_line: list[dict[str, object]] | None, failed: int = 3) -> str:
        ran = {
            "command": "check {pool}",
            "timeout_seconds": 60,
            "images": 9,
            "runs": 9,
            "failed": failed,
            "timed_out": 0,
            "watched": None,
            "nested": None,
        }
        one = Crash.from_dict(document | {"by_line": by_line, "recoveries": ran})
        fake.setattr(api, "crash", lambda *_, **__: one)
        outcome = cli("crash", "write-back", "array", "--recover", "check {pool}", "--by-line")
        assert outcome.code == 1
        return outcome.out

    table = shown(lines)
    assert table.index("Lost in memories that fail") < table.index("reproduce:")
    assert ["log.c:12", "2,100", "0", "1.00"] in [line.split() for line in table.splitlines()]
    assert ["log.c:30", "log.c:31", "3", "1,500", "0.02"] in [line.split() for line in table.splitlines()]
    assert "and 1 line more; --json has all" in table
    assert "Memories that fail lack nothing that the program has stored." in shown([])
    assert "No source lines are known." in shown(None)
    assert "emories that fail" not in shown([], failed=0), "rules of the auditors are broken, and the program recovers"


def test_without_a_recovery_no_line_explains_a_failure(cli: Cli) -> None:
    refused = cli("crash", "write-back", "array", "--by-line").refusal
    assert refused.startswith("--by-line: only a recovery of the program's own, --recover, says")
