"""Damaged, altered, foreign and hostile stores: each gives correct results or is refused in one sentence."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import Cli, answer_at_once
from test_sweep import Inline

import counterpoint as cp
from counterpoint.report import sweep_page
from counterpoint.runs import store as store_module
from counterpoint.system import database

pytestmark = pytest.mark.usefixtures("undrawn")

SPEC: dict[str, Any] = {
    "name": "small",
    "base": {"workload": "btree"},
    "axes": {"design": ["unencrypted", "secpm"], "tx_size": [64, 1024, 100]},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with runs and failures. It is copied, not changed."""
    path = tmp_path_factory.mktemp("made") / "s.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        answer_at_once(patch)
        patch.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
        cp.sweep(SPEC, path)
    return path


@pytest.fixture
def copy(made: Path, fake: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A store to damage, with the fake engine."""
    fake.setattr("counterpoint.runs.executor.start.Processes", lambda workers: Inline())
    return Path(shutil.copy(made, tmp_path / "s.duckdb"))


def read(path: Path) -> list[Any]:
    """Everything that a store gives: as `report`, `reproduce` and the Python interface ask for it."""
    with cp.Store(path, read_only=True) as store:
        rows = store.rows("small")
        runs = [store.run(key).to_dict() for key in sorted(store.known(rows["key"]))]
        configurations = [store.configuration(run_key) for run_key in sorted(store.known(rows["key"]))]
        page = sweep_page.render(store, None, "command")
        return [rows.to_dicts(), runs, configurations, store.failures("small"), store.sweeps(), page]


def used(path: Path) -> str | None:
    """The sentence that refuses a store when it is read, or else when a sweep continues with it."""
    try:
        read(path)
        cp.sweep(SPEC, path)
        assert len(read(path)[0]) == 6
    except cp.InputError as refused:
        sentence = str(refused)
        assert "\n" not in sentence
        assert len(sentence) < 1000
        assert "in use by another process" not in sentence
        return sentence
    return None


def spoil(path: Path, *statements: str) -> str | None:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return used(path)


def spoilt_bytes(whole: bytes, seed: int) -> bytes:
    """Bytes changed at random, or an end cut off."""
    chance = random.Random(seed)
    if seed % 4 == 0:
        return whole[: chance.randrange(len(whole))]
    spoilt = bytearray(whole)
    # What DuckDB writes is in the beginning of its blocks of 256 KiB.
    for _ in range(chance.choice((1, 2, 30))):
        block = chance.randrange(-1, len(whole) >> 18) << 18
        place = (
            12288 + block + chance.randrange(1 << chance.randrange(1, 18)) if block >= 0 else chance.randrange(12288)
        )
        spoilt[place % len(whole)] ^= 1 << chance.randrange(8)
    return bytes(spoilt)


def test_damaged_bytes_are_one_sentence_or_change_nothing(made: Path, copy: Path) -> None:
    whole, right = made.read_bytes(), read(made)
    refused = 0
    for seed in range(48):
        copy.write_bytes(spoilt_bytes(whole, seed))
        copy.with_name("s.duckdb.wal").unlink(missing_ok=True)
        try:
            found = read(copy)
        except cp.InputError as error:
            assert "\n" not in str(error)
            assert "in use by another process" not in str(error), "it is damaged"
            refused += 1
        else:
            assert found == right, f"seed {seed}"
        used(copy)
    assert refused > 20


ALTERED = [
    *(
        f"DROP TABLE {table}"
        for table in ("results CASCADE", "figures", "failures CASCADE", "sweeps", "points CASCADE")
    ),
    *(
        f"UPDATE {value} = NULL"
        for value in (
            *("counterpoint_store SET schema", "figures SET type", "sweeps SET axes", "sweeps SET digest"),
            *("sweeps SET spec", "points SET axes", "failures SET request", "failures SET sentence"),
            *("failures SET attempts", "results SET document", "results SET host", "results SET configuration"),
        )
    ),
    *(
        f"UPDATE {value} = '[]'"
        for value in (
            *("sweeps SET axes", "points SET axes", "results SET host", "results SET configuration"),
            "results SET figures",
        )
    ),
    *(
        f"UPDATE results SET document = json_merge_patch(document, '{patch}')"
        for patch in (
            *('{"nvm": 3}', '{"nvm": {"writes": "many"}}', '{"transactions": 1.5}', '{"throughput_tps": 1e400}'),
            *('{"simulated_ns": true}', '{"cache": {}}', '{"cache": [3]}'),
        )
    ),
    "ALTER TABLE sweeps DROP COLUMN spec",
    "ALTER TABLE sweeps ADD COLUMN more VARCHAR",
    "ALTER TABLE sweeps ALTER axes TYPE VARCHAR",
    "ALTER TABLE failures ALTER attempts TYPE VARCHAR",
    "ALTER TABLE figures RENAME COLUMN name TO title",
    "CREATE TABLE p AS FROM points; DROP TABLE points; ALTER TABLE p RENAME TO points",
    "DROP TABLE figures; CREATE VIEW figures AS SELECT 'nvm_writes' AS name, 'UBIGINT' AS type",
    "DROP TABLE sweeps; CREATE VIEW sweeps AS SELECT 'small' AS name, '' AS digest, '' AS spec, '{}' AS axes",
    "DROP VIEW runs; CREATE TABLE runs (key VARCHAR)",
    "DROP VIEW sweep_small; CREATE TABLE sweep_small (point INTEGER)",
    "UPDATE counterpoint_store SET schema = 2",
    "DELETE FROM counterpoint_store",
    "INSERT INTO counterpoint_store VALUES (1)",
    "ALTER TABLE counterpoint_store ALTER schema TYPE VARCHAR; UPDATE counterpoint_store SET schema = repeat('x', 999)",
    "UPDATE figures SET type = 'INTEGER[]'",
    "UPDATE figures SET type = 'VARCHAR' WHERE name = 'nvm_writes'",
    "UPDATE figures SET type = 'BOOLEAN' WHERE name = 'throughput_tps'",
    "UPDATE figures SET type = 'VARCHAR' WHERE name = 'counter_cache_hit_rate'",
    "UPDATE figures SET name = 'DESIGN' WHERE name = 'nvm_writes'",
    "UPDATE figures SET name = 'failure' WHERE name = 'nvm_writes'",
    'UPDATE sweeps SET axes = \'{"design": "BLOB"}\'',
    "UPDATE sweeps SET axes = '{\"design\": 7}'",
    "UPDATE sweeps SET axes = '{\"design\": [1]}'",
    'UPDATE sweeps SET axes = \'{"design": "BIGINT"}\'',
    'UPDATE sweeps SET axes = \'{"key": "VARCHAR"}\'',
    "UPDATE sweeps SET axes = repeat('[', 5000) || repeat(']', 5000)",
    "UPDATE points SET axes = '7'",
    "UPDATE points SET key = NULL WHERE position = 0",
    "UPDATE failures SET request = '[1]'",
    "UPDATE results SET document = '3'",
    "UPDATE results SET document = '{}'",
    'UPDATE results SET figures = \'{"nvm_writes": "many"}\'',
    'UPDATE results SET figures = \'{"throughput_tps": "nan"}\'',
]


@pytest.mark.parametrize("statement", ALTERED, ids=lambda statement: statement[:60])
def test_altered_tables_are_one_sentence(copy: Path, statement: str) -> None:
    sentence = spoil(copy, statement)
    assert sentence, "it was taken for what Counterpoint wrote"
    assert str(copy) in sentence


def test_texts_of_a_store_are_shown_short_and_without_control_characters(copy: Path) -> None:
    name = "repeat('\x1b[2J\n', 500)"
    sentence = spoil(copy, f"UPDATE figures SET name = {name}, type = NULL WHERE name = 'nvm_writes'")
    assert sentence is not None
    assert "'\\x1b[2J\\n\\x1b" in sentence
    assert sentence.isprintable()


def test_tables_of_a_user_are_left_alone(copy: Path) -> None:
    added = ("CREATE TABLE mine (x INTEGER)", "CREATE VIEW all_mine AS FROM mine", "CREATE SCHEMA own")
    assert spoil(copy, *added, "CREATE TABLE own.figures (x INTEGER)") is None


@pytest.mark.parametrize("name", ["text", "zero", "folder", "database", "pipe"])
def test_file_that_is_no_store_is_refused_in_one_sentence(
    cli: Cli, fake: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    path, spec = tmp_path / name, tmp_path / "s.toml"
    spec.write_text("base.workload = 'btree'\nbase.design = 'secpm'\n")
    make: dict[str, Callable[[], object]] = {
        "text": lambda: path.write_text("no database" * 5000),
        "zero": path.touch,
        "folder": path.mkdir,
        "database": lambda: duckdb.connect(path).execute("CREATE TABLE t (x INTEGER)").close(),
        "pipe": lambda: __import__("os").mkfifo(path),
    }
    make[name]()
    for command in (["sweep", str(spec), "--store"], ["report"], ["reproduce", "secpm", "--quick", "--store"]):
        outcome = cli(*command, str(path))
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.count("error: ") == 1
        assert f"'{path}'" in outcome.err and "Traceback" not in outcome.err
        assert outcome.err.splitlines()[-1].startswith("error: ")


def test_a_damaged_block_is_not_another_process(copy: Path, cli: Cli) -> None:
    whole = bytearray(copy.read_bytes())
    whole[12288 + 100] ^= 1
    copy.write_bytes(whole)
    outcome = cli("report", str(copy))
    assert outcome.code == 2
    assert "checksum" in outcome.err and "in use" not in outcome.err


def test_views_and_names_of_a_store_reach_nothing_outside(copy: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    frame = [1]  # A name that a replacement scan would find in this program.
    hostile = f"SELECT content AS key, content AS engine_build FROM read_text('{secret}')"
    with duckdb.connect(copy) as connection:
        for view in ("runs", "hosts", "sweep_small"):
            connection.execute(f"CREATE OR REPLACE VIEW {view} AS {hostile}")
    assert "the secret" not in str(read(copy)), "views are not asked"
    for read_only in (True, False):
        with cp.Store(copy, read_only=read_only) as store:
            for query in (
                "FROM sweep_small",
                f"FROM read_csv('{secret}')",
                "FROM frame",
                "FROM '/etc/passwd'",
                "INSTALL httpfs",
                "LOAD httpfs",
                f"ATTACH '{tmp_path / 'other.duckdb'}'",
                f"COPY figures TO '{tmp_path / 'figures.csv'}'",
                "SET enable_external_access = true",
                "SET python_enable_replacements = true",
            ):
                with pytest.raises(cp.InputError, match=r"Permission Error|Catalog Error|has been locked"):
                    store._database.ask(query)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["s.duckdb", "secret"]
    assert frame == [1]
    statement = f"CREATE VIEW figures AS SELECT content AS name, content AS type FROM read_text('{secret}')"
    sentence = spoil(copy, "DROP TABLE figures", statement)
    assert sentence and sentence.endswith("'figures' is a view, not a table")


def test_exports_hold_the_rows_though_files_are_out_of_reach(copy: Path, tmp_path: Path) -> None:
    import polars as pl

    with cp.Store(copy, read_only=True) as store:
        rows = store.rows("small")
        assert pl.read_parquet(store.export("small", tmp_path / "x.parquet")).equals(rows)
        table = pl.read_csv(store.export("small", tmp_path / "x.csv"))
    assert table.columns == rows.columns
    assert table["failure"].to_list() == rows["failure"].to_list(), "no failure is no text, and not an empty one"
    assert len(set(rows.columns)) == len(rows.columns)


def test_a_creation_that_fails_leaves_nothing(fake: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake.setattr(store_module, "_TABLES", "CREATE TABLE t (x INTEGER); CREATE TABLE t (x INTEGER);")
    with pytest.raises(cp.InputError, match="cannot be written"):
        cp.Store(tmp_path / "s.duckdb")
    assert not list(tmp_path.iterdir())
    with pytest.raises(cp.InputError, match="cannot be written: no such file"):
        cp.Store(tmp_path / "none" / "s.duckdb")
    for name in ("x" * 300, "a\0b"):
        with pytest.raises(cp.InputError, match=r"cannot be opened|cannot be written"):
            cp.Store(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_creation_replaces_no_store_and_follows_no_link(tmp_path: Path) -> None:
    path, victim = tmp_path / "s.duckdb", tmp_path / "victim"
    path.symlink_to(victim)
    with pytest.raises(cp.InputError, match="is not a store"):
        cp.Store(path)
    assert not victim.exists()
    path.unlink()
    log = tmp_path / "s.duckdb.wal"
    log.write_text("of another store")
    with pytest.raises(cp.InputError, match="its log"):
        cp.Store(path)
    assert log.read_text() == "of another store"
    log.unlink()
    cp.Store(path).close()
    made = path.stat()
    database.create(path, "CREATE TABLE other (x INTEGER);")
    assert path.stat().st_ino == made.st_ino, "one that another process made meanwhile stays"
    assert list(tmp_path.iterdir()) == [path]


def test_ctrl_c_is_no_fault_of_a_store(tmp_path: Path) -> None:
    """DuckDB makes an error of its own of an exception that a signal handler raises while it works."""
    stopped = 0
    for attempt in range(40):
        database._layout.cache_clear()
        path = tmp_path / f"{attempt}.duckdb"
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001 * (1 + attempt))
            with cp.Store(path) as store:
                store.rows("nothing")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            stopped += 1
        except cp.InputError as error:
            assert "no sweep" in str(error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert stopped > 0
