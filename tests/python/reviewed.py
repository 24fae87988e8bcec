"""Checks with findings as a test states them, in the place of those of the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from counterpoint import _engine
from counterpoint.contract.results import Check
from counterpoint.verbs.review import Review, review

CORRECTNESS = ("never-flushed", "stored-after-flush", "never-fenced", "non-temporal-not-fenced", "not-ordered")


def place(source: str | None, function: str | None = None, object_: str | None = None) -> dict[str, Any]:
    shown = source or function or object_ or "unknown"
    return {"place": shown, "source": source, "function": function, "object": object_}


def finding(
    kind: str, source: str | None = None, function: str | None = None, object_: str | None = None, **more: Any
) -> dict[str, Any]:
    """A finding as the engine reports it."""
    return {
        "kind": kind,
        "class": "correctness" if kind in CORRECTNESS else "performance",
        **place(source, function, object_),
        "later": None,
        "fenced_by": None,
        "count": 1,
        "example": {"record": 7, "thread": 0, "address": None, "file": None, "offset": None, "called_at": None},
        "sentence": f"It is {kind}.",
        "detail": None,
        "cost_ns": None,
        **more,
    }


def answer(*findings: dict[str, Any]) -> dict[str, Any]:
    """A report of the engine with these findings."""
    return {
        "schema": 1,
        "trace": "map.cptrace",
        "holds": all(one["class"] != "correctness" for one in findings),
        "checked": "All.",
        "not_checked": [],
        "lacks": [],
        **dict.fromkeys(("records", "stores", "flushes", "fences", "marks"), 0),
        "cut_off": None,
        "findings": list(findings),
        "cost": None,
    }


def found(*findings: dict[str, Any], **options: Any) -> Review:
    """The review of a check with these findings."""
    return review(Check.from_dict(answer(*findings)), **options)


def finds(patch: pytest.MonkeyPatch, *findings: dict[str, Any]) -> None:
    """Makes every check have these findings."""
    patch.setattr(_engine, "check", lambda *_: json.dumps(answer(*findings)))
