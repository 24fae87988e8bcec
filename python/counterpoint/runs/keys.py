"""The key of a run: the digest of its resolved configuration and of the engine that runs it.

Two requests with the same configuration have the same key; another engine, an edited design or an edited trace gives
another key. Other questions to the engine have the key of their request.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .._engine import InputError
from ..system.paths import checked_text, is_file, reason
from ..verbs import catalogue


def absolute(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request with the paths of its trace, machine and design complete, so that any process finds them."""
    asked = dict(request)
    for name in ("workload", "machine", "design"):
        if isinstance(asked.get(name), str) and asked[name] not in _names() and is_file(asked[name]):
            asked[name] = checked_text(os.fspath(Path(asked[name]).resolve()), name)
    return asked


def key(resolved: Mapping[str, Any], build: str) -> str:
    """SHA-256, in hexadecimal, over the engine's build, the configuration, and the bytes of a trace."""
    return _digest([build, {**resolved, "workload": _content(str(resolved["workload"]))}])


def design_content(name: str) -> object:
    """What a design file and those that it builds on say; a name that is none of a file stays as it is."""
    return name if name in _names() or not is_file(name) else catalogue.described(name)


def answer_key(
    kind: str, request: Mapping[str, Any], build: str, content: Callable[[str], object] = design_content
) -> str:
    """The key of another question to the engine: the digest of its kind, its request, and what its files say.

    `content` gives what the design file of the request says; a caller that asks much about one reads it once.
    """
    files = [_content(str(request[name])) for name in ("workload", "machine") if name in request]
    design = content(str(request["design"])) if "design" in request else None
    return _digest([build, kind, request, files, design])


def refused_key(request: Mapping[str, Any], build: str) -> str:
    """The key of a request that the engine refuses, which has no configuration."""
    return _digest([build, "refused", request])


def _digest(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _content(name: str) -> str:
    """The digest of a file, so that an edited one is another; a name that is none of a file stays as it is."""
    if name in _names() or not is_file(name):
        return name
    try:
        found = Path(name).stat()
        return _file_digest(name, found.st_size, found.st_mtime_ns)
    except OSError as error:
        raise InputError(f"'{name}' cannot be read: {reason(error)}") from None


@cache
def _names() -> frozenset[str]:
    kinds = (catalogue.machines(), catalogue.designs())
    return frozenset([*catalogue.programs(), *(known.name for kind in kinds for known in kind)])


@cache
def _file_digest(path: str, _size: int, _modified_ns: int) -> str:
    with Path(path).open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
