"""What follows from the options that the engine states is what stands in files, and nobody else states an option."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import typing
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jsonschema  # type: ignore[import-untyped]
import pytest
import reproduced
from conftest import Cli

import contract
import counterpoint as cp
import document_types
import report_types
import samples
from counterpoint.contract import options, results
from counterpoint.contract.flags import FLAGS

pytestmark = pytest.mark.engine

_STATED = "crates/engine/src/api/request/options.rs"


def test_files_are_what_follows_from_the_engine() -> None:
    written = _files()
    changed = [path.name for path, text in written.items() if path.read_text() != text]
    assert changed == [], "`make contract` writes them"
    assert set((contract.ROOT / "docs/schema").rglob("*.json")) == {path for path in written if path.suffix == ".json"}
    assert all("`make contract`" in text.splitlines()[path.suffix == ".json"] for path, text in written.items())


def _closed(schema: Any) -> Any:
    """The schema, refusing every key that it does not state; what shows a crash again is no part of the report."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed["properties"] |= {"reproduce": closed["properties"].get("reproduce", {})}
        closed["additionalProperties"] = False
    return closed


def test_documents_are_what_their_schemas_say(tmp_path: Path) -> None:
    trace, lines = tmp_path / "trace.log", tmp_path / "lines.nvmain"
    trace.write_bytes(samples.PMEMCHECK)
    lines.write_text("10 R 0x1040 0 0\n")
    small: dict[str, Any] = {"machine": "small", "transactions": 3, "footprint": "64KiB"}
    (replayed,), (replay,) = cp.replay_lines(lines, ["star"]), cp.replay(trace, ["secpm"])
    documents = [
        ("Run", cp.run("star", "btree", **small).to_dict()),
        ("Run", replay.to_dict()),
        ("Crash", cp.crash("write-back", "array", stages=True, attack=["all"], attack_every=20, **small).to_dict()),
        ("Crash", cp.crash("eadr", trace, machine="small").to_dict()),
        (
            "Crash",
            cp.crash(
                "write-back", trace, machine="small", explore="legal", recover="grep -q x {pool}", no_preflight=True
            ).to_dict(),
        ),
        ("Crash", cp.crash("write-back", trace, machine="small", recover="false {pool}", no_preflight=True).to_dict()),
        ("Crash", cp.crash("bbe", "array", fault="incr-counter", nested=True, **small).to_dict()),
        ("Proof", cp.prove("write-back", operations=3, lines=1, all_failing=True).to_dict()),
        ("Distinction", cp.distinguish("write-back", "secpm", operations=2, lines=1).to_dict()),
        ("Check", cp.check(trace).to_dict()),
        ("Check", cp.check(trace, design="secpm").to_dict()),
        ("RecoveryCost", cp.recovery(["osiris"], memory="1GiB")[0].to_dict()),
        ("LineRun", replayed.to_dict()),
    ]
    assert {name for name, _ in documents} == report_types._DOCUMENTS
    for name, document in documents:
        schema = json.loads((contract.ROOT / f"docs/schema/reports/{name}.json").read_text())
        jsonschema.Draft202012Validator(_closed(schema)).validate(json.loads(json.dumps(document)))
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(schema).validate({**document, "design": 5, "trace": 5})


