"""Makes `data/nvmain-pcm.nvt.gz`: memory lines in NVMain's format, two reads to a write, with some locality of rows.

    python tests/nvmain_trace.py tests/data/nvmain-pcm.nvt.gz

The output is always the same. It begins with `NVMV0` because NVMain skips the first line of a trace, and data have 128
digits because NVMain requires them.
"""

from __future__ import annotations

import gzip
import random
import sys
from pathlib import Path

SEED = 2012
REQUESTS = 6_000
MEAN_GAP_CYCLES = 200
"""Of a clock of 2 GHz: a request every 100 ns."""

LINE_BYTES = 64
REGION_BYTES = 64 << 20
NEXT_LINE_SHARE = 0.4
"""So many requests of a stream go to the line behind its last one; the others anywhere in the region."""

STREAMS = 4
WRITE_SHARE = 1 / 3


def lines() -> list[str]:
    """The text of the trace, by lines."""
    choice = random.Random(SEED)
    places = [choice.randrange(REGION_BYTES // LINE_BYTES) for _ in range(STREAMS)]
    text, cycle = ["NVMV0"], 0
    for number in range(REQUESTS):
        cycle += round(choice.expovariate(1 / MEAN_GAP_CYCLES))
        stream = choice.randrange(STREAMS)
        if choice.random() < NEXT_LINE_SHARE:
            places[stream] = (places[stream] + 1) % (REGION_BYTES // LINE_BYTES)
        else:
            places[stream] = choice.randrange(REGION_BYTES // LINE_BYTES)
        write = choice.random() < WRITE_SHARE
        data = f"{number if write else 0:016x}" * (LINE_BYTES // 8)
        text.append(f"{cycle} {'W' if write else 'R'} {places[stream] * LINE_BYTES:x} {data} {stream}")
    return text


def main() -> None:
    """Writes the trace to the given path."""
    whole = "".join(f"{line}\n" for line in lines())
    Path(sys.argv[1]).write_bytes(gzip.compress(whole.encode(), mtime=0))


if __name__ == "__main__":
    main()
