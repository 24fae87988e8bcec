"""Has Ramulator 2 answer traces of requests to DDR4 and DDR5: writes `tests/data/ramulator`.

    git clone https://github.com/CMU-SAFARI/ramulator2
    c++ -std=c++20 -O2 -I ramulator2/src [...] tests/peers/ramulator.cpp -o ramulator   # with its library
    PYTHONPATH=ramulator2/python python tests/peers/traces.py ramulator tests/data/ramulator

docs/ddr.md describes the traces. The requests are always the same.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

MACHINES = {
    "ddr4-2400": ("DDR4", "DDR4_8Gb_x8", "DDR4_2400R", 4),
    "ddr5-4800": ("DDR5", "DDR5_16Gb_x8", "DDR5_4800C", 8),
}
"""Standard, organisation and timings of each machine, as Ramulator names them, and the cycles of a burst."""

SEED = 2400
LINES = 8 << 30 >> 6
"""The lines of a channel."""

STREAM_LINES = 1 << 20
"""How far apart streams begin: in banks and rows of their own."""


class Trace(NamedTuple):
    """So many requests, and a mean time between two, in bursts; zero: one in each cycle."""

    requests: int
    gap: float
    writes: float
    """The share of writes."""

    streams: int
    """So many streams of consecutive lines; zero: random lines."""

    footprint: int = LINES


TRACES = {
    "idle": Trace(400, 250, 0, 0),
    "random": Trace(10_000, 6, 0, 0),
    "random-near": Trace(10_000, 2.5, 0, 0),
    "random-beyond": Trace(10_000, 0, 0, 0),
    "one-stream": Trace(10_000, 2, 0, 1),
    "streams": Trace(10_000, 2.5, 0, 8),
    "streams-beyond": Trace(10_000, 0, 0, 8),
    "mixed": Trace(10_000, 6, 0.33, 0),
    "mixed-near": Trace(10_000, 3.5, 0.33, 0),
    "mixed-beyond": Trace(10_000, 0, 0.5, 0),
    "mixed-streams": Trace(10_000, 4, 0.33, 8),
    "writes-beyond": Trace(10_000, 0, 1, 0),
    "few-rows": Trace(10_000, 4, 0.33, 0, 1 << 12),
}


def requests(trace: Trace, burst: int) -> list[tuple[int, str, int]]:
    """The cycle, kind and address of each request. There is one in a cycle at most."""
    choice = random.Random(f"{SEED} {trace}")
    places = [number * STREAM_LINES + choice.randrange(STREAM_LINES) for number in range(trace.streams)]
    found, exact, cycle = [], 0.0, -1
    for _ in range(trace.requests):
        exact += choice.expovariate(1 / trace.gap) * burst if trace.gap else 0
        cycle = max(cycle + 1, round(exact))
        if places:
            stream = choice.randrange(len(places))
            places[stream] += 1
            line = places[stream]
        else:
            line = choice.randrange(trace.footprint)
        found.append((cycle, "W" if choice.random() < trace.writes else "R", line * 64))
    return found


def configuration(machine: str) -> dict[str, object]:
    """What Ramulator is told: one channel of the machine."""
    import ramulator  # type: ignore[import-not-found]  # only who repeats this has it

    standard, organisation, timings, _ = MACHINES[machine]
    dram = getattr(ramulator.dram, standard)(org_preset=organisation, timing_preset=timings)
    controller = ramulator.controller.GenericDDR(
        dram=dram,
        scheduler=ramulator.scheduler.FRFCFS(),
        refresh_manager=ramulator.refresh_manager.AllBank(),
        row_policy=ramulator.row_policy.Open(),
        addr_mapper=ramulator.addr_mapper.RoBaRaCoCh(),
    )
    memory = ramulator.memory_system.GenericDRAM(
        clock_ratio=1, controllers=[controller], channel_mapper=ramulator.channel_mapper.CacheLineInterleave()
    )
    return {"frontend": {"impl": "External", "clock_ratio": 1}, "memory_system": memory.to_config()}


def main() -> None:
    """Writes a table for each machine and trace."""
    program, folder = sys.argv[1], Path(sys.argv[2])
    for machine, (*_, burst) in MACHINES.items():
        for name, trace in TRACES.items():
            asked = requests(trace, burst)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(configuration(machine), file)
                file.flush()
                text = "".join(f"{cycle} {kind} {address:x}\n" for cycle, kind, address in asked)
                told = subprocess.run(
                    [program, file.name], input=text, capture_output=True, text=True, check=True
                ).stdout
            rows = ["cycle\tkind\taddress\taccepted\tlatency"]
            for (cycle, kind, address), answer in zip(asked, told.splitlines(), strict=True):
                accepted, latency = answer.split()
                rows.append(f"{cycle}\t{kind}\t{address:x}\t{accepted}\t{latency}")
            whole = "".join(f"{row}\n" for row in rows).encode()
            path = folder / machine / f"{name}.tsv.zst"
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["zstd", "-q", "-19", "-f", "-o", path], input=whole, check=True)
            reads = [int(row.split("\t")[4]) for row in rows[1:] if row.split("\t")[1] == "R"]
            print(machine, name, f"{sum(reads) / max(len(reads), 1):.1f} cycles of a read")


if __name__ == "__main__":
    main()
