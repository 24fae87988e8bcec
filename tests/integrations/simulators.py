"""Builds a real simulator with Counterpoint as its memory and runs programs in it: simulators.py --out DIR CHECKOUT.

CHECKOUT is ChampSim or gem5; it is not changed. `make test-integrations SRC=CHECKOUT` calls this.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import champsim_build
import gem5_build


def simulator_in(checkout: Path) -> Callable[[Path, Path], int]:
    """What builds and runs the simulator that `checkout` holds."""
    marks = {"src/dram_controller.cc": champsim_build.run, "src/mem/abstract_mem.hh": gem5_build.run}
    for mark, run in marks.items():
        if (checkout / mark).is_file():
            return run
    sys.exit(f"error: {checkout} is neither ChampSim (src/dram_controller.cc) nor gem5 (src/mem/abstract_mem.hh)")


def main() -> int:
    """Builds and runs; prints how many checks passed and failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for builds and results")
    parser.add_argument("checkout", type=Path)
    arguments = parser.parse_args()
    return simulator_in(arguments.checkout)(arguments.checkout.resolve(), arguments.out.resolve())


if __name__ == "__main__":
    sys.exit(main())
