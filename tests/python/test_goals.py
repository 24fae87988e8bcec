"""Goals of searches: what a file says, what it may not say, and the space of candidates that it describes."""

from __future__ import annotations

from html import unescape
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import counterpoint as cp
from counterpoint.cli.search_table import search_tables
from counterpoint.contract.request import Variant
from counterpoint.searches import figures, goals, search
from counterpoint.searches.front import dominates, front
from counterpoint.searches.goals import Limit, Objective
from counterpoint.searches.space import PART, Candidate, Dimension, Space, When, candidate, differences
from counterpoint.searches.verdict import Judged
from counterpoint.verbs import api, catalogue

_WRITES = {"objectives": {"nvm_writes": "minimise"}}


_NO_VALUES: list[tuple[dict[str, Any], str]] = [
    (
        {"design.write_path": ["staged-pair", "write-trough"]},
        "goals: space.design.write_path: write_path 'write-trough' does not exist: did you mean 'write-through'?",
    ),
    ({"design.write_path": [3]}, "space.design.write_path: write_path = 3 must be a name"),
    ({"design.recovery": [["rebuild-three"]]}, "did you mean 'rebuild-tree'?"),
    *[
        ({"controller.wpq_entries": [64, value]}, f"{said} must be a whole number from 2 to 4096")
        for value, said in [
            ("abc", 'space.controller.wpq_entries: controller.wpq_entries = "abc"'),
            (-5, " = -5"),
            (1e300, "0..."),
            (True, " = true"),
            (4097, " = 4097"),
            (1, " = 1"),
        ]
    ],
    ({"controller.wpq_entries": {"from": 1, "to": 64}}, "controller.wpq_entries = 1 must be a whole number from 2"),
    ({"device.t_wr_ns": [float("nan")]}, "space.device.t_wr_ns: device.t_wr_ns = nan must be"),
    ({"controller.wpq_entries": [64, 32, 64]}, "space.controller.wpq_entries has the same values twice"),
    ({"device.t_wr_ns": {"from": 0, "to": 1000}}, "space.device.t_wr_ns has 1001 values; at most 1000 are allowed"),
    ({"zip": [{"controller.policy": ["gem6"]}]}, "space.zip 1: controller.policy: "),
    ({"zip": [{"l1.ways": [4, 8, 4], "l2.ways": [4, 4, 4]}]}, "space.zip 1 has the same values twice"),
    ({"design.recovery": "all"}, "must be a list of steps"),
    ({"controller": {"wpq_entry": [1]}}, "controller.wpq_entry: there is no key 'controller.wpq_entry': did you mean"),
    ({"design": {"secret": [True]}}, "what a design promises does not vary"),
    ({"design": {"write_paths": "all"}}, "there is no part 'write_paths': did you mean"),
    ({"design": {"write_path": "any"}}, 'it must be a list of values, or "all"'),
    ({"zip": [{"log.iv": ["per-bucket"], "l1.ways": [1, 2]}]}, "must be of one length (log.iv has 1, l1.ways has 2)"),
    ({"zip": [3]}, "space.zip 1 is 3"),
    ({"zip": 3}, "space.zip is 3; it must be tables"),
    (
        {"l1.ways": [4, 8], "zip": [{"l1.ways": [4], "l2.ways": [8]}]},
        "l1.ways is given twice, in space and in space.zip 1",
    ),
    (
        {
            **{f"l{n}.{key}": {"from": 1, "to": 1000} for n in (1, 2, 3) for key in ("latency_cycles", "mshrs")},
            "controller.wpq_entries": {"from": 2, "to": 1001},
        },
        f"the space has {10**21} points; at most {10**18} are allowed",
    ),
    ({"design.recovery": [[{"step": "rebuild-tree"}]]}, "must be a list of steps"),
]
"""Values of a space that no part and no machine has."""

