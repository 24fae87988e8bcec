"""Random reads and writes by a traffic generator: traffic.py MEMORY."""

import sys
from pathlib import Path

import m5
from m5.objects import PyTrafficGen, Root

sys.path.insert(0, str(Path(__file__).parent))
from machine import BYTES, system

made = system(sys.argv[1])
made.generator = PyTrafficGen()
made.generator.port = made.membus.cpu_side_ports
root = Root(full_system=False, system=made)
m5.instantiate()


def traffic(duration):
    yield made.generator.createRandom(duration, 0, BYTES, 64, 20000, 40000, 60, 0)
    yield made.generator.createExit(0)


for duration in [200_000_000, 20_000_000]:
    made.generator.start(traffic(duration))
    m5.simulate()
    m5.stats.dump()
    m5.stats.reset()
print("traffic is over")
