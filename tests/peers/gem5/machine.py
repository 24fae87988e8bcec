"""The machine of the comparison with gem5 (docs/gem5.md), run by gem5 v24. What is not given here is as gem5 ships it.

    gem5 machine.py --cpu o3 --mem nvm [--cores 4] PROGRAM [ARGUMENT...]

The program says by m5 operations where its measured part begins and ends; statistics are of that part.
"""

import argparse
import sys

import m5
from m5.objects import (
    X86O3CPU,
    AddrRange,
    Cache,
    DDR4_2400_8x8,
    L2XBar,
    MemCtrl,
    NVM_2400_1x64,
    Process,
    Root,
    SEWorkload,
    SrcClockDomain,
    System,
    SystemXBar,
    VoltageDomain,
    X86TimingSimpleCPU,
)

parser = argparse.ArgumentParser()
parser.add_argument("--cpu", choices=("o3", "timing"), required=True)
parser.add_argument("--mem", choices=("nvm", "ddr4"), required=True)
parser.add_argument("--cores", type=int, default=1)
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()


def first(size):
    """A first level as configs/common/Caches.py has it."""
    return Cache(size=size, assoc=2, tag_latency=2, data_latency=2, response_latency=2, mshrs=4, tgts_per_mshr=20)


system = System(mem_mode="timing", mem_ranges=[AddrRange("512MiB")], cache_line_size=64)
system.clk_domain = SrcClockDomain(clock="1GHz", voltage_domain=VoltageDomain())
system.cpu_clk_domain = SrcClockDomain(clock="2GHz", voltage_domain=VoltageDomain())
system.exit_on_work_items = True
kind = {"o3": X86O3CPU, "timing": X86TimingSimpleCPU}[args.cpu]
system.cpu = [kind(cpu_id=number, clk_domain=system.cpu_clk_domain) for number in range(args.cores)]
system.membus = SystemXBar()
system.tol2bus = L2XBar(clk_domain=system.cpu_clk_domain)
# The second level of configs/common/Caches.py, of 512 KiB: less than the structures have.
system.l2 = Cache(
    size="512KiB",
    assoc=8,
    tag_latency=20,
    data_latency=20,
    response_latency=20,
    mshrs=20,
    tgts_per_mshr=12,
    write_buffers=8,
    clk_domain=system.cpu_clk_domain,
)
system.l2.cpu_side = system.tol2bus.mem_side_ports
system.l2.mem_side = system.membus.cpu_side_ports
for cpu in system.cpu:
    cpu.icache, cpu.dcache = first("32KiB"), first("64KiB")
    cpu.icache.is_read_only = True
    cpu.icache.cpu_side, cpu.dcache.cpu_side = cpu.icache_port, cpu.dcache_port
    cpu.icache.mem_side = cpu.dcache.mem_side = system.tol2bus.cpu_side_ports
    cpu.mmu.connectWalkerPorts(system.tol2bus.cpu_side_ports, system.tol2bus.cpu_side_ports)
    cpu.createInterruptController()
    cpu.interrupts[0].pio = system.membus.mem_side_ports
    cpu.interrupts[0].int_requestor = system.membus.cpu_side_ports
    cpu.interrupts[0].int_responder = system.membus.mem_side_ports
system.system_port = system.membus.cpu_side_ports
system.mem_ctrl = MemCtrl(port=system.membus.mem_side_ports)
memory = {"nvm": NVM_2400_1x64, "ddr4": DDR4_2400_8x8}[args.mem]
system.mem_ctrl.dram = memory(range=system.mem_ranges[0])
system.workload = SEWorkload.init_compatible(args.command[0])
for number, cpu in enumerate(system.cpu):
    # Each core has a program, and memory, of its own.
    cpu.workload = Process(pid=100 + number, cmd=args.command, executable=args.command[0])
    cpu.createThreads()
root = Root(full_system=False, system=system)
m5.instantiate()
begun = ended = 0
while ended < args.cores:
    cause = m5.simulate().getCause()
    if cause == "workbegin":
        begun += 1
        if begun == args.cores:
            m5.stats.reset()
    elif cause == "workend":
        ended += 1
    else:
        print(f"gem5 ends with {cause}", file=sys.stderr)
        sys.exit(1)
m5.stats.dump()
