"""What a package index shows of a release: links that lead somewhere, if the repository has an address."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import addresses

_ROOT = Path(__file__).parents[2]
_ADDRESS = "https://forge.example/counterpoint"
_BUILD = (sys.executable, _ROOT / "install/addresses.py", Path(sys.executable).with_name("maturin"), "pep517")


def _targets(page: str) -> set[str]:
    """The addresses of all links and pictures."""
    inline = (child for token in MarkdownIt("commonmark").parse(page) for child in token.children or ())
    found = (token.attrs.get("href") or token.attrs.get("src") for token in inline)
    return {str(one) for one in found if one}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """As much of the repository as the metadata of a package follow from."""
    folder = tmp_path / "sources"
    names = ["pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", "Cargo.toml", "Cargo.lock"]
    names += [*(str(path.relative_to(_ROOT)) for path in (_ROOT / "crates").glob("*/Cargo.toml"))]
    for name in [*names, "python/counterpoint/_recorder/COPYING"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_ROOT / name, folder / name)
    for path in folder.glob("crates/*/Cargo.toml"):
        (path.parent / "src").mkdir()
        (path.parent / "src" / "lib.rs").touch()
    return folder


def _built(folder: Path, out: Path) -> Message:
    """The metadata that a build of the package in a folder has."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    cargo = shutil.which("cargo")
    environment = {"PATH": f"{path}:{Path(cargo).parent}" if cargo else path, "HOME": str(Path.home())}
    command: list[str | Path] = [*_BUILD, "write-dist-info", "--metadata-directory", out]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (metadata,) = out.rglob("METADATA")
    return message_from_string(metadata.read_text())


@pytest.mark.skipif(shutil.which("cargo") is None, reason="the metadata follow from those of crates, which cargo reads")
def test_a_build_has_absolute_links_if_there_is_an_address_and_else_relative_ones(
    sources: Path, tmp_path: Path
) -> None:
    page, project = (sources / "README.md").read_text(), (sources / "pyproject.toml").read_text()
    assert addresses.repository(project) is None
    plain = _built(sources, tmp_path / "plain")
    assert str(plain.get_payload()).strip() == page.strip() and plain.get_all("Project-URL") is None
    (sources / "pyproject.toml").write_text(f'{project}\n[project.urls]\nRepository = "{_ADDRESS}"\n')
    given = {name: (sources / name).read_bytes() for name in ("README.md", "pyproject.toml")}
    addressed = _built(sources, tmp_path / "addressed")
    assert given == {name: (sources / name).read_bytes() for name in given}, "a build changes nothing for good"
    urls = dict(one.split(", ") for one in addressed.get_all("Project-URL") or ())
    assert set(urls) == {"Repository", "Documentation", "Changelog", "Issues"}
    assert all(url.startswith(_ADDRESS) for url in urls.values())
    found = _targets(str(addressed.get_payload()))
    assert all(re.match(r"[a-z]+:", one) for one in found)
    for one in [*found, urls["Documentation"], urls["Changelog"]]:
        if below := re.fullmatch(re.escape(_ADDRESS) + r"/(blob|raw)/HEAD/([^#]*)(?:#.*)?", one):
            assert (_ROOT / below[2]).exists(), one
            assert (below[1] == "raw") == one.endswith(".svg")
    assert len(found) == len(_targets(page))


def test_a_build_that_fails_leaves_the_files_as_they_were(sources: Path) -> None:
    project = (sources / "pyproject.toml").read_text() + f'\n[project.urls]\nRepository = "{_ADDRESS}/"\n'
    (sources / "pyproject.toml").write_text(project)
    page = (sources / "README.md").read_text()
    with pytest.raises(RuntimeError, match="stopped"), addresses.addressed(sources) as address:
        assert address == _ADDRESS
        assert f"]({_ADDRESS}/blob/HEAD/docs/index.md)" in (sources / "README.md").read_text()
        assert tomllib.loads((sources / "pyproject.toml").read_text())["project"]["urls"]["Issues"]
        raise RuntimeError("stopped")
    assert ((sources / "README.md").read_text(), (sources / "pyproject.toml").read_text()) == (page, project)


def test_links_that_are_absolute_or_within_the_page_stay() -> None:
    text = "[a](#b) [c](https://example.org/d) ![e](f.png) [![g](h.svg)](i.md#j) [k [l]](m)"
    assert addresses.absolute(text, "x:") == (
        "[a](#b) [c](https://example.org/d) ![e](x:/raw/HEAD/f.png) [![g](x:/raw/HEAD/h.svg)](x:/blob/HEAD/i.md#j) "
        "[k [l]](x:/blob/HEAD/m)"
    )
