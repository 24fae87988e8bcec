"""Several testers with caches of their own on one crossbar: memtest.py MEMORY cleans|evictions fast|slow.

A tester never stops. Fast ones leave no moment in which nothing is in flight, so that only with slow ones the copy of
the library can be compared with gem5's bytes.
"""

import sys
from pathlib import Path

import m5
from m5.objects import Cache, MemTest, Root

sys.path.insert(0, str(Path(__file__).parent))
from machine import compare_copy, system

design, holds, speed = sys.argv[1:]
made = system(design, hold_evictions=holds == "evictions")
made.tester = [
    MemTest(
        base_addr_2=0x200000,
        uncacheable_base_addr=0x300000,
        max_loads=4000,
        percent_functional=5,
        percent_uncacheable=5,
        progress_interval=1000,
        interval=10 if speed == "fast" else 10_000,
    )
    for _ in range(4)
]
made.cache = [
    Cache(
        size="1kB",
        assoc=2,
        tag_latency=1,
        data_latency=1,
        response_latency=1,
        mshrs=4,
        tgts_per_mshr=8,
        writeback_clean=True,
    )
    for _ in made.tester
]
for tester, cache in zip(made.tester, made.cache, strict=True):
    tester.port = cache.cpu_side
    cache.mem_side = made.membus.cpu_side_ports
root = Root(full_system=False, system=made)
m5.instantiate()
event = m5.simulate()
print(event.getCause())
if speed == "slow":
    m5.drain()
    m5.memWriteback(root)
    m5.drain()
    compare_copy(made.memory)
