"""Random reads and writes by a traffic generator: traffic.py MEMORY."""

import sys
from pathlib import Path

import m5

sys.path.insert(0, str(Path(__file__).parent))
from machine import generate, generating

made = generating(sys.argv[1])
for duration in [200_000_000, 20_000_000]:
    generate(made, duration, percent_reads=60)
    m5.simulate()
    m5.stats.dump()
    m5.stats.reset()
print("traffic is over")
