"""Files that appear whole or not at all, and folders that are checked before the work begins."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._engine import InputError
from .paths import reason

if TYPE_CHECKING:
    import polars as pl

Table = Literal["parquet", "csv"]
"""A format of tables for other programs."""


def prepare_folder(folder: str | os.PathLike[str]) -> Path:
    """Creates `folder` if it is missing, and checks that files can be written into it.

    Raises:
        InputError: it cannot be created, is not a folder, or cannot be written to.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (OSError, ValueError) as error:
        raise _unwritable("output folder", path, error) from None
    return path


def check_file(path: str | os.PathLike[str]) -> Path:
    """`path`, where a file can be written; checked before the work begins.

    Raises:
        InputError: it is not a file, or its folder is missing or cannot be written to.
    """
    found = Path(path)
    try:
        _check_replaceable(found)
        with tempfile.TemporaryFile(dir=found.parent):
            pass
    except (OSError, ValueError) as error:
        raise _unwritable("output file", found, error) from None
    return found


@contextmanager
def unfinished(path: Path, what: str = "output file", *, replace: bool = True) -> Iterator[Path]:
    """Gives a temporary path to write to; at the end that file gets the name `path` in one step, or none stays.

    The temporary path is in a new folder beside `path`, which only this user can enter. So two writers never share a
    file, no symbolic link is followed, and the file has the permissions that the umask leaves.

    Args:
        path: the file. A symbolic link there is replaced.
        what: name of the file in errors.
        replace: replace an existing file; otherwise it stays, and the new one is dropped.

    Raises:
        InputError: `path` is not a file, or cannot be written.
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


def write_bytes(path: Path, content: bytes) -> Path:
    """Writes a file.

    Raises:
        InputError: the file cannot be written.
    """
    with unfinished(path) as temporary:
        temporary.write_bytes(content)
    return path


def write_table(frame: pl.DataFrame, path: Path, form: Table) -> Path:
    """Writes a frame for other programs.

    Raises:
        InputError: the file cannot be written.
    """
    import polars as pl

    with unfinished(path) as temporary:
        try:
            if form == "parquet":
                frame.write_parquet(temporary, compression="zstd")
            else:
                frame.write_csv(temporary)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"output file '{path}' cannot be written: {str(error).splitlines()[0]}") from None
    return path


def write_json(document: dict[str, Any], path: Path) -> Path:
    """Writes one JSON document."""
    return write_text(path, json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _check_replaceable(path: Path) -> None:
    # A rename would replace a device or a pipe instead of writing to it.
    if path.exists() and not path.is_file():
        raise OSError("it exists and is not a file")


def _place(temporary: Path, path: Path) -> None:
    """Gives a file its name, unless there is one of that name: a rename would replace it."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        # A file system without hard links: the check before the rename leaves a small race.
        if not path.exists():
            temporary.rename(path)


def _unwritable(what: str, path: Path, error: OSError | ValueError) -> InputError:
    return InputError(f"{what} '{path}' cannot be written: {reason(error)}")
