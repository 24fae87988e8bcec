"""The templates of pages."""

from __future__ import annotations

import jinja2

from ..system import units
from .tables import heads


def template(name: str) -> jinja2.Template:
    """The template in the file of that name; inserted values are escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("counterpoint.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {"heads": heads, "scales": units.SCALES}
    return environment.get_template(name)
