"""Changes the engine in one place after another and runs its tests, which must fail each time.

cargo-mutants makes the changes: mutants. They are tested in a copy of the repository below target/mutants, so that the
sources stay as they are and every part builds on what the one before has built. A mutant that all tests survive is
listed with a reason in crates/engine/mutants/survivors.toml, or it is reported. One mutant takes minutes and all take
weeks, so they are divided into parts; each part is a sample of all rooms.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path("crates/engine/mutants")
SOURCES = Path("crates/engine/src")
SURVIVORS = ROOT / FOLDER / "survivors.toml"
BUILT = ROOT / "target/mutants"
CARGO_MUTANTS = "27.1.0"
"""The version of cargo-mutants. Another one finds other mutants."""

PARTS = 200
GOAL = 0.95
CAUGHT, TIMEOUT, MISSED, UNVIABLE = "CaughtMutant", "Timeout", "MissedMutant", "Unviable"


@dataclass(frozen=True, order=True)
class Mutant:
    """A mutant by what stays the same while lines are moved."""

    file: str
    mutation: str
    line: str

    @property
    def room(self) -> str:
        return self.file.partition("/")[0]


def read_outcomes(outcomes: Path, tree: Path) -> list[tuple[Mutant, str]]:
    """The mutants that were tested in `tree`, and what became of each."""
    found = []
    for outcome in json.loads(outcomes.read_text())["outcomes"]:
        if outcome["scenario"] == "Baseline":
            continue
        mutant = outcome["scenario"]["Mutant"]
        path, line = Path(mutant["file"]), mutant["span"]["start"]["line"]
        text = (tree / path).read_text().splitlines()[line - 1].strip()
        # "FILE:LINE:COLUMN: MUTATION"
        mutation = mutant["name"].split(": ", 1)[1]
        found.append((Mutant(path.relative_to(SOURCES).as_posix(), mutation, text), outcome["summary"]))
    return found


def listed() -> set[Mutant]:
    """The survivors that have a reason."""
    table = tomllib.loads(SURVIVORS.read_text())
    return {Mutant(of["file"], of["mutation"], of["line"]) for of in table.get("survivor", [])}


def run_table(part: str, tests: str, outcomes: Iterable[tuple[Mutant, str]]) -> str:
    """What a run has found, as the table that survivors.toml keeps."""
    of = Counter(summary for _, summary in outcomes)
    return (
        f'[[run]]\npart = "{part}"\ntests = "{tests or "all"}"\ncargo_mutants = "{CARGO_MUTANTS}"\n'
        f"killed = {of[CAUGHT] + of[TIMEOUT]}\nsurvived = {of[MISSED]}\nunviable = {of[UNVIABLE]}\n"
    )


def by_room(outcomes: Iterable[tuple[Mutant, str]]) -> list[str]:
    """For each room, how many of its mutants were killed."""
    killed: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for mutant, summary in outcomes:
        for room in (mutant.room, "all"):
            judged[room] += summary in (CAUGHT, TIMEOUT, MISSED)
            killed[room] += summary in (CAUGHT, TIMEOUT)
    rooms = sorted(room for room in judged if judged[room] and room != "all")
    return [f"{room}: {killed[room]} of {judged[room]} killed" for room in [*rooms, "all"] if judged[room]]


def install() -> Path:
    """cargo-mutants, built if it is not there."""
    program = BUILT / "tool/bin/cargo-mutants"
    if program.exists():
        shown = subprocess.run([program, "mutants", "--version"], capture_output=True, text=True, check=True).stdout
        if shown.split()[-1] == CARGO_MUTANTS:
            return program
    command = ["cargo", "install", "--quiet", "--locked", "cargo-mutants", "--version", CARGO_MUTANTS]
    places = ["--root", str(BUILT / "tool"), "--target-dir", str(BUILT / "tool-build")]
    subprocess.run([*command, *places], cwd=ROOT, check=True)
    shutil.rmtree(BUILT / "tool-build")
    return program


def copy_sources(tree: Path) -> None:
    """Makes `tree` a copy of the repository. What has not changed keeps its time, so that it is not built again."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listing.split("\0") if name and (ROOT / name).exists()}
    for old in tree.rglob("*"):
        if not old.is_dir() and old.relative_to(tree).as_posix() not in names:
            old.unlink()
    for name in sorted(names):
        here, there = ROOT / name, tree / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_symlink():
            there.unlink(missing_ok=True)
            there.symlink_to(here.readlink())
        elif not there.exists() or there.read_bytes() != here.read_bytes():
            shutil.copy(here, there)


def environment() -> dict[str, str]:
    """Where cargo builds, and what runs the tests."""
    about = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = next(line.split()[1] for line in about.splitlines() if line.startswith("host: "))
    runner = f"CARGO_TARGET_{triple.upper().replace('-', '_')}_RUNNER"
    return os.environ | {"CARGO_TARGET_DIR": str(BUILT / "build"), runner: str(ROOT / FOLDER / "until_failure.sh")}


def main() -> int:
    """Runs one part; exits with 1 if a mutant survives that is not listed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default=f"0/{PARTS}", metavar="K/N", help=f"part K of N, from 0; default 0/{PARTS}")
    parser.add_argument(
        "--only", action="append", default=[], metavar="REGEX", help="mutants whose name matches; repeatable"
    )
    parser.add_argument(
        "--tests", default="", metavar="FILTER", help="run only the tests whose names have this; default all"
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and test none")
    asked = parser.parse_args()
    program, tree, output = install(), BUILT / "tree", BUILT / "out"
    copy_sources(tree)
    command: list[str | Path] = [
        program,
        "mutants",
        "--in-place",
        "--dir",
        tree,
        "--config",
        tree / FOLDER / "mutants.toml",
        "--output",
        output,
    ]
    command += ["--package", "counterpoint-engine", "--shard", asked.part]
    command += [word for regex in asked.only for word in ("--re", regex)]
    if asked.list:
        return subprocess.run([*command, "--list"], check=False).returncode
    if asked.tests:
        command += ["--", "--", asked.tests]
    status = subprocess.run(command, env=environment(), check=False).returncode
    # 0: all are killed; 2: some survive; 3: some do not end.
    if status not in (0, 2, 3):
        print(f"error: cargo-mutants ended with {status}; its logs are in {output}/mutants.out", file=sys.stderr)
        return 2
    outcomes = read_outcomes(output / "mutants.out/outcomes.json", tree)
    print("\n".join(by_room(outcomes)), run_table(asked.part, asked.tests, outcomes), sep="\n\n")
    unlisted = sorted({mutant for mutant, summary in outcomes if summary == MISSED} - listed())
    for mutant in unlisted:
        print(f"survives: {mutant.file}: {mutant.mutation}\n    {mutant.line}", file=sys.stderr)
    return 1 if unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