_NO_LIMITS: list[tuple[str, dict[str, Any], str]] = [
    ("nvm_write", {"at_most": 3}, "limits: there is no figure 'nvm_write': did you mean 'nvm_writes'?"),
    ("nvm_writes", {"at_most": float("nan")}, "limits.nvm_writes.at_most is nan; it must be a finite number"),
    ("nvm_writes", {"at_least": float("inf")}, "limits.nvm_writes.at_least is inf; it must be a finite number"),
    ("nvm_writes", {"at_most": -1}, "limits.nvm_writes.at_most is -1; it must be at least 0"),
    ("nvm_writes", {"at_most": 3, "at_least": 4}, "at_most is 3 and at_least is 4, and no value is within both"),
    (
        "counter_cache_hit_rate",
        {"at_least": 1.5},
        "at_least is 1.5; it must be at most 1, because the figure is a share",
    ),
]
"""Limits that no figure can meet."""


def _when(reset: str, ways: int) -> dict[str, Any]:
    """A condition on a space of two dimensions."""
    space = {"base": "secpm", "design.minor_reset": ["at-once", "with-done-bit"], "l1.ways": [4, 8]}
    return {"space": space, "when": [{"design.minor_reset": [reset], "then": {"l1.ways": [ways]}}]}


def read(**tables: Any) -> goals.Goals:
    return goals.load({"space": {"designs": ["secpm"]}, **_WRITES, **tables})


def test_a_file_of_ten_lines_describes_a_search(tmp_path: Path) -> None:
    file = tmp_path / "family.toml"
    file.write_text(
        'workloads = ["queue"]\n[run]\nmachine = "secpm"\ncontroller.aes_units = 2\n[space]\n'
        'designs = ["secpm", "secpm-no-cwr"]\ncontroller.wpq_entries = { from = 16, to = 64, factor = 2 }\n'
        '[objectives]\nnvm_writes = "minimise"\nthroughput_tps = { goal = "maximise", over = "min" }\n'
        "[limits]\non_chip_bytes = { at_most = 4096 }\n"
    )
    found = goals.load(file)
    assert (found.name, found.workloads, found.references[:2]) == ("family", ("queue",), ("secpm", "secpm-no-cwr"))
    assert found.run == {"machine": "secpm", "set": ["controller.aes_units=2"]}
    assert found.space.base == "secpm"
    assert [(one.keys, one.rows) for one in found.space.dimensions] == [
        (("design.counter_coalescing",), (("in-wpq",), ("off",))),
        (("controller.wpq_entries",), ((16,), (32,), (64,))),
    ]
    assert found.objectives == (Objective("nvm_writes", 1), Objective("throughput_tps", -1, "min"))
    assert found.limits == (Limit("on_chip_bytes", 4096, None),)
    assert found.space.size == 6


def test_every_value_of_a_part_leaves_out_the_seeded_faults() -> None:
    (one,) = read(space={"base": "secpm", "design": {"minor_reset": "all"}}).space.dimensions
    assert one == Dimension(("design.minor_reset",), (("at-once",), ("with-done-bit",)))


