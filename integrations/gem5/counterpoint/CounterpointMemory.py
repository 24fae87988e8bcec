"""Encrypted persistent memory behind gem5's caches: Counterpoint's controller and device."""

from m5.objects.AbstractMemory import AbstractMemory
from m5.params import *
from m5.SimObject import PyBindMethod


class CounterpointMemory(AbstractMemory):
    type = "CounterpointMemory"
    cxx_header = "counterpoint/counterpoint_memory.hh"
    cxx_class = "gem5::memory::CounterpointMemory"
    cxx_exports = [PyBindMethod("powerFail"), PyBindMethod("statistics")]

    port = ResponsePort("Requests of caches and cores")

    extends = Param.CounterpointMemory(
        NULL,
        "The range of memory that this one continues, as behind a hole in the address map: one controller and "
        "device for both. The other parameters are those of the first range",
    )

    design = Param.String("secpm", "Design, as `counterpoint designs` lists it")
    variant = Param.String("hardened", "Reading of the paper: published or hardened")
    machine = Param.String("", "Preset or machine file (.toml); empty: the design's own preset")
    overrides = VectorParam.String([], "Machine values, path.to.key=value, as --set takes them")
    seed = Param.UInt64(1, "Seed of the keys")

    hold_cleans = Param.Bool(
        True,
        "A WriteClean, what a clwb sends down, is accepted only when it has persisted: the crossbar "
        "acknowledges the clwb at that moment",
    )
    hold_evictions = Param.Bool(
        False,
        "The same for every other write without a response: for crash studies, because a clwb finds "
        "nothing to clean where an eviction is still on its way",
    )
    atomic_latency = Param.Latency("100ns", "Latency of accesses in atomic mode")
    statistics_file = Param.String("counterpoint.json", "File of the statistics in gem5's output directory")
