"""What a shell asks for when a command is completed; `make install` installs the scripts that ask."""

from __future__ import annotations

import re
from typing import Any

from .._engine import InputError
from ..system.units import excerpt

VARIABLE = "_COUNTERPOINT_COMPLETE"
"""Environment variable: if set, the program completes a command, or prints the script of a shell that asks for it."""

_INSTRUCTION = re.compile("(source|complete)_(bash|zsh|fish|powershell|pwsh)")


def answer(command: Any, instruction: str) -> int:
    """Lets Typer answer; the code is what the shell's script expects.

    Args:
        command: the whole program.
        instruction: the value of the variable.

    Raises:
        InputError: no such shell, or it does not say what is typed.
    """
    from typer.completion import get_completion_inspect_parameters

    if not _INSTRUCTION.fullmatch(instruction):
        raise InputError(
            f"{VARIABLE} is '{excerpt(instruction)}'; it must be source_SHELL or complete_SHELL, for bash, zsh or fish"
        )
    # The shells are known from then on. Typer itself calls it where it adds options, which write the user's settings.
    get_completion_inspect_parameters()
    try:
        command.main(args=[], prog_name="counterpoint", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except (KeyError, ValueError) as error:
        raise InputError(f"{VARIABLE} is set, but the shell does not say what is typed: {error}") from None
    return 0