def test_values_that_are_stated_replace_those_of_the_designs() -> None:
    space = read(
        space={"designs": ["secpm", "write-through"], "design": {"write_path": ["deferred"], "recovery": [[]]}}
    ).space
    rows = {one.keys: one.rows for one in space.dimensions}
    assert rows[("design.write_path",)] == (("deferred",),)
    assert rows[("design.recovery",)] == (((),),)
    assert "recovery" not in space.fixed


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"objectives": {}}, "there are no objectives"),
        (
            {"objectives": {"nvm_writes": "less"}},
            "objectives.nvm_writes is 'less'; it must be 'minimise' or 'maximise'",
        ),
        ({"objectives": {"nvm_writes": {"goal": "minimise", "over": "sum"}}}, "over is 'sum'; it must be one of mean"),
        ({"goals": {}}, "goals does not exist"),
        ({"workload": ["array"]}, "workload does not exist: did you mean 'workloads'?"),
        ({"workloads": []}, "workloads is []; it must be a list of names"),
        ({"workloads": ["arry"]}, "workload 'arry' does not exist"),
        ({"candidates": 0}, "candidates is 0; it must be from 1 to 1000000"),
        ({"candidates": "many"}, "candidates"),
        ({"run": {"transaction": 3}}, "run.transaction does not exist: did you mean 'transactions'?"),
        ({"run": {"variant": "printed"}}, "run.variant is 'printed'; it must be published or hardened"),
        ({"run": {"design": {"write_path": "deferred"}}}, "run.design.write_path does not exist"),
        ({"promise": {"line_atomic": "some"}}, "promise.line_atomic is 'some'; it must be one of none, marked, every"),
        ({"promise": {"secret": 1}}, "promise.secret is 1; it must be true or false"),
        ({"promise": {"atomic": True}}, "promise.atomic does not exist"),
        ({"space": {}}, "space has neither a base nor designs"),
        ({"space": {"designs": ["secpn"]}}, "design 'secpn' does not exist"),
        ({"space": {"base": "secpm", "wpq_entries": [1]}}, "space.wpq_entries does not exist"),
        ({"when": [{"a.b": [1]}]}, "when 1 has no table 'then'"),
        ({"when": [{"a.b": [1], "then": {"c.d": [1]}}]}, "when 1: a.b does not vary"),
        ({"limits": {"nvm_writes": 3}}, "limits.nvm_writes is 3; it must be a table with at_most or at_least"),
        ({"limits": {"nvm_writes": {"at_most": "3"}}}, "limits.nvm_writes.at_most is '3'; it must be a number"),
        *[({"space": {"base": "secpm", **table}}, said) for table, said in _NO_VALUES],
        *[({"limits": {figure: limit}}, said) for figure, limit, said in _NO_LIMITS],
        ({"objectives": {"integrity": "minimise"}}, "objectives: there is no figure 'integrity'"),
        ({"workloads": [""]}, "workload '' does not exist"),
        ({"workloads": ["/dev/null"]}, "/dev/null: a trace is read several times, so it must be a regular file"),
        ({"workloads": [__file__]}, "test_goals.py"),
        (
            {"run": {"l1.ways": 8}, "space": {"base": "secpm", "l1.ways": [4, 8]}},
            "l1.ways is given twice, in run and in space",
        ),
        (
            _when("at-once", 16),
            "when 1: l1.ways: the space has no l1.ways = 16 (known: 4, 8)",
        ),
        (
            _when("at-one", 4),
            "when 1: design.minor_reset: minor_reset 'at-one' does not exist: did you mean 'at-once'?",
        ),
    ],
)
def test_faulty_goals_are_refused_before_anything_is_computed(
    tables: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "computing", None)
    with pytest.raises(cp.InputError) as refused:
        cp.search({"space": {"designs": ["secpm"]}, **_WRITES, **tables})
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


SPACE = Space(
    "secpm",
    "hardened",
    {},
    (
        Dimension(("design.integrity",), (("none",), ("bonsai-tree",))),
        Dimension(("design.tree_update",), (("eager",), ("lazy",))),
        Dimension(("integrity.stop_loss",), ((1,), (4,))),
    ),
    (When({"design.integrity": ("none",)}, {"integrity.stop_loss": (1,)}),),
)


def test_parts_without_an_effect_make_no_other_candidate() -> None:
    some = {SPACE.candidate((0, update, 0)) for update in (0, 1)}
    assert len(some) == 1
    (one,) = some
    assert "tree_update" not in one.parts
    assert one.sets == ("integrity.stop_loss=1",)


def test_a_candidate_is_the_same_machine_as_its_settings_on_the_base() -> None:
    one = SPACE.candidate((1, 1, 1))
    resolved = api.resolve(one.base, "queue", set=one.sets)
    stated = {key: list(value) if isinstance(value, tuple) else value for key, value in one.parts.items()}
    assert resolved["parts"] == stated
    assert resolved["machine"]["integrity"]["stop_loss"] == 4


def test_conditions_mend_a_point_and_leave_one_that_keeps_them() -> None:
    for point in SPACE.points():
        mended = SPACE.mended(point)
        if point[0] == 0:
            assert mended == (0, point[1], 0)
        else:
            assert mended == point


