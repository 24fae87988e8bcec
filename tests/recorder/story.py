"""Runs the example of docs/record.md, from a program to its verdict, in order, and compares the output.

Usage: story.py --out FOLDER. Needs what the page names; `make test-recorder` installs it. Blocks mean what they mean in
tests/tutorial.py. Then the picture of the page is held to the page of causes that it shows.
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

PAGE = Path(__file__).parents[2] / "docs" / "record.md"
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


def main() -> int:
    """Runs the page; the exit code is 1 if it differs from what happens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder that is made anew")
    folder: Path = parser.parse_args().out.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    page = PAGE.read_text()
    if unknown := unknown_packages(page):
        print(f"{PAGE.name} installs {', '.join(sorted(unknown))}, which {INSTALLED.name} does not", file=sys.stderr)
        return 1
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    place = tutorial.Place(folder, {**os.environ, "PATH": path})
    played = 0
    begun = time.monotonic()
    try:
        for done in place.play(page):
            tutorial.check(done)
            now = time.monotonic()
            print(f"{done.block.body.splitlines()[0][:90]}: {now - begun:.1f} s", flush=True)
            played, begun = played + 1, now
    except tutorial.Stale as stale:
        print(f"{PAGE.name}: {stale}", file=sys.stderr)
        return 1
    if not played or not picture_holds(folder):
        print(f"{pictures.CAUSES} shows another page: `make pictures` draws it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
