"""The papers' experiments: what is declared, how claims are judged, and that every claim is measured by real runs."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Cli
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import api
from counterpoint.matrix import parse
from counterpoint.papers import calibrate, charts, claims, declared, reproduce
from counterpoint.papers.declared import PAPERS, ChartSpec, ClaimSpec, experiments, paper
from counterpoint.papers.model import Claim
from counterpoint.papers.quantity import METRICS, Document, Key, Quantity, key_of
from counterpoint.report import calibration_page
from counterpoint.request import literal

ROOT = Path(__file__).parents[2]

#: The figures and tables that the papers' evaluations have, and the experiment of secpm section 3.4.3.
FIGURES = {
    "secpm": ["t1", "t2", "page-log", "f11", "f12", "f13", "f14", "f15"],
    "secpm-workshop": ["f8", "f9"],
    "counter-atomicity": ["f12", "f13", "f14", "f15", "f16", "f17"],
    "easy-pm": ["f5", "f6", "f7"],
    "sepencr": ["f3", "f10", "f11", "t3", "f12"],
}


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("scale", ["full", "quick", "calibration"])
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
    assert measured == dict.fromkeys(claims.published(), 1)


def test_footprints_are_the_papers() -> None:
    for figure in experiments("secpm", "full"):
        for matrix in figure.matrices.values():
            for point in matrix.points:
                if point.request["workload"] in cp.COMPARE_WORKLOADS:
                    large = "1GiB" if point.request["workload"] in ("array", "queue") else "2GiB"
                    assert point.request["footprint"] == large, figure.id


@pytest.mark.engine
@pytest.mark.parametrize("name", PAPERS)
def test_decisions_are_values_of_the_preset_and_ranges_the_engine_takes(name: str) -> None:
    preset = next(machine.values for machine in cp.machines() if machine.name == name)
    design = experiments(name, "quick")[-2].matrices[""].points[0].request["design"]
    decisions = paper(name).decisions
    for spec in decisions:
        assert spec.start in spec.range
        assert reproduce.preset_value(preset, spec.key) in spec.range
        section, key = spec.key.split(".")
        for value in spec.range:
            try:
                resolved = cp.resolve(design, "array", machine=name, set={spec.key: value})
            except cp.InputError as refused:
                # The engine names the value of the preset that this one does not go with: the search began at another.
                (other,) = (other for other in decisions if other is not spec and other.key in str(refused))
                resolved = cp.resolve(design, "array", machine=name, set={spec.key: value, other.key: other.start})
            assert resolved["machine"][section][key] == value


@pytest.mark.engine
@pytest.mark.parametrize("name", PAPERS)
def test_presets_have_what_the_published_search_chose(name: str) -> None:
    published = (ROOT / "docs" / "calibration" / f"{name}.md").read_text()
    section = published.split("## What the paper leaves open")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([a-z_.0-9]+)` \| (.+?) \| (.+?) \| \**([^|*]+)\** \| ", section, re.MULTILINE)
    preset = next(machine.values for machine in cp.machines() if machine.name == name)
    assert rows == [
        (
            spec.key,
            ", ".join(map(literal, spec.range)),
            literal(spec.start),
            literal(reproduce.preset_value(preset, spec.key)),
        )
        for spec in paper(name).decisions
    ]


def run(**figures: Any) -> Document:
    """A run with the figures that a test is about."""
    return {
        "transactions": 10,
        "simulated_ns": 1000.0,
        "throughput_tps": figures.get("throughput", 1e7),
        "nvm": {"writes": figures.get("writes", 1), "counter_writes": figures.get("counters", 0)},
        "transaction_latency_ns": {"mean": figures.get("latency", 1.0)},
        "counter_cache": {"hit_rate": figures.get("hit_rate")},
    }


def matrix_of(**axes: Sequence[Any]) -> Any:
    return parse({"base": {"workload": "array"}, "axes": {key: list(values) for key, values in axes.items()}}, "test")


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
    assert METRICS["miss_percent"](run(hit_rate=0.75)) == 25
    assert METRICS["runtime"]({**run(), "transactions": 0}) is None


#: What a claim of each kind allows, and values at its edges: inside, outside.
EDGES: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {
    "band": ({"low": 2.0, "high": 3.0, "tol": 0.25}, [1.75, 3.25], [1.7499, 3.25]),
    "average": ({"value": 10, "tol": 2}, [7, 17], [7, 17.01]),
    "order": ({"bound": 1.5}, [0, 1.5], [0, 1.5001]),
    "exact": ({"value": [1.25, 65]}, [1.2549, 65], [1.2551, 65]),
}


def judged(kind: str, entry: Mapping[str, Any], values: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> Claim:
    fields = {"id": "x.y", "paper": "x", "kind": kind, "what": "writes", **entry}
    monkeypatch.setattr(claims, "published", lambda: {"x.y": fields})
    names = [f"design-{place}" for place in range(len(values))]
    documents: dict[Key, Document] = {(name,): run(writes=value) for name, value in zip(names, values, strict=True)}
    return claims.judge(ClaimSpec("x.y", Quantity("writes")), matrix_of(design=names), documents)


@pytest.mark.parametrize("kind", EDGES)
def test_a_claim_holds_up_to_its_edge_and_not_beyond(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, inside, outside = EDGES[kind]
    held = judged(kind, entry, inside, monkeypatch)
    missed = judged(kind, entry, outside, monkeypatch)
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
    with pytest.MonkeyPatch.context() as patch:
        band = judged("band", {"low": low, "high": low + width, "tol": tolerance}, values, patch)
        assert band.holds == (min(values) >= low - tolerance and max(values) <= low + width + tolerance)
        average = judged("average", {"value": low, "tol": tolerance}, values, patch)
        assert average.holds == (abs(sum(values) / len(values) - low) <= tolerance)
        far = abs(sum(values) / len(values) - low) / tolerance - 1
        assert math.isclose(claims.misses(average)[0], 0 if average.holds else far, abs_tol=1e-9)


def test_points_of_a_claim_are_judged_each_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"id": "x.y", "paper": "x", "kind": "average", "what": "", "tol": 1, "by_tx_size": {"64": 10, "1024": 20}}
    monkeypatch.setattr(claims, "published", lambda: {"x.y": entry})
    matrix = matrix_of(design=["a", "b"], tx_size=[64, 128, 1024])
    documents = {key_of(point): run(writes=point.request["tx_size"] // 64 + 9) for point in matrix.points}
    claim = claims.judge(ClaimSpec("x.y", Quantity("writes")), matrix, documents)
    assert claim.measured == {"64": 10, "1024": 25}, "128 B is no point of the claim"
    assert [(row.at, row.holds) for row in claim.rows] == [("64 B", True), ("1 KiB", False)]
    assert claims.misses(claim) == [0, 4]


def test_a_mean_is_taken_before_a_band_is_held_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        claims,
        "published",
        lambda: {"x.y": {"id": "x.y", "paper": "x", "kind": "band", "what": "", "low": 5, "high": 5, "tol": 0.1}},
    )
    matrix = matrix_of(design=["a"], tx_size=[64, 128], seed=[1, 2])
    documents = {key_of(point): run(writes=point.request["seed"] * 4 - 1) for point in matrix.points}
    spec = ClaimSpec("x.y", Quantity("writes"), mean_over=("seed",))
    assert claims.judge(spec, matrix, documents).holds
    assert not claims.judge(replace(spec, mean_over=()), matrix, documents).holds


def test_a_missing_figure_is_said_and_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        claims, "published", lambda: {"x.y": {"id": "x.y", "paper": "x", "kind": "order", "what": "", "bound": 1}}
    )
    matrix = matrix_of(design=["a"])
    with pytest.raises(ValueError, match="has no hit_percent"):
        claims.judge(ClaimSpec("x.y", Quantity("hit_percent")), matrix, {("a",): run()})


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
    drawn = charts.chart(spec, matrix, documents, {"secure": "Secure PM"})
    assert [(mark.x, mark.series, mark.value) for mark in drawn.marks] == [
        ("64 B", "Secure PM", 2),
        ("1 KiB", "Secure PM", 32),
        ("average", "Secure PM", 17),
    ]
    shown = charts.numbers(drawn, 1)
    assert shown.header == ("", "64 B", "1 KiB", "average")
    assert shown.rows == (("Secure PM", "2.0", "32.0", "17.0"),)
    alone = charts.chart(replace(spec, series=None, average=False), matrix, documents, {})
    assert charts.numbers(alone, 0).rows == (("2", "32"),)
    with pytest.raises(ValueError, match="axis seed has no part"):
        charts.chart(replace(spec, mean_over=()), matrix, documents, {})


class Simulator:
    """Runs whose figures follow from three machine values: claims are met best with 8 circuits and 2 ranks, and
    a little better or worse with another width of the core."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, requests: Sequence[Mapping[str, Any]], **_: Any) -> list[Any]:
        self.asked += [json.dumps(request, sort_keys=True) for request in requests]
        return [self._run(request) for request in requests]

    def _run(self, request: Mapping[str, Any]) -> Any:
        values = dict(value.split("=") for value in request.get("set", ()))
        units, ranks = int(values["controller.aes_units"]), int(values["device.ranks"])
        more = 11.7 + 5 * abs(8 - units) + 20 * abs(2 - ranks)
        more += int(values["core.width"]) - 4 if request["design"] == "co-located" else 0
        slow = 1 + (more / 100 if request["design"] != "unencrypted" else 0)

        return SimpleNamespace(document={**run(throughput=1e7 / slow), "simulated_ns": 1000 * slow})


