"""The Python interface: requests in the engine's form, typed answers, the frame."""

from __future__ import annotations

import json
from typing import Any

import fake_engine
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import _engine
from counterpoint.contract.options import RunOptions
from counterpoint.contract.request import LIST_MAX, bytes_of, request
from counterpoint.contract.results import Run
from counterpoint.system import units
from counterpoint.verbs import catalogue
from counterpoint.verbs.comparison import EASY_PM_WORKLOADS
from counterpoint.verbs.frames import along


@pytest.mark.usefixtures("fake")
class TestCalls:
    def test_run_gives_typed_statistics(self) -> None:
        r = cp.run("secpm", "btree", tx_size=1024)
        document = fake_engine.run_document({"design": "secpm", "workload": "btree", "tx_size": 1024})
        assert r.to_dict() == document
        assert r.stats.nvm.counter_writes == document["nvm"]["counter_writes"]
        assert r.stats.transaction_latency_ns.p99 == document["transaction_latency_ns"]["p99"]
        assert [level.level for level in r.stats.cache] == [1, 2, 3]
        assert r.stats.at_crash.dirty_fraction is None
        r.to_dict()["nvm"].clear()
        assert r.to_dict() == document, "a caller's changes stay with the caller"

    def test_compare_gives_a_frame(self) -> None:
        frame = cp.compare(["unencrypted", "secpm"], ["array", "btree"], tx_size=[64, 1024])
        assert frame.height == 8
        assert frame["baseline"].unique().to_list() == ["unencrypted"]
        base = frame.filter(design="unencrypted")
        assert base["relative_latency"].to_list() == [1.0] * 4
        for row in frame.iter_rows(named=True):
            same = base.filter(workload=row["workload"], tx_size=row["tx_size"]).row(0, named=True)
            assert row["relative_writes"] == row["nvm_writes"] / same["nvm_writes"]
            parts = [row[f"relative_{kind}_writes"] for kind in ("data", "log", "counter")]
            assert sum(parts) == pytest.approx(row["relative_writes"])

    def test_the_share_of_counter_writes_removed_is_of_those_asked_for(self) -> None:
        frame = cp.compare(["unencrypted", "secpm"], ["array"])
        none, secpm = frame["counter_writes_removed"]
        assert none is None
        row = frame.row(1, named=True)
        asked = row["nvm_counter_writes"] + row["wpq_counter_writes_coalesced"]
        assert secpm == row["wpq_counter_writes_coalesced"] / asked

    def test_bytes_tell_writes_of_different_length_apart(self) -> None:
        row = cp.compare(["unencrypted", "co-located-cc"], ["array"]).row(1, named=True)
        assert row["relative_write_bytes"] == pytest.approx(row["relative_writes"] * 72 / 64)

    def test_parts_of_reads_add_up_and_latencies_are_relative(self) -> None:
        table = cp.compare(["hw-log", "easy-pm"])
        assert tuple(table["workload"].unique(maintain_order=True)) == EASY_PM_WORKLOADS
        for row in table.iter_rows(named=True):
            assert row["relative_data_reads"] + row["relative_counter_reads"] == pytest.approx(row["relative_reads"])
        log, easy = (table.filter(design=name).row(0, named=True) for name in ("hw-log", "easy-pm"))
        assert easy["relative_reads"] == pytest.approx(easy["nvm_reads"] / log["nvm_reads"]) != 1
        latencies = (easy["l1_access_latency_ns"], log["l1_access_latency_ns"])
        assert easy["relative_l1_access_latency"] == pytest.approx(latencies[0] / latencies[1]) != 1

    def test_throughput_by_cores(self) -> None:
        table = cp.compare(["unencrypted", "sca"], ["array", "btree"], cores=[4, 1])
        single = {row["workload"]: row for row in table.filter(design="unencrypted", cores=1).iter_rows(named=True)}
        for row in table.iter_rows(named=True):
            start = single[row["workload"]]["throughput_tps"]
            assert row["scaled_throughput"] == pytest.approx(row["throughput_tps"] / start)
        measures = ("scaled_throughput", "relative_throughput")
        blocks = along(table.to_dicts(), "cores", measures)
        assert [block.workload for block in blocks] == ["array", "btree", "mean"]
        name, (at_start, at_same) = blocks[0].rows[0]
        over_start, over_same = ([one and one.mean for one in values] for values in (at_start, at_same))
        assert (name, over_same) == ("unencrypted", [1.0, 1.0])
        of = table.filter(design="unencrypted", workload="array").sort("cores")["throughput_tps"]
        assert over_start == [1.0, pytest.approx(of[1] / of[0])] and over_start[1] != 1
        array, btree, both = (block.rows[1][1][0][1] for block in blocks)
        assert array and btree and both
        assert both.mean == pytest.approx((array.mean + btree.mean) / 2)
        some = table.filter(~((pl.col("cores") == 4) & (pl.col("workload") == "btree")))
        missing = along(some.to_dicts(), "cores", measures)
        assert missing[2].rows[1][1][0][1] is None, "a mean over some of the workloads would mislead"

    def test_execution_time_is_that_of_as_many_transactions(self) -> None:
        table = cp.compare(["adr", "eadr"], ["array"], cores=[1, 2])
        assert table["baseline"].unique().to_list() == ["eadr"]
        adr, eadr = (table.filter(design=name, cores=2).row(0, named=True) for name in ("adr", "eadr"))
        assert adr["relative_execution_time"] == pytest.approx(eadr["throughput_tps"] / adr["throughput_tps"])
        assert eadr["relative_execution_time"] == 1.0
        (block,) = along(table.to_dicts(), "tx_size", ["relative_execution_time"])
        assert block.workload == "array"

    def test_the_cost_of_a_power_failure_has_parts(self) -> None:
        cost = cp.run("bbe", "array").stats.at_crash
        assert [part.name for part in cost.parts] == ["l1", "l2", "l3", "counter-cache", "encryption"]
        assert cost.drain_energy_mj == pytest.approx(sum(part.energy_mj for part in cost.parts))
        assert cost.dirty_fraction is not None and 0 < cost.dirty_fraction < 1
        assert cost.dirty_lines_fraction is not None and cost.dirty_fraction < cost.dirty_lines_fraction <= 1
        assert cp.run("secpm", "array").stats.at_crash.parts == ()
        table = cp.compare(["unencrypted", "bbe"], ["array"], tx_size=64)
        dirty = cp.run("bbe", "array", tx_size=64, machine="secpm").stats.at_crash.parts[0].dirty_bytes
        assert table["at_crash_parts_l1_dirty_bytes"].to_list() == [None, dirty] and dirty

    def test_a_point_without_its_baseline_has_no_ratios(self) -> None:
        runs = cp.run_matrix(["secpm"], ["array"])
        assert cp.frame(runs, "unencrypted")["relative_writes"].to_list() == [None]
        assert cp.frame([]).height == 0

    def test_progress_is_passed_on(self) -> None:
        seen: list[tuple[int, int]] = []
        cp.compare(["secpm"], ["array", "btree"], progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 2), (2, 2)]

    def test_crash_gives_a_verdict(self) -> None:
        assert cp.crash("secpm", "btree").holds
        assert cp.crash("bbe", "btree", nested=True).nested_points == 640
        deep = cp.crash("bbe", "btree", nested_depth=3, variant="published").violations[0]
        assert (deep.nested_event, deep.nested_events) == (3, (3, 1, 2))
        assert cp.crash("secpm", "btree", fault="staging-register").fault == "staging-register"
        with pytest.raises(cp.InputError, match="fault is '7'"):
            cp.crash("secpm", "btree", fault=7)  # type: ignore[arg-type]
        v = cp.crash("write-back", "btree", points=10, at_event=None)
        assert not v.holds
        assert v.violations[0].rule == "line"
        assert v.to_dict()["exercised"]["wpq_full"] == v.exercised.wpq_full > 0

    def test_replay_runs_every_design_that_runs_on_every_machine(self) -> None:
        names = catalogue.everywhere()
        assert [run.design for run in cp.replay("t.log")] == names
        assert {design.name for design in cp.designs()} - set(names) == {"optane-xts"}

    def test_catalogue_is_that_of_the_engine(self) -> None:
        known = json.loads(_engine.describe())
        assert {one.name: one.crash_consistent for one in cp.designs()} == {
            one["name"]: one["crash_consistent"] for one in known["designs"]
        }
        assert [workload.name for workload in cp.workloads() if not workload.has_log] == ["linked-list"]
        assert [machine.values for machine in cp.machines()] == [one["values"] for one in known["machines"]]
        assert [fault.designs for fault in cp.faults()] == [tuple(one["designs"]) for one in known["faults"]]

    def test_bad_input_is_a_value_error(self) -> None:
        with pytest.raises(cp.InputError, match="does not exist") as caught:
            cp.run("nothing", "btree")
        assert isinstance(caught.value, ValueError)
        for call in (lambda: cp.compare([], ["array"]), lambda: cp.replay("t", [])):
            with pytest.raises(cp.InputError, match="at least one design"):
                call()
        with pytest.raises(cp.InputError, match="points is 'True'"):
            cp.crash("secpm", "btree", points=True)

    def test_a_key_that_the_engine_forgot_is_named(self, fake: pytest.MonkeyPatch) -> None:
        document = fake_engine.run_document({"design": "secpm", "workload": "btree"})
        del document["nvm"]["energy_nj"]
        fake.setattr(_engine, "run_many", lambda *_: json.dumps({"results": [document]}))
        with pytest.raises(cp.EngineError, match="'energy_nj'"):
            cp.run("secpm", "btree")


