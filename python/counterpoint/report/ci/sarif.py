"""SARIF 2.1.0, the format of static analysis results of OASIS, as code scanning of GitHub and editors read it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...system.paths import below, repository
from ...system.units import printable, printable_json
from ...verbs.catalogue import engine_version
from .issues import At, Issue, Verdict

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"


def sarif(verdict: Verdict) -> str:
    """A verdict as a SARIF log with one run."""
    root = repository()
    rules = list(dict.fromkeys(one.rule for one in verdict.issues))
    run = {
        "tool": {
            "driver": {
                "name": "Counterpoint",
                "version": engine_version(),
                "rules": [_rule(rule, verdict.issues) for rule in rules],
            }
        },
        "automationDetails": {"id": f"counterpoint/{verdict.command}/"},
        "originalUriBaseIds": {_ROOT: {"uri": f"{root.as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules.index(one.rule), verdict, root) for one in verdict.issues],
        "invocations": [_invocation(verdict)],
        "properties": {"holds": verdict.holds, "summary": printable(verdict.summary), "subject": verdict.subject},
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_json(json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False))


def _rule(rule: str, issues: Iterable[Issue]) -> dict[str, Any]:
    first = next(one for one in issues if one.rule == rule)
    means = {} if first.means is None else {"fullDescription": _message(first.means)}
    words = rule.replace("_", " ").replace("-", " ")
    return {
        "id": rule,
        "shortDescription": _message(f"{words[:1].upper()}{words[1:]}"),
        **means,
        "defaultConfiguration": {"level": first.level},
    }


def _result(issue: Issue, index: int, verdict: Verdict, root: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": issue.rule,
        "ruleIndex": index,
        "level": issue.level,
        "message": _message(issue.message),
        "locations": [_location(issue.at, verdict, root)],
    }
    related = [
        {**_location(at, verdict, root), "id": number, "message": _message(f"{told}: {at.place}")}
        for number, (told, at) in enumerate(issue.related, 1)
    ]
    return {**result, **({"relatedLocations": related} if related else {}), "properties": {"fails": issue.fails}}


def _location(at: At | None, verdict: Verdict, root: Path) -> dict[str, Any]:
    """A place; one without a source line is at the beginning of the trace, as readers need some place."""
    function = {} if at is None or at.function is None else _logical(at.function, "function")
    if at is not None and at.file is not None:
        return {"physicalLocation": _physical(at.file, at.line or 1, root), **function}
    if verdict.artifact is not None:
        return {"physicalLocation": _physical(verdict.artifact, 1, root), **function}
    return function or _logical(verdict.subject, "module")


def _logical(name: str, kind: str) -> dict[str, Any]:
    return {"logicalLocations": [{"fullyQualifiedName": printable(name), "kind": kind}]}


def _physical(file: str, line: int, root: Path) -> dict[str, Any]:
    relative = below(root, file)
    outside = {"uri": (Path.cwd() / file).as_uri()}
    place = outside if relative is None else {"uri": quote(relative), "uriBaseId": _ROOT}
    return {"artifactLocation": place, "region": {"startLine": line}}


def _invocation(verdict: Verdict) -> dict[str, Any]:
    told = [("note", note) for note in verdict.notes] + [("error", error) for error in verdict.errors]
    return {
        "executionSuccessful": verdict.holds is not None and not verdict.errors,
        "toolExecutionNotifications": [{"level": level, "message": _message(text)} for level, text in told],
    }


def _message(text: str) -> dict[str, str]:
    return {"text": printable(text, keep="\n")}