def test_documents_of_commands_are_what_their_schemas_say(cli: Cli, tmp_path: Path) -> None:
    lines, sweep, goals = tmp_path / "lines.nvmain", tmp_path / "sweep.toml", tmp_path / "goals.toml"
    lines.write_text("10 R 0x1040 0 0\n")
    sweep.write_text(
        '[base]\nworkload = "array"\nmachine = "small"\ntransactions = 2\n[axes]\ndesign = ["secpm", "ideal"]\n'
        "tx_size = [64, 100]\ncontroller.aes_units = { from = 1, to = 2 }\n"
    )
    goals.write_text(
        'workloads = ["queue"]\nreferences = ["secpm"]\n[run]\nmachine = "small"\ntransactions = 4\n'
        '[space]\nbase = "secpm"\ndesign.write_path = ["staged-pair", "deferred"]\n'
        '[objectives]\nnvm_writes = "minimise"\n[limits]\nnvm_writes = { at_most = 1000000 }\n'
    )
    small = ("--machine", "small", "--transactions", "2", "--footprint", "64KiB")
    commands = {
        "cite": ("cite", "secpm", "array", *small),
        "compare": ("compare", "-d", "unencrypted", "-d", "star", "-w", "array", *small),
        "litmus": ("litmus", "torn-pair"),
        "recovery": ("recovery", "osiris", "--memory", "1GiB"),
        "replay_lines": ("replay", str(lines), "-d", "secpm"),
        "sweep": ("sweep", str(sweep), "--store", str(tmp_path / "s.duckdb")),
    }
    documents = {name: json.loads(cli(*words, "--json").out) for name, words in commands.items()}
    documents["reproduce"] = reproduced.reproduction().to_dict()
    # Those of `explain` and `search` are held to their schemas where they are tested.
    assert {*documents, "explain", "search"} == set(document_types.DOCUMENTS)
    assert documents["sweep"]["failures"]
    for name, document in documents.items():
        document_types.check(f"documents/{name}.json", document)
        with pytest.raises(jsonschema.ValidationError):
            document_types.check(f"documents/{name}.json", {**document, "unknown": 1})
    for name, file in (("sweep", sweep), ("goals", goals)):
        document_types.check(f"files/{name}.json", tomllib.loads(file.read_text()))
        with pytest.raises(jsonschema.ValidationError):
            document_types.check(f"files/{name}.json", {"unknown": 1})


def test_files_of_the_engine_are_what_their_schemas_say() -> None:
    folder = contract.ROOT / "crates/engine/src"
    files = {
        "machine": sorted((folder / "config/presets").glob("*.toml")),
        "design": sorted((folder / "design").glob("*.toml")),
    }
    assert len(files["machine"]) == len(cp.machines()) and len(files["design"]) == len(cp.designs())
    for name, paths in files.items():
        for path in paths:
            document_types.check(f"files/{name}.json", tomllib.loads(path.read_text()))
    for name, wrong in (
        ("machine", {"controller": {"wpq_entries": 1}}),
        ("machine", {"l1": {"latency_cycles": 0}}),
        ("machine", {"log": {"iv": "never"}}),
        ("design", {"write_path": "at-once"}),
        ("design", {"hardened": {"base": "secpm"}}),
        ("design", {"registers": {"staging_register": True}}),
    ):
        with pytest.raises(jsonschema.ValidationError):
            document_types.check(f"files/{name}.json", wrong)
    document_types.check("files/machine.json", {"l2": {"latency_cycles": 0}})


def test_every_option_of_a_request_is_one_of_a_call() -> None:
    kinds = [kind for name, kind in vars(options).items() if name.endswith("Options")]
    known = {name for kind in kinds for name in kind.__annotations__}
    asked = {name for request in contract.schemas() for name in contract.fields(request)}
    assert asked - known == {"design", "other", "workload", "trace", "top", "measure", "recorder"}


@cache
def _files() -> dict[Path, str]:
    return dict(contract.files())


@cache
def _sources() -> dict[str, str]:
    """The sources that people write, of the engine and of the package."""
    paths = [*contract.ROOT.glob("crates/*/src/**/*.rs"), *contract.ROOT.glob("python/**/*.py")]
    return {str(path.relative_to(contract.ROOT)): path.read_text() for path in paths if path not in _files()}


_STATES = re.compile(
    r'"x-help"[^#]*?\)\)\]\s*pub (?P<field>\w+): |^ +(?P<keyword>\w+): Annotated\[|Option\(\s*(?P<flag>"--[\w/-]+")',
    re.MULTILINE,
)
"""How a file says that there is an option: as a field, as a keyword with its check, or as a flag."""


