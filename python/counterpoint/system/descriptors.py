"""The standard file descriptors of a process, which may have been started without some of them."""

from __future__ import annotations

import os


def fill_closed() -> None:
    """Opens the null device in place of closed standard descriptors, also for programs that this one starts.

    Otherwise a file that is opened later would become one of them.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # `open` takes the lowest free descriptor, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
