"""Installs a wheel into a bare environment of each Python that is there, and does there what a user does first.

Usage: wheel.py FOLDER [--newest]. The folder has one wheel for this computer and one source distribution;
`make test-wheel` builds them.
The environments have no compiler: PATH names their own programs only. What is printed there must be what the package
of the repository prints, whose environment runs this. Of the source distribution it is checked that it has the same
sources, and that pip builds it with the same lock file.

Packages are those of requirements/dev.lock, installed by uv within seconds. With --newest they are the newest,
installed by pip as for a user, and a report is written by them.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import counterpoint as cp

ROOT = Path(__file__).parents[1]
PACKAGE = "python/counterpoint"
PYTHONS = ("python3.11", "python3.12", "python3.13")
COMPARE = "compare -d unencrypted,secpm -w array --machine small --footprint 16KiB --tx-size 64 --transactions 2"
TITLE = "Transaction latency, unencrypted = 1"
LINKED = {"_bugs/corpus.toml", "_bugs/missing_flush.c", "_bugs/pool.h"}
LINKED |= {"_recorder/COPYING", "_recorder/Makefile", "_recorder/main.c"}
"""Files of the package that lie elsewhere in the repository."""
ENGINE = (
    "Cargo.lock",
    "crates/engine/Cargo.toml",
    "crates/engine/build.rs",
    "crates/engine/build",
    "crates/engine/src",
)
SDIST = (*ENGINE, "crates/python", PACKAGE, "README.md", "pyproject.toml")
INSTALLS = "install it with: apt-get install valgrind gcc make"


class Failure(Exception):
    """What does not hold, as a sentence."""


def require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Failure(sentence)


def contents(place: Path) -> dict[str, bytes]:
    """The files below a folder, or the one file, apart from what is built there. Links are followed."""
    if place.is_file():
        return {place.name: place.read_bytes()}
    found = {}
    for folder, folders, files in os.walk(place, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for path in (Path(folder, name) for name in files):
            if path.suffix not in {".so", ".pyc"}:
                found[str(path.relative_to(place))] = path.read_bytes()
    return found


def require_same(here: Path, there: Path, what: str) -> None:
    """Both must hold the same files."""
    ours, theirs = contents(here), contents(there)
    different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    require(not different, f"{what} differs from the repository in {', '.join(different[:3])}")


def interpreters() -> Iterator[tuple[str, Path | None]]:
    """Each version of Python with the first program of its name that runs, or None.

    They are looked for on PATH, and in the folder of pyenv, whose programs on PATH run only what has been chosen.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*map(Path, os.get_exec_path()), *sorted(pyenv.glob("versions/*/bin"))]
    for name in PYTHONS:
        yield name, next((folder / name for folder in folders if is_python(folder / name)), None)


def is_python(program: Path) -> bool:
    """Whether this is an interpreter of the version in its name which can make environments."""
    script = "import sys, venv; print('python%d.%d' % sys.version_info[:2])"
    try:
        told = subprocess.run([program, "-c", script], capture_output=True, text=True)
    except OSError:
        return False
    return told.stdout == f"{program.name}\n"


