"""The version of the package, which is that of its engine."""

from .api import engine_version

__version__ = engine_version()
