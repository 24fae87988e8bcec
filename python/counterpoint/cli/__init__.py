"""The command line: options in, a few lines of the Python API, tables or one JSON document out.

Exit codes: 0 done and all checks hold; 1 a check found a violation; 2 bad input or usage, one sentence on standard
error; 3 a fault of the engine's own; 130, 143 and 129 stopped by Ctrl-C, SIGTERM and SIGHUP; 141 the reader of a pipe
went away.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from .. import EngineError, InputError, __version__
from . import (
    annotations,
    calibrate,
    compare,
    crash,
    listing,
    litmus,
    record,
    replay,
    report,
    reproduce,
    run,
    signals,
    sweep,
)

BAD_INPUT, ENGINE_FAULT, PIPE_CLOSED = 2, 3, 141

app = typer.Typer(
    name="counterpoint",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="A simulator and crash verifier of encrypted persistent memory.",
)
app.command("designs")(listing.designs)
app.command("workloads")(listing.workloads)
app.command("machines")(listing.machines)
app.command("faults")(listing.faults)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("crash")(crash.crash)
app.command("annotations")(annotations.check)
app.command("litmus")(litmus.litmus)
app.command("reproduce")(reproduce.reproduce)
app.command("calibrate")(calibrate.calibrate)
app.command("record", context_settings=record.SETTINGS)(record.record)
app.command("replay")(replay.replay)
app.command("sweep")(sweep.sweep)
app.command("report")(report.report)


def _version(asked: bool) -> None:
    if asked:
        print(f"counterpoint {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def counterpoint(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A simulator and crash verifier of encrypted persistent memory."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and exits with its code."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    signals.listen()
    try:
        command = typer.main.get_command(app)
        code = command.main(args=arguments, prog_name="counterpoint", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(error.format_message(), BAD_INPUT)
    except InputError as error:
        return _fail(str(error), BAD_INPUT)
    except EngineError as error:
        return _fail(str(error), ENGINE_FAULT)
    except (KeyboardInterrupt, typer.Abort):
        return signals.exit_code()
    except (BrokenPipeError, SystemExit):
        # The reader of a pipe has gone, as with `| head`; Typer turns that into an exit with 1, which here would mean
        # a violation. What Python would still flush has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    # Typer has an exit code of its own for an interruption, whatever interrupted.
    if code == signals.INTERRUPTED:
        return signals.exit_code()
    return code if isinstance(code, int) else 0


def _fail(sentence: str, code: int) -> int:
    print(f"error: {' '.join(sentence.split())}", file=sys.stderr)
    return code
