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

    cp.sweep("sweep.toml").frame()

Engine calls release the GIL, so they run in parallel from threads, and they stop on Ctrl-C.
"""

from typing import TYPE_CHECKING

from ._engine import EngineError, InputError

if TYPE_CHECKING:
    from .contract.options import (
        AnnotationOptions,
        CheckOptions,
        CommonOptions,
        CrashOptions,
        LineOptions,
        MachineOptions,
        RecoveryOptions,
        ReplayOptions,
        RunOptions,
        SceneOptions,
        SingleRunOptions,
    )
    from .contract.request import ANNOTATIONS, PROGRAM_STEPS
    from .contract.results import (
        Blame,
        Cause,
        Check,
        Crash,
        Design,
        DesignPart,
        Fault,
        Finding,
        LineCost,
        LineRun,
        Machine,
        Part,
        Recoveries,
        RecoveryCost,
        ResponseTimes,
        Run,
        Shrunk,
        StageTally,
        Stats,
        Violation,
        Workload,
    )
    from .papers.calibrate import Calibration, calibrate
    from .papers.model import Reproduction
    from .papers.reproduce import reproduce
    from .report import write_crash_page, write_report, write_reproduction, write_search_page, write_sweep_page
    from .runs.store import Store
    from .runs.sweeps import SweepReport, sweep
    from .searches.explain import Explanation, explain
    from .searches.outcome import SearchReport
    from .searches.search import search
    from .system.errors import Interrupted
    from .verbs.annotation_checks import Annotations, annotations
    from .verbs.api import (
        COMPARE_DESIGNS,
        COMPARE_WORKLOADS,
        EASY_PM_CORES,
        EASY_PM_WORKLOADS,
        SEPENCR_CORES,
        SEPENCR_TX_SIZES,
        SEPENCR_WARMUP_BYTES,
        check,
        compare,
        crash,
        design,
        design_file,
        design_parts,
        designs,
        engine_build,
        engine_version,
        faults,
        machines,
        parts,
        replay,
        resolve,
        run,
        run_matrix,
        scene,
        workloads,
    )
    from .verbs.frames import frame
    from .verbs.lines import is_line_trace, replay_lines
    from .verbs.litmus_suite import LitmusReport, Verdict, litmus, litmus_tests
    from .verbs.recorder import Recording, record
    from .verbs.recoveries import RECOVERY_MEMORY, recovery
    from .verbs.version import __version__
else:
    from .system.lazy import names_of

    __getattr__, __dir__ = names_of(
        __name__,
        {
            "verbs.annotation_checks": ("Annotations", "annotations"),
            "verbs.api": (
                "COMPARE_DESIGNS",
                "COMPARE_WORKLOADS",
                "EASY_PM_CORES",
                "EASY_PM_WORKLOADS",
                "SEPENCR_CORES",
                "SEPENCR_TX_SIZES",
                "SEPENCR_WARMUP_BYTES",
                "check",
                "compare",
                "crash",
                "design",
                "design_file",
                "design_parts",
                "designs",
                "engine_build",
                "engine_version",
                "faults",
                "machines",
                "parts",
                "replay",
                "resolve",
                "run",
                "run_matrix",
                "scene",
                "workloads",
            ),
            "system.errors": ("Interrupted",),
            "verbs.frames": ("frame",),
            "verbs.lines": ("is_line_trace", "replay_lines"),
            "verbs.litmus_suite": ("LitmusReport", "Verdict", "litmus", "litmus_tests"),
            "contract.options": (
                "AnnotationOptions",
                "CheckOptions",
                "CommonOptions",
                "CrashOptions",
                "LineOptions",
                "MachineOptions",
                "RecoveryOptions",
                "ReplayOptions",
                "RunOptions",
                "SceneOptions",
                "SingleRunOptions",
            ),
            "papers.calibrate": ("Calibration", "calibrate"),
            "papers.model": ("Reproduction",),
            "papers.reproduce": ("reproduce",),
            "verbs.recorder": ("Recording", "record"),
            "verbs.recoveries": ("RECOVERY_MEMORY", "recovery"),
            "report": (
                "write_crash_page",
                "write_report",
                "write_reproduction",
                "write_search_page",
                "write_sweep_page",
            ),
            "contract.request": ("ANNOTATIONS", "PROGRAM_STEPS"),
            "contract.results": (
                "Blame",
                "Cause",
                "Check",
                "Crash",
                "Design",
                "DesignPart",
                "Fault",
                "Finding",
                "LineCost",
                "LineRun",
                "Machine",
                "Part",
                "Recoveries",
                "RecoveryCost",
                "ResponseTimes",
                "Run",
                "Shrunk",
                "StageTally",
                "Stats",
                "Violation",
                "Workload",
            ),
            "searches.explain": ("Explanation", "explain"),
            "searches.outcome": ("SearchReport",),
            "searches.search": ("search",),
            "runs.store": ("Store",),
            "runs.sweeps": ("SweepReport", "sweep"),
            "verbs.version": ("__version__",),
        },
    )


__all__ = [
    "ANNOTATIONS",
    "COMPARE_DESIGNS",
    "COMPARE_WORKLOADS",
    "EASY_PM_CORES",
    "EASY_PM_WORKLOADS",
    "PROGRAM_STEPS",
    "RECOVERY_MEMORY",
    "SEPENCR_CORES",
    "SEPENCR_TX_SIZES",
    "SEPENCR_WARMUP_BYTES",
    "AnnotationOptions",
    "Annotations",
    "Blame",
    "Calibration",
    "Cause",
    "Check",
    "CheckOptions",
    "CommonOptions",
    "Crash",
    "CrashOptions",
    "Design",
    "DesignPart",
    "EngineError",
    "Explanation",
    "Fault",
    "Finding",
    "InputError",
    "Interrupted",
    "LineCost",
    "LineOptions",
    "LineRun",
    "LitmusReport",
    "Machine",
    "MachineOptions",
    "Part",
    "Recording",
    "Recoveries",
    "RecoveryCost",
    "RecoveryOptions",
    "ReplayOptions",
    "Reproduction",
    "ResponseTimes",
    "Run",
    "RunOptions",
    "SceneOptions",
    "SearchReport",
    "Shrunk",
    "SingleRunOptions",
    "StageTally",
    "Stats",
    "Store",
    "SweepReport",
    "Verdict",
    "Violation",
    "Workload",
    "__version__",
    "annotations",
    "calibrate",
    "check",
    "compare",
    "crash",
    "design",
    "design_file",
    "design_parts",
    "designs",
    "engine_build",
    "engine_version",
    "explain",
    "faults",
    "frame",
    "is_line_trace",
    "litmus",
    "litmus_tests",
    "machines",
    "parts",
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
    "write_report",
    "write_reproduction",
    "write_search_page",
    "write_sweep_page",
]
