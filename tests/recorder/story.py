"""Runs the examples of docs/record.md, from a program to its verdict, and of docs/bugs.md, and compares the output.

Usage: story.py --out FOLDER. Needs what the page names; `make test-recorder` installs it. Blocks mean what they mean in
tests/tutorial.py. Then the picture of docs/record.md is held to the page of causes that it shows.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import chromium
import pictures
import tutorial

PAGES = [Path(__file__).parents[2] / "docs" / name for name in ("record.md", "bugs.md")]
INSTALLED = Path(__file__).parent / "install.sh"


def unknown_packages(page: str) -> set[str]:
    """What the page installs and the tests do not."""
    named = {name for line in re.findall(r"^    apt-get install (.*)$", page, re.MULTILINE) for name in line.split()}
    known = re.search(r"packages=\((.*)\)", INSTALLED.read_text())
    return named - set(known[1].split() if known else ())


def picture_holds(folder: Path) -> bool:
    """Whether the picture of causes shows those of the program that was recorded in `folder`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.FLAGS)
        _, text = pictures.causes(browser, pictures.causes_page(folder))
        browser.close()
    return text == pictures.text_of(pictures.CAUSES.read_bytes())


def played(path: Path, folder: Path) -> bool:
    """Whether the commands of a page print what it shows, in a folder of their own."""
    folder.mkdir()
    page = path.read_text()
    if unknown := unknown_packages(page):
        print(f"{path.name} installs {', '.join(sorted(unknown))}, which {INSTALLED.name} does not", file=sys.stderr)
        return False
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = tutorial.Place(folder, {**os.environ, "PATH": programs})
    count = 0
    begun = time.monotonic()
    try:
        for done in place.play(page):
            tutorial.check(done)
            now = time.monotonic()
            print(f"{done.block.body.splitlines()[0][:90]}: {now - begun:.1f} s", flush=True)
            count, begun = count + 1, now
    except tutorial.Stale as stale:
        print(f"{path.name}: {stale}", file=sys.stderr)
        return False
    return count > 0


def main() -> int:
    """Runs the pages; the exit code is 1 if one differs from what happens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    folder: Path = parser.parse_args().out.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not all(played(page, folder / page.stem) for page in PAGES):
        return 1
    if not picture_holds(folder / PAGES[0].stem):
        print(f"{pictures.CAUSES} shows another page: `make pictures` draws it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
