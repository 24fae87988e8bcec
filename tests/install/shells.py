"""Completions, typed into the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from pathlib import Path

from clean import program, require

FILES = {
    "share/bash-completion/completions/counterpoint",
    "share/zsh/site-functions/_counterpoint",
    "share/fish/vendor_completions.d/counterpoint.fish",
}

_SECONDS = 30.0


def starts(prefix: Path, out: Path) -> dict[str, tuple[list[str], str]]:
    """How each shell is started, and what is typed so that it finds what is installed; fish looks in XDG_DATA_DIRS."""
    share = prefix / "share"
    compinit = f"autoload -Uz compinit && compinit -u -d '{out}/zcompdump'"
    return {
        "bash": (
            ["bash", "--norc", "--noprofile", "-i"],
            f"source '{share}/bash-completion/completions/counterpoint'; complete -p counterpoint",
        ),
        "zsh": (["zsh", "-f", "-i"], f"fpath=('{share}/zsh/site-functions' $fpath); {compinit}"),
        "fish": (["fish", "--interactive", "--private"], "true"),
    }


def completes(shell: str, prefix: Path, out: Path) -> str:
    """A command whose beginning is typed is completed, at the first time, and so is an option of it."""
    words, first = starts(prefix, out)[shell]
    home = out / f"home-{shell}"
    # Where this folder is missing, fish reads every man page of the machine, in a process that nobody waits for.
    (home / ".local/share/fish/generated_completions").mkdir(parents=True)
    path = f"{program().parent}{os.pathsep}{os.environ['PATH']}"
    data = f"{prefix / 'share'}:/usr/local/share:/usr/share"
    child, terminal = pty.fork()
    if child == 0:
        environment = {"PATH": path, "HOME": str(home), "TERM": "xterm", "XDG_DATA_DIRS": data}
        os.execvpe(words[0], words, environment)
    try:
        said = _typed(terminal, f"{first}; echo rea''dy\n", "ready")
        require("complete:" not in said and "not found" not in said, said)
        _typed(terminal, "counterpoint ann\t--help\n", "Usage: counterpoint annotations")
        _typed(terminal, "counterpoint crash --no-shr\t--help\n", "Usage: counterpoint crash")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return "by its first letters"


def _typed(terminal: int, keys: str, answer: str) -> str:
    """What is shown until the answer, which must come."""
    os.write(terminal, keys.encode())
    shown, end = "", time.monotonic() + _SECONDS
    while answer not in shown:
        left = end - time.monotonic()
        ready, _, _ = select.select([terminal], [], [], max(left, 0))
        require(bool(ready), f"{keys!r} is not answered by '{answer}', but by {shown!r}")
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
