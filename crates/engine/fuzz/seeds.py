"""Makes the corpus that fuzzing begins with, small files for each target: python3 seeds.py DIRECTORY."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parents[2]
sys.path.insert(0, str(_ROOT / "tests"))

import samples  # noqa: E402

_PRESETS = _ROOT / "crates/engine/src/config/presets"
_DESIGNS = _ROOT / "crates/engine/src/design"
_LOG_BYTES = 4096


def seeds() -> dict[str, list[bytes]]:
    """Inputs by target."""
    traces = samples.traces()
    stream, records = traces["recorded"], samples.records()
    log = (_ROOT / "tests/data/btree-5.pmemcheck.log").read_bytes()[:_LOG_BYTES]
    presets = [path.read_bytes() for path in sorted(_PRESETS.glob("*.toml"))]
    small = b'base = "small"\n[device]\ncapacity = "1MiB"\nt_wr_ns = 150\n'
    designs = [path.read_bytes() for path in sorted(_DESIGNS.glob("*.toml"))]
    mine = b'base = "secpm"\nwrite_path = "write-through"\n[registers]\nstaging_register = "absent"\n'
    frame = samples.zstd_frame(stream)
    packed = [b"\1" + frame[4:], b"\1" + traces["seekable"][4:], b"\2" + gzip.compress(stream, mtime=0)[3:]]
    unchecked = [lzma.compress(text, check=lzma.CHECK_NONE) for text in (samples.LINES["nvmain"], traces["champsim"])]
    packed += [b"\3" + xz[6:] for xz in unchecked]
    packed += [b"\4" + bz2.compress(text)[4:] for text in (samples.LINES["prospero"], traces["champsim"])]
    packed += [b"\2" + traces["champsim-gz"][3:], b"\1" + samples.zstd_frame(samples.PMEMCHECK)[4:]]
    table = traces["seekable"]
    return {
        "recorded": [stream, *records, b"".join(records)],
        "seekable": [b"\0" + table, b"\1" + table[-17:], b"\2" + table[-17:-9], b"\0" + b"".join(records)],
        "pmemcheck": [
            samples.PMEMCHECK,
            samples.STACKS,
            log,
            *samples.PMEMCHECK.split(b"|"),
            *samples.STACKS.split(b"|"),
        ],
        "champsim": [traces["champsim"], traces["champsim"][:64]],
        "lines": [bytes([head]) + text for text in samples.LINES.values() for head in range(8)],
        "compressed": packed,
        "detect": list(traces.values()),
        "design": [*designs, mine, mine + b"\0counter_coalescing=off\nrecovery=[]"],
        "machine": [*presets, small, small + b"\0device.banks_per_rank=4\ncontroller.wpq_entries=2\nname=x"],
    }


def main() -> None:
    """Writes them below the directory that is given, beside what is there already."""
    for target, inputs in seeds().items():
        directory = Path(sys.argv[1]) / target
        directory.mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(inputs):
            (directory / f"seed-{number:02}").write_bytes(text)


if __name__ == "__main__":
    main()
