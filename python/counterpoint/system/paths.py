"""Files that a user names, which may be anything or nothing."""

from __future__ import annotations

import os
from pathlib import Path

from .._engine import InputError
from . import units


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a file. A text that cannot be a path, because it is too long or has a NUL, is not."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def is_there(path: str) -> bool:
    """Whether there is anything at `path`; an empty text, or one that cannot be a path, names nothing."""
    try:
        return path != "" and Path(path).exists()
    except (OSError, ValueError):
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a folder; a text that cannot be a path is not."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def repository() -> Path:
    """The root of the repository around the current folder; without one, the current folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def below(root: Path, path: str) -> str | None:
    """`path` relative to `root`, with `/` between its parts; None if it does not lie below."""
    whole = Path(os.path.normpath(Path.cwd() / path))
    for start in (root, root.resolve()):
        if whole != start and whole.is_relative_to(start):
            return whole.relative_to(start).as_posix()
    return None


def file_and_line(source: str) -> tuple[str, int | None]:
    """The file and the line, from 1, of a place in the form `file:line`; None for a line that is none."""
    file, _, line = source.rpartition(":")
    return file, int(line) if line.isdecimal() and int(line) > 0 else None


def read_bounded(path: str | os.PathLike[str], bytes_max: int, what: str) -> bytes:
    """The content of a file, which may be a pipe or a device, or endless.

    Args:
        path: the file.
        bytes_max: the largest allowed size.
        what: name of such a file in sentences.

    Raises:
        InputError: it cannot be read, or is larger.
    """
    place = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            read = file.read(bytes_max + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"'{place}' cannot be read: {reason(error)}") from None
    if len(read) > bytes_max:
        raise InputError(f"'{place}' cannot be read: {what} has at most {units.size(bytes_max)}")
    return read


def reason(error: OSError | ValueError) -> str:
    """Why a file cannot be used: the system's message."""
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words[:1].lower() + words[1:]


def checked_text(path: str, what: str) -> str:
    """`path`, if it is UTF-8, which the engine and documents require.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} '{units.printable(path)}' is not UTF-8") from None
    return path
