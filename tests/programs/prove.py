"""Proves what corpus.toml says of the programs in bugs/: the oracle of the corpus.

Usage: prove.py --out FOLDER [PROGRAM ...]. Without PROGRAM all are proven. Needs valgrind and gcc, and builds the
recorder as `counterpoint record` does.

Each program is compiled without and with -DFIXED and recorded. persistency.py lists every memory that a power failure
may leave, and the program's own `recover` judges each different one. The broken form must fail on one of them, because
of the line that its source marks; the fixed form on none, neither when `recover` runs twice, nor when power fails again
while it repairs. A program that a static check can see must leave a store uncovered in its broken form; no fixed form
may. `counterpoint check` must find at the marked line of the broken form what corpus.toml says, and nothing else about
correctness; in the fixed form and in its recovery nothing. What the engine finds in the legal states of the same
recording must agree: see legal.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import corpus
import legal
import persistency
import raw
import stream
from persistency import Point, Store
from raw import Failure, require

import counterpoint
from counterpoint.verbs import recorder

INCLUDE = f"-I{recorder.INCLUDE}"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
COMPILE = ["gcc", "-std=gnu11", INCLUDE, "-g", "-O1", *WARNINGS, "-mclwb", "-mclflushopt", "-pthread"]

STATES = 4096
"""States of one power failure that are listed in full."""
NESTED = 4
"""Memories of a fixed form in whose recovery power fails again: those that it changes most."""
TIMEOUT = 20


def compiled(source: Path, form: str, out: Path) -> Path:
    """The program of a form, `broken` or `fixed`."""
    program = out / f"{source.stem}-{form}"
    options = ["-DFIXED"] if form == "fixed" else []
    subprocess.run([*COMPILE, *options, "-o", str(program), str(source)], check=True)
    return program


def recorded(program: Path, action: str, file: Path, tool: Path, expected: Iterable[str] = ()) -> stream.Replay:
    """What `program action file` does to the file; `expected` is what a check finds about correctness.

    The trace of a run has the name of the file, and stays.
    """
    trace = file.with_suffix(".trace" if action == "run" else f".{action}.trace")
    raw.record([str(program), action, str(file)], trace, tool, "--vgdb=no")
    with trace.open("rb") as source:
        replay = stream.replay(source, lambda record: True)
    lost = [one for one in counterpoint.check(trace).findings if one.correctness]
    found = [f"{one.kind} at {Path(one.place).name}" for one in lost]
    require(found == list(expected), f"'{action}' of {program.name}: a check finds {found}, not {list(expected)}")
    return replay


def expected(program: corpus.Program) -> list[str]:
    """What a check finds about correctness in the broken form."""
    return [f"{program.check} at {program.path.name}:{program.line}"] if program.check else []


@dataclass
class Judge:
    """The program's own recovery, run once on each different memory."""

    program: Path
    file: Path
    again: bool
    """Whether recovery must hold on what it leaves, too."""
    verdicts: dict[bytes, bool] = field(default_factory=dict)
    changes: dict[bytes, int] = field(default_factory=dict)
    """How many bytes of a memory its recovery changes."""

    def holds(self, image: bytes) -> bool:
        if image not in self.verdicts:
            self.file.write_bytes(image)
            verdict = self._recovers()
            left = self.file.read_bytes()
            self.changes[image] = sum(a != b for a, b in zip(image, left, strict=True))
            self.verdicts[image] = verdict and (not self.again or self._recovers())
        return self.verdicts[image]

    def _recovers(self) -> bool:
        command = [str(self.program), "recover", str(self.file)]
        code = subprocess.run(command, close_fds=False, timeout=TIMEOUT).returncode
        require(code != 2, f"'{' '.join(command)}' cannot open its file")
        return code == 0


@dataclass
class Explored:
    """A recorded program under every power failure."""

    replay: stream.Replay
    points: list[Point]
    uncovered: list[Store]
    states: int = 0
    sampled: int = 0
    """Power failures of which not every state was listed."""
    failures: list[tuple[Point, tuple[int, ...]]] = field(default_factory=list)


def explored(replay: stream.Replay, file: Path, judge: Judge) -> Explored:
    result = Explored(replay, *persistency.points(replay, str(file)))
    length = file.stat().st_size
    for point in result.points:
        result.sampled += point.count > STATES
        for state in point.states(STATES):
            result.states += 1
            if not judge.holds(point.image(state, length)):
                result.failures.append((point, state))
    return result


