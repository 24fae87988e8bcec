"""Power that fails again in real recoveries: only `crash --recover --nested` finds what forms of nested/restart.c lack.

Usage: nested.py --out FOLDER. The program is compiled in three forms and recorded once, and each form is its recovery.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

from causes import COMPILE
from raw import require

import counterpoint
from counterpoint.contract.results import Crash, NestedRecoveries
from counterpoint.verbs import recorder

SOURCE = Path(__file__).parent / "nested" / "restart.c"


def built(form: str, out: Path) -> Path:
    """The binary of a form of the program."""
    binary = out / f"restart-{form}"
    subprocess.run([*COMPILE, f"-D{form}", f"-I{recorder.INCLUDE}", "-o", str(binary), str(SOURCE)], check=True)
    return binary


def line(word: str) -> str:
    """The place that a comment of the source names."""
    number = next(at for at, text in enumerate(SOURCE.read_text().splitlines(), 1) if f"/* {word}:" in text)
    return f"{SOURCE.name}:{number}"


def explored(
    trace: Path, command: str, depth: int | None = 1, jobs: int | None = None, out: Path | None = None
) -> Crash:
    """The legal states of the program, and of the recoveries from them."""
    return counterpoint.crash(
        "unencrypted", trace, explore="legal", recover=command, nested_depth=depth, recover_jobs=jobs, recover_keep=out
    )


def counted(verdict: Crash) -> NestedRecoveries:
    """What power that failed again has shown, in numbers."""
    assert verdict.recoveries is not None and verdict.recoveries.nested is not None
    return verdict.recoveries.nested


def found(verdict: Crash) -> list[tuple[str, str]]:
    """The causes in the recovery: kind and place."""
    places = [
        (one.cause.kind, one.cause.lost[0].stored if one.cause.lost else one.cause.begins_at)
        for one in verdict.recovery_causes
    ]
    return [(kind, "" if place is None else Path(place.place).name) for kind, place in places]


def broken(trace: Path, form: str, out: Path, expected: tuple[str, str]) -> None:
    """A form that only power failing again shows to be wrong, at this place and no other."""
    binary = built(form, out)
    command = f"{binary} {{pool}} {{marks}}"
    once = explored(trace, command, depth=None)
    require(once.holds is True and not once.recovery_causes, f"{form} fails without a second failure")
    again = explored(trace, command, out=out)
    require(again.holds is False and again.causes == () and again.recovered == again.crash_points, f"{form} holds")
    require(found(again) == [expected], f"the causes of {form} are {found(again)}")
    violation = again.violations[0]
    label = f"crash-{violation.crash_event}"
    survived, failed = out / f"{label}-survived.pool", out / f"{label}-again-{violation.nested_event}.pool"
    marks = out / f"{label}-again-{violation.nested_event}.marks"
    for pool, code in ((survived, 0), (failed, 1)):
        copy = pool.with_suffix(".copy")
        shutil.copy(pool, copy)
        ended = subprocess.run([str(binary), str(copy), str(marks)], check=False).returncode
        require(ended == code, f"{form} ends with {ended} on {pool.name}")
    print(f"{form}: {expected[0]} at {expected[1]}", flush=True)
    if form != "ADDS":
        return
    # A shell that starts it does not hide it, and the number of commands at a time changes nothing.
    by_shell = explored(trace, f"echo restart && {command}", jobs=1)
    require(found(by_shell) == [expected], f"the causes of {form} under a shell are {found(by_shell)}")
    require(counted(by_shell) == counted(again), "a shell changes what is explored")


def main() -> None:
    """Explores all forms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    out: Path = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    right, trace = built("RIGHT", out), out / "restart.cptrace"
    counterpoint.record([str(right), "run", str(out / "pool")], out=trace)
    command = f"{right} {{pool}} {{marks}}"
    twice = explored(trace, command, depth=2)
    require(twice.holds is True, f"the right form fails: {twice.violations[:1]}")
    require("No legal state of them is left out" in twice.coverage, twice.coverage)
    print(f"RIGHT: holds in {twice.nested_points} second failures", flush=True)
    # What a process writes is recorded, but not what it does after a fork.
    written = explored(trace, f"{command} && printf x | dd of={{pool}} bs=1 seek=3000 conv=notrunc status=none")
    require(counted(written).unknown == 0 < counted(written).stored, written.coverage)
    unknown = explored(trace, f"{command} && (printf x 1<>{{pool}}); test $? = 0")
    require(counted(unknown).unknown == counted(unknown).recorded > 0, unknown.coverage)
    require("changes its files in a way that its recording does not have" in unknown.coverage, unknown.coverage)
    broken(trace, "ADDS", out, ("order-between-lines", line("ADDS")))
    broken(trace, "UNFLUSHED", out, ("missing-flush", line("UNFLUSHED")))


if __name__ == "__main__":
    main()
