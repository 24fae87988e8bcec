"""How Sphinx makes the site from the pages of the repository. `make site` runs it."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
sys.path.insert(0, str(_HERE))

_PACKAGE = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
repository = _PACKAGE.get("urls", {}).get("Repository", "")

project = "Counterpoint"
author = _PACKAGE["authors"][0]["name"]
version = release = tomllib.loads((_ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
html_title = f"{project} {version}"
html_short_title = project

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.githubpages", "sphinx.ext.napoleon", "sphinx_copybutton"]
extensions += ["sidebar", "outside", "accessible", "playground"]  # beside this file
sidebar = tomllib.loads((_HERE / "sidebar.toml").read_text())
root_doc = "docs/index"
highlight_language = "text"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "examples/README.md",
    "integrations/*/README.md",
    "site/*.md",
    "validation/*.md",
]
exclude_patterns = [".*", "out", "target"]

# Addresses of headings are those of GitHub: pages link by them.
myst_heading_anchors = 6
myst_heading_slug_func = "github"

autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
default_role = "py:obj"  # docstrings have names between single backticks
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_static_path = ["static"]
html_favicon = "static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["scroll.js"]
templates_path = ["templates"]
html_additional_pages = {"index": "first.html"}
html_copy_source = False
html_show_copyright = False
html_use_index = False
html_domain_indices = False
