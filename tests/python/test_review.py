"""What of a check is left out: what is suppressed, known from a baseline, of another class, or inside PMDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from conftest import Cli
from reviewed import answer, finding, finds, found

import document_types
from counterpoint.contract.results import Check
from counterpoint.system.paths import below, repository
from counterpoint.verbs.review import library_of, load_baseline
from counterpoint.verbs.suppressions import load

_LOST = finding("never-flushed", "/home/me/map/src/map.c:12", "put(int)", "/home/me/map/build/map")
_TWICE = finding("flushed-twice", "/home/me/map/src/map.c:20", "get", "/home/me/map/build/map")
_INSIDE = finding("idle-fence", None, "pmemobj_close", "/usr/lib/x86_64-linux-gnu/libpmemobj.so.1.0.0")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _file(text: str, name: str = "known.toml") -> str:
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        ('function = "put"', {"never-flushed"}),
        ('function = "put(int)"', {"never-flushed"}),
        ('function = "?et"', {"flushed-twice"}),
        ('file = "/home/me/*"', {"never-flushed", "flushed-twice"}),
        ('file = "map.c"', {"never-flushed", "flushed-twice"}),
        ('file = "map.h"', set()),
        ('object = "libpmemobj.so*"', {"idle-fence"}),
        ('object = "/usr/lib/*"', {"idle-fence"}),
        ('kind = "*flush*"', {"never-flushed", "flushed-twice"}),
        ('function = "get"\nkind = "never-*"', set()),
        ('function = "get"\nkind = "flushed-*"\nfile = "*.c"\nobject = "map"\nreason = "old"', {"flushed-twice"}),
    ],
)
def test_a_suppression_matches_by_each_pattern_that_it_gives(rule: str, kinds: set[str]) -> None:
    reviewed = found(_LOST, _TWICE, _INSIDE, suppressions=[load(_file(f"[[suppress]]\n{rule}\n"))])
    assert {one.kind for one in reviewed.left_out["suppressed"]} == kinds
    assert {one.kind for one in reviewed.found.findings} == {"never-flushed", "flushed-twice", "idle-fence"} - kinds
    assert reviewed.found.holds == ("never-flushed" in kinds)
    assert bool(reviewed.unused) == (not kinds)


def test_a_path_below_the_root_of_the_repository_is_matched_as_such(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".git").mkdir()
    (here / "src").mkdir()
    monkeypatch.chdir(here / "src")
    assert repository() == here
    assert below(here, "map.c") == "src/map.c" and below(here, f"{here}/a/../b.c") == "b.c"
    assert below(here, f"{here}/../b.c") is None and below(here, str(here)) is None
    lost = finding("never-flushed", f"{here}/src/map.c:3")
    reviewed = found(lost, suppressions=[load(_file('[[suppress]]\nfile = "src/*.c"\n'))])
    assert reviewed.found.findings == ()


def test_what_is_suppressed_and_what_suppresses_nothing_is_said(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, _LOST, _TWICE)
    first = _file('[[suppress]]\nfunction = "put"\n[[suppress]]\nkind = "idle-fence"\nfunction = "gone"\n')
    second = _file('[[suppress]]\nfunction = "a"\n[[suppress]]\nfunction = "b"\n', "other.toml")
    empty = _file("", "empty.toml")
    words = ("check", "t", "--suppressions", first, "--suppressions", second, "--suppressions", empty)
    outcome = cli(*words)
    told = " ".join(outcome.out.split())
    assert outcome.code == 0
    assert "Holds, as far as this check can tell, apart from what is not shown." in told
    assert "Not shown: 1 finding suppressed." in told and "put(int)" not in told
    unused = [
        "known.toml: suppression 2 (function 'gone', kind 'idle-fence') matches no finding",
        "other.toml: no suppression matches a finding",
        "empty.toml has no suppressions",
    ]
    assert all(f"Unused: {sentence}." in told for sentence in unused)
    document = json.loads(cli(*words, "--json").out)
    assert (document["holds"], document["unused_suppressions"]) == (True, unused)
    assert [one["function"] for one in document["findings"]] == ["get"]
    document_types.check("reports/Check.json", document)
    assert document["left_out"] == {"suppressed": [_LOST], "known": [], "of_other_class": []}
    assert unused[0] in cli(*words, "--format", "github").out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[suppress", "'known.toml' is not TOML"),
        ("a = 1", "known.toml: a does not exist (known: suppress)"),
        ("suppress = 1", "known.toml: suppress must be tables, each begun by [[suppress]]"),
        ('[[suppress]]\nfunktion = "f"', "known.toml: suppress 1: funktion does not exist: did you mean 'function'?"),
        ('[[suppress]]\nkind = "x"\n', "known.toml: suppress 1: kind 'x' is no kind of finding (known: never-flushed,"),
        ('[[suppress]]\nkind = "never-flush"', "is no kind of finding: did you mean 'never-flushed'?"),
        ("[[suppress]]\nfile = 1", "known.toml: suppress 1: file is 1; it must be a text"),
        ('[[suppress]]\nreason = "all"', "known.toml: suppress 1: it matches every finding; name a function, file,"),
        ("\xff", "'known.toml' is not TOML"),
    ],
)
def test_a_bad_file_of_suppressions_gets_a_sentence(text: str, sentence: str, cli: Cli) -> None:
    Path("known.toml").write_text(text, encoding="latin-1")
    assert sentence in cli("check", "t", "--suppressions", "known.toml").refusal


def test_a_file_of_suppressions_that_is_not_there_gets_a_sentence(cli: Cli) -> None:
    assert "'gone.toml' cannot be read" in cli("check", "t", "--suppressions", "gone.toml").refusal


def test_the_schema_of_suppressions_takes_what_the_program_takes() -> None:
    rules = [{"function": "f"}, {"file": "*.c", "object": "o", "kind": "idle-fence", "reason": "r"}]
    document_types.check("files/suppressions.json", {"suppress": rules})
    with pytest.raises(jsonschema.ValidationError):
        document_types.check("files/suppressions.json", {"suppress": [{"line": "1"}]})


def _baseline(*findings: dict[str, Any]) -> Check:
    Path("old.json").write_text(json.dumps(answer(*findings)))
    return load_baseline("old.json")


def _new(earlier: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    return [one.place for one in found(*now, baseline=_baseline(*earlier)).found.findings]


def test_a_finding_is_known_where_its_line_has_moved_and_the_checkout_is_another_one() -> None:
    moved = finding("never-flushed", "/builds/7/src/map.c:19", "put(int)", "/builds/7/build/map")
    assert _new([_LOST], [_LOST]) == [] and _new([_LOST], [moved]) == []
    assert _new([_LOST], [finding("never-fenced", _LOST["source"], "put(int)", _LOST["object"])]) != []
    assert _new([_LOST], [finding("never-flushed", _LOST["source"], "drop", _LOST["object"])]) != []
    assert _new([], [_LOST]) == [_LOST["place"]]


def test_one_more_finding_in_a_function_is_new_and_those_at_known_lines_are_not() -> None:
    lines = [finding("never-flushed", f"/a/map.c:{line}", "put", "/a/map") for line in (10, 20, 30)]
    assert _new(lines[:2], lines) == ["/a/map.c:30"]
    assert _new(lines[1:2], lines) == ["/a/map.c:10", "/a/map.c:30"]
    assert _new(lines, lines[:2]) == []


def test_without_places_a_finding_is_known_that_stands_for_no_more_operations() -> None:
    assert _new([finding("clean-flush", count=5)], [finding("clean-flush", count=4)]) == []
    assert _new([finding("clean-flush", count=5)], [finding("clean-flush", count=6)]) == ["unknown"]
    assert _new([finding("clean-flush", count=5)], [finding("idle-fence", count=1)]) == ["unknown"]


def test_only_new_findings_count_and_how_many_are_known_is_said(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, _LOST, _TWICE)
    Path("old.json").write_text(cli("check", "t", "--json").out)
    known = cli("check", "t", "--baseline", "old.json")
    assert known.code == 0 and "Not shown: 2 findings known from the baseline." in known.out
    # What a baseline left out is known as well.
    Path("newer.json").write_text(cli("check", "t", "--baseline", "old.json", "--json").out)
    assert cli("check", "t", "--baseline", "newer.json").code == 0
    finds(fake, _LOST, finding("not-ordered", "/home/me/map/src/map.c:30", "put(int)"), _TWICE)
    new = cli("check", "t", "--baseline", "old.json", "--format", "github")
    assert new.code == 1 and "::error title=not-ordered in put(int)::" in new.out and "never-flushed" not in new.out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "baseline 'old.json' is not JSON"),
        ("[" * 100_000, "baseline 'old.json' is not JSON"),
        ("[]", "baseline 'old.json' is not what `counterpoint check --json` prints"),
        ('{"schema": 1, "findings": [{}]}', "is not what `counterpoint check --json` prints"),
        (json.dumps({**answer(), "findings": 1}), "is not what `counterpoint check --json` prints"),
        (json.dumps({**answer(), "left_out": {"known": [1]}}), "is not what `counterpoint check --json` prints"),
    ],
)
def test_a_bad_baseline_gets_a_sentence(text: str, sentence: str, cli: Cli) -> None:
    Path("old.json").write_text(text)
    assert sentence in cli("check", "t", "--baseline", "old.json").refusal


def test_only_one_class_is_shown_and_counts(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, _LOST, _TWICE)
    correct = cli("check", "t", "--only", "correctness")
    assert correct.code == 1 and "flushed-twice" not in correct.out
    assert "Not shown: 1 finding not about correctness." in correct.out
    fast = cli("check", "t", "--only", "performance")
    assert fast.code == 1 and "never-flushed" not in fast.out and "Holds" not in fast.out
    document = json.loads(cli("check", "t", "--only", "performance", "--json").out)
    assert document["holds"] is False and document["left_out"]["of_other_class"] == [_LOST]
    finds(fake, _TWICE)
    assert cli("check", "t", "--only", "correctness").code == 0
    finds(fake, _LOST)
    assert cli("check", "t", "--only", "performance").code == 0
    assert "'correctnes' is not one of" in cli("check", "t", "--only", "correctnes").refusal


@pytest.mark.parametrize(
    ("source", "object_", "library"),
    [
        (None, "/usr/lib/libpmemobj.so.1.0.0", "libpmemobj"),
        ("/b/pmdk/src/libpmem/pmem.c:1", "/usr/lib/libpmem.so.1", "libpmem"),
        ("/b/pmdk/src/libpmemobj/tx.c:1", "/home/me/static", "libpmemobj"),
        ("/b/pmdk/src/libpmempool/check.c:1", None, "libpmempool"),
        ("/home/me/libpmem/map.c:1", "/home/me/map", None),
        ("/home/me/src/libpmemkv/map.c:1", "/home/me/libpmemkv.so", None),
        (None, None, None),
    ],
)
def test_places_inside_pmdk_are_known_by_object_or_source(
    source: str | None, object_: str | None, library: str | None
) -> None:
    (one,) = found(finding("idle-fence", source, None, object_)).found.findings
    assert library_of(one) == library


def test_findings_inside_pmdk_are_one_line_and_still_count(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    inside = [finding("never-flushed", f"/b/src/libpmemobj/tx.c:{line}", "tx") for line in (1, 2)]
    finds(fake, *inside, _TWICE, _INSIDE)
    folded = cli("check", "t")
    assert folded.code == 1
    assert "in libpmemobj: 2 findings (--all shows them)" in folded.out and "tx.c" not in folded.out
    assert "in libpmemobj: 1 finding (--all shows them)" in folded.out and "map.c:20" in folded.out
    every = cli("check", "t", "--all")
    assert every.code == 1 and "tx.c:2" in every.out and "--all shows" not in every.out
    assert len(json.loads(cli("check", "t", "--json").out)["findings"]) == 4


def test_a_check_without_these_options_prints_what_the_engine_said(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, _LOST)
    assert json.loads(cli("check", "t", "--json").out) == answer(_LOST)
    assert cli("check", "t", "--format", "json").out == cli("check", "t", "--json").out
