"""Links to files of the repository that are no pages of the site.

What lies beside the pages is copied: schemas, tables of results, examples. Everything else is where the sources can be
read (`repository` in `conf.py`); if that has no address, its path is shown.
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
            target = link["reftarget"]
            inside = Path(self.env.srcdir)
            if link.get("refdomain") == "doc":
                path = Path(self.env.doc2path(target, base=False)) if target else Path()
                if target in self.env.found_docs:
                    continue
            else:
                folder = (inside / self.env.doc2path(self.env.docname, base=False)).parent
                path = Path(os.path.relpath(folder / target.partition("#")[0], inside))
                copied = isinstance(link, addnodes.download_reference) and path.parts[0] in _COPIED
                if copied or not (inside / path).exists() or path == Path():
                    continue
            link.replace_self(self._elsewhere(path, link))

    def _elsewhere(self, path: Path, link: nodes.Element) -> list[nodes.Node]:
        repository: str = self.config.repository
        said = link.astext()
        if repository:
            return [nodes.reference("", "", nodes.inline("", said), refuri=f"{repository}/{path}", internal=False)]
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