@dataclass(frozen=True)
class Place:
    """Where commands run: an environment of Python, and an empty folder that is home, too."""

    python: Path
    folder: Path

    def run(self, *command: str, path: str = "") -> subprocess.CompletedProcess[str]:
        """Runs Python with these arguments; nothing else can be found than in its environment, and in `path`."""
        programs = os.pathsep.join(filter(None, (str(self.python.parent), path)))
        environment = {"PATH": programs, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run([self.python, *command], cwd=self.folder, env=environment, capture_output=True, text=True)

    def printed(self, *command: str) -> str:
        """What Python prints with these arguments, and must not fail."""
        done = self.run(*command)
        require(done.returncode == 0, f"'{' '.join(command)}' ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def counterpoint(self, arguments: str) -> str:
        """What the command of the environment prints."""
        return self.printed(str(self.python.with_name("counterpoint")), *arguments.split())


def install(wheel: Path, python: Path, newest: bool) -> None:
    """Installs the wheel and what it needs, of which nothing may need a compiler."""
    no_compiler = {**os.environ, "PATH": str(python.parent)}
    options = ["--quiet", "--only-binary", ":all:", str(wheel)]
    if not newest:
        uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--python", str(python)]
        locked = ["--constraint", str(ROOT / "requirements/dev.lock")]
        if subprocess.run([*uv, *locked, *options], env=no_compiler).returncode == 0:
            return
        print("uv, which ignores the settings of pip, could not install it; pip does", flush=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *options], env=no_compiler)
    require(done.returncode == 0, f"pip ended with {done.returncode}")


def check_installed(place: Place, expected: str) -> None:
    """What is installed is the package of the repository, and compares as that does."""
    script = "import counterpoint as cp; print(cp.__path__[0], cp.engine_build(), sep='\\n')"
    package, build = place.printed("-I", "-c", script).splitlines()
    require(not Path(package).is_relative_to(ROOT / PACKAGE), f"'{package}' is not what was installed")
    require(build == cp.engine_build(), "the engine was built from other sources; run 'make engine'")
    require_same(ROOT / PACKAGE, Path(package), "the wheel")
    version = place.counterpoint("--version")
    require(version == f"counterpoint {cp.__version__}\n", f"--version prints '{version}'")
    printed = place.counterpoint(COMPARE)
    require(printed == expected, f"'{COMPARE}' prints\n{printed}\nwhich in the repository is\n{expected}")


def check_report(place: Place) -> None:
    """The packages that draw and write a report do so."""
    place.counterpoint(f"{COMPARE} --out out")
    written = {path.name for path in (place.folder / "out").iterdir()}
    require(written == {"report.html", "compare.svg"}, f"compare --out wrote {sorted(written)}")


def check_record(place: Place) -> None:
    """Without Valgrind, and with Valgrind but without a compiler, `record` says what it needs."""
    tools = place.folder / "tools"
    tools.mkdir()
    (tools / "valgrind").write_text("#!/bin/false\n")
    (tools / "valgrind").chmod(0o755)
    for path, needs in (
        ("", f"recording needs Valgrind, which is not installed; {INSTALLS}"),
        (str(tools), f"building the recorder needs 'cc', which is not installed; {INSTALLS}"),
    ):
        command = str(place.python.with_name("counterpoint"))
        refused = place.run(command, "record", "--", str(place.python), "-c", "pass", path=path)
        said = (refused.returncode, refused.stdout, refused.stderr)
        require(said == (2, "", f"error: {needs}\n"), f"record ended with {said} in place of '{needs}'")


def check_sdist(sdist: Path, folder: Path) -> None:
    """It has the sources of the repository, and Cargo takes its lock file as it is, though crates are missing."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    for part in SDIST:
        require_same(ROOT / part, unpacked / part, f"'{part}' of the source distribution")
    # This is what pip asks for before it builds.
    maturin = str(Path(sys.executable).with_name("maturin"))
    asked = [maturin, "pep517", "write-dist-info", "--metadata-directory", str(folder)]
    told = subprocess.run(asked, cwd=unpacked, capture_output=True, text=True)
    require(told.returncode == 0, f"the source distribution does not build: {told.stderr}")
    require_same(ROOT / "Cargo.lock", unpacked / "Cargo.lock", "the lock file with which pip builds")


def check(built: Path, newest: bool) -> int:
    """Checks wheel and source distribution in the folder; returns in how many environments."""
    (wheel,), (sdist,) = built.glob(f"*_{platform.machine()}.whl"), built.glob("*.tar.gz")
    require(contents(ROOT / PACKAGE).keys() >= LINKED, "linked sources are missing in the repository")
    count = 0
    # Beside the wheel: there uv can link files from its cache where a folder for temporary files may be elsewhere.
    with tempfile.TemporaryDirectory(prefix="bare-", dir=built.parent) as name:
        bare = Path(name).resolve()
        (bare / "sdist").mkdir()
        check_sdist(sdist, bare / "sdist")
        print(f"{sdist.name}: has the sources of the repository", flush=True)
        (bare / "here").mkdir()
        expected = Place(Path(sys.executable), bare / "here").counterpoint(COMPARE)
        require(TITLE in expected, f"'{COMPARE}' prints no '{TITLE}'")
        for name, interpreter in interpreters():
            if interpreter is None:
                print(f"{name}: not found, skipped", flush=True)
                continue
            began = time.monotonic()
            environment = bare / name / "environment"
            subprocess.run([interpreter, "-m", "venv", "--without-pip", environment], check=True)
            place = Place(environment / "bin" / "python", bare / name)
            install(wheel, place.python, newest)
            check_installed(place, expected)
            check_record(place)
            if newest:
                check_report(place)
            print(f"{name}: installs and runs {wheel.name} ({time.monotonic() - began:.0f} s)", flush=True)
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="has a wheel and a source distribution")
    parser.add_argument("--newest", action="store_true", help="the newest packages, by pip, and a report")
    options = parser.parse_args()
    try:
        count = check(options.folder.resolve(), options.newest)
        require(count > 0, f"no Python to install into: none of {', '.join(PYTHONS)} was found")
    except Failure as failure:
        sys.exit(f"error: {failure}")


if __name__ == "__main__":
    main()
