"""Standard output and standard error, watched: a failed write is reported once and has an exit code.

A command continues when a stream fails, so that the files and stores it writes are complete. What is written to the
stream afterwards is dropped.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from .descriptors import fill_closed
from .paths import reason

OUTPUT_FAILED = 4
"""Exit code if output could not be written."""

PIPE_CLOSED = 141
"""Exit code if the reader of a pipe has gone, as shells report a process that SIGPIPE ended."""

_DISK_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, and limits with the same effect."""

_RESULTS_ARE_TOLD = (0, 1)
"""Exit codes that promise results on the streams; a failed stream does not change the others."""


class Watched:
    """One of the streams; a failure is kept in `failed` and not raised."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        """Watches `stream`, which is None if the process was started without it."""
        self._stream: TextIO = stream or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        self._closed = stream is None
        self.name = name
        self.failed: OSError | None = None
        # No name from a file or an argument may end the program.
        with contextlib.suppress(AttributeError):
            cast(Any, self._stream).reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        """Every other attribute of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes, or records the failure."""
        if self._closed and text:
            self.failed = OSError(errno.EBADF, "it is closed")
        try:
            self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Writes what is buffered, or records the failure."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self.failed = self.failed or error
        # Otherwise what is still buffered would fail again when the interpreter ends.
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno(), inheritable=False)
            os.close(nowhere)


class Streams:
    """Both streams."""

    def __init__(self) -> None:
        """Watches the current streams of the process."""
        self.output = Watched(sys.stdout, "standard output")
        self.errors = Watched(sys.stderr, "standard error")

    def exit_code(self, code: int) -> int:
        """The exit code of a command that ends with `code`, after everything is written; reports what could not be."""
        self.output.flush()
        self.errors.flush()
        failed = [stream for stream in (self.output, self.errors) if stream.failed]
        if not failed:
            return code
        stream, error = failed[0], cast(OSError, failed[0].failed)
        gone = error.errno == errno.EPIPE
        if not gone and stream is self.output:
            self.errors.write(f"error: standard output cannot be written: {reason(error)}\n")
            self.errors.flush()
        if code not in _RESULTS_ARE_TOLD:
            return code
        return PIPE_CLOSED if gone else OUTPUT_FAILED


@contextmanager
def watched() -> Iterator[Streams]:
    """Replaces `sys.stdout` and `sys.stderr` by watched streams."""
    fill_closed()
    before = sys.stdout, sys.stderr
    streams = Streams()
    sys.stdout, sys.stderr = cast(TextIO, streams.output), cast(TextIO, streams.errors)
    try:
        yield streams
    finally:
        sys.stdout, sys.stderr = before


def is_full_disk(error: BaseException) -> bool:
    """Whether the error means that a file did not fit on its disk, which no other input would change."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _DISK_FAILURES:
            return True
        cause = cause.__cause__ or cause.__context__
    # The engine and DuckDB give no error numbers; their sentences end with the system's message.
    said = str(error).lower()
    words = [(os.strerror(code).lower(), code) for code in _DISK_FAILURES]
    return any(said.endswith((word, f"{word} (os error {code})")) for word, code in words)
