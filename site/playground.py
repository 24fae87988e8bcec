"""The playground: a page on which the engine itself runs, as WebAssembly, if `make playground` has built it.

It is no page of Sphinx: it is as wide as the picture of a crash, whose parts it shares. Without the engine the site is
built all the same, and the page that explains the playground says so.
"""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from counterpoint import _engine
from counterpoint.contract.options import TYPED
from counterpoint.report import colours

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
_SOURCES = _HERE / "browser"
ENGINE = _ROOT / "target/playground/engine.gzip"
"""What `make playground` writes."""
_PAGE = "docs/playground"
"""The page that explains it."""


def why_not() -> str | None:
    """Why the site is without the playground, in a sentence; None if it has it."""
    if not ENGINE.exists():
        return "This copy of the site is without the playground: `make playground`, which builds it, was not run."
    build: str = json.loads(_engine.describe())["engine_build"]
    if build.encode() not in gzip.decompress(ENGINE.read_bytes()):
        return "This copy of the site is without the playground: what `make playground` built is of other sources."
    return None


def families() -> list[tuple[str, list[dict[str, Any]]]]:
    """The built-in designs that can be crashed, by the machine of their papers, those with a tree apart."""
    found: dict[str, list[dict[str, Any]]] = {}
    for design in json.loads(_engine.describe())["designs"]:
        if not design["crash_consistent"]:
            continue
        parts = json.loads(_engine.describe_design(design["name"]))["parts"]["hardened"]
        tree = parts.get("integrity", "none") not in {"none", "macs"}
        family = f"{design['machine']}, with an integrity tree" if tree else design["machine"]
        found.setdefault(family, []).append(design)
    return sorted(found.items(), key=lambda family: "tree" in family[0])


def page() -> str:
    """The page."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.FileSystemLoader(_SOURCES), jinja2.PackageLoader("counterpoint.report", "")]
        ),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    there = json.loads(_engine.describe())
    workloads = [workload["name"] for workload in there["workloads"]]
    told = {"typed": TYPED, "workloads": workloads, "engine": there["engine_version"]}
    return environment.get_template("index.html").render(
        families=families(),
        workloads=there["workloads"],
        told=json.dumps(told).replace("<", "\\u003c"),
        engine=there["engine_version"],
        colours=colours,
        light=lambda colour: colour,
        dark=lambda colour: colours.DARK[colour],
    )


def _tell(_app: Sphinx, name: str, source: list[str]) -> None:
    if name == _PAGE:
        lacks = why_not()
        link = '<p><a href="../playground/index.html"><strong>Open the playground</strong></a></p>'
        title, rest = source[0].split("\n", 1)
        source[0] = f"{title}\n\n{link if lacks is None else f'**{lacks}**'}\n{rest}"


def write(folder: Path) -> None:
    """Writes the page, and what it loads, into a folder that is not there."""
    folder.mkdir()
    shutil.copyfile(ENGINE, folder / ENGINE.name)
    for script in _SOURCES.glob("*.mjs"):
        shutil.copyfile(script, folder / script.name)
    (folder / "index.html").write_text(page())


def _finish(app: Sphinx, failed: Exception | None) -> None:
    if failed is None and why_not() is None:
        write(Path(app.outdir) / "playground")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the page."""
    app.connect("source-read", _tell)
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
