"""The papers' experiments: what is declared, how claims are judged, and that every claim is measured by real runs."""

from __future__ import annotations

import json
import math
import statistics
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import pytest
from conftest import Cli
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

import counterpoint as cp
from counterpoint.contract.request import bytes_of
from counterpoint.papers import charts, claims, declared
from counterpoint.papers.declared import PAPERS, ChartSpec, ClaimSpec, Scale, experiments, paper
from counterpoint.papers.model import Claim, Sign
from counterpoint.papers.quantity import METRICS, Document, Key, Quantity, key_of
from counterpoint.runs.matrix import parse
from counterpoint.verbs import interval
from counterpoint.verbs.comparison import COMPARE_WORKLOADS, EASY_PM_WORKLOADS, SEPENCR_WARMUP_BYTES
from counterpoint.verbs.interval import estimate

ROOT = Path(__file__).parents[2]

#: The claims of the papers that are reproduced on their own machines.
OF_PAPERS = [name for name, claim in claims.published().items() if claim["paper"] in PAPERS]

#: The figures and tables that the papers' evaluations have, and the experiment of secpm section 3.4.3.
FIGURES = {
    "secpm": ["t1", "t2", "page-log", "f11", "f12", "f13", "f14", "f15"],
    "secpm-workshop": ["f8", "f9"],
    "counter-atomicity": ["f12", "f13", "f14", "f15", "f16", "f17"],
    "easy-pm": ["f5", "f6", "f7"],
    "sepencr": ["f3", "f10", "f11", "t3", "f12"],
}


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("scale", get_args(Scale))
def test_every_figure_is_declared_at_every_scale(name: str, scale: declared.Scale) -> None:
    found = experiments(name, scale)
    assert [experiment.id for experiment in found] == [f"{name}.{figure}" for figure in FIGURES[name]]
    for experiment in found:
        assert experiment.matrices or experiment.recoverability
        assert experiment.charts or experiment.tables or experiment.recoverability
        for matrix in experiment.matrices.values():
            assert {point.request["variant"] for point in matrix.points} == {"published"}
            assert {point.request["machine"] for point in matrix.points} == {name}
            if scale == "full":
                assert all(point.request["transactions"] >= 2000 for point in matrix.points)
                assert "footprint" not in matrix.base or matrix.base["footprint"] == "2GiB"


def test_every_claim_is_measured_once() -> None:
    measured = Counter(
        spec.id for name in PAPERS for experiment in experiments(name, "full") for spec in experiment.claims
    )
    assert measured == dict.fromkeys(OF_PAPERS, 1)


def test_a_search_simulates_what_the_figures_show_or_a_part_of_it_with_fewer_transactions_at_most() -> None:
    def shown(name: str, scale: Scale) -> dict[tuple[str, str], list[str]]:
        return {
            (experiment.id, matrix): [str({**point.request, "transactions": None}) for point in points.points]
            for experiment in experiments(name, scale)
            for matrix, points in experiment.matrices.items()
        }

    for name in PAPERS:
        whole, part = shown(name, "full"), shown(name, "calibration")
        if "axes" in paper(name).document["calibration"]:
            assert all(part[key] and set(part[key]) <= set(whole[key]) for key in whole), name
        else:
            assert part == whole, name


def test_footprints_are_the_papers() -> None:
    for figure in experiments("secpm", "full"):
        for matrix in figure.matrices.values():
            for point in matrix.points:
                if point.request["workload"] in COMPARE_WORKLOADS:
                    large = "1GiB" if point.request["workload"] in ("array", "queue") else "2GiB"
                    assert point.request["footprint"] == large, figure.id


def run(**figures: Any) -> Document:
    """A run with the figures that a test is about."""
    return {
        "transactions": 10,
        "simulated_ns": 1000.0,
        "throughput_tps": figures.get("throughput", 1e7),
        "nvm": {"writes": figures.get("writes", 1), "counter_writes": figures.get("counters", 0)},
        "transaction_latency_ns": {"mean": figures.get("latency", 1.0)},
        "counter_cache": dict(
            zip(("hits", "misses", "secondary_misses"), figures.get("lookups", (None,) * 3), strict=True)
        ),
    }


