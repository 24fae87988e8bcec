"""The options of the commands, each described once, and how a command gets those of its call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast, get_args, get_type_hints

import typer

from .. import _engine
from .._engine import InputError
from ..request import Size, Variant, count, digits
from ..units import count_of, excerpt
from . import screen


def whole_number(text: str | int) -> int:
    """A number in ASCII digits; a negative one is refused later, where its name is known."""
    if isinstance(text, int):
        return text  # A default.
    found = digits(text.removeprefix("-"))
    if found is None:
        raise typer.BadParameter(f"'{excerpt(text)}' is not a whole number from 0 to 2^64-1, in digits")
    return -found if text.startswith("-") else found


def lines_shown(text: str | int) -> int:
    """A number of lines to show."""
    found = whole_number(text)
    if found < 1:
        raise typer.BadParameter(f"'{found}' is not a whole number from 1 to 2^64-1")
    return found


TraceClock: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--trace-clock",
        metavar="MHZ",
        parser=whole_number,
        help="Clock of the cycles of a trace of memory lines, 1 to 1000000; default 1000, a cycle a nanosecond.",
    ),
]


def _number(flag: str, help_: str, metavar: str = "N") -> Any:
    return Annotated[int | None, typer.Option(flag, metavar=metavar, parser=whole_number, help=help_)]


def _text(flag: str, metavar: str, help_: str) -> Any:
    return Annotated[str | None, typer.Option(flag, metavar=metavar, help=help_)]


def _switch(flag: str, help_: str) -> Any:
    return Annotated[bool, typer.Option(flag, help=help_)]


OPTIONS: Mapping[str, Any] = {
    "variant": Annotated[
        Variant | None, typer.Option("--variant", help="The papers made safe (hardened, default), or read literally.")
    ],
    "machine": _text("--machine", "NAME|FILE.toml", "One machine for all designs; default the first design's preset."),
    "set": Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH.TO.KEY=VALUE", help="Change a value of the machine or the design; repeatable."
        ),
    ],
    "seed": _number("--seed", "Seed of every random stream; default 1."),
    "transactions": _number("--transactions", "Measured transactions per core, 1 to 10^9; a trace runs to its end."),
    "warmup": _number("--warmup", "Transactions per core before measuring begins, 0 to 10^9; a trace has none."),
    "footprint": _text("--footprint", "SIZE", "Populated structure over all cores, as in 64MiB."),
    "allow_truncated": _switch("--allow-truncated", "Use the good part of a trace that is cut off."),
    "tx_size": _text("--tx-size", "SIZE", "Bytes of user data in a transaction, a multiple of 64 up to 64KiB."),
    "cores": _number("--cores", "Cores, 1 to 64, one program instance each; a trace has one."),
    "memory": _text("--memory", "SIZE[,SIZE...]", "Capacities of the device, 64KiB to 16TiB; default 16GiB to 16TiB."),
    "cache": _text(
        "--cache",
        "SIZE[,SIZE...]",
        "Capacities of the caches of counters and of nodes, each, 64B to 1GiB; default the machine's.",
    ),
    "leave_out": _text("--leave-out", "NAME", "Leave an annotation or a step out of the program."),
    "omit_annotations": Annotated[
        list[int] | None,
        typer.Option(
            "--omit-annotations",
            metavar="N",
            parser=whole_number,
            help="Leave out annotation N of a recorded program, counted from 0; repeatable.",
        ),
    ],
    "timeline": Annotated[
        Path | None, typer.Option("--timeline", metavar="FILE", help="Write every stage's events for Perfetto.")
    ],
    "by_line": _switch("--by-line", "Show how long commit waits for each source line of a recorded program."),
    "trace_clock_mhz": TraceClock,
    "points": _text("--points", "all|N", "Events to crash after: all (the default), or N spread over the run."),
    "at_event": _number(
        "--at-event", "Crash after this event only, counted from 1; of legal states, at this record of the trace."
    ),
    "from_mark": _text("--from-mark", "TEXT", "Crash only after this mark of a recorded program."),
    "to_mark": _text("--to-mark", "TEXT", "Crash only before this mark of a recorded program."),
    "nested": _switch("--nested", "Cut power again after every step of recovery."),
    "nested_depth": _number("--nested-depth", "Cut power again N times in a row, 1 to 4."),
    "fault": _text("--fault", "FAULT", "Switch a mechanism of the design off, see `counterpoint faults`."),
    "explore": _text(
        "--explore",
        "schedule|schedules|legal",
        "The simulated schedule (default), others as well, or every legal state.",
    ),
    "mark": _text("--mark", "TEXT", "Every store must be durable when the program sets this mark."),
    "wrappers": Annotated[
        list[str] | None,
        typer.Option("--wrapper", metavar="NAME", help="A function that only flushes or fences; repeatable."),
    ],
    "states": _number(
        "--states",
        "Classes of legal states to judge at a fence, at least 1; default 50000, of a recorded program 256 memories.",
    ),
    "schedules": _number("--schedules", "How many schedules to explore, at least 1; default 16."),
    "schedule": _number("--schedule", "Explore this schedule; 0 (default) is the machine's own."),
    "attack": Annotated[
        list[str] | None,
        typer.Option(
            "--attack", metavar="ATTACK", help="Attack the media, off and running: all, or a kind; repeatable."
        ),
    ],
    "attack_every": _number("--attack-every", "Attack one of N states and accesses, at least 1; default each."),
    "stages": _switch(
        "--stages", "Count crashes by the stage of the transaction in flight; needs every event of one schedule."
    ),
    "recover": _text("--recover", "COMMAND", "Run this on {pool}, the memory that a boot of a recorded program finds."),
    "no_preflight": _switch("--no-preflight", "Do not run that command first where no power has failed."),
    "recover_timeout": _number(
        "--recover-timeout", "Time limit for one such command, 1 to 86400; default 60.", metavar="SECONDS"
    ),
    "recover_jobs": _number(
        "--recover-jobs", "Such commands at a time, at most one for each processor, which is the default."
    ),
    "watch_reads": _switch(
        "--watch-reads", "Watch what that command reads: a run decides all legal states equal there; needs Valgrind."
    ),
    "stop_after": _number("--stop-after", "End with N memories on which the command fails, at least 1."),
    "time_budget": _number(
        "--time-budget", "End the exploration after so many seconds, 1 to 604800.", metavar="SECONDS"
    ),
    "workers": _number(
        "--workers", "Threads that judge attacks and failures of recovery; 0 (default) is one per processor."
    ),
    "recover_folder": Annotated[
        Path | None,
        typer.Option("--recover-dir", metavar="DIR", help="Where the temporary folder for {pool} is created."),
    ],
}
"""How each option of the calls is given on the command line, by its name in the calls."""


def takes(kind: Any, *, but: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of a call, instead of its `**given: Unpack[kind]`.

    Args:
        kind: one of the types in `counterpoint.options`.
        but: options that the command line does not have, or takes in another way.
    """
    shared = [_parameter(name) for name in get_type_hints(kind) if name not in but]

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        own = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(command, eval_str=True).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        arguments = [parameter for parameter in own if parameter.default is parameter.empty]
        parameters = [*arguments, *shared, *(parameter for parameter in own if parameter not in arguments)]
        described = cast(Any, command)
        described.__signature__ = inspect.Signature(parameters)
        described.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return with_options


