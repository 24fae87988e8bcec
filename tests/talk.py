"""Makes the talk of docs/talk/slides.md: a page with a slide for each part, and a PDF of it.

``python tests/talk.py FOLDER`` writes talk.html and talk.pdf. Pictures are those of docs/img/, blocks of output those
of README.md, counts what the engine and validation/HOLES.md have.
"""

from __future__ import annotations

import base64
import html
import re
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from playwright.sync_api import Browser, sync_playwright

import chromium
import counterpoint as cp
import tutorial
from counterpoint.report.colours import BACKGROUND, DATA, MUTED, TEXT
from counterpoint.system.files import prepare_folder, write_bytes, write_text

ROOT = Path(__file__).parents[1]
SLIDES = ROOT / "docs" / "talk" / "slides.md"
WIDTH, HEIGHT = 1280, 720
"""Of a slide, in pixels: 16 to 9."""
_MARGIN, _LETTER, _LETTER_MOST = 72, 0.61, 21
"""Left and right of a slide, in pixels; the width of a letter of output over its size; its largest size in pixels."""

_FROM = re.compile(r"<!-- ([\w./-]+): (\w+) -->")
_STYLE = f"""
@page {{ size: {WIDTH}px {HEIGHT}px; margin: 0 }}
* {{ box-sizing: border-box }}
body {{ margin: 0; background: {BACKGROUND}; color: {TEXT}; font: 25px/1.4 "Liberation Sans", Arial, sans-serif }}
section {{ width: {WIDTH}px; height: {HEIGHT}px; padding: 48px {_MARGIN}px; overflow: hidden;
  break-after: page; position: relative; display: flex; flex-direction: column; gap: 18px }}
section:last-child {{ break-after: auto }}
h1 {{ font-size: 60px; line-height: 1.15; margin: 150px 0 0 }}
h2 {{ font-size: 40px; margin: 0; color: {DATA} }}
p, ul {{ margin: 0 }} li {{ margin: 8px 0 }}
p:has(img) {{ flex: 1; min-height: 0; display: flex; justify-content: center }}
img {{ height: 100%; max-width: 100%; object-fit: contain }}
pre {{ margin: 0; font: 16px/1.45 "Liberation Mono", monospace }}
footer {{ position: absolute; right: {_MARGIN}px; bottom: 20px; font-size: 16px; color: {MUTED} }}
"""


def slides() -> list[str]:
    """The slides as HTML, in their order."""
    text = SLIDES.read_text()
    for name, count in _counts().items():
        text = text.replace(f"{{{name}}}", str(count))
    markdown = MarkdownIt("commonmark")
    return [_embedded(markdown.render(_FROM.sub(_block, part))) for part in text.split("\n---\n")]


def page() -> str:
    """The talk as one page without anything outside it."""
    shown = slides()
    sections = "\n".join(
        f"<section>{body}<footer>{number} of {len(shown)}</footer></section>" for number, body in enumerate(shown, 1)
    )
    title = "Encrypted persistent memory, and a power cut"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>\n{sections}\n</body></html>\n"
    )


def pdf(browser: Browser, text: str) -> bytes:
    """The page as a PDF, a slide on each page."""
    opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    opened.set_content(text, wait_until="load")
    printed = opened.pdf(prefer_css_page_size=True, print_background=True)
    opened.close()
    return printed


def _counts() -> dict[str, int]:
    holes = (ROOT / "validation" / "HOLES.md").read_text()
    return {"designs": len(cp.designs()), "holes": len(re.findall(r"^### ", holes, re.MULTILINE))}


def _block(found: re.Match[str]) -> str:
    """The first block of output of a page in that language, in letters with which it fills the slide."""
    blocks = tutorial.blocks((ROOT / found[1]).read_text())
    body = next(one.body for one in blocks if one.language == found[2])
    widest = max(map(len, body.splitlines()))
    size = min(_LETTER_MOST, (WIDTH - 2 * _MARGIN) / (_LETTER * widest))
    return f'<pre style="font-size: {size:.1f}px">{html.escape(body)}</pre>\n'


def _embedded(body: str) -> str:
    """The pictures of a slide within it."""

    def within(found: re.Match[str]) -> str:
        picture = base64.b64encode((SLIDES.parent / found[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{picture}"'

    return re.sub(r'src="([^"]+\.svg)"', within, body)


def main(folder: str) -> None:
    """Writes the page and the PDF."""
    into = prepare_folder(folder)
    text = page()
    write_text(into / "talk.html", text)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=list(chromium.FLAGS))
        path = write_bytes(into / "talk.pdf", pdf(browser, text))
    print(f"{path}: {len(slides())} slides")


if __name__ == "__main__":
    main(*sys.argv[1:])
