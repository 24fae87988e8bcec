"""The corpus of persistence bugs: its table agrees with sources and page; and the rules by which the oracle proves it.

`make test-programs` runs the oracle itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import corpus
import persistency
import pytest
import stream
from conftest import Cli

from counterpoint.verbs import bugs

_PAGE = Path(__file__).parents[2] / "docs" / "bugs.md"
_PROGRAMS = corpus.programs()
_BASE = 0x10000
_A, _B = 0, 64
"""Two lines of a file."""


def test_every_program_has_a_row_and_every_row_a_program() -> None:
    assert len(_PROGRAMS) >= 40
    assert sorted(one.path for one in _PROGRAMS) == sorted(bugs.FOLDER.glob("*.c"))


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda program: program.name)
def test_a_row_agrees_with_its_source(program: corpus.Program) -> None:
    assert program.line
    assert program.kind in {"flush", "fence", "order", "atomicity", "recovery"}
    assert program.check in {"", "never-flushed", "stored-after-flush", "never-fenced", "not-ordered"}
    assert tuple(program.tools) == corpus.TOOLS
    assert set(program.tools.values()) <= {"yes", "no", "partly", "not stated"}
    assert {source.split(":")[0] for source in program.sources} <= set(bugs.table()["papers"])
    text = program.path.read_text()
    assert "def FIXED" in text and text.count("\n") < 120 and max(map(len, text.splitlines())) <= 120


def test_the_package_has_the_programs(cli: Cli, tmp_path: Path) -> None:
    listed = json.loads(cli("bugs", "--json").out)["bugs"]
    assert [one["name"] for one in listed] == [one.name for one in _PROGRAMS]
    assert [one["check"] or "" for one in listed] == [one.check for one in _PROGRAMS]
    assert cli("bugs", "missing_flush").out == (bugs.FOLDER / "missing_flush.c").read_text()
    assert cli("bugs", "--out", str(tmp_path / "bugs")).code == 0
    copied = {path.name: path.read_bytes() for path in (tmp_path / "bugs").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in bugs.FOLDER.iterdir()}
    refused = cli("bugs", "missing_flsh")
    assert (refused.code, refused.err) == (
        2,
        "error: bug 'missing_flsh' does not exist: did you mean 'missing_flush'?\n",
    )


def test_the_page_has_the_tables() -> None:
    page, tables = _PAGE.read_text().splitlines(), corpus.tables()
    assert [line for line in page if line.startswith("| `") and line in tables] == tables


def _point(*operations: tuple[int, int, bytes] | tuple[int, int], threads: str = "") -> persistency.Point:
    """The power failure after these operations: tag, offset, bytes; `threads` has the thread of each, else 0."""
    records = []
    for number, (tag, offset, *data) in enumerate(operations):
        content = data[0] if data else b""
        address = 0 if tag in (stream.SFENCE, stream.MFENCE) else _BASE + offset
        thread = int(threads[number]) if threads else 0
        records.append(stream.Record(tag, number, address=address, size=len(content), data=content, thread=thread))
    replay = stream.Replay(paths=[b"file"], mappings=[stream.Mapping(_BASE, 4096, 0, 0)], kept=records)
    return persistency.points(replay, "file")[0][-1]


def _left(point: persistency.Point, *places: int) -> set[bytes]:
    """The bytes at these places, together, in each state."""
    images = (point.image(state, 4096) for state in point.states(1000))
    return {bytes(image[place] for place in places) for image in images}


def _store(offset: int, data: bytes) -> tuple[int, int, bytes]:
    return stream.STORE, offset, data


_CLWB_A, _CLFLUSH_A, _FENCE = (stream.CLWB, _A), (stream.CLFLUSH, _A), (stream.SFENCE, 0)


def test_stores_to_a_line_become_durable_in_their_order() -> None:
    point = _point(_store(_A, b"1"), _store(_A + 8, b"2"))
    assert _left(point, _A, _A + 8) == {b"\0\0", b"1\0", b"12"}


def test_lines_are_independent() -> None:
    point = _point(_store(_A, b"1"), _store(_B, b"2"))
    assert _left(point, _A, _B) == {b"\0\0", b"1\0", b"\0002", b"12"}


def test_eight_bytes_become_durable_together_and_sixteen_do_not() -> None:
    point = _point(_store(_A, b"1" * 8 + b"2" * 8))
    assert _left(point, _A, _A + 7, _A + 8, _A + 15) == {b"\0\0\0\0", b"11\0\0", b"\0\00022", b"1122"}


def test_a_store_that_crosses_lines_may_be_torn_there() -> None:
    assert _left(_point(_store(_B - 1, b"12")), _B - 1, _B) == {b"\0\0", b"1\0", b"\0002", b"12"}


@pytest.mark.parametrize("flush", [stream.CLWB, stream.CLFLUSHOPT])
def test_a_flush_covers_once_a_fence_of_its_thread_completes(flush: int) -> None:
    stored, flushed = _store(_A, b"1"), (flush, _A)
    assert _left(_point(stored, flushed), _A) == {b"\0", b"1"}
    assert _left(_point(stored, _FENCE, flushed), _A) == {b"\0", b"1"}
    assert _left(_point(stored, flushed, _FENCE), _A) == {b"1"}
    assert _left(_point(stored, flushed, _FENCE, threads="011"), _A) == {b"1"}
    assert _left(_point(stored, flushed, _FENCE, threads="010"), _A) == {b"\0", b"1"}


def test_a_clflush_covers_at_once() -> None:
    assert _left(_point(_store(_A, b"1"), _CLFLUSH_A), _A) == {b"1"}


def test_a_flush_does_not_cover_what_is_stored_after_it() -> None:
    point = _point(_store(_A, b"1"), _CLWB_A, _store(_A, b"2"), _FENCE)
    assert _left(point, _A) == {b"1", b"2"}


def test_words_of_non_temporal_stores_become_durable_alone_until_a_fence() -> None:
    past = (stream.NT_STORE, _A, b"1" * 8 + b"2" * 8)
    assert _left(_point(past), _A, _A + 8) == {b"\0\0", b"1\0", b"\0002", b"12"}
    assert _left(_point(past, _FENCE), _A, _A + 8) == {b"12"}
    assert _left(_point(past, _FENCE, threads="01"), _A, _A + 8) == {b"\0\0", b"1\0", b"\0002", b"12"}


def test_a_fence_after_a_non_temporal_store_says_nothing_of_cached_stores_to_its_line() -> None:
    point = _point((stream.NT_STORE, _A, b"1" * 8), _store(_A + 8, b"2"), _FENCE)
    assert _left(point, _A, _A + 8) == {b"1\0", b"12"}


def test_a_locked_operation_is_a_fence_before_it_stores() -> None:
    point = _point(_store(_A, b"1"), _CLWB_A, (stream.ATOMIC, _B, b"2" * 8))
    assert _left(point, _A, _B) == {b"1\0", b"12"}


def test_lost_stores_of_a_state_are_as_few_as_explain_it() -> None:
    point = _point(_store(_A, b"1"), _store(_A, b"1"), _store(_B, b"2"))
    lost = {point.image(state, 4096)[_A : _B + 1 : _B]: len(point.lost(state)) for state in point.states(1000)}
    assert lost == {b"\0\0": 3, b"1\0": 1, b"\0002": 2, b"12": 0}


def test_many_states_are_sampled_around_everything_and_nothing() -> None:
    point = _point(*(_store(64 * line, b"1") for line in range(14)))
    assert point.count == 1 << 14
    sampled = list(point.states(100))
    assert sampled == list(point.states(100)) and len(sampled) == 2 * (1 + 14) + 100
    assert tuple([0] * 14) in sampled and tuple([1] * 14) in sampled