def test_a_space_of_designs_has_each_of_them() -> None:
    """Also where parts of one design have no effect in another."""
    # A space of all of them has more points than are allowed.
    sets = {
        name
        for name in catalogue.everywhere()
        if any(key.startswith(catalogue.SET) for key in catalogue.effective_parts(name))
    }
    assert sets == {"thoth"}
    names = [name for name in catalogue.everywhere() if name not in sets]
    space = read(space={"designs": names}).space
    pinned = {PART + key: value for key, value in goals.Promise().parts.items()}
    for name in names:
        parts = catalogue.effective_parts(name)
        point = tuple(
            next((place for place, (value,) in enumerate(one.rows) if parts.get(one.keys[0][len(PART) :]) == value), 0)
            for one in space.dimensions
        )
        found = space.candidate(point)
        assert found.parts == candidate(name, "hardened", pinned).parts, name


def test_differences_name_what_has_no_effect() -> None:
    changed = differences(SPACE.candidate((0, 0, 0)), SPACE.candidate((1, 0, 0)))
    assert changed["design.integrity"] == ("none", "bonsai-tree")
    assert changed["design.tree_update"] == (None, "eager")
    assert "integrity.stop_loss" not in changed


def test_a_contradiction_is_no_candidate() -> None:
    space = Space("secpm", "hardened", {"write_path": "ready-pairs"}, ())
    with pytest.raises(cp.InputError, match="needs write_queues"):
        space.candidate(())


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), max_size=30))
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int, bool]]) -> None:
    objectives = (Objective("a", 1), Objective("b", -1))
    judged = [
        Judged(
            Candidate(f"{number:064}", "secpm", {}, {}, ()),
            "holds" if holds else "refuted",
            figures={"a": float(a), "b": float(b)},
        )
        for number, (a, b, holds) in enumerate(points)
    ]
    kept = [(a, b) for a, b, holds in points if holds]
    best = {(a, b) for a, b in kept if not any(c <= a and d >= b and (c, d) != (a, b) for c, d in kept)}
    found = [(one.figures["a"], one.figures["b"]) for one in front(judged, objectives)]
    assert set(found) == best
    assert len(found) == sum(point in best for point in kept), "of equal ones all"


def test_dominance_needs_something_better() -> None:
    assert dominates((1, 2), (1, 3))
    assert not dominates((1, 2), (1, 2))
    assert not dominates((1, 2), (0, 3))


@pytest.mark.parametrize(
    ("limit", "value", "excess"),
    [
        (Limit("x", 10, None), 10, 0.0),
        (Limit("x", 10, None), 15, 0.5),
        (Limit("x", None, 4), 3, 0.25),
        (Limit("x", 0, None), 3, 3.0),
        (Limit("x", 10, 4), 5, 0.0),
        (Limit("x", 10, None), None, 1.0),
    ],
)
def test_the_excess_of_a_limit_is_a_share_of_it(limit: Limit, value: float | None, excess: float) -> None:
    assert limit.excess(value) == excess


def test_effective_parts_are_those_of_the_list_of_parts() -> None:
    known = {part.key for part in cp.parts()}
    for design, variant in product(cp.designs(), get_args(Variant)):
        found = catalogue.effective_parts(design.name, variant=variant)
        assert {key for key in found if not key.startswith(catalogue.SET)} <= known
        stated = {
            key: tuple(v) if isinstance(v, list) else v
            for key, v in catalogue.design_parts(design.name, variant).items()
        }
        assert found == stated
    assert PART not in "".join(known)


def test_values_that_go_together_may_repeat() -> None:
    (one,) = read(space={"base": "secpm", "zip": [{"l1.ways": [4, 8, 4], "l2.ways": [4, 4, 8]}]}).space.dimensions
    assert one.rows == ((4, 4), (8, 4), (4, 8))


def test_limits_at_their_edges_can_be_met() -> None:
    for limit in ({"at_most": 0}, {"at_least": 3, "at_most": 3}):
        assert read(limits={"nvm_writes": limit}).limits
    assert read(limits={"counter_cache_hit_rate": {"at_least": 1}}).limits


