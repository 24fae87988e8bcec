"""The version of the package, which is that of its engine."""

from .catalogue import engine_version

__version__ = engine_version()