def to_blame(found: Explored, judge: Judge) -> tuple[str, frozenset[Store]]:
    """Which stores decide that recovery fails, and how: see `marks` in corpus.toml."""
    fewest = min(len(point.lost(state)) for point, state in found.failures)
    least = [(point, state) for point, state in found.failures if len(point.lost(state)) == fewest]
    if fewest > 0:
        return "lost", frozenset().union(*(point.lost(state) for point, state in least))
    length = judge.file.stat().st_size
    early: set[Store] = set()
    for point, state in least:
        for other in point.neighbours(state):
            if judge.holds(point.image(other, length)):
                early |= point.lost(other)
    require(early != set(), "no store decides whether the broken form recovers")
    return "early", frozenset(early)


def lines(program: Path, source: Path, replay: stream.Replay, counters: Iterable[int]) -> set[int]:
    """The lines of the program's own source at these program counters, each of the innermost call."""
    code = [r.fields for r in replay.kept if r.tag == stream.CODE and r.data == str(program).encode()]
    found = set()
    for pc, base, length, offset in [(pc, *section) for pc in set(counters) for section in code]:
        if base <= pc < base + length:
            command = ["addr2line", "-i", "-e", str(program), hex(pc - base + offset)]
            frames = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            places = (frame.split()[0].rsplit(":", 1) for frame in frames)
            own = [int(number) for file, number in places if Path(file).name == source.name]
            found.update(own[:1])
    return found


def broken(program: corpus.Program, out: Path, tool: Path) -> str:
    """Proves the broken form."""
    binary, file = compiled(program.path, "broken", out), out / "broken.pool"
    file.unlink(missing_ok=True)
    replay = recorded(binary, "run", file, tool, expected(program))
    judge = Judge(binary, out / "broken.image", again=False)
    found = explored(replay, file, judge)
    require(found.failures != [], "the broken form recovers from everything")
    marks, stores = to_blame(found, judge)
    require(marks == program.marks, f"a store is {marks}, not {program.marks}")
    named = lines(binary, program.path, replay, (store.pc for store in stores))
    require(program.line in named, f"line {program.line} is marked, and to blame are {sorted(named)}")
    by_check = ["check"] if found.uncovered else []
    require(program.seen_by == [*by_check, "explore"], f"seen by {by_check} and explore, not {program.seen_by}")
    require(len(replay.threads) == program.threads, f"{len(replay.threads)} threads, not {program.threads}")
    if found.uncovered:
        named = lines(binary, program.path, replay, (store.pc for store in found.uncovered))
        require(named == {program.line}, f"line {program.line} is marked, and uncovered at the end are {sorted(named)}")
    failed = sum(not verdict for verdict in judge.verdicts.values())
    return f"broken fails on {failed} of {told(found, judge)}"


def fixed(program: corpus.Program, out: Path, tool: Path) -> str:
    """Proves the fixed form."""
    binary, file = compiled(program.path, "fixed", out), out / "fixed.pool"
    file.unlink(missing_ok=True)
    judge = Judge(binary, out / "fixed.image", again=True)
    found = explored(recorded(binary, "run", file, tool), file, judge)
    require(found.failures == [], f"the fixed form fails in {len(found.failures)} states")
    require(found.uncovered == [], "the fixed form leaves a store uncovered")
    final = file.read_bytes()
    require(judge.holds(final), "the fixed form fails at its end")
    summary = f"fixed on none of {told(found, judge)}"
    repaired = sorted((image for image in judge.changes if judge.changes[image]), key=lambda i: -judge.changes[i])
    nested = 0
    for image in repaired[:NESTED]:
        file.write_bytes(image)
        again = explored(recorded(binary, "recover", file, tool), file, judge)
        require(again.failures == [], "the fixed form fails if power fails again during recovery")
        require(again.uncovered == [], "the recovery of the fixed form leaves a store uncovered")
        nested += again.states
    return summary + (f" and of {nested} states that its recovery leaves" if nested else "")


def told(found: Explored, judge: Judge) -> str:
    how = f", {found.sampled} of them sampled" if found.sampled else ""
    return f"{len(judge.verdicts)} memories ({found.states} states, {len(found.points)} power failures{how})"


def main() -> int:
    """Proves the programs that the command line names, and says what was found, or why it failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for programs and their files")
    parser.add_argument("programs", nargs="*", help="names of programs; default: all")
    parser.add_argument("--every", type=int, default=1, help="one of so many of them, the first one first")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tool = recorder.tool()
    chosen = [one for one in corpus.programs() if not options.programs or one.name in options.programs]
    chosen = chosen[:: options.every]
    failed = 0
    for program in chosen:
        begun = time.monotonic()
        try:
            said = f"{broken(program, out, tool)}; {fixed(program, out, tool)}; {legal.agrees(program, out)}"
        except (Failure, subprocess.SubprocessError) as failure:
            failed += 1
            said = f"FAILED: {failure}"
        print(f"{program.name}: {said}; {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} programs are proven")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
