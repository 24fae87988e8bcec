"""`check`: findings on the screen, as JSON and as types, exit codes, options, and what they cost on a design."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, interrupted

import counterpoint as cp
import samples
from counterpoint import _engine
from counterpoint.contract.results import Example

_DATA = Path(__file__).parents[1] / "data"
_START = (
    "==7== pmemcheck-1.0, a simple persistent store checker\n==7== \n==7== START|REGISTER_FILE;pool;0x1000;0x1000;0x0"
)

_STORE, _FLUSH, _FENCE = "|STORE;0x1040;0x1;0x8", "|FLUSH;0x1040;0x8", "|FENCE"
_DURABLE = _STORE + _FLUSH + _FENCE


@pytest.fixture
def trace(tmp_path: Path) -> Callable[[str], str]:
    """Writes a log of pmemcheck with these records."""

    def write(records: str, end: str = "\n==7== |STOP\n") -> str:
        path = tmp_path / "program.log"
        path.write_text(_START + records + end)
        return str(path)

    return write


Trace = Callable[..., str]


@pytest.mark.engine
def test_a_program_without_findings_holds(trace: Trace, cli: Cli) -> None:
    outcome = cli("check", trace(_DURABLE))
    assert (outcome.code, outcome.err) == (0, "")
    told = " ".join(outcome.out.split())
    assert told.startswith("program.log: 1 store, 1 flush, 1 fence Holds, as far as this check can tell.")
    assert (
        "Checked: Every store is flushed, and fenced if its flush needs that (clflush does not), at the end of" in told
    )
    assert "Not checked: In which order else stores become durable" in told
    assert "/program.log --explore legal --recover 'COMMAND {pool}'" in told and "crash eadr " in told
    assert "Not in the trace: A log of pmemcheck shows non-temporal stores as ordinary ones" in told
    verdict = cp.check(trace(_DURABLE))
    assert verdict.checked.startswith("Every store is flushed, and fenced if") and len(verdict.lacks) == 1
    commands = [one.command for one in verdict.not_checked]
    assert commands == [
        f"counterpoint crash {design} {verdict.trace} --explore legal --recover 'COMMAND {{pool}}'"
        for design in ("unencrypted", "eadr")
    ]


@pytest.mark.engine
def test_check_fails_for_lost_stores_and_not_for_useless_flushes(trace: Trace, cli: Cli) -> None:
    lost = cli("check", trace(_STORE))
    assert lost.code == 1
    assert "Stores that a power failure may lose" in lost.out and "never-flushed: No flush of its line" in lost.out
    assert "record 2, address 0x1040" in lost.out
    useless = cli("check", trace(_DURABLE + _FLUSH + _FENCE + _FENCE))
    assert useless.code == 0
    assert "Holds" in useless.out and "Useless flushes and fences" in useless.out
    assert "flushed-twice: The line was flushed before" in useless.out and "idle-fence" in useless.out


@pytest.mark.engine
def test_the_document_and_the_types_say_the_same(trace: Trace, cli: Cli) -> None:
    path = trace(_DURABLE + _FLUSH + "|STORE;0x1078;0x1;0x8" + _STORE + _STORE)
    outcome = cli("check", path, "--json")
    assert (outcome.code, outcome.err) == (1, "")
    document = json.loads(outcome.out)
    verdict = cp.check(path)
    assert verdict.to_dict() == document
    assert (document["schema"], document["cut_off"], document["cost"]) == (1, None, None)
    # A store after a flush that no fence completes is late, not only unflushed.
    assert [(one.kind, one.correctness, one.count) for one in verdict.findings] == [
        ("stored-after-flush", True, 3),
        ("flushed-twice", False, 1),
    ]
    first = verdict.findings[0]
    assert (first.place, first.source, first.function, first.later) == ("unknown", None, None, None)
    assert first.example == Example(record=6, thread=0, address=0x1078, file="pool", offset=0x78, called_at=None)
    assert (verdict.stores, verdict.flushes, verdict.fences, verdict.records) == (4, 2, 1, 8)


@pytest.mark.engine
def test_cost_of_useless_operations_is_a_difference_of_replays(trace: Trace) -> None:
    useless = "".join(_DURABLE + _FLUSH + _FENCE for _ in range(20))
    path = trace(useless)
    verdict = cp.check(path, design="secpm")
    (twice,) = verdict.findings
    cost = verdict.cost
    assert cost is not None
    assert (cost.design, cost.variant, cost.machine, cost.seed) == ("secpm", "hardened", "secpm", 1)
    (whole,) = cp.replay(path, ["secpm"])
    assert cost.simulated_ns == whole.stats.simulated_ns
    # Without these flushes it is the program that never had them; its fences without work stay.
    (without,) = cp.replay(trace(useless.replace(_FENCE + _FLUSH, _FENCE)), ["secpm"])
    assert twice.kind == "flushed-twice" and twice.count == 20
    assert twice.cost_ns == cost.all_ns == cost.simulated_ns - without.stats.simulated_ns
    assert twice.cost_ns > 0
    again = cp.check(trace(useless), design="secpm")
    assert again.findings == verdict.findings and again.cost == cost, "a cost is the same every time"
    other = cp.check(path, design="unencrypted", set={"device.t_wr_ns": 1000}, seed=2, machine="secpm")
    assert other.cost is not None and other.cost.seed == 2 and other.cost.simulated_ns != cost.simulated_ns


@pytest.mark.engine
def test_only_the_most_frequent_findings_are_measured(trace: Trace, cli: Cli) -> None:
    path = trace(_DURABLE + _FLUSH + _FLUSH + _FENCE + _FENCE)
    verdict = cp.check(path, design="secpm", top=1)
    assert [(one.kind, one.cost_ns is None) for one in verdict.findings] == [
        ("flushed-twice", False),
        ("idle-fence", True),
    ]
    outcome = cli("check", path, "--design", "secpm", "--top", "1")
    assert outcome.code == 0
    assert "and 1 finding more; --top shows more" in outcome.out
    assert "On secpm the program takes" in outcome.out and "without all of these" in outcome.out
    clean = cli("check", trace(_DURABLE), "-d", "secpm")
    cost = [line for line in clean.out.splitlines() if line.startswith("On secpm the program takes")]
    assert len(cost) == 1 and "without all of these" not in clean.out


@pytest.mark.engine
def test_everything_must_be_durable_at_a_mark(trace: Trace, cli: Cli) -> None:
    path = trace(_STORE + "|done.END" + _FLUSH + _FENCE)
    assert cli("check", path).code == 0
    assert cli("check", path, "--mark", "done.END").code == 1
    assert cp.check(path, mark="done.END").marks == 1
    assert cli("check", path, "--mark", "done").refusal == f"{path}: mark: the program sets no mark 'done'\n"


@pytest.mark.engine
def test_a_trace_that_is_cut_off(trace: Trace, cli: Cli) -> None:
    path = trace(_DURABLE, end="|STO")
    refused = cli("check", path)
    assert refused.code == 2 and "--allow-truncated checks that part" in refused.err
    allowed = cli("check", path, "--allow-truncated", "--json")
    assert allowed.code == 0 and json.loads(allowed.out)["cut_off"]["records"] == 4
    assert cp.check(path, design="secpm", allow_truncated=True).cost is not None


@pytest.mark.engine
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gone.cptrace"], "gone.cptrace: the trace cannot be opened"),
        (["btree"], "check: 'btree' is a workload; only the trace of a recorded program is checked"),
        ([str(_DATA)], "must be a regular file"),
        (["{}", "--machine", "secpm"], "machine: it has no effect without a design; name one with 'design'"),
        (["{}", "--set", "device.t_wr_ns=1"], "set: it has no effect without a design; name one with 'design'"),
        (["{}", "--design", "sepcm"], "design 'sepcm' does not exist: did you mean 'secpm', 'sepencr' or 'secpb'?"),
        (["{}", "--design", "secpm", "--machine", "small", "--set", "device.capacity=4KiB"], "device.capacity"),
    ],
)
def test_bad_input_gets_a_sentence(arguments: list[str], sentence: str, trace: Trace, cli: Cli) -> None:
    path = trace(_DURABLE)
    assert sentence in cli("check", *(argument.format(path) for argument in arguments)).refusal


@pytest.mark.engine
def test_every_record_of_a_trace_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.cptrace"
    path.write_bytes(samples.recorded())
    verdict = cp.check(path, mark="pmemobj_tx_commit.END|")
    kinds = {one.kind for one in verdict.findings}
    assert {"never-flushed"} <= kinds and not verdict.holds and verdict.marks == 1


_C = r"""
void persist(volatile char *line) { __asm__ volatile("clwb %0\n sfence" : "+m"(*line)); }
void own_wrapper(volatile char *line)
{
    persist(line);
}
void program(volatile char *line)
{
    own_wrapper(line);
    *line = 1;
}
"""


def _flush_in_wrappers(tmp_path: Path, before: list[bytes], after: list[bytes]) -> Path:
    """A trace whose program flushes the first line of its file by `persist` of `own_wrapper`, in `program`."""
    source, library = tmp_path / "program.c", tmp_path / "program.so"
    source.write_text(_C)
    options = ["-g", "-O1", "-shared", "-fPIC", "-nostdlib", "-fno-inline", "-fno-optimize-sibling-calls"]
    subprocess.run(["cc", *options, "-o", library, source], check=True)
    listing = subprocess.run(["objdump", "-d", library], check=True, capture_output=True, text=True).stdout.splitlines()

    def address(function: str, instruction: str) -> int:
        begin = next(i for i, line in enumerate(listing) if line.endswith(f"<{function}>:"))
        line = next(line for line in listing[begin:] if instruction in line)
        return int(line.split(":")[0], 16)

    flush, inner, outer = address("persist", "clwb"), address("own_wrapper", "call"), address("program", "call")
    path = tmp_path / "program.cptrace"
    records = [
        *samples.begun(0x1000),
        b"\x05\x00" + samples.unsigned(1 << 20) + b"\x00" + samples.unsigned(len(str(library))) + str(library).encode(),
        *before,
        b"\x08\x02" + samples.signed(inner) + samples.signed(outer - inner),
        b"\x14\x00" + samples.signed(flush) + samples.signed(0 if before else samples.BASE),
        *after,
        b"\x17\x00" + samples.signed(0),
    ]
    path.write_bytes(samples.ended(records, 2))
    return path


@pytest.mark.engine
def test_a_finding_is_shown_at_the_line_that_calls_a_wrapper(tmp_path: Path, cli: Cli) -> None:
    path = _flush_in_wrappers(tmp_path, [], [])
    (finding,) = cp.check(path).findings
    assert (finding.kind, finding.function, Path(finding.place).name) == ("clean-flush", "own_wrapper", "program.c:5")
    assert finding.example.called_at == finding.place.removesuffix(":5") + ":9"
    table = cli("check", str(path)).out
    assert "called at" in table and "program.c:9" in table
    (finding,) = cp.check(path, wrappers=["own_wrapper"]).findings
    assert (finding.function, Path(finding.place).name) == ("program", "program.c:9")
    assert finding.example.called_at is None
    outcome = cli("check", str(path), "--wrapper", "own_wrapper", "--wrapper", "another")
    assert outcome.code == 0 and "program.c:9" in outcome.out


@pytest.mark.engine
def test_a_cause_is_shown_at_the_line_that_calls_a_wrapper(tmp_path: Path) -> None:
    stored = b"\x11\x00\x00" + samples.signed(samples.BASE) + b"\x04data"
    valid = [b"\x11\x00\x00" + samples.signed(64) + b"\x05valid", b"\x14\x00\x00\x00"]
    path = _flush_in_wrappers(tmp_path, [stored], valid)
    ordered = "! grep -q valid {pool} || grep -q data {pool}"
    places = []
    for wrappers in ([], ["own_wrapper"]):
        verdict = cp.crash("unencrypted", path, explore="legal", recover=ordered, wrappers=wrappers)
        assert verdict.causes is not None
        (cause,) = verdict.causes
        assert cause.kind == "missing-fence"
        flushed = cause.lost[0].flushed
        assert flushed is not None
        places.append(Path(flushed.place).name)
    assert places == ["program.c:5", "program.c:9"]
    with pytest.raises(cp.InputError, match="wrappers: only a recorded program has source lines"):
        cp.crash("unencrypted", "btree", wrappers=["own_wrapper"])


@pytest.mark.engine
def test_a_violation_is_shown_at_the_line_that_calls_a_wrapper(tmp_path: Path) -> None:
    stored = b"\x11\x00\x00" + samples.signed(samples.BASE) + b"\x04data"
    path = _flush_in_wrappers(tmp_path, [stored], [])
    places = []
    for wrappers in ([], ["own_wrapper"]):
        # The flushed line loses its counter, and so is noise.
        recover = "grep -q data {pool}"
        verdict = cp.crash("write-back", path, recover=recover, no_preflight=True, wrappers=wrappers, blame=False)
        flushed = [line.flushed for violation in verdict.violations for line in violation.lines]
        places.append({Path(place.place).name for place in flushed if place is not None})
    assert places == [{"program.c:5"}, {"program.c:9"}]


def test_ctrl_c_ends_a_check(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    interrupted(fake, "check")
    with pytest.raises(cp.Interrupted):
        cp.check("t.cptrace")
    assert cli("check", "t.cptrace").code == 130


def test_a_request_has_what_was_asked_for(fake: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: str, progress: Any = None) -> str:
        asked.append(json.loads(request))
        return json.dumps(
            {"schema": 1, "trace": "t", "holds": True, "records": 0, "cut_off": None, "findings": []}
            | dict.fromkeys(("stores", "flushes", "fences", "marks"), 0)
            | {"cost": None, "checked": [], "not_checked": [], "lacks": []}
        )

    fake.setattr(_engine, "check", answer)
    cp.check("t")
    cp.check(Path("t"), design="secpm", top=3, wrappers="one", mark="m", set={"a.b": 1}, allow_truncated=True)
    assert asked == [
        {"trace": "t", "top": 15},
        {"trace": "t", "top": 3, "design": "secpm", "wrappers": ["one"], "mark": "m", "set": ["a.b=1"]}
        | {"allow_truncated": True},
    ]
    with pytest.raises(cp.InputError, match="top is -1"):
        cp.check("t", top=-1)
