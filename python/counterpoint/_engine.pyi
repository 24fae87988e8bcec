"""The compiled engine: configuration in, statistics out, both as JSON text. A test holds this stub to the module."""

from collections.abc import Callable

def describe() -> str: ...
def resolve(request: str) -> str: ...
def run_many(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def replay(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def crash(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def scene(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...

class Session:
    """Calls that share populated memory: the newest `bases_max` bases of at most `bytes_max` bytes are kept."""

    def __init__(self, bases_max: int = 4, bytes_max: int = 2147483648) -> None: ...
    def run_many(self, request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str:
        """As the function, over what the session keeps."""
    @property
    def populations(self) -> int:
        """How often memory was populated because none was kept that would have done."""

class InputError(ValueError):
    """Bad input: one sentence that names the value, the allowed values or range, and the place."""

class EngineError(RuntimeError):
    """The engine met a fault of its own. A bug: nothing in the input is to blame."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C. The first argument holds what was finished, as the engine's JSON text, or None."""
