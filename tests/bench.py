"""Runs the benches and compares their rates with goals and with the committed baseline.

A rate means little on another machine, or beside another program. So each is divided by the rate of two loops that are
timed in the same minute: a chase of pointers through more memory than the caches hold, and AES. The baseline,
crates/engine/benches/baseline.json, has these ratios and no rates, for each kind of processor, because from one kind to
another the loops and the engine gain different factors. A bench fails if its ratio is below 80 % of the baseline's in
each of three runs; of a run the fastest sample counts, which other programs disturb least. On a processor without a
baseline none fails.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

ENGINE = Path(__file__).parents[1] / "crates" / "engine"
BASELINE = ENGINE / "benches" / "baseline.json"
CPUINFO = Path("/proc/cpuinfo")
GOALS = ENGINE / "benches" / "goals.json"
FALL = 0.8
RUNS_MAX = 3
CALIBRATION = "calibration"

Measured = dict[str, tuple[float, float]]
"""For each bench its rate, and that divided by the rate of the loops."""

Baseline = dict[str, dict[str, float]]
"""For each kind of processor the ratio of each bench."""

_KIND = ("vendor_id", "cpu family", "model")
_CPU = re.compile(rf"^({'|'.join(_KIND)})\s*: (.+)$", re.MULTILINE)
_NAME = re.compile(r"^(?P<prefix>[│ ]*)[├╰]─ (?P<name>\S+)")
_RATE = re.compile(r"(?P<value>[\d.]+) (?P<scale>[kKMGT]?)(?:item|B)/s")
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_INDENT = 3
_WIDTH_MIN = 110


def rates(output: str) -> dict[str, float]:
    """The items or bytes per second of the fastest sample of each bench, by its path, from what divan prints."""
    found: dict[str, float] = {}
    path: list[str] = []
    for line in output.splitlines():
        if named := _NAME.match(line):
            depth = len(named["prefix"]) // _INDENT
            path = [*path[:depth], named["name"]]
        elif path and (rate := _RATE.search(line)) and "/".join(path) not in found:
            found["/".join(path)] = float(rate["value"]) * _SCALES[rate["scale"]]
    return found


def processor(cpuinfo: str) -> str:
    """The kind of the first processor that /proc/cpuinfo lists; without its text, the architecture."""
    found = dict(reversed(_CPU.findall(cpuinfo)))
    if len(found) < len(_KIND):
        return platform.machine()
    vendor, family, model = (found[key] for key in _KIND)
    return f"{vendor}, family {family}, model {model}"


def executables(names: list[str]) -> dict[str, Path]:
    """Builds the benches and says where they are."""
    command = ["cargo", "bench", "--locked", "-p", "counterpoint-engine", "--no-run", "--message-format=json"]
    command += [word for name in names for word in ("--bench", name)]
    built = subprocess.run(command, cwd=ENGINE, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for message in map(json.loads, built.splitlines()):
        if message["reason"] == "compiler-artifact" and "bench" in message["target"]["kind"]:
            found[message["target"]["name"]] = Path(message["executable"])
    return found


def run(executable: Path) -> dict[str, float]:
    """Runs one file of benches."""
    command = [str(executable), "--bench", "--color", "never"]
    environment = os.environ | {"COLUMNS": "200"}
    done = subprocess.run(command, cwd=ENGINE, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {executable.name} ended with {done.returncode}:\n{done.stderr}")
    return rates(done.stdout)


def calibration(executable: Path) -> float:
    """What this machine does at present: the geometric mean of the rates of both loops."""
    loops = run(executable)
    return math.prod(loops.values()) ** (1 / len(loops))


def measure(name: str, built: dict[str, Path]) -> Measured:
    """For each bench of a file its rate, and that divided by the rate of the loops before and after it."""
    before = calibration(built[CALIBRATION])
    measured = run(built[name])
    machine = max(before, calibration(built[CALIBRATION]))
    return {f"{name}/{bench}": (rate, rate / machine) for bench, rate in measured.items()}


def better(one: Measured, other: Measured) -> Measured:
    """Of each bench the run with the higher ratio."""
    return {bench: max(values, other.get(bench, values), key=lambda both: both[1]) for bench, values in one.items()}


def falls(measured: Measured, baseline: dict[str, float]) -> list[str]:
    """The benches that are slower than the baseline allows."""
    return [bench for bench, (_, ratio) in measured.items() if ratio < FALL * baseline.get(bench, 0)]


def table(measured: Measured, baseline: dict[str, float], goals: dict[str, float]) -> Table:
    """Rates, goals, and what the baseline would give on this machine at present."""
    shown = Table(Column("bench", no_wrap=True), "rate", "goal", "of goal", "baseline", "of baseline")
    for column in shown.columns[1:]:
        column.justify = "right"
    for bench, (rate, ratio) in measured.items():
        goal, last = goals.get(bench), baseline.get(bench)
        shown.add_row(
            bench,
            _number(rate),
            _number(goal) if goal else "",
            f"{rate / goal:.0%}" if goal else "",
            _number(rate * last / ratio) if last else "new",
            f"{ratio / last:.0%}" if last else "",
        )
    return shown


def _number(rate: float) -> str:
    for scale, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if rate >= scale:
            return f"{rate / scale:.3g}{letter}"
    return f"{rate:.3g}"


def main() -> int:
    """Runs, prints and judges; with `--update`, writes the baseline."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bench", nargs="*", help="files of benches; all if none is named")
    parser.add_argument("--update", action="store_true", help="write what is measured as the new baseline")
    asked = parser.parse_args()
    known = sorted(path.stem for path in (ENGINE / "benches").glob("*.rs"))
    if wrong := set(asked.bench) - set(known):
        print(f"error: bench {sorted(wrong)[0]!r} does not exist; there are {', '.join(known)}", file=sys.stderr)
        return 2
    names = [name for name in asked.bench or known if name != CALIBRATION]
    every: Baseline = json.loads(BASELINE.read_text())
    kind = processor(CPUINFO.read_text() if CPUINFO.exists() else "")
    baseline = every.get(kind, {})
    goals = json.loads(GOALS.read_text())
    built = executables([*names, CALIBRATION])
    console = Console()
    console.width = max(console.width, _WIDTH_MIN)
    measured: Measured = {}
    for name in names:
        with console.status(f"{name} ..."):
            found = measure(name, built)
            for _ in range(1, RUNS_MAX):
                if not falls(found, {} if asked.update else baseline):
                    break
                found = better(found, measure(name, built))
        measured |= found
    console.print(table(measured, baseline, goals))
    if asked.update:
        every[kind] = baseline | {bench: float(f"{ratio:.4g}") for bench, (_, ratio) in measured.items()}
        fresh = BASELINE.with_suffix(".new")
        fresh.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
        fresh.replace(BASELINE)
        return 0
    if not baseline:
        print(f"no baseline for a processor of this kind ({kind}): --update writes one", file=sys.stderr)
    slower = falls(measured, baseline)
    for bench in slower:
        print(f"{bench} fell below {FALL:.0%} of its baseline in {RUNS_MAX} runs", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
