"""What a shell asks for when a command is completed.

`make install` installs the scripts that ask for everybody, `--install-completion` for one user.
"""

from __future__ import annotations

import re
from typing import Any

from .._engine import InputError
from ..system.paths import reason
from ..system.units import excerpt

VARIABLE = "_COUNTERPOINT_COMPLETE"
"""Environment variable: if set, the program completes a command, or prints the script of a shell that asks for it."""

_SHELLS = ("bash", "zsh", "fish")
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
    # The shells are known from then on. Typer itself calls it where it adds its options, which cost time at each start.
    get_completion_inspect_parameters()
    try:
        command.main(args=[], prog_name="counterpoint", standalone_mode=False)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except (KeyError, ValueError) as error:
        raise InputError(f"{VARIABLE} is set, but the shell does not say what is typed: {error}") from None
    return 0


def install() -> None:
    """Writes the script of the shell that has started this program, and a line of that shell's settings that reads it.

    Raises:
        InputError: there is no such shell, or its files cannot be written.
    """
    import typer
    from typer import _completion_shared

    shell = _completion_shared._get_shell_name()
    if shell not in _SHELLS:
        raise InputError(f"--install-completion: call it from {', '.join(_SHELLS[:-1])} or {_SHELLS[-1]}")
    try:
        _, path = _completion_shared.install(shell, "counterpoint", VARIABLE)
    except OSError as error:
        raise InputError(f"--install-completion: {reason(error)}") from None
    typer.echo(f"{shell} completes counterpoint when it is started next: {path}")
