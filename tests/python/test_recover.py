"""`crash --recover` through the compiled engine: hand-written traces, and shell commands that judge their memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import counterpoint as cp
import samples

pytestmark = pytest.mark.engine

_READABLE = "grep -q -e old -e new {pool}"


def _trace(
    folder: Path,
    stores: list[tuple[int, bytes]],
    images: list[tuple[int, bytes]],
    marks: bytes | None = None,
) -> Path:
    """A program that stores, flushes and fences, each in a transaction, at byte offsets of a file of two pages.

    It says `marks` and a number after each of them.
    """
    records = [
        *samples.begun(0x2000),
        *(bytes([0x06, 0]) + samples.unsigned(offset) + samples.unsigned(len(data)) + data for offset, data in images),
    ]
    at = 0
    for number, (offset, data) in enumerate(stores, 1):
        step, at = samples.BASE + offset - at, samples.BASE + offset
        records += [
            bytes([0x20, 0]),
            bytes([0x11, 9, 0]) + samples.signed(step) + samples.unsigned(len(data)) + data,
            bytes([0x14, 0, 0, 0]),
            bytes([0x17, 0, 0]),
            bytes([0x21, 0]),
        ]
        if marks is not None:
            text = marks + b" %d" % number
            records.append(bytes([0x22, len(text)]) + text)
    path = folder / "program.cptrace"
    path.write_bytes(samples.ended(records, 12 * len(stores)))
    return path


def _changed(folder: Path) -> Path:
    return _trace(folder, [(64, b"new")], [(64, b"old")])


@pytest.mark.parametrize("design", ["unencrypted", "secpm", "sca", "bbe", "eadr-cme", "hw-log"])
def test_a_design_that_holds_recovers_from_each_image_once(design: str, tmp_path: Path) -> None:
    # Before, with the first line, with both: three images however many events there are.
    trace = _trace(tmp_path, [(64, b"data"), (0x1000, b"valid")], [])
    ordered = "! grep -q valid {pool} || grep -q data {pool}"
    verdict = cp.crash(design, trace, recover=ordered)
    found = verdict.recoveries
    assert found is not None
    assert (found.command, found.timeout_seconds) == (ordered, 60)
    assert (found.images, found.runs, found.failed) == (3, 3, 0)
    assert verdict.holds and verdict.recovered == verdict.crash_points
    assert "3 different images of it, 3 runs, 0 of the images failed" in verdict.coverage


def test_a_design_that_loses_counters_fails_where_the_line_does_not_decrypt(tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    keep.mkdir()
    verdict = cp.crash("write-back", _changed(tmp_path), recover=_READABLE, recover_keep=keep)
    found, first = verdict.recoveries, verdict.violations[0]
    assert found is not None and (found.images, found.runs, found.failed) == (2, 2, 1)
    assert first.rule == "recovery" and first.line is None
    assert not verdict.holds and 0 < verdict.recovered < verdict.crash_points
    assert "ended with exit code 1, and printed nothing" in first.explanation
    (kept,) = keep.iterdir()
    assert kept.name == f"crash-{first.crash_event}.pool" and str(kept) in first.explanation
    content = kept.read_bytes()
    assert len(content) == 0x2000 and b"old" not in content and b"new" not in content and any(content[64:128])
    assert f"--recover '{_READABLE}' --at-event {first.crash_event}" in first.reproduce
    assert verdict.blame is not None and verdict.blame.who == "design"
    again = cp.crash("write-back", tmp_path / "program.cptrace", recover=_READABLE, at_event=first.crash_event)
    assert again.recoveries is not None and (again.recoveries.images, again.recoveries.failed) == (1, 1)
    assert any(one.rule == "recovery" for one in again.violations)


def test_a_program_that_does_not_recover_anywhere_is_to_blame(tmp_path: Path) -> None:
    # The flag is durable before the data.
    trace = _trace(tmp_path, [(0x1000, b"valid"), (64, b"data")], [])
    verdict = cp.crash("secpm", trace, recover="! grep -q valid {pool} || grep -q data {pool} || (echo torn; false)")
    assert verdict.recoveries is not None and verdict.recoveries.failed == 1
    (violation,) = verdict.violations
    assert violation.rule == "recovery" and 'The last line that it printed: "torn"' in violation.explanation
    assert "No other rule is broken there." in violation.explanation
    assert verdict.blame is not None and verdict.blame.who == "program"


def test_equal_images_fail_at_every_point_and_are_told_once(tmp_path: Path) -> None:
    verdict = cp.crash("unencrypted", _changed(tmp_path), recover="grep -q new {pool}", blame=False, no_preflight=True)
    assert verdict.recoveries is not None and (verdict.recoveries.images, verdict.recoveries.failed) == (2, 1)
    assert verdict.violation_count == 1
    # The first image stays until the line is durable.
    assert verdict.crash_points - verdict.recovered > 1


def test_a_command_that_hangs_or_kills_itself_has_failed(tmp_path: Path) -> None:
    trace = _changed(tmp_path)
    hangs = cp.crash(
        "unencrypted", trace, recover="grep -q old {pool} || sleep 100", recover_timeout=1, no_preflight=True
    )
    (violation,) = hangs.violations
    assert violation.rule == "timed-out" and hangs.recoveries is not None
    assert (hangs.recoveries.failed, hangs.recoveries.timed_out) == (0, 1)
    assert "0 of the images failed, 1 timed out." in hangs.coverage and not hangs.holds
    assert "the program's own recovery does not end in time: 'grep" in violation.explanation
    assert hangs.blame is not None and hangs.blame.who == "program"
    assert "--no-preflight" in violation.reproduce
    assert "had not ended after 1 s and was killed" in violation.explanation
    assert "--recover-timeout 1" in violation.reproduce
    dies = cp.crash("unencrypted", trace, recover="kill -SEGV $$ {pool}", no_preflight=True)
    assert dies.recovered == 0
    assert "was ended by signal 11, and printed nothing" in dies.violations[0].explanation


def test_the_report_does_not_depend_on_how_many_commands_run_at_a_time(tmp_path: Path) -> None:
    stores = [(64 * line, b"%4d" % line) for line in range(1, 40)]
    trace = _trace(tmp_path, stores, [(64, b"old")])
    # Those that end last began first; every third fails.
    command = "n=$(tr -d '\\0' < {pool} | wc -c); sleep 0.0$((n % 7)); echo $n; test $((n % 3)) != 0"
    found = [
        cp.crash("unencrypted", trace, recover=command, recover_jobs=jobs, no_preflight=True).to_dict()
        for jobs in (1, 3)
    ]
    for one in found:
        del one["host"]
    assert found[0] == found[1]
    assert found[0]["recoveries"]["images"] == 40 and 10 < found[0]["recoveries"]["failed"] < 20
    events = [violation["crash_event"] for violation in found[0]["violations"]]
    assert len(events) > 10 and events == sorted(events)


_KEPT = 'for n in 1 2 3; do ! grep -qx "done $n" {marks} || grep -q data$n {pool} || exit 1; done'
"""Every store that is marked as done is there."""


def _marked(folder: Path, *texts: bytes) -> Path:
    return _trace(folder, [(64 * n, text) for n, text in enumerate(texts)], [(0, b"old")], marks=b"done")


@pytest.mark.parametrize("design", ["unencrypted", "secpm", "eadr-cme"])
def test_a_command_is_told_what_was_marked_as_done(design: str, tmp_path: Path) -> None:
    trace = _marked(tmp_path, b"data1", b"data2", b"data3")
    verdict = cp.crash(design, trace, recover=_KEPT)
    assert verdict.holds and verdict.recoveries is not None and verdict.recoveries.images == 4
    early = cp.crash(design, trace, recover="grep -q data1 {pool} || ! grep -q done {marks}", blame=False)
    assert early.holds, "a mark is passed before the store before it is durable"
    told = "grep -qx 'done 3' {marks} || ! grep -q old {pool}"
    late = cp.crash(design, trace, recover=told, blame=False, no_preflight=True)
    assert 0 < late.recovered < late.crash_points, "the last mark is never passed"


def test_the_header_for_recoveries_is_where_the_command_says(cli: Cli) -> None:
    told = cli("include")
    assert (told.code, [one.name for one in Path(told.out.strip()).iterdir()]) == (0, ["counterpoint_program.h"])


def test_equal_memory_with_other_marks_is_another_case(tmp_path: Path) -> None:
    trace = _trace(tmp_path, [(64, b"data")] * 3, [], marks=b"done")
    found = [cp.crash("secpm", trace, recover=f"test -e {{pool}} {also}") for also in ("", "&& wc -l {marks}")]
    assert [one.recoveries.images for one in found if one.recoveries is not None] == [2, 4]
    assert found[0].crash_points == found[1].crash_points


def test_lost_store_that_was_marked_as_done_is_found(tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    keep.mkdir()
    trace = _marked(tmp_path, b"data1", b"other", b"data3")
    command = f"({_KEPT}) || (tail -n 1 {{marks}}; false)"
    verdict = cp.crash("unencrypted", trace, recover=command, recover_keep=keep, no_preflight=True)
    # With two marks, and with three.
    assert verdict.recoveries is not None and verdict.recoveries.failed == 2
    first = verdict.violations[0]
    assert "in transaction 2 and after 2 marks, the last of them 'done 2'," in first.explanation
    assert 'The last line that it printed: "done 2"' in first.explanation
    assert {path.name: path.read_bytes() for path in keep.glob("*.marks")} == {
        f"crash-{first.crash_event}.marks": b"done 1\ndone 2\n"
    }
    assert f"{first.crash_event}.marks" in first.explanation
    again = cp.crash("unencrypted", trace, recover=_KEPT, at_event=first.crash_event, no_preflight=True)
    assert again.recoveries is not None and again.recoveries.failed == 1
    before = cp.crash("unencrypted", trace, recover=_KEPT, at_event=first.crash_event - 1, no_preflight=True)
    assert before.holds


def test_a_command_that_names_the_event_is_run_at_each(tmp_path: Path) -> None:
    verdict = cp.crash("unencrypted", _changed(tmp_path), recover="test -e {pool} -a {event} != 8", blame=False)
    assert verdict.recoveries is not None
    assert verdict.recoveries.images == verdict.recoveries.runs == verdict.crash_points > 8
    assert [violation.crash_event for violation in verdict.violations] == [8]
    assert verdict.recovered == verdict.crash_points - 1


@pytest.mark.parametrize("explore", ["schedule", "legal"])
def test_power_fails_only_between_the_marks(explore: Any, tmp_path: Path) -> None:
    trace = _marked(tmp_path, b"data1", b"data2", b"data3")

    def numbers(**region: Any) -> set[int]:
        told = tmp_path / "told"
        told.write_text("")
        command = f"wc -l < {{marks}} >> {told}; test -e {{pool}}"
        verdict = cp.crash("secpm", trace, recover=command, explore=explore, no_preflight=True, **region)
        assert verdict.holds and verdict.crash_points > 0
        return {int(line) for line in told.read_text().split()}

    assert numbers() == {0, 1, 2, 3}
    assert numbers(from_mark="done 1") == {1, 2, 3}
    assert numbers(to_mark="done 2") == {0, 1}
    assert numbers(from_mark="done 1", to_mark="done 2") == {1}


def test_a_sample_is_spread_over_the_region(tmp_path: Path) -> None:
    trace = _marked(tmp_path, *(b"data%d" % n for n in range(8)))
    region: dict[str, Any] = {"from_mark": "done 3", "to_mark": "done 6"}
    whole = cp.crash("secpm", trace, **region)
    assert whole.crash_points > 5
    assert f"after each of {whole.crash_points} events between marks" in whole.coverage
    assert "only between the first mark 'done 3' and the next mark 'done 6'" in whole.coverage
    assert cp.crash("secpm", trace, points=5, **region).crash_points == 5


def test_failure_outside_the_marks_is_not_found(tmp_path: Path) -> None:
    # The second store is lost from its mark on.
    trace = _marked(tmp_path, b"data1", b"other", b"data3")
    for explore in ("schedule", "legal"):
        options: dict[str, Any] = {"recover": _KEPT, "explore": explore, "no_preflight": True}
        assert cp.crash("unencrypted", trace, to_mark="done 2", **options).holds
        failing = cp.crash("unencrypted", trace, from_mark="done 2", **options)
        assert failing.recovered == 0 < failing.crash_points
        assert failing.blame is not None and failing.blame.who == "program"


@pytest.mark.parametrize("explore", ["schedule", "schedules", "legal"])
def test_a_command_that_fails_where_nothing_is_lost_is_refused(explore: Any, tmp_path: Path) -> None:
    trace = _marked(tmp_path, b"data1", b"data2", b"data3")

    def refused(command: str, **region: Any) -> str:
        with pytest.raises(cp.InputError) as error:
            cp.crash("unencrypted", trace, recover=command, explore=explore, recover_folder=tmp_path, **region)
        assert "\n" not in str(error.value) and "nothing was explored (no_preflight explores all" in str(error.value)
        return str(error.value)

    first = refused("echo looks; grep -q data1 {pool}")
    assert "'echo looks; grep -q data1 {pool}' fails on the memory that the program starts from: it ended with" in first
    assert (
        'exit code 1, and the last line that it printed is "looks"; either the command is wrong, or it needs' in first
    )
    last = refused("! grep -q data3 {pool}")
    assert (
        "fails on the memory that the program leaves, all of it durable: it ended with exit code 1 and printed" in last
    )
    assert "it was ended by signal 9 and printed nothing;" in refused("kill -9 $$ {pool}")
    # At each of two marks: the memory, the marks so far, and no event.
    assert "at the mark 'done 1', all of it" in refused("grep -q data2 {pool}", from_mark="done 1", to_mark="done 3")
    assert "at the mark 'done 3', all of it" in refused("! grep -q data3 {pool}", from_mark="done 1", to_mark="done 3")
    assert "at the mark 'done 1', all of it" in refused("test -e {pool} -a $(wc -l < {marks}) = 2", from_mark="done 1")
    assert "starts from" in refused("test -e {pool} -a {event} != 0")
    assert [path.name for path in tmp_path.iterdir()] == [trace.name], "its files are left"


def test_preflight_runs_are_in_no_figure(tmp_path: Path) -> None:
    trace, keep = _marked(tmp_path, b"data1"), tmp_path / "kept"
    keep.mkdir()
    told = tmp_path / "told"
    command = f"echo >> {told}; test -e {{pool}}"
    for no_preflight in (False, True):
        told.write_text("")
        verdict = cp.crash("unencrypted", trace, recover=command, recover_keep=keep, no_preflight=no_preflight)
        assert verdict.recoveries is not None and verdict.recoveries.runs == verdict.recoveries.images == 2
        assert told.read_text().count("\n") == 2 + 2 * (not no_preflight)
    assert list(keep.iterdir()) == []


@pytest.mark.parametrize("explore", ["schedule", "schedules", "legal"])
def test_a_time_budget_ends_the_exploration(explore: str, tmp_path: Path) -> None:
    trace = _trace(tmp_path, [(64 * line, b"%4d" % line) for line in range(1, 60)], [])
    options: dict[str, Any] = {"explore": explore, "no_preflight": True, "recover_jobs": 1, "time_budget": 1}
    started = time.monotonic()
    ended = cp.crash("unencrypted", trace, recover="sleep 0.2 < {pool}", **options)
    assert time.monotonic() - started < 10
    assert ended.holds and ended.out_of_time and not ended.interrupted
    assert ended.recoveries is not None and 0 < ended.recoveries.images < 10 and ended.crash_points > 0
    assert (
        f" The time budget of 1 s ended the exploration there, with {ended.crash_points} crash points tried; "
        "the rest was not tried, and nothing is claimed about it."
    ) in ended.coverage
    with pytest.raises(cp.InputError, match="time_budget: 1 s passed before any crash point was judged"):
        cp.crash("unencrypted", trace, recover="sleep 5 < {pool}", **options)
    whole = cp.crash("unencrypted", _changed(tmp_path), recover=_READABLE, **{**options, "time_budget": 600})
    assert whole.holds and not whole.out_of_time and "time budget" not in whole.coverage


def test_other_schedules_share_verdicts(tmp_path: Path) -> None:
    verdict = cp.crash("secpm", _changed(tmp_path), recover=_READABLE, explore="schedules", schedules=3)
    assert verdict.holds and verdict.recoveries is not None
    assert (verdict.recoveries.images, verdict.recoveries.runs) == (2, 2)


def test_the_trace_may_be_crashed_without_a_command(tmp_path: Path) -> None:
    assert cp.crash("secpm", _changed(tmp_path)).recoveries is None


@pytest.mark.parametrize(
    ("workload", "options", "says"),
    [
        ("queue", {"recover": "true {pool}"}, "recover: workload 'queue' recovers by itself"),
        (None, {"recover": "true"}, "names neither {pool} nor {folder}"),
        (
            None,
            {"recover": "true {pool}", "nested": True},
            "nested: power fails again in a recording of the command, whose legal states",
        ),
        (None, {"recover": "true {pool}", "recover_jobs": 0}, "recover_jobs: 0 is not from 1 to 1024"),
        ("queue", {"from_mark": "a"}, "from_mark: workload 'queue' sets no marks; only recorded programs do"),
        (None, {"to_mark": "a"}, "to_mark: there is no mark 'a'; trace "),
        (None, {"to_mark": "a"}, " has no marks"),
        (None, {"no_preflight": True}, "no_preflight: it has no effect without a command; give one with 'recover'"),
        (None, {"recover_timeout": 5}, "recover_timeout: it has no effect without a command"),
        (None, {"recover": "no-such-program {pool}"}, "the shell cannot run it: sh: "),
        (None, {"recover": "true {pool}", "recover_folder": "/nowhere"}, "no folder can be made in '/nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(workload: str | None, options: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(cp.InputError) as refused:
        cp.crash("unencrypted", workload or _changed(tmp_path), **options)
    assert says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"from_mark": "open"},
            "from_mark: there is no mark 'open'; "
            "trace {} has 'done 1', 'done 2', 'done 3', 'done 4', 'done 5' and others",
        ),
        (
            {"from_mark": "done 4", "to_mark": "done 4"},
            "to_mark: there is no mark 'done 4'; trace {} has 'done 5', 'done 6' after that one",
        ),
        (
            {"from_mark": "done 6", "to_mark": "done 1"},
            "to_mark: there is no mark 'done 1'; trace {} has no marks after that one",
        ),
        ({"from_mark": "done 1", "at_event": 7}, "from_mark and at_event exclude each other"),
    ],
)
def test_marks_that_are_not_there_are_told_with_those_that_are(
    options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    trace = _marked(tmp_path, *[b"data"] * 6)
    with pytest.raises(cp.InputError) as refused:
        cp.crash("unencrypted", trace, **options)
    assert str(refused.value) == says.format(trace)


def test_the_command_line_tells_the_verdict_and_draws_the_crash(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = cli("crash", "write-back", str(_changed(tmp_path)), "--recover", _READABLE, "--out", str(out))
    assert done.code == 1, done.err
    assert "recovery: power lost after event" in done.out and "images of memory" in done.out
    names = {path.name.split(".", 1)[1] if path.name.startswith("crash-") else path.name for path in out.iterdir()}
    assert names == {"crash.json", "crash.html", "crash.trace.json", "pool"}
