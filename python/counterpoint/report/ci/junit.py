"""JUnit XML, as Jenkins, GitLab and Ant's schema have it: a test for each finding, and one for what was not found."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from ...system.paths import below, repository
from ...system.units import printable
from .issues import At, Issue, Verdict

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


def junit(verdict: Verdict) -> str:
    """A verdict as one suite of tests; findings that do not decide it are tests that pass, told in the output."""
    root = repository()
    suites = ElementTree.Element("testsuites")
    failing = [one for one in verdict.issues if one.fails]
    others = [one for one in verdict.issues if not one.fails]
    suite = ElementTree.SubElement(suites, "testsuite")
    ElementTree.SubElement(suite, "properties")
    for name in verdict.passed:
        _test(suite, verdict, name)
    for issue in failing:
        failure = ElementTree.SubElement(_test(suite, verdict, _name(issue, root)), "failure")
        failure.attrib = {"message": _text(issue.message.partition("\n")[0]), "type": _text(issue.rule)}
        failure.text = _text(_told(issue, root))
    for issue in others:
        _test(suite, verdict, _name(issue, root))
    for number, why in enumerate(verdict.errors, 1):
        error = ElementTree.SubElement(_test(suite, verdict, f"internal error {number}"), "error")
        error.attrib = {"message": _text(why), "type": "internal-error"}
    if verdict.holds is None:
        ElementTree.SubElement(_test(suite, verdict, "power failures"), "skipped")
    output = [verdict.summary, *verdict.notes, *(f"{_name(one, root)}: {_told(one, root)}" for one in others)]
    ElementTree.SubElement(suite, "system-out").text = _text("\n".join(output))
    ElementTree.SubElement(suite, "system-err")
    suite.attrib = {
        "name": _text(f"counterpoint {verdict.command} {verdict.subject}"),
        "package": "counterpoint",
        "id": "0",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "hostname": "localhost",
        "tests": str(len(suite.findall("testcase"))),
        "failures": str(len(failing)),
        "errors": str(len(verdict.errors)),
        "skipped": str(len(suite.findall("testcase/skipped"))),
        "time": "0",
    }
    ElementTree.indent(suites)
    return _DECLARATION + ElementTree.tostring(suites, encoding="unicode")


def _test(suite: ElementTree.Element, verdict: Verdict, name: str) -> ElementTree.Element:
    test = ElementTree.SubElement(suite, "testcase")
    test.attrib = {"classname": f"counterpoint.{verdict.command}", "name": _text(name), "time": "0"}
    return test


def _name(issue: Issue, root: Path) -> str:
    return issue.rule if issue.at is None else f"{issue.rule}: {_place(issue.at, root)}"


def _place(at: At, root: Path) -> str:
    relative = None if at.file is None else below(root, at.file)
    shown = at.place if relative is None else relative + ("" if at.line is None else f":{at.line}")
    return shown if at.function is None else f"{shown} ({at.function})"


def _told(issue: Issue, root: Path) -> str:
    return "\n".join([issue.message, *(f"{told}: {_place(at, root)}" for told, at in issue.related)])


def _text(text: str) -> str:
    """Text without the control characters that XML does not have."""
    return printable(text, keep="\n")
