"""The compiled engine: configuration in, statistics out, both as JSON text. A test holds this stub to the module."""

from collections.abc import Callable

def describe() -> str: ...
def resolve(request: str) -> str: ...
def run_many(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def replay(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def crash(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...

class InputError(ValueError):
    """Bad input: one sentence that names the value, the allowed values or range, and the place."""

class EngineError(RuntimeError):
    """The engine met a fault of its own. A bug: nothing in the input is to blame."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C. The first argument holds what was finished, as the engine's JSON text, or None."""
