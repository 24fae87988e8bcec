"""Saves a checkpoint after some traffic, or goes on from it: checkpoint.py save|restore FOLDER."""

import sys
from pathlib import Path

import m5
from m5.objects import PyTrafficGen, Root

sys.path.insert(0, str(Path(__file__).parent))
from machine import BYTES, compare_copy, system

action, folder = sys.argv[1:]
made = system("secpm")
made.generator = PyTrafficGen()
made.generator.port = made.membus.cpu_side_ports
root = Root(full_system=False, system=made)
m5.instantiate(folder if action == "restore" else None)


def traffic():
    duration = 100_000_000 if action == "save" else 5_000_000
    yield made.generator.createRandom(duration, 0, BYTES, 64, 20000, 40000, 40, 0)
    yield made.generator.createExit(0)


made.generator.start(traffic())
m5.simulate()
m5.drain()
if action == "save":
    m5.checkpoint(folder)
else:
    compare_copy(made.memory)
