"""The templates of pages."""

from __future__ import annotations

import jinja2


def template(name: str) -> jinja2.Template:
    """The template in the file of that name; inserted values are escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("counterpoint.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(name)
