"""`crash --explore legal` on recorded programs: causes on the screen, as JSON and as types, exit codes, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.verbs import recorder

pytestmark = pytest.mark.engine

_START = "==7== pmemcheck-1.0, a simple persistent store checker\n==7== START|REGISTER_FILE;pool;0x1000;0x1000;0x0"
_DATA = "|STORE;0x1040;0x61746164;0x8|FLUSH;0x1040;0x8"
_VALID = "|STORE;0x1080;0x64696c6176;0x8|FLUSH;0x1080;0x8"
_WRONG = _DATA + _VALID + "|FENCE"
_RIGHT = _DATA + "|FENCE" + _VALID + "|FENCE"
_RECOVER = "! grep -q valid {pool} || grep -q data {pool}"

Trace = Callable[[str], str]


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """Writes a log of pmemcheck with these records."""

    def write(records: str) -> str:
        path = tmp_path / "program.log"
        path.write_text(f"{_START}{records}\n==7== |STOP\n")
        return str(path)

    return write


def _legal(path: str, *more: str, design: str = "unencrypted") -> list[str]:
    return ["crash", design, path, "--explore", "legal", *more]


def test_a_missing_fence_is_one_cause(trace: Trace, cli: Cli) -> None:
    path = trace(_WRONG)
    shown = cli(*_legal(path, "--recover", _RECOVER))
    assert shown.code == 1
    assert "Does not hold: 1 of 1 crash failed." in shown.out
    assert "Causes" in shown.out and "missing-fence" in shown.out
    assert "recovery: power lost before record 6, line 0x40" in shown.out
    assert "no fence completes that flush before the store at unknown" in " ".join(shown.out.split())
    assert "cache evictions" not in shown.out, "nothing is simulated"
    printed = cli(*_legal(path, "--recover", _RECOVER, "--json"))
    assert printed.code == 1
    document = json.loads(printed.out)
    (cause,) = document["causes"]
    assert (cause["kind"], cause["count"], cause["at_event"]) == ("missing-fence", 1, 6)
    assert [(line["file"], line["offset"]) for line in cause["lost"]] == [("pool", 0x40)]
    assert [(line["file"], line["offset"]) for line in cause["kept"]] == [("pool", 0x80)]
    assert document["violations"][0]["reproduce"].endswith("--explore legal --at-event 6")
    verdict = cp.crash("unencrypted", path, explore="legal", recover=_RECOVER, at_event=6)
    assert verdict.causes is not None and verdict.causes[0].sentence == cause["sentence"]
    assert verdict.blame is not None and verdict.blame.who == "program"
    assert (verdict.crash_points, verdict.recovered, verdict.distinct_states) == (1, 0, 4)


@pytest.mark.parametrize("design", ["unencrypted", "secpm"])
def test_the_repaired_program_holds_in_every_legal_state(design: str, trace: Trace, cli: Cli) -> None:
    shown = cli(*_legal(trace(_RIGHT), "--recover", _RECOVER, design=design))
    assert shown.code == 0, shown.err
    assert "in 2 crashes." in shown.out and "Causes" not in shown.out
    assert "Exhaustive: no legal state is left out." in " ".join(shown.out.split())


def test_the_memory_that_fails_first_is_kept(trace: Trace, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert cli(*_legal(trace(_WRONG), "--recover", _RECOVER, "--out", str(out))).code == 1
    kept = (out / "crash-6.pool").read_bytes()
    assert kept[0x80:0x85] == b"valid" and b"data" not in kept
    assert json.loads((out / "crash.json").read_text())["causes"][0]["kind"] == "missing-fence"


def test_an_exploration_ends_with_the_failing_memories_asked_for(trace: Trace) -> None:
    path = trace(_WRONG)
    never = "false {pool}"
    for explore in ("legal", "schedule", "schedules"):
        every = cp.crash("unencrypted", path, explore=explore, recover=never, blame=False, no_preflight=True)
        ended = cp.crash(
            "unencrypted", path, explore=explore, recover=never, blame=False, no_preflight=True, stop_after=1
        )
        assert every.recoveries is not None and ended.recoveries is not None
        assert (ended.recoveries.failed, ended.recoveries.images) == (1, 1) and every.recoveries.failed > 1
        assert "ended there" in ended.coverage and "ended there" not in every.coverage


def test_memories_that_time_out_have_causes_of_their_own(trace: Trace, cli: Cli) -> None:
    # One fence too few twice: one of the two stores makes the recovery hang, the other makes it fail.
    path = trace(
        _DATA + _VALID + "|FENCE" + "|STORE;0x10c0;0x65726f6d;0x8|FLUSH;0x10c0;0x8|STORE;0x1100;0x68746f62;0x8"
        "|FLUSH;0x1100;0x8|FENCE"
    )
    recover = f"({_RECOVER}) || exit 1; ! grep -q both {{pool}} || grep -q more {{pool}} || sleep 100"
    shown = cli(*_legal(path, "--recover", recover, "--recover-timeout", "1"))
    assert shown.code == 1
    assert "missing-fence (timed-out)" in shown.out and "images that time out" in shown.out
    assert "timed-out: power lost before record" in shown.out and "recovery: power lost before record" in shown.out
    verdict = cp.crash("unencrypted", path, explore="legal", recover=recover, recover_timeout=1, blame=False)
    assert verdict.causes is not None and verdict.recoveries is not None
    assert sorted((cause.outcome, cause.count) for cause in verdict.causes) == [("failed", 1), ("timed-out", 1)]
    assert (verdict.recoveries.failed, verdict.recoveries.timed_out, verdict.violation_count) == (1, 1, 2)
    assert [violation.rule for violation in verdict.violations] == ["recovery", "timed-out"]
    ended = cp.crash(
        "unencrypted", path, explore="legal", recover=recover, recover_timeout=1, blame=False, stop_after=2
    )
    assert "It ended there" in ended.coverage


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--recover", _RECOVER, "--at-event", "3"], "record 3 of the trace is no fence or flush"),
        (["--watch-reads"], "watch_reads: it has no effect without a command"),
        (
            ["--recover", _RECOVER, "--watch-reads", "--explore", "schedule"],
            "watch_reads: only explore 'legal' takes it",
        ),
    ],
)
def test_options_without_a_meaning_are_refused(options: list[str], sentence: str, trace: Trace, cli: Cli) -> None:
    assert sentence in " ".join(cli(*_legal(trace(_RIGHT), *options)).refusal.split())


def test_a_counter_that_is_lost_is_a_cause(trace: Trace, cli: Cli, tmp_path: Path) -> None:
    other = "\n==7== |REGISTER_FILE;other;0x3000;0x1000;0x0"
    path = trace(other + _RIGHT.replace("0x1080", "0x3080"))
    recover = "! grep -q valid {folder}/other || grep -q data {pool}"
    assert cli(*_legal(path, "--recover", recover, design="sca")).code == 0, "write-backs are assumed"
    lost = cli(*_legal(path, "--recover", recover, "--out", str(tmp_path / "out"), design="write-back"))
    assert lost.code == 1 and "counter-not-durable" in lost.out
    page = (tmp_path / "out" / "crash.html").read_text()
    assert "Data is durable without its counter" in page


@pytest.mark.parametrize(
    ("records", "who", "why"),
    [
        (_WRONG, "program", "But that is luck: before record 6 of the trace hardware may leave memory from which the "),
        (_RIGHT, "design", "Without encryption the same program holds"),
    ],
)
def test_a_program_that_only_luck_saves_is_to_blame(records: str, who: str, why: str, trace: Trace) -> None:
    """The last store to the line of the data makes it unreadable for a while on write-through, whatever the program did
    before. Over plaintext memory both hold in the schedule that is simulated."""
    path = trace(records + "|STORE;0x1048;0x1;0x8|FLUSH;0x1040;0x8|FENCE")
    assert cp.crash("unencrypted", path, recover=_RECOVER).holds
    verdict = cp.crash("write-through", path, recover=_RECOVER)
    assert [violation.rule for violation in verdict.violations] == ["recovery"]
    assert verdict.blame is not None
    assert verdict.blame.who == who
    assert why in verdict.blame.why
    assert ("luck" in verdict.blame.why) == (who == "program")


_REPAIR = """\
if grep -q data {pool} && ! grep -q done {pool}; then
    printf kept | dd of={pool} bs=1 seek=128 conv=notrunc 2> {folder}/said
    printf done | dd of={pool} bs=1 seek=192 conv=notrunc 2> {folder}/said
