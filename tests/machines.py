"""Random machines, each small in its own way: what the soak and the campaign crash designs on.

Half of them are tight: most structures have their smallest size. Some have a slow device, so that every queue is full.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import counterpoint as cp
from counterpoint.verbs import catalogue

Size = Callable[..., int]
"""One of several sizes, the smallest first."""

POLICIES = ("continuous", "nvmain-frfcfs-wqf", "nvmain-frfcfs", "gem5", "dramsim2", "ramulator2")
"""The scheduling policies, that of ``small`` first."""

_T_WR_NS = (300, 300, 1_000, 10_000)
"""Write recovery: that of the papers, and of devices slower than all that comes before them."""

_LATENCY_CYCLES = (12, 12, 400)
"""Of the counter cache: quicker than an AES circuit, and slower."""


def _behind(choice: random.Random, size: Size) -> list[str]:
    """Modules, which answer for themselves, on memory channels or behind links."""
    modules = ["module.kind=buffered", f"module.buffer={size(512, 1024, 16384)}B", "controller.counter_write=line"]
    if choice.random() < 0.5:
        return modules
    return [
        *modules,
        "link.kind=cxl",
        f"link.latency_ns={choice.choice((0, 35, 1_000))}",
        f"link.read_credits={size(1, 2, 64)}",
        f"link.write_credits={size(1, 2, 64)}",
    ]


def _told(choice: random.Random, size: Size) -> list[str]:
    """Modules that are told of reads."""
    return [
        "module.kind=transactional",
        f"module.media_line={choice.choice((64, 256))}B",
        f"module.buffer={size(256, 512, 8192)}B",
        f"controller.min_reads_per_switch={size(0, 1, 16)}",
        "controller.counter_write=line",
    ]


def scheduled(policy: str) -> list[str]:
    """A scheduling policy, with the memory that it schedules."""
    if policy == "ramulator2":
        memory = ["module.kind=dram", "dram.bank_groups=1", "controller.counter_write=line"]
        return [f"controller.policy={policy}", *memory]
    return [f"controller.policy={policy}"]


def _queue(choice: random.Random, size: Size, name: str, *sizes: int) -> list[str]:
    """Size and watermarks of the write queue called ``name``."""
    entries = size(*sizes)
    high = choice.randint(1, entries)
    return [
        f"controller.{name}_entries={entries}",
        f"controller.{name}_high_watermark={high}",
        f"controller.{name}_low_watermark={choice.randint(0, high - 1)}",
    ]


def _log(choice: random.Random, size: Size) -> list[str]:
    """The log that hardware writes: few large buckets or many small ones.

    Each has room for the records of the largest transactions that all cores may have open, one line to a record.
    """
    buckets, records = choice.choice(((16, 256), (64, 64), (256, 16), (1024, 4)))
    return [
        f"log.buckets={buckets}",
        f"log.bucket_records={records}",
        f"log.pending_entries={size(1, 2, 3, 7, 16)}",
        f"log.transactions={size(1, 2, 4, 32)}",
        f"log.cfb_latency={choice.choice(('serial', 'paper'))}",
        f"counters.organisation={choice.choice(('split', 'per-line'))}",
    ]


def _decisions(choice: random.Random) -> list[str]:
    """What the papers leave open of programs, cores, circuits and re-encryption."""
    values = {
        "program.log_placement": ("packed", "own-pages"),
        "program.base": ("cold", "warm"),
        "program.item_metadata": ("beside", "inside"),
        "program.think_load_percent": ("0", "20"),
        "program.think_store_percent": ("0", "10"),
        "program.think_footprint": ("4KiB", "16KiB"),
        "core.flush_overlap": ("overlapped", "one-at-a-time"),
        "controller.aes_reads": ("own", "shared"),
        "controller.aes_occupancy": ("line", "block"),
        "controller.aes_pipelined": ("true", "false"),
        "controller.aes_hold": ("until-admitted", "until-encrypted"),
        "controller.counter_atomic_order": ("overlapped", "per-core", "global"),
        "controller.counter_write": ("line", "counter"),
        "counters.reencrypt_unwritten": ("true", "false"),
    }
    return [f"{key}={choice.choice(among)}" for key, among in values.items()]


def machine(choice: random.Random) -> list[str]:
    """What to set on ``small``; loads are compared with what the program expects."""
    tight = choice.random() < 0.5

    def size(*sizes: int) -> int:
        return sizes[0] if tight and choice.random() < 0.75 else choice.choice(sizes)

    flag = ("true", "false")
    entries = size(2, 4, 8, 32)
    policy = choice.choice(POLICIES)
    placement = choice.choice(("same-bank", "single-bank", "cross-bank", "interleaved"))
    mappings = ["page-interleaved", "page-xor", "bank-contiguous"]
    if placement in ("single-bank", "interleaved"):
        # The others put a page's counters by its bank, and a page whose lines are interleaved has none.
        mappings += ["line-interleaved", "segment-interleaved"]
    lines = choice.choice((16, 32, 64, 64, 64, 128))
    return [
        *_queue(choice, size, "wpq", 2, 3, 4, 6, 8, 16),
        *_queue(choice, size, "counter_wpq", 1, 2, 3, 4, 8),
        *_log(choice, size),
        f"controller.counter_wpq_merging={choice.choice(flag)}",
        f"controller.wpq_issue_when_idle={choice.choice(flag)}",
        f"controller.min_writes_per_switch={size(1, 2, 16)}",
        f"controller.row_hit_limit={size(1, 4, 16)}",
        f"controller.counters_overtake={choice.choice(flag)}",
        f"controller.aes_units={choice.randint(1, 4)}",
        f"controller.aes_read_units={choice.randint(1, 4)}",
        f"controller.counter_cache_size={size(64, 128, 256, 512, 4096)}B",
        "controller.counter_cache_ways=1",
        f"controller.counter_cache_latency_cycles={choice.choice(_LATENCY_CYCLES)}",
        f"controller.counter_placement={placement}",
        f"controller.read_queue_entries={size(1, 2, 8, 32)}",
        f"controller.reencryption_parallelism={size(1, 4, 64)}",
        f"counters.block_lines={lines}",
        f"counters.minor_bits={min(size(1, 2, 3, 7), 448 // lines)}",
        f"device.mapping={choice.choice(mappings)}",
        f"device.ranks={size(1, 2)}",
        f"device.banks_per_rank={size(1, 2)}",
        f"device.t_wr_ns={choice.choice(_T_WR_NS)}",
        f"device.write_recovery={choice.choice(('each-write', 'row-close'))}",
        *(f"{level}.mshrs={size(1, 4)}" for level in ("l1", "l2", "l3")),
        f"l2.shared={choice.choice(flag)}",
        f"l3.size={size(256, 512, 1024)}B",
        f"eadr.persist_buffer_entries={entries}",
        f"eadr.persist_buffer_watermark={choice.randint(1, entries - 1)}",
        f"core.store_queue_entries={size(1, 8, 56)}",
        f"core.write_combining_buffers={size(1, 10)}",
        "engine.check_loads=true",
        *_decisions(choice),
        *scheduled(policy),
        *(_behind(choice, size) if policy == "continuous" and choice.random() < 0.5 else []),
        *(_told(choice, size) if policy == "gem5" and choice.random() < 0.5 else []),
    ]


_OF_BANKS = (
    *(
        "controller.policy=",
        "controller.counter_write=",
        "controller.write_acknowledged=",
        "device.write_interruption=",
    ),
    *("module.kind=", "dram.", "wear."),
)
"""What does not go with modules."""


def fitting(design: str, sets: list[str]) -> list[str]:
    """Values of a machine that has what a design needs: modules, a counter block for a page, or a queue long enough."""
    if catalogue.needs_modules(design):
        return [*(one for one in sets if not one.startswith(_OF_BANKS)), *catalogue.MODULES]
    if 'zeroing = "counters"' in cp.design_file(design):
        whole_pages = ["counters.block_lines=64", "counters.minor_bits=2"]
        return [*(one for one in sets if not one.startswith("counters.")), *whole_pages]
    if 'domain = "accepted-writes"' not in cp.design_file(design):
        return sets
    return ["controller.wpq_entries=3" if one == "controller.wpq_entries=2" else one for one in sets]
