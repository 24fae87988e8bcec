"""Files that appear whole or not at all, and folders found out about before the work begins."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._engine import InputError
from .paths import reason


def prepare_folder(folder: str | os.PathLike[str]) -> Path:
    """Makes `folder` where it is missing, and makes sure that files can be written into it.

    Raises:
        InputError: it cannot be made, is no folder, or cannot be written to.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        raise _unwritable("output folder", path, error) from None
    return path


@contextmanager
def unfinished(path: Path, what: str = "output file", *, replace: bool = True) -> Iterator[Path]:
    """Gives a path to write to. What is there at the end gets the name `path` in one step; otherwise nothing stays.

    That path is in a new folder beside `path`, which only this user can enter. So two writers never share a file, no
    symbolic link is followed, and the file has the permissions that the umask leaves.

    Args:
        path: the file. A symbolic link there is replaced.
        what: it is called in the error.
        replace: a file that is already there is replaced; otherwise it stays, and the new one is dropped.

    Raises:
        InputError: there is something else than a file, or it cannot be written.
    """
    try:
        _check_replaceable(path)
        with tempfile.TemporaryDirectory(prefix=".counterpoint-", dir=path.parent) as folder:
            temporary = Path(folder) / "unfinished"
            yield temporary
            if replace:
                temporary.replace(path)
            else:
                _place(temporary, path)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(what, path, error) from None


def write_text(path: Path, text: str) -> Path:
    """Writes a file in UTF-8.

    Raises:
        InputError: the file cannot be written.
    """
    with unfinished(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_json(document: dict[str, Any], path: Path) -> Path:
    """Writes one JSON document."""
    return write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _check_replaceable(path: Path) -> None:
    # A rename would replace a device or a pipe, and not write to it.
    if path.exists() and not path.is_file():
        raise OSError("it exists and is not a file")


def _place(temporary: Path, path: Path) -> None:
    """Gives a file its name, unless there is one of that name: a rename would replace it."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        # A file system without links, where looking first is the best there is.
        if not path.exists():
            temporary.rename(path)


def _unwritable(what: str, path: Path, error: OSError | ValueError) -> InputError:
    return InputError(f"{what} '{path}' cannot be written: {reason(error)}")
