"""`counterpoint.toml`: where it is found, what it gives, what goes before it, and what is refused, with its line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import typer.main
from conftest import Cli

import document_types
import tutorial
from counterpoint.cli import app, project
from counterpoint.contract.flags import FLAGS

pytestmark = pytest.mark.engine

_PAGE = (tutorial.ROOT / "docs/project.md").read_text()
_SHORT = ("--transactions", "2", "--footprint", "16KiB", "--tx-size", "64")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _request(cli: Cli, *words: str) -> dict[str, Any]:
    """What `cite` says of a run, which simulates nothing."""
    told = cli("cite", "secpm", "array", "--json", *words)
    assert told.code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


def test_options_come_from_the_nearest_file_and_say_so(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / project.NAME).write_text('machine = "small"\nseed = 5\n[cite]\nseed = 6\ntransactions = 3\n')
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    told = cli("cite", "secpm", "array", "--json")
    found = json.loads(told.out)
    document_types.check("documents/cite.json", found)
    asked = found["configuration"]
    assert (asked["machine"]["name"], asked["seed"], asked["transactions"]) == ("small", 6, 3)
    assert found["project"] == {"path": f"../../{project.NAME}", "keys": ["machine", "seed", "transactions"]}
    assert told.err == f"project: ../../{project.NAME} sets machine, seed, transactions\n"
    (inner / project.NAME).write_text("")
    assert "project" not in _request(cli)


def test_an_option_goes_before_the_file(cli: Cli, folder: Path) -> None:
    (folder / project.NAME).write_text('machine = "small"\nset = ["controller.wpq_entries=16"]\n')
    found = _request(cli, "--machine", "secpm", "--set", "controller.wpq_entries=64")
    assert "project" not in found
    assert found["configuration"]["machine"]["name"] == "secpm"
    found = _request(cli, "--machine", "secpm")
    assert found["project"]["keys"] == ["set"]
    assert found["configuration"]["machine"]["controller"]["wpq_entries"] == 16


def test_another_file_or_none_is_taken(cli: Cli, folder: Path) -> None:
    (folder / project.NAME).write_text("seed = 5\n")
    (folder / "other.toml").write_text("seed = 6\n[set]\ncontroller = { wpq_entries = 64 }\n")
    assert _request(cli)["configuration"]["seed"] == 5
    other = _request(cli, "--project", "other.toml")["configuration"]
    assert (other["seed"], other["machine"]["controller"]["wpq_entries"]) == (6, 64)
    assert _request(cli, "--no-project")["configuration"]["seed"] == 1
    assert "contradict" in cli("cite", "secpm", "array", "--no-project", "--project", "other.toml").refusal
    assert "cannot be read" in cli("cite", "secpm", "array", "--project", "gone.toml").refusal


def test_files_are_meant_from_the_folder_of_the_file(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mine.toml").write_text('base = "small"\n')
    (folder / project.NAME).write_text(
        'machine = "mine.toml"\n[compare]\ndesign = ["secpm", "sca"]\ncores = [1, 2]\ncsv = "t.csv"\n'
    )
    inner = folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert _request(cli)["configuration"]["machine"]["name"] == "mine"
    done = cli("compare", "-w", "array", *_SHORT)
    assert done.code == 0 and (folder / "t.csv").read_text().count("\n") == 5, done.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = 1\n\nsead = 1\n", ":1: 'a' is no option of a command"),
        ("# x\n\nsead = 1\n", ":3: 'sead' is no option of a command: did you mean 'seed'?"),
        ("json = true\n", ":1: 'json' is no option of a command"),
        ("[runn]\nseed = 1\n", ":1: 'runn' is no command that takes defaults: did you mean 'run'?"),
        ("[[run]]\n", ":1: 'run' is a command; its defaults are a table, [run]"),
        ("[man]\nout = 'x'\n", ":1: 'man' is no command that takes defaults"),
        ("seed = 1\n[crash]\n# x\nsed = 1\n", ":4: `crash` has no option --sed: did you mean 'seed'?"),
        ("wrapper = [\n 'a',\n]\nseed = [\n 1]\n", ":4: seed is a list; --seed takes one value"),
        ("seed = true\n", ":1: seed is true; it must be a text or a number"),
        ("[crash]\nnested = 1\n", ":2: nested is 1; it must be true or false"),
        ("seed = \n", "is not TOML: "),
        ("seed = 1.5\n", "'1.5' is not a whole number from 0 to 2^64-1, in digits (seed comes from {}:1)"),
        ("\nmachine = 'smal'\n", "did you mean 'small'?"),
        ("\nmachine = 'smal'\n", "(machine comes from {}:2)"),
        ("transactions = 1\nset = ['controller.wpq_entries=1']\n", "take two entries (set comes from {}:2)"),
        (
            "machine = 'secpm'\nset = ['controller.wpq_entries=8']\n",
            "never drain (machine comes from {0}:1, set comes from {0}:2)",
        ),
        ("variant = 'x'\n", "'x' is not one of 'published', 'hardened'. (variant comes from {}:1)"),
    ],
)
def test_what_is_wrong_has_a_line(text: str, sentence: str, cli: Cli, folder: Path) -> None:
    (folder / project.NAME).write_text(text)
    refused = cli("cite", "secpm", "array")
    assert (refused.code, refused.out) == (2, "")
    assert sentence.format(project.NAME) in refused.err.splitlines()[-1], refused.err


def test_what_is_typed_is_not_blamed_on_the_file(cli: Cli, folder: Path) -> None:
    (folder / project.NAME).write_text("seed = 3\n")
    assert "comes from" not in cli("cite", "secpm", "array", "--seed", "x").refusal


def test_the_file_of_another_user_is_refused_above(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / project.NAME).write_text("seed = 3\n")
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert _request(cli)["configuration"]["seed"] == 3
    (folder / "inner").mkdir()
    monkeypatch.chdir(folder / "inner")
    if (folder / project.NAME).stat().st_uid:
        assert "belongs to another user" in cli("cite", "secpm", "array").refusal
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **given: _Owned(stat(path, **given)))
    assert "belongs to another user" in cli("cite", "secpm", "array").refusal
    assert _request(cli, "--project", f"../{project.NAME}")["configuration"]["seed"] == 3


class _Owned:
    """What is known of a file, which somebody else owns."""

    st_uid = 54321

    def __init__(self, known: Any) -> None:
        self._known = known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)


def test_a_baseline_may_have_been_written_with_a_file(cli: Cli, folder: Path) -> None:
    trace = tutorial.ROOT / "tests/data/btree-5.pmemcheck.log"
    (folder / project.NAME).write_text("[check]\nonly = 'correctness'\n")
    written = cli("check", str(trace), "--json").out
    assert json.loads(written)["project"]["keys"] == ["only"]
    (folder / "b.json").write_text(written)
    assert cli("check", str(trace), "--baseline", "b.json").code in (0, 1)


def test_every_option_of_the_calls_is_a_key() -> None:
    group: Any = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    keys = {key for command in commands.values() for key in project.options_of(command)}
    assert {flag.removeprefix("--") for _, flag, *_ in FLAGS.values()} <= keys
    assert not keys & {"json", "help", "project", "no-project"}
    assert keys & commands.keys() == {"sweep"}, "a text for `report`, a table for the command"
    without = {name for name, command in commands.items() if not project.options_of(command)}
    told = _PAGE.partition("which are of one call. ")[2]
    assert {name for name in commands if f"`{name}`" in told.partition(" take nothing from a file")[0]} == without


def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    (done,) = tutorial.beside(tmp_path).play(_PAGE)
    tutorial.check(done)


def test_the_schema_of_the_file_says_what_it_may_have() -> None:
    (block,) = [one.body for one in tutorial.blocks(_PAGE) if one.title == project.NAME]
    schema = json.loads((tutorial.ROOT / "docs/schema/files/project.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    holds = jsonschema.Draft202012Validator(schema).is_valid
    assert holds(tomllib.loads(block))
    assert holds({"cores": 4, "compare": {"cores": [1, 4]}, "sweep": "x"})
    wrong: list[dict[str, Any]] = [{"sead": 1}, {"run": {"explore": "legal"}}, {"man": {}}, {"nested": 1}]
    assert not any(map(holds, [*wrong, {"seed": [1]}, {"json": True}, {"run": {"cores": [1, 4]}}]))
