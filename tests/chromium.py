"""The browser of this computer, and what it is started with."""

from __future__ import annotations

import shutil

PATH = shutil.which("chromium") or shutil.which("chromium-browser")
"""None if there is none: `make chromium` installs it."""

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