def _parameter(name: str) -> inspect.Parameter:
    annotation = OPTIONS[name]
    default = False if get_args(annotation)[0] is bool else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
DesignName: TypeAlias = Annotated[
    str, typer.Argument(metavar="DESIGN", help="A name, see `counterpoint designs`, or a design file.")
]
WorkloadName: TypeAlias = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="See `counterpoint workloads`, or the path of a trace.")
]
Designs: TypeAlias = Annotated[
    list[str] | None, typer.Option("-d", "--design", metavar="NAME|FILE.toml", help="A design; repeat for several.")
]
Workloads: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-w", "--workload", metavar="NAME", help="A workload or trace; repeat for several."),
]
TxSizes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tx-size",
        metavar="SIZE[,SIZE...]",
        help="Bytes of user data in a transaction, a multiple of 64 up to 64KiB; default those of the machine's paper.",
    ),
]
CoreCounts: TypeAlias = Annotated[
    str | None, typer.Option("--cores", metavar="N[,N...]", help="Cores, 1 to 64, one program instance each.")
]
Top: TypeAlias = Annotated[
    int,
    typer.Option(
        "--top",
        metavar="N",
        parser=lines_shown,
        help="Source lines to show, the longest waits first, at least 1.",
    ),
]
TOP = 15
Baseline: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="DESIGN",
        help="Design that figures are relative to; default unencrypted, else eadr, else the first.",
    ),
]
Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        parser=whole_number,
        help="Simulations at a time, at most one per processor; 0 is one per processor.",
    ),
]
Processes: TypeAlias = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        parser=whole_number,
        help="Processes, at most one per processor; 0 is one per processor.",
    ),
]
ClusterAddress: TypeAlias = Annotated[
    str | None,
    typer.Option("--cluster", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler."),
]
Out: TypeAlias = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results.")]


def names(given: list[str] | None) -> list[str] | None:
    """Names given by repeating an option, by a comma list, or both."""
    return None if given is None else [name for text in given for name in split(text)]


def check_workers(workers: int, cluster: str | None = None) -> None:
    """Refuses workers of this computer together with a cluster, and reports if there are fewer than asked for."""
    count("workers", workers)
    say_fewer("--workers", workers)
    if cluster is not None and workers:
        raise typer.BadParameter("--workers is for this computer, --cluster for another one; give one of them")


def say_fewer(option: str, asked: int | None) -> None:
    """Reports if fewer than asked for will work at a time."""
    most = _engine.processors()
    if asked is not None and asked > most:
        screen.note(f"{option} {asked}: no more than {count_of(most, 'processor')} may be used, so {most} at a time")


def sizes(given: str | None) -> list[Size] | None:
    """A comma list of sizes; the engine refuses what is not a size."""
    return None if given is None else list(given.split(","))


def core_counts(given: str | None) -> list[int] | None:
    """A comma list of numbers of cores."""
    return None if given is None else [_core_count(text) for text in given.split(",")]


def _core_count(text: str) -> int:
    found = digits(text)
    if found is None:
        raise InputError(
            f"cores is '{excerpt(text)}'; it must be a whole number from 1 to 64, or several with commas between"
        )
    return found


def split(text: str) -> list[str]:
    """The parts of a comma list; an empty part is kept, so that it is refused and not ignored."""
    return [part.strip() for part in text.split(",")]
