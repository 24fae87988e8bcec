"""Counterpoint: a simulator and crash verifier of encrypted persistent memory.

Bytes flow one way: a workload or a recorded trace drives cores, caches, a memory controller that encrypts, and a
non-volatile device. A design decides how counters become durable. Everything here asks the compiled engine and gives
its answers Python types::

    import counterpoint as cp

    r = cp.run("secpm", "btree", tx_size=1024)
    r.stats.nvm.counter_writes

    frame = cp.compare(["unencrypted", "secpm"], ["array", "btree"], tx_size=[64, 1024])

    v = cp.crash("secpm", "btree", points="all")
    v.violations

    cp.check("map.cptrace").findings

    cp.recovery(["osiris"], memory=["16TiB"])[0].costs[0].recovery.time_ns

    cp.annotations("sca", "btree").annotations

    cp.litmus(["torn-pair"]).verdicts

    cp.prove("secpm", operations=3).holds

    cp.distinguish("secpm", "write-through").differences

    cp.sweep("sweep.toml").frame()

This face has what is called. Types of results are in `counterpoint.contract.results`, types of options in
`counterpoint.contract.options`.

Engine calls release the GIL, so they run in parallel from threads, and they stop on Ctrl-C.
"""

from typing import TYPE_CHECKING

from ._engine import EngineError, InputError
from .system.shown import draw_by

draw_by("counterpoint.report.notebook")

if TYPE_CHECKING:
    from .contract.results import Crash, Run
    from .papers.calibrate import calibrate
    from .papers.reproduce import reproduce
    from .report import (
        write_crash_page,
        write_figures,
        write_line_page,
        write_report,
        write_reproduction,
        write_search_page,
        write_sweep_page,
    )
    from .runs.citation import cite
    from .runs.store import Store
    from .runs.sweeps import sweep
    from .searches.explain import explain
    from .searches.search import search
    from .system.errors import Interrupted
    from .verbs.annotation_checks import annotations
    from .verbs.api import check, crash, replay, resolve, run, scene
    from .verbs.catalogue import (
        design,
        design_file,
        design_parts,
        designs,
        engine_build,
        faults,
        machines,
        parts,
        probes,
        workloads,
    )
    from .verbs.comparison import compare, run_matrix
    from .verbs.frames import frame
    from .verbs.lines import is_line_trace, replay_lines
    from .verbs.litmus_suite import litmus, litmus_tests
    from .verbs.over_time import over_time
    from .verbs.proofs import distinguish, prove
    from .verbs.recorder import record
    from .verbs.recoveries import recovery
    from .verbs.version import __version__
else:
    from .system.lazy import names_of

    __getattr__, __dir__ = names_of(
        __name__,
        {
            "contract.results": ("Crash", "Run"),
            "papers.calibrate": ("calibrate",),
            "papers.reproduce": ("reproduce",),
            "report": (
                "write_crash_page",
                "write_figures",
                "write_line_page",
                "write_report",
                "write_reproduction",
                "write_search_page",
                "write_sweep_page",
            ),
            "runs.citation": ("cite",),
            "runs.store": ("Store",),
            "runs.sweeps": ("sweep",),
            "searches.explain": ("explain",),
            "searches.search": ("search",),
            "system.errors": ("Interrupted",),
            "verbs.annotation_checks": ("annotations",),
            "verbs.api": ("check", "crash", "replay", "resolve", "run", "scene"),
            "verbs.catalogue": (
                "design",
                "design_file",
                "design_parts",
                "designs",
                "engine_build",
                "faults",
                "machines",
                "parts",
                "probes",
                "workloads",
            ),
            "verbs.comparison": ("compare", "run_matrix"),
            "verbs.frames": ("frame",),
            "verbs.lines": ("is_line_trace", "replay_lines"),
            "verbs.litmus_suite": ("litmus", "litmus_tests"),
            "verbs.over_time": ("over_time",),
            "verbs.proofs": ("distinguish", "prove"),
            "verbs.recorder": ("record",),
            "verbs.recoveries": ("recovery",),
            "verbs.version": ("__version__",),
        },
    )

__all__ = [
    "Crash",
    "EngineError",
    "InputError",
    "Interrupted",
    "Run",
    "Store",
    "__version__",
    "annotations",
    "calibrate",
    "check",
    "cite",
    "compare",
    "crash",
    "design",
    "design_file",
    "design_parts",
    "designs",
    "distinguish",
    "engine_build",
    "explain",
    "faults",
    "frame",
    "is_line_trace",
    "litmus",
    "litmus_tests",
    "machines",
    "over_time",
    "parts",
    "probes",
    "prove",
    "record",
    "recovery",
    "replay",
    "replay_lines",
    "reproduce",
    "resolve",
    "run",
    "run_matrix",
    "scene",
    "search",
    "sweep",
    "workloads",
    "write_crash_page",
    "write_figures",
    "write_line_page",
    "write_report",
    "write_reproduction",
    "write_search_page",
    "write_sweep_page",
]
