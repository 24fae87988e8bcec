"""The command line: options in, a few lines of the Python API, tables or one JSON document out.

Exit codes: 0 done and all checks hold; 1 a check found a violation; 2 bad input or usage, one sentence on standard
error; 3 a fault of the program's own; 4 output could not be written; 130, 143 and 129 stopped by Ctrl-C, SIGTERM and
SIGHUP; 141 the reader of a pipe went away. No exception goes past this border.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, ClassVar, NoReturn

import typer

from .._engine import EngineError, InputError
from ..system import signals
from ..system.paths import checked_text
from ..system.streams import OUTPUT_FAILED, is_full_disk, watched
from ..system.units import printable
from . import completion, project, suggestions
from .lazy import Group, Place

BAD_INPUT, PROGRAM_FAULT = 2, 3

_SENTENCE_MAX = 4000
"""Longest error sentence in characters; it may quote input."""

TRACEBACK = "COUNTERPOINT_TRACEBACK"
"""Environment variable: if set, a fault of the program's own prints its traceback."""


class Program(Group):
    """The commands, in the order of the help."""

    groups: ClassVar = {
        "Run and compare designs": {
            "run": Place("run", "run", "run secpm btree"),
            "compare": Place("compare", "compare", "compare -d unencrypted,secpm -w btree --out out"),
            "sweep": Place("sweep", "sweep", "sweep queue.toml"),
            "report": Place("report", "report", "report queue.duckdb --out out"),
            "cite": Place("cite", "cite", "cite secpm btree"),
        },
        "Crash and attack them": {
            "crash": Place("crash", "crash", "crash secpm btree --out out"),
            "prove": Place("prove", "prove", "prove secpm --operations 3"),
            "distinguish": Place("distinguish", "distinguish", "distinguish secpm write-through --lines 1"),
            "annotations": Place("annotations", "check", "annotations sca btree"),
            "litmus": Place("litmus", "litmus", "litmus torn-pair"),
            "recovery": Place("recovery", "recovery", "recovery osiris strict --memory 1TiB"),
        },
        "Your own program": {
            # Arguments after the program are passed on to it.
            "record": Place(
                "record", "record", "record --out app.cptrace -- ./app pool", {"allow_interspersed_args": False}
            ),
            "check": Place("check", "check", "check app.cptrace"),
            "replay": Place("replay", "replay", "replay app.cptrace -d secpm --by-line"),
            "include": Place("listing", "include", "include"),
            "bugs": Place("bugs", "bugs", "bugs missing_flush", has_defaults=False),
        },
        "Search for designs": {
            "search": Place("search", "search", "search goals.toml --out out"),
            "explain": Place("explain", "explain", "explain secpm sca"),
        },
        "Reproduce papers": {
            "reproduce": Place("reproduce", "reproduce", "reproduce secpm --quick --out out"),
            "calibrate": Place("calibrate", "calibrate", "calibrate secpm --out out"),
        },
        "What there is": {
            "designs": Place("listing", "designs", "designs secpm"),
            "parts": Place("listing", "parts", "parts"),
            "workloads": Place("listing", "workloads", "workloads"),
            "machines": Place("listing", "machines", "machines"),
            "faults": Place("listing", "faults", "faults"),
            "man": Place("manual", "man", "man crash", has_defaults=False),
        },
    }


app = typer.Typer(
    name="counterpoint",
    cls=Program,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="A simulator and crash verifier of encrypted persistent memory.",
)


def _install_completion(asked: bool) -> None:
    if asked:
        completion.install()
        raise typer.Exit


def _version(asked: bool) -> None:
    if asked:
        from ..verbs.version import __version__

        print(f"counterpoint {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def counterpoint(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option(
            "--install-completion",
            callback=_install_completion,
            is_eager=True,
            help="Make the shell from which this is called complete the command, and exit.",
        ),
    ] = False,
) -> None:
    """A simulator and crash verifier of encrypted persistent memory."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs one command and exits with its code."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    with signals.listening(), watched() as streams:
        return streams.exit_code(_command(sys.argv[1:] if arguments is None else list(arguments)))


def _command(arguments: Sequence[str]) -> int:
    project.forget()
    try:
        if arguments[:1] != ["record"]:
            # A recorded program may have any arguments; all others become text in documents.
            for argument in arguments:
                checked_text(argument, "argument")
        command = typer.main.get_command(app)
        if instruction := os.environ.get(completion.VARIABLE):
            return completion.answer(command, instruction)
        code = command.main(args=arguments, prog_name="counterpoint", standalone_mode=False)
    except typer.TyperException as error:
        sentence = suggestions.of_usage(error.format_message(), getattr(error, "ctx", None))
        return _fail(_placed(sentence, error), BAD_INPUT)
    except InputError as error:
        return _fail(
            _placed(suggestions.shortened(str(error)), error), OUTPUT_FAILED if is_full_disk(error) else BAD_INPUT
        )
    except EngineError as error:
        return _fail(str(error), PROGRAM_FAULT)
    except (KeyboardInterrupt, typer.Abort):
        return signals.exit_code()
    except BaseException as error:
        # Also a panic of the engine outside its own threads, which is not an `Exception`.
        return _fault(error)
    # Typer has its own exit code for an interruption, whichever signal it was.
    if code == signals.INTERRUPTED:
        return signals.exit_code()
    return code if isinstance(code, int) else 0


def _placed(sentence: str, error: Exception) -> str:
    """A sentence on bad input, with the line of the project's file that it comes from."""
    taken = project.used()
    parameter = getattr(getattr(error, "param", None), "name", None)
    return sentence if taken is None else taken.blamed(sentence, parameter)


def _fail(sentence: str, code: int) -> int:
    told = " ".join(printable(sentence, keep="\n").split())
    print("error:", told if len(told) <= _SENTENCE_MAX else f"{told[:_SENTENCE_MAX]}...", file=sys.stderr)
    return code


def _fault(error: BaseException) -> int:
    if is_full_disk(error):
        return _fail(f"a file cannot be written: {error}", OUTPUT_FAILED)
    if os.environ.get(TRACEBACK):
        print(printable(traceback.format_exc(), keep="\n"), end="", file=sys.stderr)
    what = ": ".join(filter(None, (type(error).__name__, str(error))))
    return _fail(f"a bug stopped the program ({what}); with {TRACEBACK}=1 it says where", PROGRAM_FAULT)
