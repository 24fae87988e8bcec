"""Files with two writers at once, links in place of files, and what a failure or Ctrl-C leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from test_sweep import Inline
from test_threads import together

import counterpoint as cp
from counterpoint.system.files import unfinished, write_text
from counterpoint.verbs import recorder


def test_two_writers_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with unfinished(path) as first:
        first.write_text("half of ")
        with unfinished(path) as second:
            assert second != first
            second.write_text("second")
        assert path.read_text() == "second"
        with first.open("a") as file:
            file.write("the first")
    assert path.read_text() == "half of the first"
    assert list(tmp_path.iterdir()) == [path]
    texts = [letter * 1_000_000 for letter in "abcd"]
    together(*((lambda text=text: [write_text(path, text) for _ in range(20)]) for text in texts))
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "page.html"
    victim.write_text("mine")
    for name in ("page.html", f".page.html.{os.getpid()}.part", "page.html.part"):
        (tmp_path / name).symlink_to(victim)
    write_text(path, "new")
    assert victim.read_text() == "mine"
    assert path.read_text() == "new"
    assert not path.is_symlink()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError, RuntimeError])
def test_nothing_stays_of_a_file_that_is_not_finished(tmp_path: Path, stop: type[BaseException]) -> None:
    path = tmp_path / "page.html"
    path.write_text("older")
    with pytest.raises((stop, cp.InputError)), unfinished(path) as temporary:
        temporary.write_text("half")
        raise stop("no room")
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_any_other_file(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.touch()
    assert write_text(tmp_path / "page.html", "").stat().st_mode == other.stat().st_mode
    cp.Store(tmp_path / "s.duckdb").close()
    assert (tmp_path / "s.duckdb").stat().st_mode == other.stat().st_mode


def test_special_files_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/null")):
        with pytest.raises(cp.InputError, match="it exists and is not a file"):
            write_text(path, "text")
        with pytest.raises(cp.InputError, match="it exists and is not a file"):
            recorder.record(["/bin/sh"], path)
    assert pipe.is_fifo()
    assert write_text(tmp_path / ("x" * 255), "text").read_text() == "text", "the longest name is good"


def test_several_that_make_one_store_make_one(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    made: list[cp.Store] = []
    together(*[lambda: made.append(cp.Store(path))] * 4)
    for store in made:
        assert store.sweeps() == []
        store.close()
    assert list(tmp_path.iterdir()) == [path]


def test_two_exports_to_one_file_leave_one_whole(fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import polars as pl

    fake.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    folder, target = tmp_path / "exports", tmp_path / "exports" / "rows.parquet"
    folder.mkdir()
    stores = [tmp_path / "one.duckdb", tmp_path / "two.duckdb"]
    wanted = []
    for number, path in enumerate(stores):
        axes = {"design": ["unencrypted", "secpm"], "seed": list(range(1, 10 + number))}
        wanted.append(cp.sweep({"name": "s", "base": {"workload": "btree"}, "axes": axes}, path).frame())
    opened = [cp.Store(path, read_only=True) for path in stores]
    together(*((lambda store=store: [store.export("s", target) for _ in range(10)]) for store in opened))
    assert any(pl.read_parquet(target).equals(rows) for rows in wanted)
    assert list(folder.iterdir()) == [target]

    def full(rows: pl.DataFrame, file: Path, **_: object) -> None:
        file.write_text("half")
        raise pl.exceptions.ComputeError("full")

    fake.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(cp.InputError, match="cannot be written: full"):
        opened[0].export("s", target)
    assert list(folder.iterdir()) == [target]
