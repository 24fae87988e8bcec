"""The pages: their links work, their commands exist, and what the README shows is what the engine prints."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer.main
from markdown_it import MarkdownIt
from markdown_it.token import Token

import counterpoint as cp
import pages
import tutorial
import verdict_tables
from counterpoint.cli import app

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("crates", "docs", "examples", "integrations", "recorder", "site", "tests", "validation")
_PAGES = sorted(
    page
    for page in (*_ROOT.glob("*.md"), *(found for folder in _FOLDERS for found in (_ROOT / folder).rglob("*.md")))
    if "target" not in page.relative_to(_ROOT).parts
)
_README = _ROOT / "README.md"
_NO_ANCHOR = re.compile(r"[^\w\- ]")
_COMMAND = re.compile(r"(?<!import )\bcounterpoint ([a-z]+)((?: .*)?)$", re.MULTILINE)
_OPTION = re.compile(r"--[a-z][a-z-]*")
_TARGET = re.compile(r"^make ([a-z-]+)", re.MULTILINE)


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


def _inline(page: Path) -> Iterator[Token]:
    return (child for token in _tokens(page) for child in token.children or ())


def _targets(page: Path) -> Iterator[tuple[str, str]]:
    """The kind (`a`, `img`) and the address of every link of a page that stays within the repository."""
    for token in _inline(page):
        address = token.attrs.get("href") if token.type == "link_open" else token.attrs.get("src")
        if address is not None and not re.match(r"[a-z]+:", str(address)):
            yield token.tag, unquote(str(address))


@cache
def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    tokens = _tokens(page)
    seen: Counter[str] = Counter()
    found = set()
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in heading.children or () if child.type in {"text", "code_inline"})
            anchor = _NO_ANCHOR.sub("", text.lower()).replace(" ", "-")
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return found


def _broken(page: Path) -> list[str]:
    wrong = []
    for _, address in _targets(page):
        name, _, anchor = address.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            wrong.append(address)
    return wrong


def _code(page: Path) -> Iterator[str]:
    """The text of every block of code, and every piece of code in a line, with continued lines as one."""
    for token in (*_tokens(page), *_inline(page)):
        if token.type in {"fence", "code_block", "code_inline"}:
            yield token.content.replace("\\\n", " ")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert _broken(page) == []


def test_links_to_nothing_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `word`, twice\n\n## Twice\n\n## Twice\n\n"
        "[a](#a-word-twice) [b](#twice-1) [c](page.md#twice) [d](#twice-2)\n\n"
        "| x |\n|---|\n| [e](gone.md) |\n\n![f](gone.png) [g](https://example.org/gone)\n\n    [h](gone.md)\n"
    )
    assert _broken(page) == ["#twice-2", "gone.md", "gone.png"]


def test_every_page_can_be_reached_from_the_index_and_every_picture_is_shown() -> None:
    index = _ROOT / "docs" / "index.md"
    reached, shown, waiting = {index}, set(), [index]
    while waiting:
        page = waiting.pop()
        for tag, address in _targets(page):
            target = (page.parent / address.partition("#")[0]).resolve()
            if tag == "img":
                shown.add(target)
            elif target.suffix == ".md" and target not in reached and target.is_relative_to(_ROOT):
                reached.add(target)
                waiting.append(target)
    written = {page for page in _PAGES if page.relative_to(_ROOT).parts[0] in {"docs", "validation", "integrations"}}
    assert written - reached == set()
    assert set((_ROOT / "docs" / "img").iterdir()) - shown == set()


def test_every_command_of_the_pages_has_its_options() -> None:
    commands = typer.main.get_group(app).commands
    options = {name: {text for one in command.params for text in one.opts} for name, command in commands.items()}
    wrong, seen = [], 0
    for page in _PAGES:
        for command, rest in (match.groups() for code in _code(page) for match in _COMMAND.finditer(code)):
            words = takewhile(lambda word: word not in {"--", "#"}, re.sub(r"'[^']*'", "", rest).split())
            asked = {option for word in words for option in _OPTION.findall(word)} - {"--help"}
            seen += 1
            if command not in options or not asked <= options[command]:
                wrong.append(f"{page.name}: {command}{rest}")
    assert seen > 100
    assert wrong == []


def test_every_make_target_of_the_pages_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (_ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {(page.name, target) for page in _PAGES for code in _code(page) for target in _TARGET.findall(code)}
    assert {target for _, target in named} >= {"compare", "test", "help"}
    assert [(page, target) for page, target in sorted(named) if target not in targets] == []


_NAMED = re.compile(r"(?<![\w./$<{~:*=@%-])((?:\.\./)*(?:[\w-]+/)*[\w.-]*\w/?)(?![\w*{<-])")
_FILE = re.compile(r"\.(?:md|toml|rs|py|sh|hh?|hpp|cc|json|csv|tsv|svg|png|map|lock)$")
_COMMENT = {".rs": re.compile(r"//(.*)"), ".toml": re.compile(r"(?:^|\s)#(.*)"), ".h": re.compile(r"(.*)")}
_COMMENT |= {".hpp": _COMMENT[".h"], ".md": _COMMENT[".h"]}
_MADE = re.compile(
    r"^(?:a|b|src|include|target|out|found|inc|lib|share|[A-Z]+)/|/(?:[A-Z]+)(?:\.|/|$)|^persistence/base"
)
"""What is not in the repository: what commands write, what other projects have, and what stands for any name."""


def _paths_to_nothing(file: Path, text: str, known: set[str], folders: set[str]) -> list[str]:
    """What a text calls a file or a folder of the repository, and is none, by its line."""
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        if "/" not in line and ".rs" not in line and ".py" not in line:
            continue
        said = _COMMENT[file.suffix].search(line)
        for name in _NAMED.findall(said[1]) if said else ():
            first = name.removeprefix("../").split("/")[0]
            is_file = _FILE.search(name) and (first in folders or name.endswith((".rs", ".py")))
            if not is_file and not (name.startswith("../") or (name.endswith("/") and first in folders)):
                continue
            plain = name.rstrip("/")
            there = (file.parent / plain).exists() if name.startswith("../") else plain in known
            if not there and not _MADE.search(name):
                wrong.append(f"{number}: {name}")
    return wrong


def test_every_path_that_a_page_or_a_comment_names_is_there() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    files = [name for name in listed.split("\0") if name]
    parts = [name.split("/") for name in files]
    # A name may leave out the folders that are above it.
    known = {"/".join(one[begin:end]) for one in parts for end in range(1, len(one) + 1) for begin in range(end)}
    folders = {part for one in parts for part in one[:-1]}
    titles = {block.title for page in _PAGES for block in tutorial.blocks(page.read_text()) if block.title}
    own = re.compile(r"proptest-regressions|^crates/engine/tests/engine/(?:layering|engine_build)|^CHANGELOG|Cargo")
    wrong = {}
    for name in files:
        path = _ROOT / name
        if path.suffix in _COMMENT and not own.search(name) and not path.is_symlink():
            found = _paths_to_nothing(path, path.read_text(), known | titles, folders)
            if found:
                wrong[name] = found
    assert wrong == {}
    text = "# ../gone and papers/gone.toml, docs/cli.md, ../tests/\n"
    assert _paths_to_nothing(_ROOT / "validation" / "x.toml", text, known, folders) == [
        "1: ../gone",
        "1: papers/gone.toml",
    ]


def test_the_index_of_designs_says_what_their_pages_say() -> None:
    folder = _ROOT / "docs" / "designs"
    pages = {path.stem: path.read_text() for path in folder.glob("*.md")}
    assert verdict_tables.summed_up(pages["index"], pages) == pages["index"]
    cells = ["holds", "3 (0.1 %)", "holds"]
    assert (verdict_tables.summary(cells), verdict_tables.summary(cells[:1])) == ("1 of 3 fail", "holds")


def test_the_command_above_what_the_readme_explains_is_that_of_the_crash() -> None:
    command = f"counterpoint crash {' '.join(pages.EXAMPLE)} --transactions {pages.EXAMPLE_TRANSACTIONS} --no-shrink"
    assert f"{command} --out out\n```\n\n<!-- crash -->" in _README.read_text()
    assert f"{command} --out out\n" in (_ROOT / "docs" / "crash-page.md").read_text()


def test_the_table_of_the_readme_is_the_first_one_of_the_comparison() -> None:
    (shown, _), *_ = pages.played("docs/compare.md")
    (of_readme,) = [block.body for block in tutorial.blocks(_README.read_text()) if block.language == "text"]
    assert shown.body.split("\n", 1)[1] == of_readme


def test_the_readme_is_read_at_one_glance() -> None:
    text = _README.read_text()
    assert len(text.splitlines()) <= 80
    installed, first = text.index("pip install"), text.index("bin/counterpoint crash")
    assert installed < first, "no command before it is there"
    assert re.findall(r"!\[[^]]*\]\(([^)]*)\)", text) == ["docs/img/lost-counter.svg"], (
        "one picture, which a test redraws"
    )


@pytest.mark.engine
@pytest.mark.parametrize("design", [one.name for one in cp.designs()])
def test_the_page_of_a_design_has_the_verdict_of_a_crash(design: str) -> None:
    page = (_ROOT / "docs" / "designs" / f"{design}.md").read_text()
    workloads, rows = verdict_tables.rows(page)
    place = workloads.index("linked-list") if rows else 0
    of_small = [row for row in rows if row.options.get("machine") == "small" and "nested" not in row.options]
    # That other readings hold is tested in the engine.
    for row in [row for row in of_small if "%" in page.splitlines()[row.line]]:
        shown = page.splitlines()[row.line].strip("|").split(" | ")[2 + place].strip()
        verdict = cp.crash(design, "linked-list", **row.options)
        assert verdict_tables.cell(verdict) == shown, "`make verdict-tables` writes it"


def test_the_picture_of_the_comparison_has_the_numbers_of_its_tables() -> None:
    block = next(block for block, _ in pages.played("docs/compare.md") if "Transaction latency" in block.body)
    machine = block.body.split(",")[0]
    picture = (_ROOT / "docs" / "img" / "compare.svg").read_text()
    latencies, writes = picture.split("NVM line writes")
    assert f"Transaction latency on {machine}, unencrypted = 1" in latencies, "`make pictures` draws it"

    def cells(title: str) -> list[tuple[str, str]]:
        (table,) = [text for text in block.body.split("\n\n") if f"\n{title}" in f"\n{text}"]
        head, *rows = (line.split() for line in table.splitlines() if re.match(r" +array|[a-z-]+ +\d", line))
        return [(row[0], row[place]) for place in range(1, len(head) + 1) for row in rows]

    shown = re.findall(r'"design: ([a-z-]+); value: [\d.]+"[^>]*>([\d.]+)</text>', latencies)
    assert shown == cells("Transaction latency")
    stacked: dict[tuple[str, str], float] = {}
    for design, panel, value in re.findall(r'"([a-z-]+), ([a-z-]+), [a-z]+: ([\d.e-]+)" [^>]*"bar"', writes):
        stacked[panel, design] = stacked.get((panel, design), 0) + float(value)
    assert [(design, f"{value:.2f}") for (_, design), value in stacked.items()] == cells("NVM writes")
