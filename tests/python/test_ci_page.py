"""The page on continuous integration: its example runs as it stands, and its workflow calls what is there."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

import tutorial
from counterpoint.verbs.suppressions import load

_PAGE = (tutorial.ROOT / "docs/ci.md").read_text()
_TITLED = {block.title: block.body for block in tutorial.blocks(_PAGE) if block.title}


@pytest.mark.engine
@pytest.mark.skipif(
    not all(map(shutil.which, ("valgrind", "gcc", "make", "git"))), reason="the example needs Valgrind, gcc and make"
)
def test_the_example_runs_as_it_stands(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    place = tutorial.beside(folder)
    played = 0
    for done in place.play(_PAGE):
        tutorial.check(done)
        played += 1
    assert played == 3
    baseline = json.loads((folder / "persistence/baseline.json").read_text())
    assert [one["kind"] for one in baseline["findings"]] == ["flushed-twice"]
    # The workflow has another format.
    place.environment["FORMAT"] = "sarif"
    (done,) = place.play("```sh exit=1\nsh persistence/verify.sh\n```\n")
    tutorial.check(done)
    rules = [
        [one["ruleId"] for one in json.loads((folder / f"{name}.sarif").read_text())["runs"][0]["results"]]
        for name in ("check", "crash")
    ]
    assert rules == [["never-flushed", "never-flushed", "idle-fence"], ["missing-flush"]]


def test_its_files_of_suppressions_are_read(tmp_path: Path) -> None:
    files = [block.body for block in tutorial.blocks(_PAGE) if block.language == "toml"]
    assert len(files) == 2
    for text in files:
        (tmp_path / "s.toml").write_text(text)
        assert len(load(tmp_path / "s.toml").rules) == 1


def test_the_workflow_runs_the_script_and_uploads_what_it_writes() -> None:
    workflow, script = yaml.safe_load(_TITLED[".github/workflows/persistence.yml"]), _TITLED["persistence/verify.sh"]
    steps = workflow["jobs"]["verify"]["steps"]
    assert "FORMAT=sarif sh persistence/verify.sh" in [step.get("run") for step in steps]
    (upload,) = [step["with"] for step in steps if "upload-sarif" in step.get("uses", "")]
    # All that the script writes lies in the current folder.
    assert upload == {"sarif_file": "."} and '> "$name.$format"' in script
    named = set(re.findall(r"persistence/[\w.]+", script))
    assert named == {"persistence/suppressions.toml", "persistence/baseline.json"}
