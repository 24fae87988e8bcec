"""Watches what programs read, and compares that with what they say of themselves; then explores legal states by it.

Usage: reads.py --out FOLDER. Needs valgrind, gcc and make; `make test-recorder` installs them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from raw import Failure, require

import counterpoint as cp
from counterpoint.verbs import recorder

HERE = Path(__file__).parent
SIZE = 65536
ALSO_OPEN = 41


def compiled(out: Path, name: str) -> Path:
    program = out / name
    subprocess.run(["gcc", "-g", "-O1", "-w", "-o", str(program), str(HERE / f"{name}.c")], check=True)
    return program


def watched(out: Path, command: list[str]) -> tuple[list[str], list[str]]:
    """What the tool writes of a command on a file of zeros, and the lines that the command prints."""
    file, reads = out / "image", out / "noted"
    file.write_bytes(bytes(SIZE))
    reads.unlink(missing_ok=True)
    told = file.stat()
    watcher = [*recorder.watcher(), f"--reads={reads}", f"--image={told.st_dev}:{told.st_ino}", "--", *command]
    done = subprocess.run(watcher, stdout=subprocess.PIPE, text=True)
    require(done.returncode == 0, f"'{' '.join(command)}' ended with {done.returncode}")
    return reads.read_text().splitlines(), done.stdout.splitlines()


def noted(out: Path, program: Path, *mode: str) -> str:
    lines, expected = watched(out, [str(program), str(out / "image"), *mode])
    told = [line for line in lines if line.startswith(("read", "unknown"))]
    require(told == expected, f"it noted {told}, not {expected}")
    require(bool(told) and lines[0] == "start" and lines[-1] == "end", f"it wrote {lines}")
    processes = [lines.count(word) for word in ("start", "fork", "end")]
    require(processes in ([1, 0, 1], [1, 1, 2]), f"starts, forks and ends: {processes}")
    return f"{len(told)} lines"


def by_a_shell(out: Path) -> str:
    image = out / "image"
    commands = (f"head -c 16 {image} > /dev/null", f"cat < {image} | tail -c 1 > /dev/null", "no-such-command", "true")
    lines, _ = watched(out, ["sh", "-c", "; ".join(commands)])
    reads = [line for line in lines if line.startswith("read")]
    require(reads[0] == "read 0 0 16" and f"read 0 0 {SIZE}" in reads, f"it noted {reads}")
    count = {word: lines.count(word) for word in ("start", "exec", "exec-failed", "fork", "end")}
    require(count["start"] == 1 + count["exec"] - count["exec-failed"] == 4, f"it wrote {count}")
    require(count["end"] == 1 + count["fork"], f"it wrote {count}")
    return f"{count['start']} programs"


def killed(out: Path, program: Path) -> str:
    lines, _ = watched(out, ["sh", "-c", f"{program} {out / 'image'} wait & kill -9 $!; wait; true"])
    ends, forks = lines.count("end"), lines.count("fork")
    require(ends == forks, f"{ends} ends after {forks} forks, of which one was killed")
    return "its end is missing"


def decided(out: Path, program: Path) -> str:
    """The rare loss of three lines is found where what the recovery reads is watched, and not without."""
    pool, trace = out / "many.pool", out / "many.cptrace"
    pool.unlink(missing_ok=True)
    recorder.record([str(program), str(pool), "store"], trace)
    recover = f"{program} {{pool}} recover"
    crash = partial(cp.crash, "unencrypted", trace, explore="legal", blame=False)
    plain = crash(recover=recover)
    require(plain.holds is True and "Exhaustive:" not in plain.coverage, f"without: {plain.coverage}")
    begun = time.monotonic()
    verdict = crash(recover=recover, watch_reads=True)
    seconds = time.monotonic() - begun
    require("Exhaustive: no legal state is left out." in verdict.coverage, verdict.coverage)
    require(f"allow {2**ALSO_OPEN} states" in verdict.coverage, verdict.coverage)
    require(verdict.violation_count == 1, f"{verdict.violation_count} violations")
    lost = [line.offset // 64 - 1 for cause in verdict.causes or () for line in cause.lost]
    require(lost == [5, 17, 29], f"lines {lost} are lost")
    require("--watch-reads" in verdict.violations[0].reproduce, verdict.violations[0].reproduce)
    assert verdict.recoveries is not None and verdict.recoveries.watched is not None
    found = verdict.recoveries.watched
    require((found.runs, found.classes, found.points) == (7, 7, 1), f"{found}")
    by_shell = crash(recover=f"{recover} && true", watch_reads=True)
    require(by_shell.recoveries is not None and by_shell.recoveries.watched == found, "a shell makes a difference")
    return f"2^{ALSO_OPEN} states by {found.runs} watched runs in {seconds:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for pools and traces")
    out: Path = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    reads, many = compiled(out, "reads"), compiled(out, "many_lines")
    checks: dict[str, Callable[[], str]] = {
        "reads": partial(noted, out, reads),
        "holes": partial(noted, out, reads, "holes"),
        "other process": partial(noted, out, reads, "other-process"),
        "shell": partial(by_a_shell, out),
        "killed": partial(killed, out, reads),
        "decided": partial(decided, out, many),
    }
    failed = 0
    for name, one in checks.items():
        try:
            print(f"{name}: {one()}", flush=True)
        except (Failure, AssertionError) as failure:
            print(f"{name}: FAILED: {failure}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
