"""The crash tests that a candidate must pass, in tiers: cheap ones first."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..runs.matrix import run_request
from ..verbs import api
from .goals import Goals
from .space import Candidate

CRASH_TESTS = Path(__file__).with_name("crash_tests.toml")
"""The tests that come with Counterpoint."""

_LOG = "program.log_granularity"
"""The machine value that says what programs log."""

_OF_GOALS = ("machine", "cores", "tx_size")
"""The options of the goals' runs that tests on their machine have, too."""


@dataclass(frozen=True)
class CrashTest:
    """A crash run that a candidate must pass.

    Attributes:
        tier: the tier that it belongs to.
        workload: the program.
        options: options of `crash`.
        values: the machine values are those of the candidate.
        rare_overflows: minor counters are wide.
    """

    tier: str
    workload: str
    options: Mapping[str, Any]
    values: bool
    rare_overflows: bool = False

    def request(self, of: Candidate, variant: str, *, explained: bool = False) -> dict[str, Any]:
        """The engine's request for a candidate.

        Args:
            of: the candidate.
            variant: the reading of its base.
            explained: also look for the smallest run that breaks the same rule.
        """
        sets = [*self.options.get("set", ()), *(of.sets if self.values else of.part_sets)]
        options = {name: value for name, value in self.options.items() if name != "set"}
        if self.rare_overflows:
            on = {"design": of.base, "workload": self.workload, "variant": variant, "machine": options.get("machine")}
            sets = [*sets, f"counters.minor_bits={_wide_minors(json.dumps({**on, 'set': sets}))}"]
        return {
            "design": of.base,
            "workload": self.workload,
            "variant": variant,
            **options,
            "set": sets,
            "shrink": explained,
            "blame": False,
            "workers": 1,
        }


@dataclass(frozen=True)
class Tier:
    """Tests that are done together."""

    name: str
    tests: tuple[CrashTest, ...]


def tiers(goals: Goals) -> tuple[Tier, ...]:
    """The tests for some goals, cheap ones first."""
    document = _document()
    setting = document["setting"]
    own = {key: goals.run[key] for key in _OF_GOALS if key in goals.run}
    own_sets = list(goals.run.get("set", ()))
    machine = api.resolve_request(run_request(goals.space.base, goals.workloads[0], goals.run))["machine"]
    log = [f"{_LOG}={machine['program'][_LOG.partition('.')[2]]}"]
    found = []
    for tier in document["tier"]:
        if tier.get("integrity", False) and not goals.promise.integrity:
            continue
        tests = []
        for given in tier["tests"]:
            test = dict(given)
            values, on_own = test.pop("values", False), test.pop("own", False)
            rare = test.pop("rare_overflows", False)
            if values and not on_own and not _varies(goals):
                continue
            options = {**setting, **(own if on_own else {}), **test}
            options["set"] = [*(own_sets if on_own else log), *test.get("set", ())]
            tests += [CrashTest(tier["name"], workload, options, values, rare) for workload in goals.crash_workloads]
        if tests:
            found.append(Tier(tier["name"], tuple(tests)))
    return tuple(found)


@cache
def _wide_minors(request: str) -> int:
    """Bits of minor counters that rarely overflow, as far as a counter block of this run has room for them."""
    lines: int = api.resolve_request(json.loads(request))["machine"]["counters"]["block_lines"]
    return min(7, (512 - 64) // lines)


def _varies(goals: Goals) -> bool:
    """Whether the goals vary values of the machine."""
    return bool(goals.space.machine_keys)


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(CRASH_TESTS.read_text(encoding="utf-8"))