@pytest.mark.usefixtures("fake")
def test_the_search_finds_the_values_that_meet_the_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "counter-atomicity"
    shared = replace(
        paper(name),
        decisions=(
            declared.DecisionSpec("controller.aes_units", 4, (1, 2, 4, 8), ""),
            declared.DecisionSpec("device.ranks", 1, (1, 2, 3), ""),
            declared.DecisionSpec("core.width", 4, (3, 4, 5), ""),
        ),
    )
    simulator = Simulator()
    monkeypatch.setattr(calibrate, "paper", lambda _: shared)
    monkeypatch.setattr(api, "simulate", simulator)
    monkeypatch.setattr(
        api, "resolve_request", lambda asked: _refuse(asked) if "device.ranks=3" in asked["set"] else {}
    )
    found = calibrate.calibrate(name)
    assert dict(found.chosen.values) == {"controller.aes_units": 8, "device.ranks": 2, "core.width": 4}
    assert dict(found.start.values) == {"controller.aes_units": 4, "device.ranks": 1, "core.width": 4}
    widths = [trial.outcome.score for trial in found.rounds[-1].trials if trial.key == "core.width"]
    assert found.chosen.score < max(widths) <= found.chosen.score + calibrate.GAIN_MIN, "a gain of chance is not kept"
    assert found.chosen.score > found.start.score and found.ended
    assert found.rounds[-1].kept is found.rounds[-2].kept, "the last round changed nothing"
    refused = [trial for trial in found.rounds[-1].trials if trial.outcome.refused]
    assert [(trial.key, trial.value) for trial in refused] == [("device.ranks", 3)]
    assert max(Counter(simulator.asked).values()) == 1, "nothing is simulated twice"
    designs = {json.loads(asked)["design"] for asked in simulator.asked}
    assert "secpm" not in designs, "only what claims need is simulated"
    kinds = {claims.published()[claim.id]["kind"] for claim in found.chosen.claims}
    assert "exact" not in kinds
    shown = calibration_page.page(found)
    assert "| `device.ranks` | 1, 2, 3 | 1 | **2** |  |" in shown
    steps = re.findall(r"^\| (1|2) \| `(.+?)` \| (.+?) \|", shown, re.MULTILINE)
    assert steps == [("1", "controller.aes_units", "8"), ("1", "device.ranks", "2")]
    assert "| 3 | refused |" in shown and "| 8 (chosen) | " in shown


