"""How a command gets the options of its call, and the options that only commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_args, get_type_hints

import typer

from .. import _engine
from .._engine import InputError
from ..contract.flags import FLAGS
from ..contract.request import Size, Variant, count, digits
from ..system.units import count_of, excerpt
from ..verbs.peer_stats import Tool
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


_TYPES: Mapping[str, Any] = {
    "count": int | None,
    "counts": list[int] | None,
    "flag": bool,
    "left-out": str | None,
    "name": str | None,
    "name-or-path": str | None,
    "names": list[str] | None,
    "path": Path | None,
    "points": str | None,
    "set": list[str] | None,
    "size": str | None,
    "sizes": str | None,
    "span": str | None,
    "variant": Variant | None,
}
"""What a command gets of each kind of value."""


def _option(name: str) -> Any:
    """The flag of an option of the calls."""
    kind, flag, metavar, told = FLAGS[name]
    parser = whole_number if kind in {"count", "counts"} else None
    return typer.Option(flag, metavar=metavar, parser=parser, help=told)


OPTIONS: Mapping[str, Any] = {name: Annotated[_TYPES[row[0]], _option(name)] for name, row in FLAGS.items()}
"""How each option of the calls is given on the command line, by its name in the calls."""


def takes(kind: Any, *, but: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of a call, instead of its `**given: Unpack[kind]`.

    Args:
        kind: one of the types in `counterpoint.contract.options`.
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
Format: TypeAlias = Literal["text", "json", "sarif", "junit", "github"]
OutputFormat: TypeAlias = Annotated[
    Format | None,
    typer.Option("--format", help="Print text (the default), what --json prints, or what a service of CI reads."),
]
DesignName: TypeAlias = Annotated[
    str, typer.Argument(metavar="DESIGN", help="A name, see `counterpoint designs`, or a design file.")
]
Beside: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--beside",
        metavar="DESIGN",
        help="Crash the same program on this design, too, with nothing switched off, and show both on one page; needs "
        "--out.",
    ),
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
TraceClock: TypeAlias = Annotated[int | None, _option("trace_clock_mhz")]
Requests: TypeAlias = Annotated[Path | None, _option("requests")]
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
PeerStats: TypeAlias = Annotated[
    Tool | None,
    typer.Option(
        "--stats",
        metavar="dramsim3|ramulator|champsim",
        help="Print what this simulator prints, under its own names, and which of them have no figure.",
    ),
]
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
SmallMachine: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--machine", metavar="NAME|FILE.toml", help="The machine; default small, which a few operations fill."
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
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE.duckdb", help="Keep what is computed here, and reuse what is there."),
]
Seeds: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--seeds",
        metavar="N",
        parser=whole_number,
        help="Measure with N seeds, 1 to 31, as means with intervals; default 1, without.",
    ),
]
Csv: TypeAlias = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write the table of results as CSV, too.")
]
Parquet: TypeAlias = Annotated[
    Path | None, typer.Option("--parquet", metavar="FILE", help="Write the table of results as Parquet, too.")
]
Figures: TypeAlias = Annotated[
    Path | None,
    typer.Option("--figures", metavar="DIR", help="Write each chart for a paper, as SVG, PDF and PNG."),
]
Out: TypeAlias = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results.")]


def format_of(asked: Format | None, as_json: bool) -> Format:
    """The format that `--format` and `--json` ask for."""
    if as_json and asked not in (None, "json"):
        raise InputError(f"--json and --format {asked} contradict each other; give one of them")
    return "json" if as_json else asked or "text"


def names(given: list[str] | None) -> list[str] | None:
    """Names given by repeating an option, by a comma list, or both."""
    return None if given is None else [name for text in given for name in split(text)]


def prepare_out(out: Path | None) -> None:
    """Makes the folder for results, if one is asked for.

    Raises:
        InputError: it cannot be written to.
    """
    if out is not None:
        from ..system.files import prepare_folder

        prepare_folder(out)


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
