"""Installs into temporary prefixes, and builds, runs, reads and completes what is there.

Usage: installed.py --out FOLDER. `make test-install` builds and installs what this needs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import clients
import libraries
import man_pages
import shells
from clean import ROOT, Failure, made, make, require

RECORD = "share/counterpoint/installed.json"
LIBRARY = "lib/libcounterpoint.so.1"


def version() -> str:
    """The workspace's version."""
    found: list[str] = re.findall(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    return found[0]


def files(folder: Path) -> set[str]:
    """What lies below a folder, without the folders."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file()}


def expected() -> set[str]:
    """What an installation has."""
    built = {"libcounterpoint.a", "libcounterpoint.so", "libcounterpoint.so.1", "pkgconfig/counterpoint.pc"}
    built |= {f"cmake/counterpoint/counterpoint-config{which}.cmake" for which in ("", "-version")}
    headers = {f"include/{path.name}" for path in (ROOT / "crates/c/include").iterdir()}
    return headers | {f"lib/{name}" for name in built} | man_pages.names() | shells.FILES | {RECORD}


def everything(prefix: Path) -> str:
    """What is needed is there and nothing else, for everybody to read, without a word of where it was built."""
    said = made("install", PREFIX=prefix)
    require(re.fullmatch(r"\d+ files are installed in .*\n", said) is not None, f"more than copied: {said}")
    require(files(prefix) == expected(), f"the difference is {files(prefix) ^ expected()}")
    require((prefix / "lib/libcounterpoint.so").readlink() == Path("libcounterpoint.so.1"), "the link leads elsewhere")
    for path in prefix.rglob("*"):
        needed = 0o755 if path.is_dir() or ".so" in path.name else 0o644
        require(path.stat().st_mode & 0o777 == needed, f"{path} has the mode {path.stat().st_mode:o}")
        if path.suffix in {".pc", ".cmake", ".fish"} or path.parent.name == "man1":
            require(str(ROOT) not in path.read_text() and str(prefix) not in path.read_text(), f"{path} has a path")
    return f"{len(expected())} files"


def again(prefix: Path) -> str:
    """A program that has opened the old library keeps it, and a file that is no longer installed goes."""
    old = prefix / "include/counterpoint_old.h"
    old.touch()
    record = json.loads((prefix / RECORD).read_text())
    record["files"].append("include/counterpoint_old.h")
    (prefix / RECORD).write_text(json.dumps(record))
    with (prefix / LIBRARY).open("rb") as opened:
        whole = opened.read()
        made("install", PREFIX=prefix)
        opened.seek(0)
        require(opened.read() == whole, "it has changed under the program")
        require(os.fstat(opened.fileno()).st_nlink == 0, "it was written over")
    require(files(prefix) == expected(), f"the difference is {files(prefix) ^ expected()}")
    return "the old library stays whole for whom it is open"


def moved(prefix: Path, out: Path) -> str:
    """A prefix that was moved is used as before."""
    prefix.rename(out / "moved")
    found = clients.by_pkg_config(out / "moved", version(), out / "moved-pkg-config", ["c"])
    clients.by_cmake(out / "moved", version(), out / "moved-cmake", ["c"])
    (out / "moved").rename(prefix)
    return f"{found} by each"


def packaged(out: Path) -> str:
    """Below DESTDIR lies what PREFIX would have, and nothing is left of it in the end."""
    where: dict[str, str | Path] = {"DESTDIR": out / "package", "PREFIX": "/opt/a prefix"}
    prefix = out / "package/opt/a prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib/of-others").touch()
    made("install", **where)
    require(files(out / "package") == {f"opt/a prefix/{name}" for name in expected() | {"lib/of-others"}}, "others")
    made("uninstall", **where)
    left = {str(path.relative_to(prefix)) for path in prefix.rglob("*")}
    require(left == {"lib", "lib/of-others"}, f"{left} is left")
    return "only what others have put there is left"


def uninstalled(prefix: Path) -> str:
    """Nothing is left, not even folders; a second time there is nothing to remove."""
    made("uninstall", PREFIX=prefix)
    require(not prefix.exists(), f"{[*prefix.rglob('*')]} is left")
    refused("uninstall", {"PREFIX": prefix}, "nothing of Counterpoint is installed in")
    return "the prefix is gone"


def refused(target: str, where: dict[str, str | Path], sentence: str) -> None:
    """Make fails with one sentence, beside its own."""
    done = make(target, where)
    said = [line for line in done.stdout.splitlines() if not re.match(r"make(\[\d+\])?: \*\*\*", line)]
    require(done.returncode != 0 and len(said) == 1, f"{where}: {done.stdout}")
    require(said[0].startswith("error: ") and sentence in said[0], f"{where}: {done.stdout}")


def impossible(out: Path) -> str:
    """What cannot be installed is refused; what stops on the way can be taken away."""
    file, half = out / "a-file", out / "half"
    file.touch()
    refused("install", {"PREFIX": "relative"}, "it must be an absolute path")
    refused("install", {"PREFIX": ""}, "PREFIX is empty")
    refused("install", {"PREFIX": file}, "a-file is not a folder")
    refused("install", {"PREFIX": "/proc/nowhere"}, "/proc/nowhere cannot be written")
    (half / LIBRARY / "in-the-way").mkdir(parents=True)
    refused("install", {"PREFIX": half}, "cannot be written")
    shutil.rmtree(half / LIBRARY)
    made("uninstall", PREFIX=half)
    require({path.name for path in half.rglob("*")} == {"lib"}, f"{[*half.rglob('*')]} is left")
    (half / RECORD).parent.mkdir(parents=True)
    (half / RECORD).write_text('{"files": ["../a-file"], "folders": []}')
    refused("uninstall", {"PREFIX": half}, "does not say what is installed")
    require(file.exists(), "a file outside the prefix was removed")
    return "each with one sentence"


def main() -> int:
    """Runs every check; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    out: Path = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    prefix = out / "prefix"
    # The order matters: the first ones install and the last one removes.
    checks: dict[str, Callable[[], str]] = {
        "library": partial(libraries.stripped, ROOT / "target/library"),
        "CARGO_TARGET_DIR": partial(libraries.elsewhere, out, "CARGO_TARGET_DIR"),
        "install": partial(everything, prefix),
        "install again": partial(again, prefix),
        "pkg-config": partial(clients.by_pkg_config, prefix, version(), out / "pkg-config"),
        "CMake": partial(clients.by_cmake, prefix, version(), out / "cmake"),
        "CMake's versions": partial(clients.versions, prefix, version(), out / "versions"),
        "missing file": partial(clients.incomplete, prefix, out),
        "moved": partial(moved, prefix, out),
        "man pages": partial(man_pages.complete, prefix),
        **{f"{shell} completes": partial(shells.completes, shell, prefix, out) for shell in ("bash", "zsh", "fish")},
        "DESTDIR": partial(packaged, out),
        "uninstall": partial(uninstalled, prefix),
        "refused": partial(impossible, out),
    }
    failed = 0
    for name, check in checks.items():
        begun = time.monotonic()
        try:
            print(f"{name}: {check()} ({time.monotonic() - begun:.1f} s)", flush=True)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            print(f"{name}: FAILED: {failure}", flush=True)
            failed += 1
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