def matrix_of(**axes: Sequence[Any]) -> Any:
    return parse(
        {
            "base": {"workload": "array", "machine": "small"},
            "axes": {key: list(values) for key, values in axes.items()},
        },
        "test",
    )


def test_a_quantity_compares_runs_that_differ_in_what_it_says() -> None:
    matrix = matrix_of(design=["plain", "secure"], tx_size=[64, 128])
    runs = {("plain", 64): 10, ("plain", 128): 20, ("secure", 64): 15, ("secure", 128): 40}
    documents: dict[Key, Document] = {key: run(writes=value) for key, value in runs.items()}

    def of(form: Any, **over: Any) -> dict[Any, float | None]:
        return Quantity("writes", form, {"design": ("secure",)}, over).of(matrix, documents)

    assert of("value") == {("secure", 64): 15, ("secure", 128): 40}
    assert of("ratio", design="plain") == {("secure", 64): 1.5, ("secure", 128): 2}
    assert of("ratio", tx_size=64) == {("secure", 64): 1, ("secure", 128): 40 / 15}
    assert of("percent-more", design="plain", tx_size=64) == {("secure", 64): 50, ("secure", 128): 300}
    assert of("percent-less", design="plain") == {("secure", 64): -50, ("secure", 128): -100}


def test_keys_that_go_together_are_compared_together() -> None:
    document = {
        "base": {"workload": "array", "design": "secpm"},
        "zip": [{"controller.wpq_entries": [8, 16], "controller.wpq_high_watermark": [6, 12]}],
    }
    matrix = parse(document, "test")
    documents: dict[Key, Document] = {(8, 6): run(writes=8), (16, 12): run(writes=4)}
    found = Quantity("writes", "ratio", over={"controller.wpq_entries": 8}).of(matrix, documents)
    assert found == {(8, 6): 1, (16, 12): 0.5}


def test_a_share_of_nothing_is_no_figure() -> None:
    matrix = matrix_of(design=["plain", "secure"])
    documents: dict[Key, Document] = {("plain",): run(counters=0), ("secure",): run(counters=5)}
    assert Quantity("counter_writes", "ratio", over={"design": "plain"}).of(matrix, documents) == {
        ("plain",): None,
        ("secure",): None,
    }
    assert METRICS["hit_percent"](run()) is None
    assert METRICS["miss_percent"](run(lookups=(0, 0, 0))) is None
    assert METRICS["runtime"]({**run(), "transactions": 0}) is None


def test_a_lookup_of_a_counter_block_on_its_way_is_no_miss_of_the_papers() -> None:
    found = run(lookups=(60, 10, 30))
    assert (METRICS["miss_percent"](found), METRICS["hit_percent"](found)) == (10, 90)


#: What a claim of each kind allows, and values at its edges: inside, outside.
EDGES: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {
    "band": ({"low": 2.0, "high": 3.0, "tol": 0.25}, [1.75, 3.25], [1.7499, 3.25]),
    "average": ({"value": 10, "tol": 2}, [7, 17], [7, 17.01]),
    "order": ({"bound": 1.5}, [0, 1.5], [0, 1.5001]),
    "exact": ({"value": [1.25, 65]}, [1.2549, 65], [1.2551, 65]),
}


