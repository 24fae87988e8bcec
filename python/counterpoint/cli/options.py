"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .. import InputError, _engine
from ..request import Size, Variant, count, digits
from ..units import count_of, excerpt
from . import screen


def whole_number(text: str | int) -> int:
    """A number as people write it, in digits of ASCII; that it is not negative is checked where it has a name."""
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


Points: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--points", metavar="all|N", help="Events to crash after: all (the default), or N spread over the run."
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
DesignName: TypeAlias = Annotated[str, typer.Argument(metavar="DESIGN", help="See `counterpoint designs`.")]
WorkloadName: TypeAlias = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="See `counterpoint workloads`, or the path of a trace.")
]
Designs: TypeAlias = Annotated[
    list[str] | None, typer.Option("-d", "--design", metavar="NAME", help="A design; repeat for several.")
]
Workloads: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("-w", "--workload", metavar="NAME", help="A workload or trace; repeat for several."),
]
MachineName: TypeAlias = Annotated[
    str | None,
    typer.Option("--machine", metavar="NAME|FILE.toml", help="Machine; default the first design's preset."),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH.TO.KEY=VALUE", help="Change a value of the machine; repeatable."),
]
TxSize: TypeAlias = Annotated[
    str | None, typer.Option("--tx-size", metavar="SIZE", help="Bytes per transaction, a multiple of 64.")
]
TxSizes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tx-size", metavar="SIZE[,SIZE...]", help="Bytes per transaction; default those of the machine's paper."
    ),
]
Transactions: TypeAlias = Annotated[
    int | None,
    typer.Option("--transactions", metavar="N", parser=whole_number, help="Measured transactions per core."),
]
Warmup: TypeAlias = Annotated[
    int | None,
    typer.Option("--warmup", metavar="N", parser=whole_number, help="Transactions per core before measuring begins."),
]
Cores: TypeAlias = Annotated[
    int | None,
    typer.Option("--cores", metavar="N", parser=whole_number, help="Cores, one program instance each."),
]
CoreCounts: TypeAlias = Annotated[
    str | None, typer.Option("--cores", metavar="N[,N...]", help="Cores, one program instance each.")
]
Footprint: TypeAlias = Annotated[
    str | None,
    typer.Option("--footprint", metavar="SIZE", help="Populated structure over all cores, as in 64MiB."),
]
Seed: TypeAlias = Annotated[
    int | None, typer.Option("--seed", metavar="N", parser=whole_number, help="Seed of every random stream.")
]
VariantName: TypeAlias = Annotated[
    Variant | None, typer.Option("--variant", help="The papers made safe (hardened, default), or as printed.")
]
AllowTruncated: TypeAlias = Annotated[
    bool, typer.Option("--allow-truncated", help="Use the good part of a trace that is cut off.")
]
LeaveOut: TypeAlias = Annotated[
    str | None,
    typer.Option("--leave-out", metavar="NAME", help="Leave an annotation or a step out of the program."),
]
ByLine: TypeAlias = Annotated[
    bool, typer.Option("--by-line", help="Say which source lines of a recorded program are waited for.")
]
Top: TypeAlias = Annotated[
    int,
    typer.Option(
        "--top", metavar="N", parser=lines_shown, help="Source lines shown, those waited for most; default 15."
    ),
]
TOP = 15
Baseline: TypeAlias = Annotated[
    str | None, typer.Option("--baseline", metavar="DESIGN", help="Design that figures are relative to.")
]
Workers: TypeAlias = Annotated[
    int,
    typer.Option("--workers", metavar="N", parser=whole_number, help="Simulations at a time; 0 is one per processor."),
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
    """Refuses workers of this computer together with a cluster, and says where there are fewer than asked for."""
    count("workers", workers)
    say_fewer("--workers", workers)
    if cluster is not None and workers:
        raise typer.BadParameter("--workers is of this computer, and --cluster of another; give one of them")


def say_fewer(option: str, asked: int | None) -> None:
    """Says where as many as were asked for will not work at a time."""
    most = _engine.processors()
    if asked is not None and asked > most:
        screen.note(f"{option} {asked}: no more than {count_of(most, 'processor')} may be used, so {most} at a time")


def sizes(given: str | None) -> list[Size] | None:
    """A comma list of sizes; what is no size is left for the engine to refuse."""
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
    """The parts of a comma list, an empty one included so that it is refused rather than passed over."""
    return [part.strip() for part in text.split(",")]
