"""Gives a release the addresses of the repository: absolute links in README, and all of `[project.urls]`.

Usage: addresses.py COMMAND ARGS... runs a command, such as a build of the package, while README.md and pyproject.toml
of the current folder have the addresses; then both are as before. The one setting is `Repository` in `[project.urls]`
of pyproject.toml. Without it nothing is changed, and links stay relative, as they are right in a checkout.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_IMAGE = re.compile(r"(!\[[^][]*\])\((?![a-z]+:)([^()\s]+)\)")
_LINK = re.compile(r"(?<!!)(\[(?:[^][]|\[[^][]*\])*\])\((?![a-z]+:|#)([^()\s]+)\)")
"""What stays within the repository; what a link shows may be a picture."""
_PAGES = {"Documentation": "blob/HEAD/docs/index.md", "Changelog": "blob/HEAD/CHANGELOG.md", "Issues": "issues"}
"""Addresses that follow from that of the repository, as an index of packages calls them."""


def repository(pyproject: str) -> str | None:
    """The setting, from the text of pyproject.toml; None without one."""
    address: str | None = tomllib.loads(pyproject)["project"].get("urls", {}).get("Repository")
    return None if address is None else address.rstrip("/")


def absolute(page: str, address: str) -> str:
    """A page of the root of the repository, with absolute links."""
    pictured = _IMAGE.sub(rf"\1({address}/raw/HEAD/\2)", page)
    return _LINK.sub(rf"\1({address}/blob/HEAD/\2)", pictured)


def with_urls(pyproject: str, address: str) -> str:
    """The text of pyproject.toml, with every address that follows from the setting and is not there."""
    known = tomllib.loads(pyproject)["project"]["urls"]
    lines = "".join(f'{name} = "{address}/{path}"\n' for name, path in _PAGES.items() if name not in known)
    return pyproject.replace("[project.urls]\n", f"[project.urls]\n{lines}", 1)


@contextmanager
def addressed(folder: Path) -> Iterator[str | None]:
    """Puts the addresses into both files, and takes them out again; gives the setting."""
    files = {name: (folder / name).read_text() for name in ("README.md", "pyproject.toml")}
    address = repository(files["pyproject.toml"])
    if address is None:
        yield None
        return
    try:
        (folder / "README.md").write_text(absolute(files["README.md"], address))
        (folder / "pyproject.toml").write_text(with_urls(files["pyproject.toml"], address))
        yield address
    finally:
        for name, text in files.items():
            (folder / name).write_text(text)


def main(command: Sequence[str]) -> int:
    """Runs the command; the exit code is its own."""
    with addressed(Path.cwd()) as address:
        print(f"links: {address or 'relative, as pyproject.toml has no address'}", flush=True)
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
