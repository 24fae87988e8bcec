"""Random reads and writes by a traffic generator: traffic.py MEMORY."""

import sys
from pathlib import Path

import m5

sys.path.insert(0, str(Path(__file__).parent))
from machine import generate, generating

# On the machine as it is, all of this little memory would lie in one bank.
MAPPING = ["device.mapping=page-interleaved", "program.core_region=packed"]
made = generating(sys.argv[1], machine="secpm", overrides=MAPPING)
# In ticks of 1 ps: an access after 200 to 400 ns, which every one of the memories keeps up with.
for duration in [2_000_000_000, 200_000_000]:
    generate(made, duration, percent_reads=60, interval=200_000)
    m5.simulate()
    m5.stats.dump()
    m5.stats.reset()
print("traffic is over")
