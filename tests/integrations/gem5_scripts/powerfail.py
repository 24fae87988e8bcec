"""Power fails in the middle of traffic: powerfail.py DESIGN."""

import sys
from pathlib import Path

import m5

sys.path.insert(0, str(Path(__file__).parent))
from machine import generate, generating

made = generating(sys.argv[1])
generate(made, 1_000_000_000, percent_reads=30)
m5.simulate(50_000_000)
print(made.memory.getCCObject().powerFail(str(Path(m5.options.outdir) / "after.img")))
