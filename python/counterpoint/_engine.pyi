"""The compiled engine: configuration in, statistics out, both as JSON text. A test holds this stub to the module."""

from collections.abc import Callable
from os import PathLike

def describe() -> str: ...
def report_schemas() -> str:
    """The JSON Schema of each kind of report, by its type, as JSON."""

def file_schemas() -> str:
    """The JSON Schema of each kind of file that users write, as JSON."""

def schemas() -> str:
    """The JSON Schema of each kind of request, by the function that takes it, as JSON."""

def describe_design(design: str) -> str: ...
def check_set(set: str) -> None: ...
def effective_parts(design: str, variant: str, stated: list[str]) -> str:
    """The parts of a design with `key=value` for some of them, as JSON; those without an effect are left out."""

def design_file(name: str) -> str | None: ...
def processors() -> int: ...
def resolve(request: str) -> str: ...
def run_many(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def replay(request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str: ...
def crash(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def prove(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def distinguish(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def check(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def recovery(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def annotations(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def scene(request: str, progress: Callable[[int, int], object] | None = None) -> str: ...
def trace_kind(path: str) -> str:
    """`lines` for a trace of memory lines, `program` for everything else, also if it is not there."""

def write_trace(fd: int, path: str | PathLike[str]) -> str:
    """Writes the stream of trace records that `fd` gives, up to its END, to a compressed file, checking every record.

    Returns a `results.TraceWritten` as JSON.

    Raises InputError; then there is no file. `fd` stays open.
    """

class Session:
    """Keeps populated memory between calls: the newest `bases_max` bases of at most `bytes_max` bytes in total."""

    def __init__(self, bases_max: int = 4, bytes_max: int = 2147483648) -> None: ...
    def run_many(self, request: str, workers: int = 0, progress: Callable[[int, int], object] | None = None) -> str:
        """Runs every request of `{"runs": [...]}` like the function `run_many`, on memory that the session keeps."""
    @property
    def populations(self) -> int:
        """How often memory was populated because no kept base was suitable."""

class InputError(ValueError):
    """Bad input: one sentence that names the value, the allowed values or range, and the place."""

class EngineError(RuntimeError):
    """The engine found a bug of its own; the input is not to blame."""

class Interrupted(KeyboardInterrupt):
    """Ctrl-C. The first argument holds what was finished, as the engine's JSON text, or None."""
