"""Mutants: what is kept of them is about the sources as they are."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import mutants

_ROOT = mutants.ROOT
_TABLE = tomllib.loads(mutants.SURVIVORS.read_text())


def test_a_listed_survivor_is_in_the_sources_and_has_a_reason() -> None:
    for survivor in _TABLE.get("survivor", []):
        assert set(survivor) == {"file", "mutation", "line", "reason"}, survivor
        lines = [line.strip() for line in (_ROOT / mutants.SOURCES / survivor["file"]).read_text().splitlines()]
        assert survivor["line"] in lines, survivor
        assert survivor["reason"].endswith("."), survivor
        if function := re.search(r" in (?:.*::)?(\w+)$", survivor["mutation"]):
            assert any(f"fn {function[1]}" in line for line in lines), survivor


def test_a_run_says_what_was_tested_and_what_became_of_it() -> None:
    for run in _TABLE.get("run", []):
        assert {"part", "tests", "cargo_mutants", "killed", "survived", "unviable"} <= set(run), run
        assert all(run[key] >= 0 for key in ("killed", "survived", "unviable"))


def test_the_rooms_that_are_changed_exist() -> None:
    config = tomllib.loads((_ROOT / mutants.FOLDER / "mutants.toml").read_text())
    rooms = re.search(r"\{(.*)\}", config["examine_globs"][0])
    assert rooms
    assert all((_ROOT / mutants.SOURCES / room).is_dir() for room in rooms[1].split(","))


def _outcome(line: int, mutation: str, summary: str) -> dict[str, object]:
    file = "crates/engine/src/crash/plan.rs"
    mutant = {"name": f"{file}:{line}:5: {mutation}", "file": file, "span": {"start": {"line": line, "column": 5}}}
    return {"scenario": {"Mutant": mutant}, "summary": summary}


def test_outcomes_are_read_by_what_stays_the_same_while_lines_move(tmp_path: Path) -> None:
    source = tmp_path / "crates/engine/src/crash/plan.rs"
    source.parent.mkdir(parents=True)
    source.write_text("fn f() {\n    a + b\n}\n")
    outcomes = [
        {"scenario": "Baseline", "summary": "Success"},
        _outcome(2, "replace + with - in f", "MissedMutant"),
        _outcome(2, "replace + with * in f", "CaughtMutant"),
        _outcome(1, "replace f with ()", "Timeout"),
        _outcome(1, "replace f with 1", "Unviable"),
    ]
    file = tmp_path / "outcomes.json"
    file.write_text(json.dumps({"outcomes": outcomes}))
    read = mutants.read_outcomes(file, tmp_path)
    assert read[0] == (mutants.Mutant("crash/plan.rs", "replace + with - in f", "a + b"), mutants.MISSED)
    assert mutants.by_room(read) == ["crash: 2 of 3 killed", "all: 2 of 3 killed"]
    kept = tomllib.loads(mutants.run_table("3/200", "", read))["run"]
    assert kept == [
        {
            "part": "3/200",
            "tests": "all",
            "cargo_mutants": mutants.CARGO_MUTANTS,
            "killed": 2,
            "survived": 1,
            "unviable": 1,
        }
    ]
