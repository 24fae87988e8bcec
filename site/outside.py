"""Links to files of the repository that are no pages of the site.

What lies beside the pages is copied: schemas, tables of results, examples. Everything else is in the repository, at the
address that `pyproject.toml` has; without one, its path is shown.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_COPIED = ("docs", "examples")


class Outside(SphinxTransform):
    """Replaces links that lead out of the site, before Sphinx looks for their targets."""

    default_priority = 5

    def apply(self, **_: Any) -> None:
        """Looks at every link of a page."""
        for link in list(self.document.findall(_is_link)):
            path = self._path(link)
            if path is not None:
                link.replace_self(self._elsewhere(path, link.astext()))

    def _path(self, link: nodes.Element) -> Path | None:
        """The path, from the root, of what a link leads to, if that is there and neither a page nor copied."""
        target: str = link["reftarget"]
        if link.get("refdomain") == "doc":
            return None if target in self.env.found_docs else Path(self.env.doc2path(target, base=False))
        root = Path(self.env.srcdir)
        page = root / self.env.doc2path(self.env.docname, base=False)
        named = target.partition("#")[0]
        path = Path(os.path.relpath(page.parent / named, root))
        is_copied = isinstance(link, addnodes.download_reference) and path.parts[0] in _COPIED
        return path if named and not is_copied and (root / path).exists() else None

    def _elsewhere(self, path: Path, said: str) -> list[nodes.Node]:
        address: str = self.config.repository
        if address:
            return [nodes.reference("", said, refuri=f"{address}/blob/HEAD/{path}", internal=False)]
        shown = nodes.literal("", str(path))
        if said.rstrip("/") in {str(path), path.name}:
            return [shown]
        return [nodes.Text(f"{said} ("), shown, nodes.Text(")")]


def _is_link(node: nodes.Node) -> bool:
    return isinstance(node, addnodes.download_reference | addnodes.pending_xref) and node.get("reftype") == "myst"


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the address of the sources as a setting: pages are read again if it changes."""
    app.add_config_value("repository", "", "env", types=[str])
    app.add_transform(Outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