def _stated(text: str) -> set[str]:
    """The options of FLAGS that a text states."""
    names = {f'"{flag}"': name for name, (_, flag, *_) in FLAGS.items()}
    found = {one["field"] or one["keyword"] or names.get(one["flag"], "") for one in _STATES.finditer(text)}
    return found & {*FLAGS}


def test_an_option_is_stated_in_one_file_that_people_write() -> None:
    stated = {path: found for path, text in _sources().items() if (found := _stated(text))}
    assert stated.pop(_STATED) == {*FLAGS}
    # Lists of them, and options of other commands with the same flag.
    folder = "python/counterpoint/cli"
    assert stated == {
        f"{folder}/options.py": {"tx_size", "cores", "workers", "machine"},
        f"{folder}/calibrate.py": {"seed"},
        f"{folder}/crash.py": {"by_line"},
    }
    assert _stated("    watch_reads: Annotated[bool, flag]\n") == {"watch_reads"}
    assert _stated('typer.Option(\n    "--watch-reads", help=""\n)') == {"watch_reads"}


def test_a_schema_says_of_each_field_what_it_is() -> None:
    for request in contract.schemas():
        schema: dict[str, Any] = json.loads(contract.schema_file(request))
        assert schema["additionalProperties"] is False
        assert set(schema["properties"]) == set(contract.schemas()[request]["properties"])
        for name, field in schema["properties"].items():
            assert field["description"].endswith(".") and "\n" not in field["description"], (request, name)
            assert contract.kind(field) in contract.KINDS, (request, name)
            assert "x-help" not in field or field["x-help"].endswith("."), (request, name)
    crash = contract.fields("crash")
    assert crash["explore"]["enum"] == ["schedule", "schedules", "legal"]
    assert list(crash)[:4] == ["design", "workload", "variant", "machine"]


def test_options_that_two_requests_state_differently_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {request: {"x": {"x-help": f"Of {request}."}} for request in ("run", "crash")}
    monkeypatch.setattr(contract, "schemas", lambda: told)
    monkeypatch.setattr(contract, "fields", lambda request: told[request])
    with pytest.raises(ValueError, match=r"^x-help of x is 'Of run\.' and 'Of crash\.'$"):
        contract._stated("x-help")


_FIGURES = (results.Nvm, results.Wpq, results.CounterCache, results.Integrity, results.Crypto, results.DrainPart)


def test_a_figure_is_stated_in_no_file_of_the_package_that_people_write() -> None:
    figures = {one.name for of in _FIGURES for one in dataclasses.fields(of)} - {"name"}
    assert {"table_writes", "forwarded_reads", "aes_busy_ns", "dirty_bytes"} <= figures and len(figures) > 40
    states = re.compile(rf"^    ({'|'.join(sorted(figures))}): (?:int|float)\b", re.MULTILINE)
    package = {path: text for path, text in _sources().items() if path.startswith("python/")}
    assert {path: found for path, text in package.items() if (found := states.findall(text))} == {}
    assert states.findall("class Nvm:\n    table_writes: int\n") == ["table_writes"]


def test_every_report_of_the_engine_has_its_types_in_one_module() -> None:
    known = report_types.names()
    types = [name for of in known.values() for name in of]
    assert len(types) == len(set(types)) and {"Run", "Stats", "Crash", "Check", "RecoveryCost", "LineRun"} <= set(types)
    assert set(report_types._DOCUMENTS) == {name for name in types if hasattr(getattr(results, name), "from_dict")}
    rules = get_args(results.Rule)
    assert "pad_reuse" in rules and typing.get_type_hints(results.Violation)["rule"] == results.Rule
    for name in types:
        if dataclasses.is_dataclass(made := getattr(results, name)):
            told = re.findall(r"^ {8}(\w+): ", made.__doc__ or "", re.MULTILINE)
            assert sorted(told) == sorted(one.name for one in dataclasses.fields(made)), name
