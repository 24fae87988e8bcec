"""The page for those who know no memory controller: its commands print what it shows, and its answers are true."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterpoint as cp
import tutorial

_PAGE = (tutorial.ROOT / "docs" / "ten-minutes.md").read_text()


@pytest.mark.engine
def test_exercises_print_what_the_page_shows(tmp_path: Path) -> None:
    played = list(tutorial.beside(tmp_path).play(_PAGE))
    for done in played:
        assert done.expected is not None
        tutorial.check(done)
    assert len(played) == _PAGE.count("\n```sh") == 8
    assert (tmp_path / "out" / "crash.html").exists()


def test_each_exercise_has_an_answer() -> None:
    exercises, answers = _PAGE.split("\n## Answers\n")
    count = exercises.count("\n### Exercise ")
    assert exercises.count("\n**Question.**") == count
    assert [f"{number}. " in answers for number in range(1, count + 2)] == [True] * count + [False]


@pytest.mark.engine
def test_what_the_answers_say_of_the_runs_is_true() -> None:
    lost = cp.crash("write-back", "queue", transactions=1, shrink=False, blame=False)
    first = {one.rule: one.crash_event for one in reversed(lost.violations)}
    assert (first["pad_reuse"], first["line"]) == (82, 106)
    assert cp.resolve("fca", "array", machine="small")["machine"]["controller"]["counter_wpq_entries"] == 2
    sepencr, bbe = (cp.recovery([name], memory="16GiB", measure=False)[0].costs[0] for name in ("sepencr", "bbe"))
    kept = [{one.item: one.bytes for one in cost.on_chip}["caches"] for cost in (sepencr, bbe)]
    assert 2 * kept[0] == kept[1]
