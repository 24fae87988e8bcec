"""Verdicts in the formats that services for continuous integration read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from .github import github
from .issues import Verdict, of_check, of_crash
from .junit import junit
from .sarif import sarif

Format: TypeAlias = Literal["sarif", "junit", "github"]

WRITTEN: Mapping[Format, Callable[[Verdict], str]] = {"sarif": sarif, "junit": junit, "github": github}
"""What writes each format."""

__all__ = ["WRITTEN", "Format", "Verdict", "of_check", "of_crash"]
