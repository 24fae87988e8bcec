"""The notebooks of examples/ run from top to bottom, and each cell shows something."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import tutorial

_FOLDER = tutorial.ROOT / "examples/notebooks"
_NAMES = ["my-design", "my-program", "paper-figures"]


def run(notebook: Path) -> tuple[list[object], dict[str, Any]]:
    """What each cell of a notebook shows, as IPython runs it: the value of its last expression; and the names in it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "kept without what it shows"
        tree = ast.parse("".join(cell["source"]), notebook.name)
        last = tree.body.pop()
        assert isinstance(last, ast.Expr), "a cell ends with what it shows"
        exec(compile(tree, notebook.name, "exec"), names)
        shown.append(eval(compile(ast.Expression(last.value), notebook.name, "eval"), names))
    return shown, names


def test_every_notebook_is_run_and_listed() -> None:
    assert sorted(path.stem for path in _FOLDER.iterdir()) == _NAMES
    page = (_FOLDER.parent / "README.md").read_text()
    assert all(f"](notebooks/{name}.ipynb)" in page for name in _NAMES)


@pytest.mark.engine
def test_figures_for_a_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (table, files, _), _ = run(_FOLDER / "paper-figures.ipynb")
    assert isinstance(table, object) and "relative_latency" in str(table)
    assert isinstance(files, list) and {"latency.svg", "latency.pdf", "latency.png"} <= set(files)
    assert (tmp_path / "out/report.html").exists() and "@" in capsys.readouterr().out


@pytest.mark.engine
def test_my_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (findings, _, causes, page), names = run(_FOLDER / "my-program.ipynb")
    assert isinstance(findings, list) and findings
    assert names["verdict"].holds is False and "<table" in names["verdict"]._repr_html_()
    assert isinstance(causes, list) and causes[0][0] == "missing-fence"
    assert page == "crash.html" and (tmp_path / "out/crash.html").exists()


@pytest.mark.engine
def test_my_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (_, smallest, table, _, names_of_front, page), names = run(_FOLDER / "my-design.ipynb")
    assert names["verdict"].holds is False and isinstance(smallest, tuple) and smallest[1] >= 1
    assert "mine" in str(table)
    assert names_of_front == ["secpm"] and page == "search.html"
