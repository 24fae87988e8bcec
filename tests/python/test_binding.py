"""The compiled engine as Python sees it: the stub is correct, other threads continue, Ctrl-C stops it."""

from __future__ import annotations

import ast
import inspect
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import program

import contract
import counterpoint as cp
import file_tables
import report_types
from counterpoint import _engine
from counterpoint.contract.options import RunOptions
from counterpoint.contract.request import ANNOTATIONS_OF
from counterpoint.verbs import api
from counterpoint.verbs.comparison import COMPARE_DESIGNS, COMPARE_WORKLOADS, EASY_PM_WORKLOADS

pytestmark = pytest.mark.engine

_ENDLESS: RunOptions = {"tx_size": 64, "transactions": 5_000_000, "footprint": "4MiB"}
"""A run that takes too long for any test to wait for."""

_STUB = Path(cp.__file__).with_name("_engine.pyi")


def test_the_stub_names_exactly_what_the_module_has() -> None:
    written = {
        node.name: node
        for node in ast.parse(_STUB.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert set(written) == {name for name in dir(_engine) if not name.startswith("__")}
    for name, node in written.items():
        real = getattr(_engine, name)
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases] or ["object"]
            assert [parent.__name__ for parent in real.__mro__][1] == bases[0]
            assert inspect.getdoc(real) == ast.get_docstring(node)
            methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
            if methods:
                own = {name for name in vars(real) if not name.startswith("__")}
                assert own == {name for name in methods if not name.startswith("__")}
                assert _signature(methods.pop("__init__"))[1:] == _signature(real)
                for name, method in methods.items():
                    assert ast.get_docstring(method) == inspect.getdoc(getattr(real, name))
                    if not method.decorator_list:
                        assert _signature(method) == _signature(getattr(real, name))
        else:
            assert _signature(node) == _signature(real)


def _signature(function: Any) -> list[str]:
    """Parameters with their defaults, of a function in the stub or of a real one."""
    if isinstance(function, ast.FunctionDef):
        names = [argument.arg for argument in function.args.args]
        defaults = [f"={ast.unparse(default)}" for default in function.args.defaults]
        defaults = [""] * (len(names) - len(defaults)) + defaults
        return [name + default for name, default in zip(names, defaults, strict=True)]
    parameters = inspect.signature(function).parameters.values()
    return [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]


def test_a_session_populates_memory_once_and_changes_no_result() -> None:
    asked = {"design": "secpm", "workload": "array", "machine": "small", "transactions": 5, "footprint": "64KiB"}
    session = _engine.Session()
    (plain,) = api.simulate([asked])
    first, second = (api.simulate([asked], session=session)[0] for _ in range(2))
    assert session.populations == 1
    assert plain.event_digest == first.event_digest == second.event_digest
    api.simulate([asked | {"seed": 2}], session=session)
    assert session.populations == 2
    with pytest.raises(cp.InputError, match="design 'nothing'"):
        api.simulate([asked | {"design": "nothing"}], session=session)


def test_results_name_the_build_of_the_engine() -> None:
    build = cp.engine_build()
    assert len(build) == 32 and int(build, 16)
    assert cp.run("secpm", "array", machine="small", transactions=5, footprint="64KiB").engine_build == build


def test_every_function_of_the_module_is_used() -> None:
    # What writes the package asks for the schemas.
    writers = [Path(one.__file__ or "") for one in (contract, file_tables, report_types)]
    sources = "".join(path.read_text() for path in [*Path(cp.__file__).parent.rglob("*.py"), *writers])
    functions = [name for name in dir(_engine) if inspect.isbuiltin(getattr(_engine, name))]
    unused = [name for name in functions if f"_engine.{name}" not in sources]
    assert unused == []


def test_descriptions_of_the_engine_have_the_types_of_the_front() -> None:
    assert {"unencrypted", "secpm"} <= {design.name for design in cp.designs()}
    assert set(COMPARE_DESIGNS) <= {design.name for design in cp.designs()}
    assert set(COMPARE_WORKLOADS) <= {workload.name for workload in cp.workloads()}
    assert set(EASY_PM_WORKLOADS) <= {workload.name for workload in cp.workloads()}
    assert {design.form for design in cp.designs()} >= set(ANNOTATIONS_OF)
    assert {name for fault in cp.faults() for name in fault.designs} < {design.name for design in cp.designs()}
    presets = {machine.name for machine in cp.machines()}
    assert {design.machine for design in cp.designs()} <= presets


def test_resolve_gives_the_whole_configuration() -> None:
    found = cp.resolve("secpm", "btree", tx_size=64)
    assert (found["design"], found["tx_size"], found["machine"]["name"]) == ("secpm", 64, "secpm")
    with pytest.raises(cp.InputError, match="secpm"):
        cp.resolve("sepcm", "btree")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("run sepcm btree", "did you mean 'secpm', 'sepencr' or 'secpb'?"),
        ("run secpm btree --footprint 64TiB", "footprint"),
        ("run secpm btree --footprint 99999999999GiB", "99999999999GiB"),
    ],
)
def test_bad_input_from_end_to_end(arguments: str, words: str) -> None:
    assert words in program(*arguments.split()).refusal


def test_broken_toml_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text('name = "mine"\n[controller\n')
    with pytest.raises(cp.InputError, match=r"machine\.toml.*2"):
        cp.run("secpm", "btree", machine=file)


def test_other_threads_go_on_while_the_engine_works() -> None:
    ticks = 0
    thread = threading.Thread(
        target=cp.run, args=("secpm", "btree"), kwargs={"transactions": 5000, "footprint": "4MiB"}
    )
    thread.start()
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 5


def test_ctrl_c_stops_the_engine_within_a_second() -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(cp.Interrupted):
        cp.run("secpm", "btree", **_ENDLESS)
    assert time.monotonic() - started < 1.5


def test_an_error_in_the_progress_callback_stops_the_engine() -> None:
    def fail(_done: int, _total: int) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        cp.run("secpm", "btree", progress=fail, **_ENDLESS)