_NUMBERS = st.integers(min_value=0, max_value=2**64 - 1)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "variant": st.sampled_from(["published", "hardened"]),
            "machine": st.text(min_size=1),
            "set": st.lists(st.text()),
            "transactions": _NUMBERS,
            "warmup": _NUMBERS,
            "cores": _NUMBERS,
            "seed": _NUMBERS,
            "tx_size": _NUMBERS,
            "footprint": _NUMBERS,
            "allow_truncated": st.just(True),
            "serial": st.just(True),
        },
    )
)
def test_a_request_survives_json_unchanged(options: dict[str, Any]) -> None:
    expected = {"design": "d", "workload": "w", **options}
    assert json.loads(json.dumps(request(RunOptions, "d", "w", options))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (64, 64),
        ("64", 64),
        ("64B", 64),
        ("1KiB", 1024),
        ("2 MiB", None),
        ("1GiB", 1 << 30),
        ("4KB", None),
        ("", None),
    ],
)
def test_sizes_as_people_write_them(text: int | str, expected: int | None) -> None:
    assert bytes_of(text) == expected


@given(st.integers().filter(lambda n: not 0 <= n < 2**64) | st.floats() | st.booleans())
def test_a_number_that_the_engine_cannot_read_is_refused(value: object) -> None:
    for name in ("transactions", "cores", "seed", "tx_size", "footprint"):
        if value is False:
            continue  # the same as not given
        with pytest.raises(cp.InputError, match=name):
            request(RunOptions, "d", "w", {name: value})


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(("name", "value"), [("tx_size", 64), ("cores", 2)])
def test_lists_are_bounded(name: str, value: int) -> None:
    options: dict[str, Any] = {name: [value] * LIST_MAX}
    assert len(cp.run_matrix(["secpm"], ["array"], **options)) == LIST_MAX
    with pytest.raises(cp.InputError, match=f"{name} has {LIST_MAX + 1} values; at most {LIST_MAX} are allowed"):
        cp.run_matrix(["secpm"], ["array"], **options | {name: [value] * (LIST_MAX + 1)})


