"""Saves a checkpoint after some traffic, or goes on from it: checkpoint.py save|restore FOLDER."""

import sys
from pathlib import Path

import m5

sys.path.insert(0, str(Path(__file__).parent))
from machine import compare_copy, generate, generating

action, folder = sys.argv[1:]
saves = action == "save"
made = generating("secpm", None if saves else folder)
generate(made, 100_000_000 if saves else 5_000_000, percent_reads=40)
m5.simulate()
m5.drain()
if saves:
    m5.checkpoint(folder)
else:
    compare_copy(made.memory)
