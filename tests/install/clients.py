"""Programs that are built against an installation by pkg-config and by CMake, and run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path

from clean import ROOT, command, require, told

CLIENTS = ROOT / "examples" / "embedding"
SAYS = {"c": "survived", "cpp": "read back"}
"""What each client says."""

_COMPILERS = {"c": ["cc", "-std=c11"], "cpp": ["c++", "-std=c++17"]}


def needs_shared(client: Path) -> bool:
    """Whether a program loads the shared library."""
    return "[libcounterpoint.so.1]" in told(["readelf", "--dynamic", client])


def by_pkg_config(prefix: Path, version: str, out: Path, languages: Collection[str] = SAYS.keys()) -> str:
    """Clients in these languages, linked with the shared and with the static library."""
    out.mkdir()
    where = {"PKG_CONFIG_PATH": prefix / "lib/pkgconfig"}

    def asked(*options: str) -> list[str]:
        return told(["pkg-config", *options, "counterpoint"], **where).split()

    require(asked("--modversion") == [version], f"the version is {asked('--modversion')}")
    (folder,) = asked("--variable=libdir")
    require(Path(folder).resolve() == prefix / "lib", f"the libraries are said to be in {folder}")
    for language in languages:
        source = CLIENTS / f"client.{language}"
        start = [*_COMPILERS[language], "-Wall", "-Wextra", "-Werror", str(source), *asked("--cflags")]
        shared, static = out / f"shared-{language}", out / f"static-{language}"
        told([*start, *asked("--libs"), f"-Wl,-rpath,{folder}", "-o", shared])
        told([*start, *asked("--static", "--libs"), "-static", "-o", static])
        require(needs_shared(shared) and not needs_shared(static), f"{language}: linked with the other library")
        for client in (shared, static):
            require(told([client]) == SAYS[language], f"{client.name} says otherwise")
    return f"{2 * len(languages)} clients"


def by_cmake(prefix: Path, version: str, out: Path, languages: Collection[str] = SAYS.keys()) -> str:
    """The same clients, by `find_package` and the two targets."""
    sources, build = out / "sources", out / "build"
    sources.mkdir(parents=True)
    for name in ("CMakeLists.txt", "client.c", "client.cpp"):
        shutil.copy(CLIENTS / name, sources)
    said = told(["cmake", "-S", sources, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"])
    require(f"-- counterpoint {version}\n" in said, said)
    names = [f"{kind}-{language}" for language in languages for kind in ("shared", "static")]
    told(["cmake", "--build", build, "--parallel", "2", "--target", *names])
    for name in names:
        kind, _, language = name.partition("-")
        require(told([build / name]) == SAYS[language], f"{name} says otherwise")
        require(needs_shared(build / name) == (kind == "shared"), f"{name} is linked with the other library")
    return f"{len(names)} clients"


def versions(prefix: Path, version: str, out: Path) -> str:
    """CMake takes this version where it is asked for, and refuses it where another is needed."""
    major, minor, patch = map(int, version.split("."))
    taken = [f"{major}.{minor}", version, f"{version};EXACT", f"{major}...<{major + 1}", f"{major}.{minor}...{version}"]
    newer = [f"{major}.{minor}.{patch + 1}", f"{major}.{minor + 1}", f"{major + 1}", f"{major + 1}...{major + 2}"]
    refused = [*newer, f"{major}...<{version}"]
    project = out / "CMakeLists.txt"
    out.mkdir()
    for wanted in taken + refused:
        asked = wanted.replace(";", " ")
        project.write_text(
            "cmake_minimum_required(VERSION 3.19)\nproject(asks NONE)\n"
            f"find_package(counterpoint {asked} REQUIRED)\nget_target_property(where counterpoint::static LOCATION)\n"
        )
        shutil.rmtree(out / "build", ignore_errors=True)
        done = command(["cmake", "-S", out, "-B", out / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
        require((done.returncode == 0) == (wanted in taken), f"find_package(counterpoint {asked}):\n{done.stdout}")
    return f"{len(taken)} are taken, {len(refused)} refused"


def incomplete(prefix: Path, out: Path) -> str:
    """CMake says which file is missing."""
    copy = out / "incomplete"
    shutil.copytree(prefix, copy, symlinks=True)
    (copy / "lib/libcounterpoint.a").unlink()
    done = command(["cmake", "-S", CLIENTS, "-B", out / "refused", f"-DCMAKE_PREFIX_PATH={copy}"])
    require(done.returncode != 0, "it is found")
    sentence = " ".join(done.stdout.split())
    require(re.search(r"lib/libcounterpoint\.a is missing", sentence) is not None, done.stdout)
    return "it is named"