def test_figures_are_those_of_documents(tmp_path: Path) -> None:
    found: set[str] = set()
    groups = {
        "integrity",
        "recorded",
        "recorded_assumed",
        "no_writes",
        "nvm_modules",
    }  # where a run has no figures of that kind, and sentences
    for design, machine in (
        ("secpm-tree", "secpm"),
        ("bbe", "sepencr"),
        ("unencrypted", "small"),
        ("unencrypted", "optane"),
    ):
        run = cp.run(design, "array", machine=machine, transactions=3, warmup=0, footprint="64KiB")
        found |= set(figures.of_run(run.document)) - groups
        (cost,) = cp.recovery([design], machine=machine, memory=[], measure=False)
        found |= set(figures.of_recovery(cost.document))
    recorded = cp.replay(Path(__file__).parents[1] / "data" / "btree-5.pmemcheck.log", ["secpm"])
    found |= set(figures.of_run(recorded[0].document)) - groups
    lines = tmp_path / "t.trace"
    lines.write_text("0x40 READ 3\n0x80 WRITE 4\n")
    for run_of_lines in cp.replay_lines(lines, ["secpm-tree", "unencrypted"], machine="optane"):
        found |= set(figures.of_run(run_of_lines.document)) - groups - {"trace_clock_mhz"}
    assert found <= set(figures.known())
    assert {"boot_time_ns", "integrity_hit_rate", "at_crash_parts_l1_energy_mj", "recorded_fences"} <= found
    assert set(figures.known()) == found, "a name that no document has would be taken for a figure"


def test_every_point_of_a_space_is_accounted_for(tmp_path: Path) -> None:
    """Of the watermarks, 24 is above a queue of 16; a condition leaves one point out."""
    space = {
        "base": "secpm",
        "controller": {"wpq_entries": [16, 64], "wpq_high_watermark": [12, 24], "wpq_low_watermark": [4]},
        "design": {"minor_reset": ["at-once", "with-done-bit"]},
    }
    spec = {
        "workloads": ["linked-list"],
        "run": {"machine": "small", "transactions": 3, "footprint": "64KiB", "eadr.battery": "write-only"},
        "space": space,
        "when": [{"design.minor_reset": ["with-done-bit"], "then": {"controller.wpq_entries": [64]}}],
        "references": ["bbe", "secpm"],
        **_WRITES,
    }
    report = cp.search(spec, tmp_path / "s.duckdb", workers=1)
    assert (report.goals.space.size, report.points.tried, report.points.left_out) == (8, 8, 2)
    assert report.points.refusals == 1
    (why,) = report.points.refused
    assert "controller.wpq_high_watermark = 24 must be at most controller.wpq_entries = 16" in why
    assert len(report.judged) == 5
    document = report.to_dict()
    assert document["points_refused"] == {"points": 1, "reasons": [{"sentence": why, "points": 1}]}
    assert (document["points"], document["points_tried"], document["points_left_out"]) == (8, 8, 2)
    assert [one.design for one in report.references] == ["secpm"]
    assert document["unfit"] == [{"design": "bbe", "why": report.unfit["bbe"]}]
    assert "eadr.battery = write-only" in report.unfit["bbe"]
    page = cp.write_search_page(report, tmp_path).read_text()
    assert "<summary>Refused: " in page
    assert "1 of the 8 points that were tried" in page
    assert f'<tr><td class="words">1</td><td class="words">{why}</td></tr>' in unescape(page)
    assert "<summary>Not judged: " in page
    console = Console(record=True, width=200, file=StringIO())
    console.print(search_tables(report))
    shown = console.export_text()
    assert "1 point of 8 tried refused by the engine:" in shown
    assert "2 points left out by the conditions of the goals." in shown
    assert "Not judged, because the engine does not accept them" in shown
    assert "  bbe: eadr.battery = write-only" in shown


def test_a_figure_that_no_candidate_has_is_named(tmp_path: Path) -> None:
    spec = {
        "workloads": ["linked-list"],
        "run": {"machine": "small", "transactions": 3, "footprint": "64KiB"},
        "space": {"base": "secpm", "design": {"counter_coalescing": ["in-wpq"]}},
        "references": [],
        "objectives": {"recorded_fences": "minimise"},
    }
    report = cp.search(spec, tmp_path / "s.duckdb", workers=1)
    assert report.lacking == ["recorded_fences"]
    assert [one.why for one in report.judged] == ["it has no figure recorded_fences"]
    assert "none has a value of recorded_fences" in cp.write_search_page(report, tmp_path).read_text()
