"""Verdicts in the formats of services for continuous integration: SARIF, JUnit, and commands of GitHub Actions."""

from __future__ import annotations

import json
from collections.abc import Sized
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema  # type: ignore[import-untyped]
import pytest
from conftest import Cli, altered
from reviewed import finding, finds, place

import counterpoint as cp
from counterpoint.report import ci

_SCHEMA = json.loads((Path(__file__).parents[1] / "data/sarif/sarif-schema-2.1.0.json").read_text())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def _findings(here: Path) -> list[dict[str, Any]]:
    return [
        finding(
            "not-ordered",
            f"{here}/src/a map, 100%:new.c:12",
            "put(int, char)",
            "/bin/map",
            count=3,
            later=place(f"{here}/src/map.c:14", "put(int, char)"),
            sentence="It is overtaken.\r\nBy another: 50% of the time.",
        ),
        finding("never-fenced", "/elsewhere/list.c:7", "<push>", fenced_by=place(None, "exit", "/lib/libc.so.6")),
        finding("idle-fence", None, None, None, count=2, cost_ns=1500.0),
    ]


def _sarif(text: str) -> dict[str, Any]:
    """A SARIF log that fits the schema."""
    log: dict[str, Any] = json.loads(text)
    jsonschema.Draft7Validator.check_schema(_SCHEMA)
    jsonschema.Draft7Validator(_SCHEMA).validate(log)
    (run,) = log["runs"]
    assert all(run["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    return dict(run)


def test_a_log_that_is_not_sarif_is_found() -> None:
    with pytest.raises(jsonschema.ValidationError):
        _sarif('{"version": "2.1.0", "runs": [{"tool": {}}]}')


def test_a_check_as_sarif(fake: pytest.MonkeyPatch, cli: Cli, here: Path) -> None:
    finds(fake, *_findings(here))
    outcome = cli("check", "map.cptrace", "--format", "sarif")
    assert (outcome.code, outcome.err) == (1, "")
    run = _sarif(outcome.out)
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": f"{here.as_uri()}/"}}
    first, second, third = run["results"]
    assert [one["level"] for one in run["results"]] == ["error", "error", "warning"]
    at = first["locations"][0]["physicalLocation"]
    assert at["artifactLocation"] == {"uri": "src/a%20map%2C%20100%25%3Anew.c", "uriBaseId": "%SRCROOT%"}
    assert at["region"] == {"startLine": 12}
    assert first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "put(int, char)"
    (later,) = first["relatedLocations"]
    assert later["physicalLocation"]["artifactLocation"]["uri"] == "src/map.c"
    assert second["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///elsewhere/list.c"}
    # What has no source line is shown at the trace.
    at = third["locations"][0]["physicalLocation"]
    assert (at["artifactLocation"]["uri"], at["region"]["startLine"]) == ("map.cptrace", 1)
    assert third["message"]["text"].endswith(
        "2 fences, first in record 7 of the trace. Without, the program takes 1.50 µs less."
    )


def test_every_kind_of_engine_answer_is_sarif(cli: Cli) -> None:
    (Path("empty.log")).write_text("==7== pmemcheck-1.0, a simple persistent store checker\n==7== START|STOP\n")
    assert _sarif(cli("check", "empty.log", "--format", "sarif").out)["results"] == []


_SUITE = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "skipped", "package", "id"}
_PARTS: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": (_SUITE, {"properties", "testcase", "system-out", "system-err"}),
    "properties": (set(), set()),
    "testcase": ({"name", "classname", "time"}, {"failure", "error", "skipped"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": (set(), set()),
    "system-out": (set(), set()),
    "system-err": (set(), set()),
}
"""Attributes and parts that the schemas of Ant and Jenkins have in common: all of the attributes, any of the parts."""


def _junit(text: str) -> ElementTree.Element:
    """The suite of a document that has the structure of both schemas."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, parts = _PARTS[element.tag]
        assert set(element.attrib) == attributes and {part.tag for part in element} <= parts, element.tag
        assert len(element) <= 1 or element.tag in ("testsuites", "testsuite"), "a test has one outcome"
    (suite,) = root
    # Ant wants them in this order.
    tests = [part.tag for part in suite if part.tag == "testcase"]
    assert [part.tag for part in suite] == ["properties", *tests, "system-out", "system-err"]
    counted: dict[str, Sized] = {
        "tests": tests,
        "failures": suite.findall("*/failure"),
        "errors": suite.findall("*/error"),
    }
    assert {name: int(suite.attrib[name]) for name in counted} == {name: len(those) for name, those in counted.items()}
    return suite


def test_a_check_as_junit(fake: pytest.MonkeyPatch, cli: Cli, here: Path) -> None:
    finds(fake, *_findings(here))
    outcome = cli("check", "map.cptrace", "--format", "junit")
    assert outcome.code == 1
    suite = _junit(outcome.out)
    assert suite.attrib["name"] == "counterpoint check map.cptrace"
    failed = {test.attrib["name"]: test[0] for test in suite.findall("testcase") if len(test)}
    assert list(failed) == [
        "not-ordered: src/a map, 100%:new.c:12 (put(int, char))",
        "never-fenced: /elsewhere/list.c:7 (<push>)",
    ]
    told = failed["never-fenced: /elsewhere/list.c:7 (<push>)"]
    assert told.attrib["type"] == "never-fenced" and "fenced only by this instruction: exit" in str(told.text)
    passed = [test.attrib["name"] for test in suite.findall("testcase") if not len(test)]
    assert "never-flushed" in passed and "idle-fence" in passed
    assert "1 other finding" in str(suite.findtext("system-out"))


def test_control_characters_are_no_part_of_xml(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, finding("never-flushed", "/a\x01\x1b.c:1", "f\x0b", sentence="\x00 & <b> ]]> \ufffe"))
    (failure,) = _junit(cli("check", "t", "--format", "junit").out).findall("*/failure")
    assert "\\x00 & <b> ]]>" in str(failure.text)


def test_a_check_as_commands_of_github(fake: pytest.MonkeyPatch, cli: Cli, here: Path) -> None:
    finds(fake, *_findings(here))
    outcome = cli("check", "map.cptrace", "--format", "github")
    assert outcome.code == 1
    first, second, third, last = outcome.out.splitlines()
    assert first.startswith(
        "::error file=src/a map%2C 100%25%3Anew.c,line=12,title=not-ordered in put(int%2C char)::"
        "It is overtaken.%0D%0ABy another: 50%25 of the time. 3 times, first in record 7 of the trace.%0A"
    )
    # GitHub knows no files elsewhere.
    assert second.startswith("::error title=never-fenced in <push>::") and "At /elsewhere/list.c:7." in second
    assert third.startswith("::warning title=idle-fence::It is idle-fence.")
    assert last == "counterpoint check map.cptrace: Does not hold: 2 findings; 1 other finding."


def test_no_text_of_a_program_becomes_a_command(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake, finding("never-flushed", "/a\n::error::x.c:1", "f\n::stop-commands::x", sentence="a\n::add-mask::b"))
    lines = cli("check", "t\n::error::t", "--format", "github").out.splitlines()
    assert [line.startswith("::") for line in lines] == [True, False]


@pytest.mark.parametrize("shown", ["sarif", "junit", "github"])
def test_a_format_takes_what_is_left_after_a_review(shown: str, fake: pytest.MonkeyPatch, cli: Cli, here: Path) -> None:
    finds(fake, *_findings(here))
    Path("known.toml").write_text('[[suppress]]\nkind = "n*"\n')
    outcome = cli("check", "t", "--suppressions", "known.toml", "--format", shown)
    assert outcome.code == 0
    assert "never-fenced: " not in outcome.out and "Not shown: 2 findings suppressed." in outcome.out


def test_json_and_another_format_contradict_each_other(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    finds(fake)
    for command in (("check", "t"), ("crash", "secpm", "btree")):
        refused = cli(*command, "--json", "--format", "sarif").refusal
        assert refused == "--json and --format sarif contradict each other; give one of them\n"
        assert cli(*command, "--json", "--format", "json").out == cli(*command, "--format", "json").out
        assert "'xml' is not one of" in cli(*command, "--format", "xml").refusal


@pytest.mark.parametrize(("design", "code"), [("write-back", 1), ("secpm", 0)])
def test_a_crash_in_each_format(design: str, code: int, fake: pytest.MonkeyPatch, cli: Cli) -> None:
    words = ("crash", design, "btree", "--format")
    outcomes = {shown: cli(*words, shown) for shown in ("sarif", "junit", "github")}
    assert {outcome.code for outcome in outcomes.values()} == {code}
    run, suite = _sarif(outcomes["sarif"].out), _junit(outcomes["junit"].out)
    rules = ["line", "pad_reuse"] if code else []
    assert [one["ruleId"] for one in run["results"]] == rules and run["properties"]["holds"] == (not code)
    assert [one.attrib["type"] for one in suite.findall("*/failure")] == rules
    assert outcomes["github"].out.count("::error title=") == len(rules)
    for outcome in outcomes.values() if code else ():
        assert "Reproduce: counterpoint crash write-back btree" in outcome.out
        assert "5 more violations of this rule here." in outcome.out


def test_a_crash_that_judged_nothing_is_skipped(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    altered(fake, "crash", lambda document: document.update({"holds": None, "out_of_time": True, "crash_points": 0}))
    outcome = cli("crash", "secpm", "btree", "--format", "junit")
    assert outcome.code == 0 and _junit(outcome.out).attrib["skipped"] == "1"
    assert (
        _sarif(cli("crash", "secpm", "btree", "--format", "sarif").out)["invocations"][0]["executionSuccessful"]
        is False
    )
    assert "No verdict" in cli("crash", "secpm", "btree").out


def test_auditors_that_disagree_are_an_error(fake: pytest.MonkeyPatch, cli: Cli) -> None:
    altered(fake, "crash", lambda document: document.update({"holds": False, "internal_errors": ["they disagree"]}))
    suite = _junit(cli("crash", "secpm", "btree", "--format", "junit").out)
    assert (suite.attrib["errors"], suite.attrib["failures"]) == ("1", "0")
    assert "::error title=internal error::they disagree" in cli("crash", "secpm", "btree", "--format", "github").out


_STORED, _FLUSHED = place("/r/map.c:10", "put"), place("/r/map.c:11", "put")
_LOST = {
    "file": "pool",
    "offset": 64,
    "thread": 0,
    "stored": _STORED,
    "missing": "missing-fence",
    "flushed": _FLUSHED,
    "fenced_by": None,
    "called_at": None,
    "needed_before": place("/r/map.c:12", "put"),
}


@pytest.mark.parametrize(("kind", "line"), [("missing-fence", 11), ("missing-flush", 10)])
def test_a_cause_is_shown_where_the_program_is_to_be_changed(kind: str, line: int, fake: pytest.MonkeyPatch) -> None:
    cause = {
        **{"outcome": "failed", "kind": kind, "count": 2, "at_event": 517, "before": place("/r/map.c:13", "put")},
        **{"begins_at": None, "ends_at": None},
        **{
            "lost": [{**_LOST, "missing": kind}],
            "lost_lines": 1,
            "kept": [],
            "kept_lines": 0,
            "sentence": "It is lost.",
        },
    }
    altered(fake, "crash", lambda document: document.update({"causes": [cause]}))
    (issue,) = ci.of_crash(cp.crash("write-back", "btree")).issues
    assert issue.at is not None and (issue.rule, issue.at.file, issue.at.line) == (kind, "/r/map.c", line)
    assert {told for told, _ in issue.related} > {"needed before this store", "power failed before this"}
    assert issue.message.startswith("It is lost.\nReproduce: counterpoint crash write-back btree")


@pytest.mark.engine
def test_crash_json_says_whether_it_holds(cli: Cli) -> None:
    words = ("--machine", "small", "--transactions", "2", "--points", "20", "--no-shrink", "--no-blame", "--json")
    for design, holds in (("secpm", True), ("write-back", False)):
        document = json.loads(cli("crash", design, "array", *words).out)
        assert document["holds"] is holds
        assert cp.crash(design, "array", machine="small", transactions=2, points=20).holds is holds
