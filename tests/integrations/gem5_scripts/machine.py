"""A machine without a processor, with Counterpoint's memory or gem5's own."""

import gzip
from pathlib import Path

import m5
from m5.objects import (
    AddrRange,
    CounterpointMemory,
    MemCtrl,
    NVM_2400_1x64,
    PyTrafficGen,
    Root,
    SrcClockDomain,
    System,
    SystemXBar,
    VoltageDomain,
)

BYTES = 1 << 22


def memory(design, machine="small", overrides=(), **parameters):
    """The memory of that design on a machine, or gem5's own."""
    if design == "own":
        return MemCtrl(dram=NVM_2400_1x64(range=AddrRange(BYTES)))
    return CounterpointMemory(
        range=AddrRange(BYTES),
        design=design,
        machine=machine,
        overrides=["device.capacity=64MiB", *overrides],
        **parameters,
    )


def system(design, **parameters):
    """A system with a crossbar in front of the memory."""
    made = System(cache_line_size=64, mem_ranges=[AddrRange(BYTES)], mem_mode="timing")
    made.voltage_domain = VoltageDomain(voltage="1V")
    made.clk_domain = SrcClockDomain(clock="1GHz", voltage_domain=made.voltage_domain)
    made.membus = SystemXBar(width=16)
    made.memory = memory(design, **parameters)
    made.memory.port = made.membus.mem_side_ports
    made.system_port = made.membus.cpu_side_ports
    return made


def generating(design, checkpoint=None, **parameters):
    """A system with a generator of traffic, ready to simulate, from the checkpoint if there is one."""
    made = system(design, **parameters)
    made.generator = PyTrafficGen()
    made.generator.port = made.membus.cpu_side_ports
    Root(full_system=False, system=made)
    m5.instantiate(checkpoint)
    return made


def generate(made, duration, percent_reads, interval=20_000):
    """Random accesses to all of memory for `duration` ticks, one after `interval` to twice as many; then an exit."""

    def accesses():
        yield made.generator.createRandom(duration, 0, BYTES, 64, interval, 2 * interval, percent_reads, 0)
        yield made.generator.createExit(0)

    made.generator.start(accesses())


def compare_copy(memory):
    """Tells whether the library has gem5's bytes: nothing is in flight, so that all of them survive."""
    before = Path(m5.options.outdir) / "physical"
    m5.checkpoint(str(before))
    after = Path(m5.options.outdir) / "after.img"
    told = memory.getCCObject().powerFail(str(after))
    (store,) = before.glob("*.pmem")
    with gzip.open(store, "rb") as file:
        physical = file.read()
    print("the copy is equal" if after.read_bytes() == physical else "the copy differs", told)
