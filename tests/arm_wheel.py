"""Runs the wheel for 64-bit Arm under QEMU, on the Python of Debian: it gives what the engine gives here.

Usage: arm_wheel.py FOLDER. The folder has the wheel; `make wheel` builds it.
Python and the C library come from the archive of Debian, unpacked beside the wheel and never installed; the packages
come from PyPI.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import counterpoint as cp

PYTHON = "python3"
"""Debian's package; it names the version."""
RUNS = (
    "run secpm btree --transactions 50",
    "run sepencr hash --transactions 20 --machine small",
    "crash secpm-tree queue --machine small --transactions 20 --workers 1",
    "prove secpm --operations 3 --lines 1 --workers 1",
)
"""One for each room that could differ: times, bytes, hashes, threads."""
OF_COMPUTER = "host"
"""The part of a result that is about the computer."""


class Failure(Exception):
    """What does not hold, as a sentence."""


def unpacked(folder: Path) -> Path:
    """Debian's Python for Arm, with all that it needs, as the root of a file system in `folder`."""
    root, state = folder / "root", folder / "apt"
    for part in ("lists/partial", "archives/partial"):
        (state / part).mkdir(parents=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache::archives": state / "archives",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Debug::NoLocking": "1",
    }
    apt = ["apt-get", "--quiet=2", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
    subprocess.run([*apt, "update"], check=True)
    # It has nothing yet, so it fetches everything down to the C library.
    wanted = ["install", "--yes", "--download-only", "--no-install-recommends", PYTHON]
    subprocess.run([*apt, *wanted], check=True, stdout=subprocess.DEVNULL)
    for package in sorted((state / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    return root


def installed(wheel: Path, version: str, folder: Path) -> Path:
    """The wheel and what it needs, for that Python on Arm."""
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--only-binary", ":all:"]
    of = ["--python-platform", "aarch64-manylinux_2_28", "--python-version", version, "--target", str(folder)]
    subprocess.run([*uv, *of, str(wheel)], check=True)
    return folder


def of_result(printed: str) -> Mapping[str, Any]:
    """A result without what is about the computer."""
    result: dict[str, Any] = json.loads(printed)
    result.pop(OF_COMPUTER, None)
    return result


def run(command: list[str], arguments: str, environment: Mapping[str, str]) -> Mapping[str, Any]:
    """What `counterpoint` prints with these arguments."""
    told = subprocess.run(
        [*command, "-m", "counterpoint", *arguments.split(), "--json"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if told.returncode not in (0, 1):
        raise Failure(f"'{arguments}' ended with {told.returncode}: {told.stderr}")
    return of_result(told.stdout)


def check(folder: Path) -> None:
    """Runs the wheel in `folder`."""
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if emulator is None:
        raise Failure("there is no qemu-aarch64; install it with: apt-get install qemu-user")
    (wheel,) = folder.glob("*_aarch64.whl")
    with tempfile.TemporaryDirectory(prefix="arm-", dir=folder.parent) as name:
        place = Path(name)
        root = unpacked(place)
        python = (root / "usr/bin" / PYTHON).resolve()
        packages = installed(wheel, python.name.removeprefix("python"), place / "packages")
        there = [emulator, "-L", str(root), str(root / "usr/bin" / python.name)]
        found = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(packages)}
        told = subprocess.run(
            [*there, "-c", "import counterpoint as cp, platform; print(platform.machine(), cp.engine_build())"],
            env={**os.environ, **found},
            capture_output=True,
            text=True,
        )
        if told.stdout != f"aarch64 {cp.engine_build()}\n":
            raise Failure(f"it prints '{told.stdout}' in place of this engine's build; {told.stderr}")
        for arguments in RUNS:
            here = run([sys.executable], arguments, {})
            if run(there, arguments, found) != here:
                raise Failure(f"'{arguments}' gives another result on Arm")
            print(f"counterpoint {arguments}: the same on Arm", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="has the wheel for Arm")
    try:
        check(parser.parse_args().folder.resolve())
    except Failure as failure:
        sys.exit(f"error: {failure}")


if __name__ == "__main__":
    main()
