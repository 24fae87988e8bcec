"""Power fails in the middle of traffic: powerfail.py DESIGN."""

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


def traffic():
    yield made.generator.createRandom(1_000_000_000, 0, BYTES, 64, 20000, 40000, 30, 0)


made.generator.start(traffic())
m5.simulate(50_000_000)
print(made.memory.getCCObject().powerFail(str(Path(m5.options.outdir) / "after.img")))
