"""Requests of the engine as command lines to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from .options import TYPED

_CHECKED_ON = {"legal-states": "unencrypted", "legal-states-of-eadr": "eadr"}
"""The designs whose legal states show what a check of a trace leaves open."""


def command(verb: str, design: str, workload: str, options: Iterable[tuple[str, Any]]) -> str:
    """The command that runs `verb` on a workload; options without a value, or with False, are left out."""
    words = ["counterpoint", verb, design, workload]
    for name, value in options:
        if value is None or value is False:
            continue
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        else:
            words += [word for one in (value if isinstance(value, list) else [value]) for word in (flag, str(one))]
    return shlex.join(words)


def with_check_commands(report: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's report of a check, with a command instead of the name of what checks the rest."""

    def not_checked(one: Mapping[str, Any]) -> dict[str, Any]:
        by = one["by"]
        options = [("explore", "legal"), ("recover", "COMMAND {pool}")]
        line = None if by is None else command("crash", _CHECKED_ON[by], report["trace"], options)
        return {"what": one["what"], "command": line}

    return {**report, "not_checked": [not_checked(one) for one in report["not_checked"]]}


def crash_command(request: Mapping[str, Any], verb: str = "crash") -> str:
    """The command line for the engine's request of a crash run, or of a run that has the same options."""
    options = [(name, request[name]) for name in TYPED if name in request]
    once = ("nested_depth", 1)
    shown = [("nested", True) if option == once else option for option in options]
    # What watches is found again where the command is typed.
    shown = [(name, bool(value) if name == "watch_reads" else value) for name, value in shown]
    return command(verb, request["design"], request["workload"], shown)


def with_proof_commands(report: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's report of a proof, with a command instead of each request that shows a violation."""
    found = [{**one, "reproduce": crash_command(one["reproduce"])} for one in report["counterexamples"]]
    return {**report, "counterexamples": found}


def with_distinction_commands(report: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's report of two designs, with a command instead of each request that shows what one of them does."""

    def shown(found: Mapping[str, Any]) -> dict[str, Any]:
        verb = "run" if found["differs"] == "writes" else "crash"
        sides = {side: found[side] for side in ("first", "second")}
        return {
            **found,
            **{side: {**one, "reproduce": crash_command(one["reproduce"], verb)} for side, one in sides.items()},
        }

    return {**report, "differences": [shown(found) for found in report["differences"]]}


def with_commands(report: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's report of a crash run, with a command instead of each request that shows a violation again.

    The engine gives the request of the run once, and with each violation and each smallest run the changes to that
    request which show it again.
    """
    run = report["reproduce"]
    document = {key: value for key, value in report.items() if key != "reproduce"}

    if "watch_reads" in document["request"]:
        # What watches is found again where the request is made again.
        document["request"] = {**document["request"], "watch_reads": True}

    def shown(found: Mapping[str, Any]) -> dict[str, Any]:
        return {**found, "reproduce": crash_command({**run, **found["reproduce"]})}

    for key in ("violations", "shrunk"):
        if key in document:
            document[key] = [shown(found) for found in document[key]]
    if document.get("left_out") is not None:
        document["left_out"] = {**document["left_out"], "first": shown(document["left_out"]["first"])}
    return document
