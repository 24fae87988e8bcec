"""ChampSim with its own memory and with Counterpoint's: three traces each."""

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import champsim_traces
from checks import LIBRARY, ROOT, Checks, must
from checks import run as run_logged

DESIGNS = ["unencrypted", "secpm"]
PHASES = ["--warmup-instructions", "20000", "--simulation-instructions", "60000"]
INCLUDES = ["fmt", "CLI", "nlohmann"]


def copied(checkout: Path, folder: Path) -> Path:
    """A copy of the checkout, which ChampSim is built in."""
    if not folder.exists():
        # A checkout that was built before has files with absolute paths to itself.
        made = [".git", "vcpkg", "bin", ".csconfig", "_configuration.mk", "absolute.options", "__pycache__"]
        shutil.copytree(checkout, folder, symlinks=True, ignore=shutil.ignore_patterns(*made))
    packages = folder / "vcpkg_installed" / "system"
    if not (folder / "vcpkg_installed").exists():
        # Without vcpkg: Debian's libcli11-dev, nlohmann-json3-dev, libfmt-dev, libbz2-dev and liblzma-dev.
        (packages / "include").mkdir(parents=True)
        (packages / "lib").mkdir()
        for name in INCLUDES:
            if not Path("/usr/include", name).is_dir():
                sys.exit(f"error: ChampSim needs /usr/include/{name}, or its packages in vcpkg_installed/")
            (packages / "include" / name).symlink_to(Path("/usr/include", name))
        must(["ar", "rcs", packages / "lib" / "libCLI11.a"], folder / "ar.log", folder)
    return folder


def built(folder: Path, flags: list[str]) -> Path:
    """ChampSim, built in `folder`."""
    must([folder / "config.sh", "champsim_config.json"], folder / "config.log", folder)
    must(["make", f"--jobs={os.cpu_count()}", *flags], folder / "make.log", folder)
    return folder / "bin" / "champsim"


def statistics(text: str) -> list[dict[str, Any]]:
    """The documents of the bridge in ChampSim's output."""
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"schema"')]


def instructions_per_cycle(text: str) -> float:
    """The figure of the measured phase."""
    found = re.findall(r"^Simulation complete CPU 0 .* cumulative IPC: ([0-9.e+-]+)", text, flags=re.MULTILINE)
    return float(found[0]) if found else 0.0


def table(rows: dict[str, dict[str, float]]) -> str:
    """Instructions per cycle of each trace on each memory."""
    memories = ["own", *DESIGNS]
    lines = ["Instructions per cycle", f"{'':12}" + "".join(f"{name:>14}" for name in memories)]
    lines += [f"{name:12}" + "".join(f"{row[memory]:14.4f}" for memory in memories) for name, row in rows.items()]
    return "\n".join(lines)


def run(checkout: Path, out: Path) -> int:
    """Builds both and runs the traces; returns the exit code."""
    checks = Checks()
    out = out / "champsim"
    own = built(copied(checkout, out / "own"), [])
    mounted = copied(checkout, out / "counterpoint")
    mount: list[str | Path] = [sys.executable, ROOT / "integrations" / "champsim" / "mount.py", mounted]
    must(mount, mounted / "mount.log", mounted)
    before = (mounted / "src" / "dram_controller.cc").read_text()
    must(mount, mounted / "mount.log", mounted)
    checks.that(before == (mounted / "src" / "dram_controller.cc").read_text(), "mounting twice changes nothing")
    library = LIBRARY / "lib"
    flags = [f"CPPFLAGS=-I{LIBRARY / 'include'}", f"LDFLAGS=-L{library} -Wl,-rpath,{library}", "LDLIBS=-lcounterpoint"]
    ours = built(mounted, flags)
    rows: dict[str, dict[str, float]] = {}
    for name, trace in champsim_traces.write(out / "traces").items():
        _, text = run_logged([own, *PHASES, trace], out / f"{name}.own.log", out)
        rows[name] = {"own": instructions_per_cycle(text)}
        for design in DESIGNS:
            settings = {"COUNTERPOINT_DESIGN": design, "COUNTERPOINT_SET": "device.capacity=4GiB engine.bytes=false"}
            code, text = run_logged([ours, *PHASES, trace], out / f"{name}.{design}.log", out, settings)
            found = statistics(text)
            rows[name][design] = instructions_per_cycle(text)
            checks.that(code == 0, f"{name} on {design} comes to its end")
            checks.that(len(found) == 1, f"{name} on {design}: statistics are printed once")
            nothing: dict[str, Any] = {"simulated_ns": 0, "now_ns": 0, "reads": {"count": 0}}
            figures = found[0] if found else nothing
            checks.that(0 < figures["simulated_ns"] < figures["now_ns"], f"{name} on {design}: without warm-up")
            checks.that(figures["reads"]["count"] > 100, f"{name} on {design}: memory is read")
        slower = rows[name]["secpm"] <= rows[name]["unencrypted"] * 1.001
        checks.that(slower, f"{name}: encryption makes nothing faster")
    print(table(rows))
    return checks.summary()