fi
! grep -q done {pool} || grep -q kept {pool}
"""
_RECORDER = """\
for word; do
    case $word in
        --trace-files=*) out=${word#*=}-0 ;;
        --pmem=*) pool=${word#*=}; pool=${pool%\\*}pool ;;
        --) shift; break ;;
    esac
    shift
done
if grep -q data "$pool" && ! grep -q done "$pool"; then did="STORED"; fi
"$@" && echo "START|REGISTER_FILE;$pool;0x1000;0x1000;0x0$did
==7== |STOP" | sed 's/^S/==7== S/; 1i ==7== pmemcheck-1.0, a simple persistent store checker' > "$out"
"""
_UNFLUSHED = "|STORE;0x1080;0x7470656b;0x8|STORE;0x10c0;0x656e6f64;0x8|FLUSH;0x10c0;0x8|FENCE"
_FLUSHED = "|STORE;0x1080;0x7470656b;0x8|FLUSH;0x1080;0x8|FENCE" + _UNFLUSHED[_UNFLUSHED.index("|STORE;0x10c0") :]


def _recorded(stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a script record commands: each run that repairs a pool stores this."""
    script = tmp_path / "recorder"
    script.write_text(_RECORDER.replace("STORED", stored))
    monkeypatch.setattr(recorder, "recorder_of_commands", lambda: ["sh", str(script)])


