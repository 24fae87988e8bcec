"""The two forms of each program of this folder: how they are compiled, and the command line of what runs them all."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import corpus
from raw import Failure

from counterpoint.verbs import recorder

INCLUDE = f"-I{recorder.INCLUDE}"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
COMPILE = ["gcc", "-std=gnu11", INCLUDE, "-g", "-O1", *WARNINGS, "-mclwb", "-mclflushopt", "-pthread"]


def compiled(source: Path, form: str, out: Path) -> Path:
    """The program of a form, `broken` or `fixed`."""
    program = out / f"{source.stem}-{form}"
    options = ["-DFIXED"] if form == "fixed" else []
    subprocess.run([*COMPILE, *options, "-o", str(program), str(source)], check=True)
    return program


def each_program(description: str, proven: Callable[[corpus.Program, Path, Path], str], end: str) -> int:
    """Calls `proven` with each program that the command line names, a folder and the recorder; returns the exit code.
    What it returns, or why it failed, is printed, and in the end how many `end`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for programs and their files")
    parser.add_argument("programs", nargs="*", help="names of programs; default: all")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tool = recorder.tool()
    chosen = [one for one in corpus.programs() if not options.programs or one.name in options.programs]
    failed = 0
    for program in chosen:
        begun = time.monotonic()
        try:
            said = proven(program, out, tool)
        except (Failure, subprocess.SubprocessError) as failure:
            failed += 1
            said = f"FAILED: {failure}"
        print(f"{program.name}: {said}; {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} programs {end}")
    return 1 if failed else 0
