"""Workflow commands of GitHub Actions, which show findings at the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

from ...system.paths import below, repository
from ...system.units import printable
from .issues import Issue, Verdict


def github(verdict: Verdict) -> str:
    """A verdict as commands, one a line, and what else there is to say as plain lines."""
    root = repository()
    lines = [
        _command("error" if one.fails else "warning", _properties(one, root), _told(one)) for one in verdict.issues
    ]
    lines += [_command("error", {"title": "internal error"}, why) for why in verdict.errors]
    said = f"counterpoint {verdict.command} {verdict.subject}: {verdict.summary}"
    # A line of its own must not be read as a command.
    return "\n".join([*lines, printable(said), *(printable(note) for note in verdict.notes)])


def _properties(issue: Issue, root: Path) -> dict[str, str]:
    """Where an annotation is shown. GitHub knows files of the repository only."""
    at = issue.at
    file = None if at is None or at.file is None else below(root, at.file)
    if at is None or file is None:
        return {"title": issue.title}
    return {"file": file, **({} if at.line is None else {"line": str(at.line)}), "title": issue.title}


def _told(issue: Issue) -> str:
    places = [] if issue.at is None else [f"At {issue.at.place}."]
    places += [f"{told[:1].upper()}{told[1:]}: {at.place}." for told, at in issue.related]
    return "\n".join([issue.message, *places])


def _command(name: str, properties: dict[str, str], message: str) -> str:
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {given}::{_data(message)}"


def _data(text: str) -> str:
    """Text as a command has it: one line."""
    return printable(text, keep="\n\r").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
