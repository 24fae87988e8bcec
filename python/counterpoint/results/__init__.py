"""The engine's answers as Python types."""

from .catalogue import Design, DesignPart, Fault, Machine, PartValue, Workload
from .checks import Check, Cost, Example, Finding, Place
from .documents import build, fits
from .runs import AtCrash, CacheLevel, Core, CounterCache, Crypto, DrainPart, Host, Latency, Nvm, Run, Stats, Wpq
from .verdicts import Blame, Crash, CrashHost, Exercised, Part, Recoveries, Shrunk, StageTally, Violation

__all__ = [
    "AtCrash",
    "Blame",
    "CacheLevel",
    "Check",
    "Core",
    "Cost",
    "CounterCache",
    "Crash",
    "CrashHost",
    "Crypto",
    "Design",
    "DesignPart",
    "DrainPart",
    "Example",
    "Exercised",
    "Fault",
    "Finding",
    "Host",
    "Latency",
    "Machine",
    "Nvm",
    "Part",
    "PartValue",
    "Place",
    "Recoveries",
    "Run",
    "Shrunk",
    "StageTally",
    "Stats",
    "Violation",
    "Workload",
    "Wpq",
    "build",
    "fits",
]
