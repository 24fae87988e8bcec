"""Holds what is said of small programs to the one right cause of each: causes/causes.toml.

Usage: causes.py --out FOLDER [PROGRAM ...]. Without PROGRAM all are checked. Each program is compiled, recorded as
`counterpoint record` does, and its recording is checked, or its legal states are explored with its own recovery.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter
from raw import Failure, require

import counterpoint
from counterpoint.contract.results import Cause, Check, Crash
from counterpoint.verbs import recorder

FOLDER = Path(__file__).parent / "causes"
COMPILE = ["gcc", "-std=gnu11", "-g", "-O1", "-w", "-DN=8", "-mclwb", "-mclflushopt", "-pthread"]


class Program(BaseModel):
    """A row of causes.toml, which says what the keys mean."""

    model_config = ConfigDict(extra="forbid")

    name: str
    run: str
    recover: str = ""
    judge: str = ""
    design: Literal["", "unencrypted", "eadr"] = ""
    states: int = 256
    kind: str = ""
    line: int = 0
    fixed: bool = False
    lacks: str = ""


def recorded(program: Program, out: Path, *, fixed: bool) -> tuple[Path, Path]:
    """The binary and the trace of a form of a program."""
    binary = out / (f"{program.name}-fixed" if fixed else program.name)
    pool, trace = binary.with_suffix(".pool"), binary.with_suffix(".cptrace")
    options = [f"-I{recorder.INCLUDE}", *(["-DFIXED"] if fixed else [])]
    subprocess.run([*COMPILE, *options, "-o", str(binary), str(FOLDER / f"{program.name}.c")], check=True)
    words = [word.format(pool=pool) for word in shlex.split(program.run)]
    counterpoint.record([str(binary), *words], out=trace)
    return binary, trace


def explored(program: Program, out: Path, *, fixed: bool) -> Crash:
    """What its legal states show."""
    binary, trace = recorded(program, out, fixed=fixed)
    command = program.judge or f"{binary} {program.recover}"
    return counterpoint.crash(program.design, trace, explore="legal", recover=command, states=program.states)


def named(cause: Cause) -> str | None:
    """The place that a cause names first, as FILE:LINE."""
    place = cause.lost[0].stored if cause.lost else cause.begins_at
    return None if place is None else Path(place.place).name


def agrees(program: Program, out: Path) -> str:
    """Whether what is said of a program is right; what it is."""
    place = f"{program.name}.c:{program.line}"
    if program.design:
        causes = explored(program, out, fixed=False).causes or ()
        found = [(cause.kind, named(cause)) for cause in causes]
        require(
            found == ([(program.kind, place)] if program.kind else []),
            f"the causes are {[cause.sentence for cause in causes]}",
        )
        if program.fixed:
            verdict = explored(program, out, fixed=True)
            require(verdict.holds is True, f"the fixed form fails: {verdict.violations[:1]}")
        return f"{program.kind} at {place}" if program.kind else "no cause"
    _, trace = recorded(program, out, fixed=False)
    checked: Check = counterpoint.check(trace)
    wrong = [(one.kind, Path(one.place).name) for one in checked.findings if one.correctness]
    require(wrong == ([(program.kind, place)] if program.kind else []), f"a check finds {wrong}")
    lacks = [text for text in checked.lacks if program.lacks and text.startswith(program.lacks)]
    require(len(lacks) == bool(program.lacks), f"the recording lacks {checked.lacks}")
    return f"{program.kind} at {place}" if program.kind else lacks[0]


def main() -> int:
    """Checks the programs; the exit code is 1 if what is said of one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    parser.add_argument("programs", nargs="*")
    given = parser.parse_args()
    out: Path = given.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    rows = tomllib.loads((FOLDER / "causes.toml").read_text())["program"]
    wrong = 0
    programs = TypeAdapter(list[Program]).validate_python(rows)
    for program in programs:
        if given.programs and program.name not in given.programs:
            continue
        try:
            print(f"{program.name}: {agrees(program, out)}", flush=True)
        except Failure as why:
            wrong += 1
            print(f"{program.name}: FAILED: {why}", flush=True)
    print(
        f"{wrong} of {len(programs)} programs are explained wrongly" if wrong else "all programs are explained rightly"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
