"""What a command loads before it answers: the tests name modules, because times depend on the computer."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import counterpoint as cp
from counterpoint.cli import Program
from counterpoint.contract import results

_FRAMES = {"polars"}
_CHARTS = {"altair", "jinja2", "markdown_it", "vl_convert"}
_STORES = {"duckdb"}
_CLUSTERS = {"asyncio", "dask", "distributed"}
_SEARCHES = {"numpy", "optuna", "scipy"}
_VALUES = {"pydantic"}
"""Typer converts values by it, unless `cli.lazy` does."""
_TERMINALS = {"rich"}
_ALL = _FRAMES | _CHARTS | _STORES | _CLUSTERS | _SEARCHES | _VALUES | _TERMINALS

_SMALL = "--machine small --footprint 16KiB --tx-size 64 --transactions 2"

_LOADED = (
    "import sys\n"
    "from counterpoint.cli import main\n"
    "try:\n    main()\n"
    "except SystemExit as stop:\n"
    "    loaded = {name.partition('.')[0] for name in sys.modules}\n"
    "    sys.stderr.write('\\n' + repr((stop.code, sorted(loaded))))"
)

_HELPS = (
    "import contextlib, sys\n"
    "from counterpoint.cli import main\n"
    "for name in sys.argv[1:]:\n"
    "    with contextlib.suppress(SystemExit):\n"
    "        main([name, '--help'])\n"
    "sys.stderr.write(repr(sorted({name.partition('.')[0] for name in sys.modules})))"
)


@pytest.mark.parametrize(
    ("command", "uses"),
    [
        ("", set()),
        ("--help", set()),
        ("--version", set()),
        ("designs", _TERMINALS),
        ("designs --json", set()),
        ("designs secpm", _TERMINALS),
        ("designs secpm --toml", _TERMINALS),
        ("parts --json", set()),
        ("cite secpm array", set()),
        ("cite secpm array --json", set()),
        ("workloads", _TERMINALS),
        ("machines", _TERMINALS),
        ("faults", _TERMINALS),
        ("include", set()),
        ("bugs", _TERMINALS),
        ("bugs missing_flush", set()),
        ("man crash", set()),
        (f"run secpm array {_SMALL}", _TERMINALS),
        (f"run secpm array --variant published --set controller.wpq_entries=16 --json {_SMALL}", set()),
        (f"compare -d secpm -w array {_SMALL}", _TERMINALS),
        (f"compare -d osiris -w array {_SMALL}", _TERMINALS),
        (f"compare -d secpm -w array --json {_SMALL}", set()),
        ("replay trace.log -d secpm", _TERMINALS),
        ("replay trace.log -d secpm --by-line", _TERMINALS),
        ("replay trace.log -d secpm --json", set()),
        ("replay lines.nvmain -d secpm --trace-clock 1000", _TERMINALS),
        (f"crash secpm array --points 2 {_SMALL}", _TERMINALS),
        (f"crash secpm array --points 2 --json {_SMALL}", set()),
        ("check trace.log", _TERMINALS),
        (f"annotations sca array --points 2 {_SMALL}", _TERMINALS),
        ("recovery osiris --memory 16GiB", _TERMINALS),
        ("litmus torn-pair", _TERMINALS),
        ("reproduce nothing", set()),
        ("calibrate nothing", set()),
        ("record", set()),
        ("sweep nothing.toml", _VALUES),
        ("report nothing.duckdb", _ALL - _TERMINALS - _SEARCHES - _CLUSTERS),
    ],
)
def test_a_command_loads_what_it_uses(command: str, uses: set[str], furnished: Path) -> None:
    call = [sys.executable, "-c", _LOADED, *command.split()]
    done = subprocess.run(call, cwd=furnished, capture_output=True, text=True, check=True)
    code, loaded = ast.literal_eval(done.stderr.splitlines()[-1])
    assert code != 3, done
    assert set(loaded) & _ALL <= uses


def test_helps_of_commands_load_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", _HELPS, *Program.places], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stderr)) & _ALL == set()


def test_the_package_loads_nothing_before_it_is_used() -> None:
    script = (
        "import sys, counterpoint; counterpoint.designs(); counterpoint.run\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stdout)) & (_ALL | {"typer"}) == set()


@pytest.mark.parametrize("package", [cp, results])
def test_every_name_of_a_lazy_package_is_there(package: ModuleType) -> None:
    assert dir(package) == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert not isinstance(getattr(package, name), ModuleType), f"a module hides '{name}'"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_the_face_has_what_a_user_calls() -> None:
    types = ["Crash", "EngineError", "InputError", "Interrupted", "Run", "Store"]
    calls = (
        "annotations calibrate check cite compare crash design design_file design_parts designs distinguish "
        "engine_build explain faults frame is_line_trace litmus litmus_tests machines over_time parts probes prove "
        "record recovery replay replay_lines reproduce resolve run run_matrix scene search sweep workloads "
        "write_crash_page write_figures write_line_page write_report write_reproduction write_search_page "
        "write_sweep_page"
    )
    assert dir(cp) == [*types, "__version__", *calls.split()]
    page = (Path(__file__).parents[2] / "docs/python.md").read_text()
    assert set(re.findall(r"\bcp\.(\w+)", page)) == {*dir(cp)}


@pytest.mark.parametrize("package", [cp, results])
def test_lazy_names_are_those_that_type_checkers_see(package: ModuleType) -> None:
    (branch,) = (node for node in ast.parse(inspect.getsource(package)).body if isinstance(node, ast.If))
    seen = {
        (alias.name, f"{package.__name__}.{line.module}")
        for line in branch.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    (mapping,) = (node for line in branch.orelse for node in ast.walk(line) if isinstance(node, ast.Dict))
    runs = {
        (name, f"{package.__name__}.{module}") for module, names in ast.literal_eval(mapping).items() for name in names
    }
    assert seen == runs
    assert {name for name, _ in seen} == set(package.__all__) - {"EngineError", "InputError"}