def _refuse(asked: Mapping[str, Any]) -> dict[str, Any]:
    raise cp.InputError(f"refused: {asked['set']}")


def test_a_score_falls_with_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [
        calibrate.score([judged("average", {"value": 10, "tol": 2}, [value], monkeypatch)])
        for value in (10, 12, 14, 90)
    ]
    assert scores[0] == scores[1] == 1 > scores[2] == 0.5 > scores[3] > 0


def test_a_paper_that_does_not_exist_is_refused(cli: Cli) -> None:
    found = cli("reproduce", "secmp", "--quick")
    assert found.code == 2
    assert found.err.startswith("error: paper 'secmp' does not exist") and "secpm-workshop" in found.err


def test_claims_are_those_of_the_file() -> None:
    document = tomllib.loads(resources.files("counterpoint.papers").joinpath("claims.toml").read_text())
    assert set(document["sets"]["five"]) == set(cp.COMPARE_WORKLOADS)
    assert document["sets"]["easy"] == list(cp.EASY_PM_WORKLOADS)
    for claim in document["claim"]:
        assert claim["kind"] in EDGES and claim["paper"] in PAPERS


@pytest.mark.engine
def test_every_claim_is_printed_with_what_was_measured(cli: Cli, tmp_path: Path) -> None:
    store = tmp_path / "runs.duckdb"
    found = cli("reproduce", "all", "--quick", "--json", "--store", str(store))
    document = json.loads(found.out)
    assert [claim["id"] for claim in document["claims"]] == list(claims.published())
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
    keys = {(entry["paper"], entry["key"]) for entry in document["assumptions"]}
    assert keys == {(name, spec.key) for name in PAPERS for spec in paper(name).decisions}
    with cp.Store(store, read_only=True) as kept:
        before = kept.rows("reproduce-all-quick")
    again = cp.reproduce("all", quick=True, store=store)
    assert json.loads(json.dumps(again.to_dict()["claims"])) == document["claims"]
    with cp.Store(store, read_only=True) as kept:
        assert kept.rows("reproduce-all-quick").equals(before), "what the store has is not simulated again"
        assert before["failure"].null_count() == before.height == int(again.facts["simulations"].replace(",", ""))
