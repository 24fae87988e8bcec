"""Our own Markdown as a part of a page: tables scroll in boxes, headings are one level lower, no link is dead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_DEEPER, _DEEPEST = 1, 6


def inline(markdown: str) -> str:
    """A sentence or two of Markdown as HTML without a paragraph."""
    rendered: str = _parser().renderInline(markdown)
    return rendered


def html(markdown: str) -> str:
    """Markdown as HTML below a heading `h2`.

    Its first heading of the first level is left out, for the page has one. A link to another file, which is not beside
    the page, is left as its text. HTML in it is shown, not obeyed.
    """
    parser = _parser()
    tokens = list(_placed(parser.parse(markdown)))
    for token in tokens:
        if token.children:
            token.children = list(_without_dead_links(token.children))
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered.replace(
        "<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>'
    ).replace("</table>", "</table></div>")


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _placed(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens without the title, and with other headings one level lower."""
    inside_title = False
    for token in tokens:
        if token.type == "heading_open" and token.tag == "h1":
            inside_title = True
        if not inside_title:
            if token.type in ("heading_open", "heading_close"):
                token.tag = f"h{min(int(token.tag[1:]) + _DEEPER, _DEEPEST)}"
            yield token
        if token.type == "heading_close":
            inside_title = False


def _without_dead_links(tokens: Sequence[Token]) -> Iterator[Token]:
    """Keeps links to other sites; replaces pictures, which would have to be fetched, by their text."""
    dead: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href") or "")
            dead.append(not address.startswith(("https://", "http://")))
            if dead[-1]:
                continue
        elif token.type == "link_close" and dead.pop():
            continue
        if token.type == "image":
            yield Token("text", "", 0, content=token.content)
        else:
            yield token
