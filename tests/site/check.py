"""Opens every page of the site, as `make site` builds it, in a browser.

Usage: check.py [--every N] SITE AXE: the folder of the site, and axe-core as one script; one of N pages is opened. No
page may ask for what is not in the site, complain, stick out at the side, or have what axe-core calls serious or
critical, for readers of either colour scheme.
"""

from __future__ import annotations

import argparse
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, Response, sync_playwright

import chromium

FIRST = "docs/index.html"
MOST = 300_000
"""The bytes that the first page may transfer, with all that it loads."""

NARROW, WIDE = 390, 1280
_SERIOUS = """async rules => (await axe.run({resultTypes: ["violations"], ...rules})).violations
    .filter(({impact}) => ["serious", "critical"].includes(impact))
    .map(({id, nodes}) => `${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 200)}`)"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Reader:
    """A reader of the site, for whom every page is opened in the same tab."""

    def __init__(self, browser: Browser, origin: str, scheme: Literal["dark", "light"]) -> None:
        self._origin, self.name = origin, scheme
        self.tab: Page = browser.new_page(color_scheme=scheme)
        self.wrong: list[str] = []
        self._responses: list[Response] = []
        self._page = ""
        self.tab.on("response", lambda answer: self._responses.append(answer))
        self.tab.on("request", lambda asked: self._say(asked.url) if not self._of_site(asked.url) else None)
        self.tab.on("console", lambda message: self._say(message.text))
        self.tab.on("pageerror", lambda error: self._say(str(error)))

    def address(self, page: str) -> str:
        """The address of a page."""
        return f"{self._origin}/{page}"

    def _of_site(self, url: str) -> bool:
        return url.startswith((self.address(""), "data:"))

    def _say(self, what: str) -> None:
        self.wrong.append(f"{self._page}, {self.name}: {what}")

    def open(self, page: str, width: int = WIDE) -> None:
        """Opens a page, which must be there and fit the width."""
        self._page = page
        self._responses.clear()
        self.tab.set_viewport_size({"width": width, "height": 900})
        self.tab.goto(self.address(page), wait_until="networkidle" if page == FIRST else "load")
        for response in self._responses:
            if not response.ok and response.status != 304:
                self._say(f"{response.status} {response.url}")
        self.fits(width)

    def fits(self, width: int) -> None:
        """Nothing sticks out at the side."""
        self.tab.set_viewport_size({"width": width, "height": 900})
        over = self.tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if over > 0:
            self._say(f"{over} pixels too wide at {width}")

    def transferred(self) -> int:
        """The bytes of what was opened, without compression."""
        return sum(len(response.body()) for response in self._responses if response.ok)

    def accessible(self, axe: str) -> None:
        """The page has nothing serious, nor anything critical. In the dark, only colours are different."""
        self.tab.evaluate(axe)
        found: list[str] = self.tab.evaluate(_SERIOUS, {"runOnly": ["color-contrast"]} if self.name == "dark" else {})
        for one in found:
            self._say(one)

    def require(self, holds: bool, what: str) -> None:
        """Says what does not hold."""
        if not holds:
            self._say(what)


def first_page(reader: Reader) -> int:
    """Opens the first page, from the address of the folder too; returns what it transfers."""
    reader.open(FIRST)
    size = reader.transferred()
    reader.require(size < MOST, f"{size:,} bytes are transferred, and at most {MOST:,} may be")
    reader.tab.goto(reader.address(""), wait_until="commit")
    reader.tab.wait_for_url(reader.address(FIRST))
    return size


def furnished(reader: Reader) -> None:
    """There are buttons that copy, and the search finds what is looked for."""
    reader.open("docs/tutorial.html")
    reader.require(reader.tab.locator("button.copybtn").count() > 10, "code has no buttons that copy")
    reader.open("search.html?q=counter+write+reduction")
    reader.tab.wait_for_selector("#search-results ul.search li")
    reader.tab.locator("#search-results ul.search li a").first.click()
    reader.tab.wait_for_load_state()
    reader.require("search.html" not in reader.tab.url, "a result of the search leads nowhere")


def check(site: Path, every: int, axe: str, browser: Browser, origin: str) -> tuple[str, list[str]]:
    """What was looked at, and what is wrong."""
    pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html") if page != site / "index.html")[::every]
    wrong = []
    size = 0
    for scheme in ("light", "dark"):
        reader = Reader(browser, origin, scheme)
        size = first_page(reader) if scheme == "light" else size
        for page in pages:
            reader.open(page)
            reader.accessible(axe)
            reader.fits(NARROW)
        furnished(reader)
        wrong += reader.wrong
        reader.tab.close()
    return f"{len(pages)} pages; the first one transfers {size:,} bytes", wrong


def main() -> int:
    """Runs the checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("site", type=Path)
    parser.add_argument("axe", type=Path)
    asked: Any = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(asked.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.FLAGS)
        origin = f"http://127.0.0.1:{server.server_port}"
        said, wrong = check(asked.site, asked.every, asked.axe.read_text(), browser, origin)
        browser.close()
    server.shutdown()
    print(said)
    for one in wrong:
        print(f"error: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
