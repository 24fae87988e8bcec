"""The libraries: what they export, what they do not carry, and where they come from."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from clean import ROOT, made, require, told

SHARED_MAX, STATIC_MAX = 8 << 20, 64 << 20
"""Bytes. With what a debugger reads, the libraries have 46 MB and 131 MB."""

_SMALL = 1 << 20


def stripped(library: Path) -> str:
    """They have nothing that only a debugger reads; the shared one exports what it must, with versions."""
    shared, static = library / "lib/libcounterpoint.so.1", library / "lib/libcounterpoint.a"
    script = (ROOT / "crates/c/counterpoint.map").read_text()
    named = set(re.findall(r"^ +(counterpoint_\w+);", script, re.MULTILINE))
    table = told(["nm", "--dynamic", "--defined-only", "--with-symbol-versions", shared])
    exported = {line.split()[-1] for line in table.splitlines() if " A COUNTERPOINT_" not in line}
    require({re.sub(r"@@COUNTERPOINT_\d+$", "", symbol) for symbol in exported} == named, f"it exports {exported}")
    require(all("@@" in symbol for symbol in exported), f"no versions: {exported}")
    sections = told(["readelf", "--section-headers", "--wide", shared])
    require(" .dynsym " in sections and " .symtab " not in sections, "the shared library has symbols of its own")
    require(" .debug_" not in sections, "the shared library has sections for debuggers")
    sections = told(["readelf", "--section-headers", "--wide", static])
    require(" .text." in sections and " .debug_" not in sections, "the static library has sections for debuggers")
    sizes = shared.stat().st_size, static.stat().st_size
    require(sizes[0] <= SHARED_MAX and sizes[1] <= STATIC_MAX, f"they have {sizes} bytes")
    return f"{len(named)} symbols in {sizes[0]:,} bytes, statically {sizes[1]:,}"


def elsewhere(out: Path, variable: str) -> str:
    """The library is taken from Cargo's target directory, and the engine that is there is not compiled again.

    Args:
        out: a folder.
        variable: what says where that directory is.
    """
    built, target, library = Path(os.environ.get(variable, ROOT / "target")), out / "cargo", out / "library"
    shutil.copytree(built / "release", target / "release", copy_function=_copy)
    archives = list((target / "release/deps").glob("libcounterpoint-*.a"))
    require(archives != [], "the tests of the C interface are not built")
    source, mark = out / "mark.c", out / "mark.o"
    source.write_text("int taken_from_elsewhere;\n")
    told(["cc", "-c", "-o", mark, source])
    for archive in archives:
        _append(archive, mark)
    said = made("library", LIBRARY=library, **{variable: target})
    require("Compiling counterpoint-engine" not in said, said)
    require("taken_from_elsewhere" in told(["nm", library / "lib/libcounterpoint.a"]), "another library was taken")
    shutil.rmtree(target)
    return stripped(library)


def _copy(source: str, copy: str) -> None:
    # Cargo writes only small files in place.
    if Path(source).stat().st_size < _SMALL:
        shutil.copy2(source, copy)
    else:
        Path(copy).hardlink_to(source)


def _append(archive: Path, member: Path) -> None:
    """Adds a member to a copy, of which Cargo does not see that it is a copy."""
    was, copy = archive.stat(), archive.with_suffix(".copy")
    shutil.copyfile(archive, copy)
    told(["ar", "q", copy, member])
    os.utime(copy, ns=(was.st_atime_ns, was.st_mtime_ns))
    copy.replace(archive)