def judge(
    entry: Mapping[str, Any], matrix: Any, runs: Sequence[dict[Key, Document]], what: str = "writes", **spec: Any
) -> Claim:
    """A claim about runs, one set of them for each seed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "published", lambda: {"x.y": {"id": "x.y", "paper": "x", "what": what, **entry}})
        return claims.judge(ClaimSpec("x.y", Quantity(what), **spec), matrix, runs)


def judged(kind: str, entry: Mapping[str, Any], values: Sequence[float]) -> Claim:
    """A claim of the values of as many designs."""
    names = [f"design-{place}" for place in range(len(values))]
    documents: dict[Key, Document] = {(name,): run(writes=value) for name, value in zip(names, values, strict=True)}
    return judge({"kind": kind, **entry}, matrix_of(design=names), [documents])


@pytest.mark.parametrize("kind", EDGES)
def test_a_claim_holds_up_to_its_edge_and_not_beyond(kind: str) -> None:
    entry, inside, outside = EDGES[kind]
    held, missed = judged(kind, entry, inside), judged(kind, entry, outside)
    assert held.holds and claims.misses(held) == [0]
    assert not missed.holds and 0 < claims.misses(missed)[0] < 0.1


@given(
    values=st.lists(st.floats(-100, 100), min_size=1, max_size=6),
    low=st.floats(-50, 50),
    width=st.floats(0, 20),
    tolerance=st.floats(0.5, 10),
)
def test_bands_and_averages_agree_with_their_definition(
    values: list[float], low: float, width: float, tolerance: float
) -> None:
    band = judged("band", {"low": low, "high": low + width, "tol": tolerance}, values)
    assert band.holds == (min(values) >= low - tolerance and max(values) <= low + width + tolerance)
    average = judged("average", {"value": low, "tol": tolerance}, values)
    assert average.holds == (abs(sum(values) / len(values) - low) <= tolerance)
    far = abs(sum(values) / len(values) - low) / tolerance - 1
    assert math.isclose(claims.misses(average)[0], 0 if average.holds else far, abs_tol=1e-9)


def judged_over(kind: str, entry: Mapping[str, Any], seeds: Sequence[Sequence[float]], **spec: Any) -> Claim:
    """A claim of the values of two designs, a row for each seed."""
    runs: list[dict[Key, Document]] = [{("a",): run(writes=one), ("b",): run(writes=other)} for one, other in seeds]
    return judge({"kind": kind, **entry}, matrix_of(design=["a", "b"]), runs, **spec)


#: Half the interval of 95 % of 9, 10 and 11: 4.3027 / sqrt(3), with a standard deviation of 1.
HALF = estimate([9, 10, 11]).half or 0


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("band", {"low": 10 + HALF + 1, "high": 20, "tol": 1}),
        ("band", {"low": 0, "high": 10 - HALF - 1, "tol": 1}),
        ("average", {"value": 10 + HALF + 1 - 1e-12, "tol": 1}),  # sums of three numbers are rounded
        ("order", {"bound": 10 - HALF}),
    ],
)
def test_a_claim_holds_where_its_interval_meets_what_is_published(kind: str, entry: dict[str, Any]) -> None:
    seeds = [(9, 9), (10, 10), (11, 11)]
    assert judged_over(kind, entry, seeds).holds, "at the exact edge"
    assert not judged_over(kind, entry, [(10, 10), (10, 10), (10, 10)]).holds, "where seeds agree, it is missed"
    moved = {key: value + (0.001 if key == "low" or kind == "average" else -0.001) for key, value in entry.items()}
    moved["tol"] = entry.get("tol", 0)
    assert not judged_over(kind, moved, seeds).holds, "beyond the edge"


def test_intervals_are_those_of_students_t() -> None:
    values = [3.0, 5.0, 4.0, 8.0]
    for count in range(2, interval.SEEDS_MAX + 1):
        given = [values[place % 4] for place in range(count)]
        found = estimate(given)
        known = t.interval(0.95, count - 1, loc=statistics.fmean(given), scale=statistics.stdev(given) / count**0.5)
        assert (found.low, found.high) == pytest.approx(known, rel=1e-4)
    assert estimate([7.0]).half is None
    assert estimate([7.0, 7.0]).half == 0
    assert (estimate([7.0]).low, estimate([7.0]).said(1)) == (7, "7.0")
    assert estimate([9, 10, 11]).said(2) == "10.00 ± 2.48"


def test_a_claim_over_seeds_says_its_intervals() -> None:
    seeds = [(9, 19), (10, 20), (11, 24)]
    average = judged_over("average", {"value": 15, "tol": 1}, seeds)
    assert average.measured == pytest.approx(15.5)
    assert average.rows[0].measured == "15.50 ± 4.48", "the interval of the means 14, 15 and 17.5"
    assert [(one.of, one.mean) for one in average.intervals] == [("a", 10), ("b", 21), ("", 15.5)]
    assert average.intervals[0].low == pytest.approx(10 - HALF)
    best = judged_over("average", {"value": 21, "tol": 1}, seeds, pick="max")
    assert best.rows[0].measured == "21.00 ± 6.57 (b)"
    band = judged_over("band", {"low": 10, "high": 12, "tol": 0}, seeds)
    assert band.rows[0].measured == "10.00 ± 2.48 to 21.00 ± 6.57 (outside: b)"
    exact = judged_over("exact", {"value": [10, 20]}, [(10, 20), (10, 20)])
    assert exact.holds and not exact.intervals and "±" not in exact.rows[0].measured
    assert not judged_over("band", {"low": 10, "high": 12, "tol": 0}, seeds[:1]).intervals


def test_points_of_a_claim_are_judged_each_by_its_own() -> None:
    entry = {"kind": "average", "tol": 1, "by_tx_size": {"64": 10, "1024": 20}}
    matrix = matrix_of(design=["a", "b"], tx_size=[64, 128, 1024])
    documents = {key_of(point): run(writes=point.request["tx_size"] // 64 + 9) for point in matrix.points}
    claim = judge(entry, matrix, [documents])
    assert claim.measured == {"64": 10, "1024": 25}, "128 B is no point of the claim"
    assert [(row.at, row.holds) for row in claim.rows] == [("64 B", True), ("1 KiB", False)]
    assert claims.misses(claim) == [0, 4]


def test_a_mean_is_taken_before_a_band_is_held_against_it() -> None:
    entry = {"kind": "band", "low": 5, "high": 5, "tol": 0.1}
    matrix = matrix_of(design=["a"], tx_size=[64, 128], seed=[1, 2])
    documents = {key_of(point): run(writes=point.request["seed"] * 4 - 1) for point in matrix.points}
    assert judge(entry, matrix, [documents], mean_over=("seed",)).holds
    assert not judge(entry, matrix, [documents]).holds


def test_a_missing_figure_is_said_and_not_passed_over() -> None:
    with pytest.raises(ValueError, match="has no hit_percent"):
        judge({"kind": "order", "bound": 1}, matrix_of(design=["a"]), [{("a",): run()}], "hit_percent")


def test_a_chart_has_a_mark_for_each_place_and_the_mean_last() -> None:
    matrix = matrix_of(design=["plain", "secure"], tx_size=[64, 1024], seed=[1, 3])
    documents = {
        key_of(point): run(writes=point.request["tx_size"] // 64 * point.request["seed"]) for point in matrix.points
    }
    spec = ChartSpec(
        Quantity("writes", where={"design": ("secure",)}),
        x="tx_size",
        series="design",
        mean_over=("seed",),
        average=True,
    )
    drawn = charts.chart(spec, matrix, [documents], {"secure": "Secure PM"})
    assert [(mark.x, mark.series, mark.value) for mark in drawn.marks] == [
        ("64 B", "Secure PM", 2),
        ("1 KiB", "Secure PM", 32),
        ("average", "Secure PM", 17),
    ]
    shown = charts.numbers(drawn, 1)
    assert shown.header == ("", "64 B", "1 KiB", "average")
    assert shown.rows == (("Secure PM", "2.0", "32.0", "17.0"),)
    alone = charts.chart(replace(spec, series=None, average=False), matrix, [documents], {})
    assert charts.numbers(alone, 0).rows == (("2", "32"),)
    with pytest.raises(ValueError, match="axis seed has no part"):
        charts.chart(replace(spec, mean_over=()), matrix, [documents], {})


def test_charts_over_seeds_have_intervals() -> None:
    matrix = matrix_of(design=["plain", "secure"])
    runs: list[dict[Key, Document]] = [
        {("plain",): run(writes=10), ("secure",): run(writes=value)} for value in (19, 20, 21)
    ]
    spec = ChartSpec(Quantity("writes"), x="design", average=True)
    drawn = charts.chart(spec, matrix, runs, {})
    assert [(mark.x, mark.value) for mark in drawn.marks] == [("plain", 10), ("secure", 20), ("average", 15)]
    assert [mark.half for mark in drawn.marks] == pytest.approx([0, HALF, HALF / 2])
    assert charts.numbers(drawn, 1).rows == (("10.0 ± 0.0", "20.0 ± 2.5", "15.0 ± 1.2"),)
    nothing: list[dict[Key, Document]] = [{("plain",): run(), ("secure",): run(lookups=(4, 5, 1))}] * 2
    shown = charts.chart(ChartSpec(Quantity("hit_percent"), x="design"), matrix, nothing, {})
    assert [(mark.value, mark.half) for mark in shown.marks] == [(None, None), (50, 0)]


@pytest.mark.engine
def test_figures_are_measured_with_several_seeds() -> None:
    found = cp.reproduce("secpm-workshop", quick=True, seeds=2)
    single = cp.reproduce("secpm-workshop", quick=True)
    assert (found.seeds, single.seeds) == (2, 1)
    assert (found.facts["seeds"], single.facts["seed"]) == ("1, 2", "1")
    assert found.facts["machines"] == "secpm-workshop"
    assert int(found.facts["simulations"]) == 2 * int(single.facts["simulations"])
    for several, one in zip(found.claims, single.claims, strict=True):
        assert several.intervals and not one.intervals
        assert all(each.low <= each.mean <= each.high for each in several.intervals)
    marks = [mark for figure in found.figures for chart in figure.charts for mark in chart.marks]
    assert all(mark.half is not None for mark in marks) and any(mark.half for mark in marks)
    assert "±" in found.claims[0].detail and "±" in found.figures[0].tables[0].rows[-1][-1]
    assert found.to_dict()["claims"][0]["intervals"][0].keys() == {"at", "of", "mean", "low", "high"}


def test_claims_are_those_of_the_file() -> None:
    document = tomllib.loads(resources.files("counterpoint.papers").joinpath("claims.toml").read_text())
    assert set(document["sets"]["five"]) == set(COMPARE_WORKLOADS)
    assert document["sets"]["easy"] == list(EASY_PM_WORKLOADS)
    for claim in document["claim"]:
        assert claim["kind"] in EDGES and claim["paper"] in PAPERS


@pytest.mark.engine
def test_every_claim_is_printed_with_what_was_measured(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    found = cli("reproduce", "all", "--quick", "--json", "--store", str(store))
    document = json.loads(found.out)
    assert [claim["id"] for claim in document["claims"]] == OF_PAPERS
    for claim in document["claims"]:
        assert {"paper", "published", "measured", "tolerance", "holds", "detail"} <= claim.keys()
        assert claim["measured"] is not None and claim["detail"]
    assert found.code == (0 if all(claim["holds"] for claim in document["claims"]) else 1)
    held = {claim["id"]: claim["measured"] for claim in document["claims"] if claim["holds"]}
    assert held["secpm.page-log-writes"] == [128, 65]
    assert held["sepencr.t3"] == [47.7343, 29.7539, 54.4297]
    assert [figure["id"] for figure in document["figures"]] == [f"{p}.{f}" for p in PAPERS for f in FIGURES[p]]
    for figure in document["figures"]:
        for chart in figure["charts"]:
            assert any(mark["value"] is not None for mark in chart["marks"]), figure["id"]
            places = {(mark["panel"], mark["x"], mark["series"]) for mark in chart["marks"]}
            assert {(mark["panel"], mark["x"], mark["series"]) for mark in chart["published"]} <= places
    assert all(entry["verdict"] in get_args(Sign) and entry["shown"] for entry in document["directions"])
    assert all(entry["rows"] or entry["reason"] for entry in document["directions"])
    keys = {(entry["paper"], entry["key"]) for entry in document["assumptions"]}
    assert keys == {(name, spec.name) for name in PAPERS for spec in paper(name).decisions}
    with cp.Store(store, read_only=True) as kept:
        before = kept.rows("reproduce-all-quick")
    again = cp.reproduce("all", quick=True, store=store)
    assert json.loads(json.dumps(again.to_dict()["claims"])) == document["claims"]
    with cp.Store(store, read_only=True) as kept:
        assert kept.rows("reproduce-all-quick").equals(before), "what the store has is not simulated again"
        assert before["failure"].null_count() == before.height == int(again.facts["simulations"].replace(",", ""))


def test_sepencr_warms_up_by_bytes_in_its_figures_and_in_compare() -> None:
    written = bytes_of(paper("sepencr").document["full"][declared.WARMUP_BYTES])
    assert written == SEPENCR_WARMUP_BYTES
    points = [
        one for figure in experiments("sepencr", "full") for matrix in figure.matrices.values() for one in matrix.points
    ]
    assert points and all(one.request["warmup"] == written // one.request["tx_size"] for one in points)
    changed = experiments("sepencr", "full", {declared.WARMUP_BYTES: "64KiB"})[0].matrices[""].points[0].request
    assert changed["warmup"] == 65536 // changed["tx_size"]
    assert {one.request["warmup"] for one in experiments("sepencr", "quick")[0].matrices[""].points} == {40}
