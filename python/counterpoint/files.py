"""Files that appear whole or not at all, and folders found out about before the work begins."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from .._engine import InputError


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


def write_text(path: Path, text: str) -> Path:
    """Writes `text` under a temporary name in the same folder, then renames, so that a reader never meets half a file.

    Raises:
        InputError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise _unwritable("output file", path, error) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return path


def write_json(document: dict[str, Any], path: Path) -> Path:
    """Writes one JSON document."""
    return write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _unwritable(what: str, path: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(f"{what} '{path}' cannot be written: {reason[:1].lower()}{reason[1:]}")
