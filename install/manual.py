"""Writes man pages and shell completions of the command, from the command itself, as they lie under a prefix.

Usage: manual.py FOLDER. The folder is made anew. Man pages are those of `counterpoint man`; Typer makes completions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from counterpoint.cli.completion import VARIABLE
from counterpoint.cli.manual import PROGRAM, pages

COMPLETIONS = {
    "bash": f"share/bash-completion/completions/{PROGRAM}",
    "zsh": f"share/zsh/site-functions/_{PROGRAM}",
    "fish": f"share/fish/vendor_completions.d/{PROGRAM}.fish",
}
"""Where each shell looks for completions, from the prefix."""

FIRST_IN_ZSH = f"""
# Zsh loads this file when the command is completed first: this time is answered, too.
if [ "${{zsh_eval_context[-1]}}" = loadautofunc ]; then _{PROGRAM}_completion; fi
"""


def completion(shell: str) -> str:
    """The script that lets a shell complete the command."""
    command = [sys.executable, "-m", "counterpoint"]
    environment = {**os.environ, VARIABLE: f"source_{shell}"}
    script = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return script.strip() + "\n" + (FIRST_IN_ZSH if shell == "zsh" else "")


def main(folder: Path) -> None:
    """Writes them all."""
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    written = {f"share/man/man1/{name}.1": text for name, text in pages()}
    written |= {path: completion(shell) for shell, path in COMPLETIONS.items()}
    for name, text in written.items():
        path = new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