def test_a_recovery_that_does_not_flush_fails_when_power_fails_again(
    trace: Trace, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = trace(_DATA + "|FENCE"), tmp_path / "out"
    assert cli(*_legal(path, "--recover", _REPAIR)).code == 0
    _recorded(_UNFLUSHED, tmp_path, monkeypatch)
    shown = cli(*_legal(path, "--recover", _REPAIR, "--nested", "--out", str(out)))
    assert shown.code == 1, shown.err
    assert "yet data were lost when power failed again during recovery" in shown.out
    assert "Causes in the recovery" in shown.out and "missing-flush" in shown.out
    assert "power lost before record 4, again before record 5 of the recovery" in shown.out
    document = json.loads((out / "crash.json").read_text())
    assert (document["causes"], document["recoveries"]["nested"]["failed"]) == ([], 1)
    (violation,) = document["violations"]
    assert violation["reproduce"].endswith("--explore legal --nested --at-event 4")
    assert "recorder" not in document["request"]
    survived, failed = ((out / name).read_bytes() for name in ("crash-4-survived.pool", "crash-4-again-5.pool"))
    assert b"data" in survived and b"done" not in survived
    assert b"done" in failed and b"kept" not in failed
    assert "In the recovery: A store is never flushed" in (out / "crash.html").read_text()
    sarif = cli(*_legal(path, "--recover", _REPAIR, "--nested", "--format", "sarif"))
    message = json.loads(sarif.out)["runs"][0]["results"][0]["message"]["text"]
    assert message.startswith("When power fails again, in the recovery: The store at")
    assert f"Reproduce: {violation['reproduce']}" in message


def test_a_recovery_that_flushes_holds_when_power_fails_again(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _recorded(_FLUSHED, tmp_path, monkeypatch)
    verdict = cp.crash("unencrypted", trace(_DATA + "|FENCE"), explore="legal", recover=_REPAIR, nested_depth=2)
    assert verdict.holds and verdict.recovery_causes == ()
    assert verdict.recoveries is not None and verdict.recoveries.nested is not None
    assert verdict.recoveries.nested.stored > 0 and verdict.nested_points > 0
