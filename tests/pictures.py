"""Draws the pictures of docs/img/ that show pages, and holds them to these pages.

A picture has the text that it shows beside its pixels, in a chunk of the PNG file. So a test can compare it with the
page of today without comparing pixels, which differ from one browser and its fonts to the next.

``python tests/pictures.py`` draws them; it needs Chromium, and what `counterpoint record` needs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import chromium
import counterpoint as cp
import pages
import tutorial

FOLDER = pages.ROOT / "docs" / "img"
CRASH, CAUSES = FOLDER / "crash.png", FOLDER / "causes.png"
SHOWN_FOLDER = "/home/me/log"
"""In pictures, the folder of the recorded program."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_END = len(_SIGNATURE) + 4 + 4 + 13 + 4
_KEYWORD = b"Description"
_SECTION = "\n## A missing fence\n"


def crash(browser: Browser, page: Path) -> tuple[bytes, str]:
    """The picture of the page of a crash, as it opens, and the text of its parts."""
    tab = browser.new_page(viewport={"width": 1100, "height": 860})
    tab.goto(page.as_uri())
    parts = [tab.locator(part).inner_text() for part in ("h1", ".lead", ".where", ".single")]
    drawn = tab.screenshot()
    tab.close()
    return drawn, "\n".join(parts)


def causes(browser: Browser, page: Path) -> tuple[bytes, str]:
    """The picture of the first cause on a page of causes, and its text."""
    tab = browser.new_page(viewport={"width": 1000, "height": 860})
    tab.goto(page.as_uri())
    cause = tab.locator(".cause").first
    drawn, text = cause.screenshot(), cause.inner_text()
    tab.close()
    return drawn, text


def causes_page(folder: Path) -> Path:
    """The page of causes of the recorded program in `folder`, in which what docs/record.md says has been done."""
    trace = folder / "log.cptrace"
    recover = f"{folder / 'log'} {{pool}}"
    verdict = cp.crash("unencrypted", trace, explore="legal", recover=recover)
    page = cp.write_crash_page(verdict, folder / "causes")
    page.write_text(page.read_text().replace(str(folder), SHOWN_FOLDER))
    return page


def with_text(png: bytes, text: str) -> bytes:
    """A PNG file that has a text."""
    body = b"iTXt" + _KEYWORD + b"\0\0\0\0\0" + text.encode()
    chunk = (len(body) - 4).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
    return png[:_HEADER_END] + chunk + png[_HEADER_END:]


def text_of(png: bytes) -> str | None:
    """The text that a PNG file has."""
    at = len(_SIGNATURE)
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        if kind == b"iTXt" and body.startswith(_KEYWORD + b"\0"):
            return body[len(_KEYWORD) + 5 :].decode()
        at += length + 12
    return None


def _record(folder: Path) -> None:
    section = tutorial.PAGE.with_name("record.md").read_text().split(_SECTION)[1].split("\n## ")[0]
    place = tutorial.Place(folder)
    (source,) = (block for block in tutorial.blocks(section) if block.title is not None)
    (folder / "log.c").write_text(source.body)
    command = [sys.executable, "-m", "counterpoint", "record", "--out", "log.cptrace", "--", "./log", "log.pool", "20"]
    subprocess.run(["gcc", "-g", "-O1", "-mclwb", "-o", "log", "log.c"], cwd=folder, check=True)
    subprocess.run(command, cwd=folder, env=place.environment, check=True)


def main() -> None:
    """Draws the pictures."""
    verdict, _ = pages.example()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name).resolve()
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.FLAGS)
        page = cp.write_crash_page(verdict, folder)
        CRASH.write_bytes(with_text(*crash(browser, page)))
        _record(folder)
        CAUSES.write_bytes(with_text(*causes(browser, causes_page(folder))))
        browser.close()


if __name__ == "__main__":
    main()
