"""gem5 without a processor, with Counterpoint's memory: traffic, MemTest, checkpoints, power failures."""

import json
import os
import re
from pathlib import Path

from checks import LIBRARY, ROOT, Checks, must
from checks import run as run_logged

SCRIPTS = Path(__file__).resolve().parent / "gem5_scripts"


MEMORIES = ["own", "unencrypted", "secpm", "sca"]
# What the generator of traffic measures, in ticks (ps) and bytes per second, and how the table shows it.
COLUMNS = {
    "avgReadLatency": ("read, ns", 1e-3),
    "avgWriteLatency": ("write, ns", 1e-3),
    "readBW": ("read, MB/s", 1e-6),
    "writeBW": ("write, MB/s", 1e-6),
}


def figures(folder: Path, of: str = "memory", system: str = "system") -> list[dict[str, float]]:
    """The figures of an object of the system in each section of gem5's stats.txt."""
    sections = (folder / "stats.txt").read_text().split("Begin Simulation Statistics")[1:]
    pattern = re.compile(rf"^{system}\.{of}\.(\w+)\s+([0-9.e+-]+)", flags=re.MULTILINE)
    return [{name: float(value) for name, value in pattern.findall(section)} for section in sections]


def table(rows: dict[str, dict[str, float]]) -> str:
    """What random traffic meets on each memory."""
    lines = [f"{'memory':12}" + "".join(f"{title:>14}" for title, _ in COLUMNS.values())]
    for memory, row in rows.items():
        cells = (row.get(name, 0.0) * scale for name, (_, scale) in COLUMNS.items())
        lines.append(f"{memory:12}" + "".join(f"{cell:14.1f}" for cell in cells))
    return "\n".join(lines)


def run(checkout: Path, out: Path) -> int:
    """Builds gem5 and runs the scripts; returns the exit code."""
    checks = Checks()
    out = out / "gem5"
    out.mkdir(parents=True, exist_ok=True)
    binary = out / "build" / "NULL" / "gem5.opt"
    extras = f"EXTRAS={ROOT / 'integrations' / 'gem5' / 'counterpoint'}"
    command = ["scons", extras, str(binary), f"-j{os.cpu_count()}", "--ignore-style"]
    must(command, out / "scons.log", checkout, {"COUNTERPOINT_PREFIX": str(LIBRARY)})

    def script(name: str, *arguments: str, folder: str = "") -> tuple[int, str, Path]:
        results = out / (folder or name)
        command: list[str | Path] = [binary, f"--outdir={results}", SCRIPTS / f"{name}.py", *arguments]
        code, text = run_logged(command, out / f"{folder or name}.log", out)
        return code, text, results

    rows: dict[str, dict[str, float]] = {}
    for memory in MEMORIES:
        code, text, folder = script("traffic", memory, folder=f"traffic-{memory}")
        checks.that(code == 0 and "traffic is over" in text, f"random traffic on {memory} comes to its end")
        rows[memory] = figures(folder, "generator")[0]
        if memory != "own":
            first, second = figures(folder)[:2]
            checks.that(first["reads"] > 1000 and first["meanReadLatency"] > 0, f"{memory}: figures in stats.txt")
            checks.that(0 < second["reads"] < first["reads"] / 2, f"{memory}: they start from zero after a reset")
    print(table(rows))
    for memory, holds in [("unencrypted", "cleans"), ("secpm", "cleans"), ("secpm", "evictions"), ("fca", "evictions")]:
        for speed in ["fast", "slow"]:
            code, text, folder = script("memtest", memory, holds, speed, folder=f"memtest-{memory}-{holds}-{speed}")
            of = f"{speed} MemTest on {memory}, {holds} held"
            checks.that(code == 0 and "maximum number of loads reached" in text, f"{of}: every load is right")
            found = folder / "counterpoint.json"
            document = json.loads(found.read_text()) if found.exists() else {"writes": {"count": 0}}
            checks.that(document["writes"]["count"] > 100, f"{of}: memory is written")
            if speed == "slow":
                checks.that("the copy is equal" in text, f"{of}: the copy is equal")
    code, _, _ = script("checkpoint", "save", str(out / "saved"), folder="checkpoint-save")
    checks.that(code == 0, "a checkpoint is saved")
    code, text, folder = script("checkpoint", "restore", str(out / "saved"), folder="checkpoint-restore")
    checks.that(code == 0 and "the copy is equal" in text, "and restored: memory has the same bytes")
    document = json.loads((folder / "counterpoint.json").read_text())
    checks.that(document["simulated_ns"] < document["now_ns"] / 2, "its time before is not measured")
    for design in ["secpm", "write-back"]:
        code, text, folder = script("powerfail", design, folder=f"powerfail-{design}")
        checks.that(code == 0, f"power fails on {design}")
        told = json.loads(text.splitlines()[-1]) if code == 0 else {"damaged_lines": -1}
        kept = design == "secpm"
        checks.that((told["damaged_lines"] == 0) == kept, f"{design}: {told['damaged_lines']} lines are damaged")
        document = json.loads((folder / "counterpoint.json").read_text())
        checks.that(document["writes"]["count"] > 0, f"{design}: the statistics are those of before the failure")
    code, text, folder = script("board", str(ROOT / "python"))
    checks.that(code == 0 and "the board is done" in text, "a board of the standard library takes the memory")
    checks.that(figures(folder, "memory.ranges", "board")[0]["reads"] > 100, "and its traffic reaches it")
    code, text, _ = script("nothing")
    checks.that(code != 0 and "null = True keeps no bytes" in text, "a memory without bytes is refused in a sentence")
    return checks.summary()
