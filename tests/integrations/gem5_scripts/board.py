"""A board of the standard library with Counterpoint's memory: board.py FOLDER_OF_THE_PACKAGE."""

import sys

sys.path.insert(0, sys.argv[1])

from gem5.components.boards.test_board import TestBoard
from gem5.components.cachehierarchies.classic.private_l1_cache_hierarchy import PrivateL1CacheHierarchy
from gem5.components.processors.random_generator import RandomGenerator
from gem5.simulate.simulator import Simulator

from counterpoint.gem5 import EncryptedMemory

board = TestBoard(
    clk_freq="1GHz",
    generator=RandomGenerator(duration="100us", rate="200MB/s", max_addr=1 << 20, rd_perc=60),
    memory=EncryptedMemory("1GiB", design="secpm"),
    cache_hierarchy=PrivateL1CacheHierarchy(l1d_size="4kB", l1i_size="4kB"),
)
Simulator(board=board).run()
print("the board is done")
