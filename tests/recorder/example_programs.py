"""Builds the programs of examples/ that are to be recorded, in each language, and does with them what the page says.

Usage: example_programs.py --out FOLDER. Needs valgrind, gcc, g++ and rustc; the one for PMDK is left out where
pkg-config finds no libpmem. A program as it stands must pass `check` and every legal state; without the line that makes
a record durable before it is counted, recovery must fail, because of a store in that source.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from raw import Failure, require

import counterpoint

EXAMPLES = Path(__file__).parents[2] / "examples"
DURABLE = "before it is counted"
"""What the line says without which a program is broken."""


@dataclass(frozen=True)
class Case:
    """A program, and what compiles it: `{source}` into `{program}`; with `library`, a package of pkg-config."""

    source: Path
    compiler: str
    durable: str = DURABLE
    library: str | None = None


CASES = (
    Case(EXAMPLES / "ci/journal.c", "gcc -g -O1 -o {program} {source}", "flush(&journal->records[at]);"),
    Case(EXAMPLES / "programs/journal.cpp", "g++ -g -O1 -o {program} {source}"),
    Case(EXAMPLES / "programs/journal.rs", "rustc --edition 2024 -g -O -o {program} {source}"),
    Case(EXAMPLES / "programs/journal_pmem.c", "gcc -g -O1 -o {program} {source} -lpmem", library="libpmem"),
)


def available(library: str | None) -> bool:
    """Whether a library is installed, with what programs are compiled with."""
    return library is None or subprocess.run(["pkg-config", "--exists", library], check=False).returncode == 0


def broken(source: str, durable: str) -> str:
    """The program without its one line that makes a record durable in time."""
    lines = source.splitlines(keepends=True)
    left = [line for line in lines if durable not in line]
    require(len(left) == len(lines) - 1, f"{len(lines) - len(left)} lines have '{durable}'")
    return "".join(left)


def crashed(case: Case, text: str, folder: Path) -> tuple[bool, counterpoint.Crash]:
    """Whether a check finds every store of a program with this source durable, and the verdict on every legal state."""
    folder.mkdir()
    source, program, pool = folder / case.source.name, folder / case.source.stem, folder / "pool"
    source.write_text(text)
    words = [word.format(program=program, source=source) for word in case.compiler.split()]
    subprocess.run(words, check=True)
    trace = folder / "journal.cptrace"
    counterpoint.record([str(program), str(pool), "20"], out=trace, pmem=[str(pool)])
    left = subprocess.run([program, pool, "check"], check=False)
    require(left.returncode == 0, f"{source.name} does not find what it has written")
    verdict = counterpoint.crash("unencrypted", trace, explore="legal", recover=f"{program} {{pool}} check")
    return counterpoint.check(trace).holds, verdict


def check(case: Case, out: Path) -> str:
    """Whether an example holds as it stands, and fails without its line; what came of it."""
    text, name = case.source.read_text(), case.source.name
    holds, verdict = crashed(case, text, out / f"{name}-whole")
    require(holds and verdict.holds is True, f"{name} does not hold")
    require(verdict.crash_points >= 20, f"{name} was crashed {verdict.crash_points} times")
    _, failed = crashed(case, broken(text, case.durable), out / f"{name}-broken")
    require(failed.holds is False and bool(failed.causes), f"{name} holds without '{case.durable}'")
    places = {lost.stored.source or "" for cause in failed.causes or () for lost in cause.lost}
    in_source = {Path(place.rpartition(":")[0]).name for place in places} == {name}
    require(in_source, f"{name} fails at {sorted(places)}")
    kinds = sorted({cause.kind for cause in failed.causes or ()})
    return f"{verdict.crash_points} crashes hold; broken: {', '.join(kinds)}"


def main() -> int:
    """Checks the examples; the exit code is 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    out: Path = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    os.environ["PMEM_IS_PMEM_FORCE"] = "1"
    failures = 0
    for case in CASES:
        if not available(case.library):
            print(f"{case.source.name}: not built, pkg-config finds no {case.library}", flush=True)
            continue
        try:
            print(f"{case.source.name}: {check(case, out)}", flush=True)
        except Failure as failure:
            failures += 1
            print(f"{case.source.name}: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
