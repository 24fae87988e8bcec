"""A memory that keeps no bytes: refused."""

import sys
from pathlib import Path

import m5
from m5.objects import Root

sys.path.insert(0, str(Path(__file__).parent))
from machine import system

made = system("secpm", null=True)
root = Root(full_system=False, system=made)
m5.instantiate()