def test_machine_values_are_given_as_text_or_as_values() -> None:
    given_values = {"engine.bytes": False, "controller.wpq_entries": 64, "device.t_wr_ns": 300.0}
    expected = ["engine.bytes=false", "controller.wpq_entries=64", "device.t_wr_ns=300.0"]
    assert request(RunOptions, "d", "w", {"set": given_values})["set"] == expected
    assert request(RunOptions, "d", "w", {"set": expected})["set"] == expected
    assert request(RunOptions, "d", "w", {"set": "a.b=1"})["set"] == ["a.b=1"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.size(0), "0 B"),
        (units.size(64), "64 B"),
        (units.size(1536), "1536 B"),
        (units.size(3 << 30), "3 GiB"),
        (units.time(999), "999 ns"),
        (units.time(1000), "1.00 µs"),
        (units.time(None), "-"),
        (units.percent(1.0), "100.0 %"),
        (units.percent(0.99999), ">99.9 %"),
        (units.percent(1e-6), "<0.1 %"),
        (units.percent(0.0), "0.0 %"),
        (units.count_of(1, "core"), "1 core"),
        (units.count_of(2000, "core"), "2,000 cores"),
        (units.ratio(1.005), "1.00"),
    ],
)
def test_figures_as_people_read_them(shown: str, expected: str) -> None:
    assert shown == expected


def test_runs_compare_by_their_figures_and_frames_are_polars() -> None:
    document = fake_engine.run_document({"design": "secpm", "workload": "btree"})
    assert Run.from_dict(document) == Run.from_dict(json.loads(json.dumps(document)))
    assert isinstance(cp.frame([Run.from_dict(document)]), pl.DataFrame)
