"""Real databases that write to their files: SQLite by `write` and `fsync`, LMDB by `pwrite` and `fdatasync`.

Usage: databases.py --out FOLDER. What their documentation promises of each setting must come out, and nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from raw import Failure, require

import counterpoint

HERE = Path(__file__).parent
STATES = 48


@dataclass
class Case:
    """A program with its words, the file of its database, and how it fails: the kinds of its causes."""

    name: str
    library: str
    run: str
    recover: str
    sector: int | None
    fails: list[str]
    create: str | None = None


_SQLITE = "{file} {marks}"
CASES = [
    # https://www.sqlite.org/pragma.html#pragma_synchronous: EXTRA is as FULL, but syncs the folder after the journal of
    # a rollback is removed; what has committed in WAL mode with NORMAL may be rolled back after a power loss.
    Case("sqlite delete full", "sqlite3", "{file} delete full", _SQLITE, None, ["missing-flush"]),
    Case("sqlite delete extra", "sqlite3", "{file} delete extra", _SQLITE, None, []),
    Case("sqlite truncate full", "sqlite3", "{file} truncate full", _SQLITE, None, []),
    Case("sqlite wal full", "sqlite3", "{file} wal full", _SQLITE, None, []),
    Case("sqlite wal normal", "sqlite3", "{file} wal normal", _SQLITE, None, ["missing-flush"]),
    # A transaction of LMDB commits by one write of a page's first 150 bytes, which a sector holds.
    Case("lmdb on memory", "lmdb", "{file} put", _SQLITE, None, ["torn-store"], create="{file} create"),
    Case("lmdb on a disk", "lmdb", "{file} put", _SQLITE, 512, [], create="{file} create"),
]


def check(case: Case, out: Path) -> str:
    """Whether a case fails as it should; what came of it."""
    source = case.name.split()[0]
    program, folder = out / source, out / case.name.replace(" ", "-")
    folder.mkdir()
    subprocess.run(["gcc", "-g", "-O1", "-w", "-o", program, HERE / f"{source}.c", f"-l{case.library}"], check=True)
    file, trace = folder / "data.db", folder / "run.cptrace"
    if case.create is not None:
        subprocess.run([program, *case.create.format(file=file).split()], check=True)
    words = case.run.format(file=file).split()
    counterpoint.record([str(program), *words], out=trace, files=[f"{file}*"], pmem=[str(file)], mark_stderr="done: ")
    recover = f"{program} " + case.recover.replace("{file}", "{folder}/data.db")
    verdict = counterpoint.crash(
        "unencrypted", trace, explore="legal", recover=recover, states=STATES, sector=case.sector
    )
    kinds = sorted({cause.kind for cause in verdict.causes or ()})
    sentences = [cause.sentence for cause in verdict.causes or ()]
    require(kinds == case.fails, f"the causes are {sentences}")
    images = 0 if verdict.recoveries is None else verdict.recoveries.images
    require(images > 10, "hardly anything was judged")
    of_sizes = [sentence for sentence in sentences if "The size of" in sentence and "is not synced" in sentence]
    require(case.name != "sqlite delete full" or len(of_sizes) == len(sentences), f"not of the journal: {sentences}")
    return f"{images} memories, {', '.join(kinds) or 'none fails'}"


def main() -> int:
    """Checks the cases; the exit code is 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    out: Path = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    wrong = 0
    for case in CASES:
        try:
            print(f"{case.name}: {check(case, out)}", flush=True)
        except Failure as why:
            wrong += 1
            print(f"{case.name}: FAILED: {why}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
