"""Published results on integrity trees, predicted on one machine: what is run, and how it is judged."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.papers import calibrate, charts, claims, reproduce
from counterpoint.papers.declared import PAPERS, PREDICTIONS, ChartSpec, ClaimSpec, TableSpec, experiments, paper
from counterpoint.papers.quantity import METRICS, Document, Key, Quantity, key_of
from counterpoint.report import colours
from counterpoint.runs.matrix import Matrix, parse
from counterpoint.verbs.api import resolve_request
from counterpoint.verbs.comparison import COMPARE_WORKLOADS

ROOT = Path(__file__).parents[2]
PREDICTED = {name: claim for name, claim in claims.published().items() if claim["paper"] == "integrity"}


@pytest.mark.parametrize("scale", ["full", "quick"])
def test_predictions_are_made_on_one_machine_and_nothing_is_fitted(scale: Any) -> None:
    found = experiments("integrity", scale)
    names = ("costs", "counter-trees", "boots", "drains", "since", "causes")
    assert [one.id for one in found] == [f"integrity.{name}" for name in names]
    assert not paper("integrity").decisions
    for experiment in found:
        assert experiment.charts or experiment.tables
        for matrix in experiment.matrices.values():
            for point in matrix.points:
                assert (point.request["machine"], point.request["variant"]) == ("secpm", "published")
    costs = found[0].matrices[""]
    assert set(costs.base) - {"footprint"} == {"machine", "variant", "transactions", "cores", "engine.bytes"}
    assert set(costs.axes["workload"]) == set(COMPARE_WORKLOADS)


def test_every_prediction_is_measured_once_and_says_where_it_is_published() -> None:
    measured = Counter(spec.id for one in experiments("integrity", "full") for spec in one.claims)
    assert measured == dict.fromkeys(PREDICTED, 1)
    for claim in claims.published().values():
        assert bool(claim.get("source")) == (claim["paper"] in PREDICTIONS), claim["id"]
        assert claim["paper"] in (*PAPERS, *PREDICTIONS)
    of_papers = tomllib.loads((ROOT / "validation" / "claims.toml").read_text())["claim"]
    measured_of_modules = tomllib.loads((ROOT / "validation" / "measurements.toml").read_text())["claim"]
    all_of_them = len(of_papers) + len(PREDICTED) + len(measured_of_modules)
    assert all_of_them == len(claims.published()), "no claim has the name of another"


def bands(claim: dict[str, Any]) -> list[tuple[float, float]]:
    """The published values of a claim with their tolerances."""
    if "by_design" in claim:
        return [(value, claim["tol_by_design"][design]) for design, value in claim["by_design"].items()]
    return [(claim["value"], claim["tol"])] if "value" in claim else []


@pytest.mark.parametrize("name", PREDICTED)
def test_tolerances_follow_their_rule(name: str) -> None:
    claim = PREDICTED[name]
    for value, tolerance in bands(claim):
        if claim["what"].startswith("seconds"):
            # Half of the last digit of 8 hours, 0.03 s and 0.020 s.
            assert tolerance == {28_800: 1_800, 0.03: 0.005, 0.02: 0.0005}[value]
        elif claim["what"].startswith(("throughput", "times")):
            assert tolerance == pytest.approx(value / 10)
        else:
            assert tolerance == pytest.approx(max(2, value / 4), abs=0.051)


def test_all_papers_are_those_on_their_own_machines_and_none_is_searched_for_predictions() -> None:
    assert reproduce.names_of("all") == PAPERS
    assert not set(PAPERS) & set(PREDICTIONS)
    assert reproduce.names_of("integrity") == ("integrity",)
    with pytest.raises(cp.InputError, match="paper 'integrity' does not exist"):
        calibrate.cited_by("integrity")


def writes(count: int | None) -> Document:
    return {"nvm": {"writes": count}}


def designs(*names: str) -> Matrix:
    return parse({"base": {"workload": "array", "machine": "small"}, "axes": {"design": list(names)}}, "test")


def test_differences_to_a_third_run_are_compared() -> None:
    matrix = designs("plain", "large", "small")
    documents: dict[Key, Document] = {("plain",): writes(100), ("large",): writes(200), ("small",): writes(113)}

    def of(form: Any, beyond: dict[str, Any], **over: Any) -> float | None:
        return Quantity("writes", form, {"design": ("small",)}, over, beyond).of(matrix, documents)[("small",)]

    assert of("percent-less", {"design": "plain"}, design="large") == pytest.approx(87)
    assert of("percent-less", {}, design="large") == pytest.approx(43.5)
    assert of("value", {"design": "plain"}) == 13
    assert of("ratio", {"design": "large"}, design="plain") == pytest.approx(87 / 100)
    documents["large",] = writes(100)
    assert of("percent-less", {"design": "plain"}, design="large") is None, "a share of nothing"
    documents["plain",] = writes(None)
    assert of("percent-less", {"design": "plain"}, design="large") is None, "a run without the figure"


def test_places_of_values_that_go_together_are_told_apart_by_all_of_them() -> None:
    document = {
        "base": {"workload": "array", "design": "secpm"},
        "zip": [{"controller.aes_units": [4, 4, 8], "controller.aes_latency_ns": [40, 20, 40]}],
    }
    matrix = parse(document, "test")
    documents: list[dict[Key, Document]] = [{key_of(point): writes(n) for n, point in enumerate(matrix.points)}]
    spec = ChartSpec(
        Quantity("writes"), x="controller.aes_units", labels={"controller.aes_units": ["as it is", "fast", "many"]}
    )
    drawn = charts.chart(spec, matrix, documents, {})
    assert [(mark.x, mark.value) for mark in drawn.marks] == [("as it is", 0), ("fast", 1), ("many", 2)]


def test_counts_have_no_digits_beside_times_that_have() -> None:
    cost: Document = {"recovery": {"work": {"reads": {"data": 7, "tree": 2_000}, "writes": {}}, "time_ns": 1.5e9}}
    table = TableSpec("design", {"lines": "boot_reads", "time": "boot_s"}, digits=1, whole=("lines",))
    shown = charts.table(table, designs("osiris"), [{("osiris",): cost}], {})
    assert shown.rows == (("osiris", "2,007", "1.5"),)
    nothing: Document = {"recovery": None}
    assert [METRICS[name](nothing) for name in ("boot_reads", "boot_writes", "boot_s", "boot_paper_s")] == [None] * 4


def test_a_band_with_one_value_says_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"id": "x.y", "paper": "x", "kind": "band", "what": "", "low": 4, "high": 39, "tol": 1, "source": "here"}
    monkeypatch.setattr(claims, "published", lambda: {"x.y": entry})
    claim = claims.judge(ClaimSpec("x.y", Quantity("writes")), designs("star"), [{("star",): writes(66)}])
    assert (claim.rows[0].measured, claim.holds, claim.source) == ("66.00", False, "here")


@pytest.mark.engine
def test_the_baseline_of_trees_of_counters_has_the_tree_and_the_counters_of_what_is_beside_it() -> None:
    matrix = experiments("integrity", "quick")[1].matrices[""]
    changed = {key.removeprefix("design."): value for key, value in matrix.base.items() if key.startswith("design.")}
    baseline = cp.design_parts("write-back-tree", "published")
    assert changed == {"integrity": "counter-tree", "counters": "wide"}
    assert all(baseline[part] != value for part, value in changed.items())
    for design in matrix.axes["design"]:
        own = cp.design_parts(str(design), "published")
        assert design == "write-back-tree" or own == {**own, **changed}, "nothing but the baseline is changed"
    for point in matrix.points:
        resolve_request(point.request)


@pytest.mark.engine
def test_boots_are_those_of_the_command_and_there_once_for_all_seeds() -> None:
    (boots,) = (one for one in experiments("integrity", "quick") if one.id == "integrity.boots")
    assert boots.recoveries == {"memory", "small-caches", "caches"}
    asked: list[Any] = []

    def simulate(requests: Any) -> list[Document]:
        asked.extend(requests)
        return []

    measured = reproduce.over_seeds(reproduce.measure([boots, replace(boots)], simulate), 2)
    assert not asked, "a recovery is no simulation"
    assert len(measured) == 1
    assert all("±" not in claim.detail and not claim.intervals for claim in reproduce.judge(measured[0]))
    (memory,) = measured[0].runs["memory"]
    (osiris,) = cp.recovery(["osiris"], machine="secpm", variant="published", memory="8TiB")
    assert memory["osiris", "8TiB"]["recovery"] == osiris.to_dict()["costs"][0]["recovery"]
    (small,) = measured[0].runs["small-caches"]
    assert small["anubis-agit-plus",]["recovery"]["papers_ns"] == 30_515_400, "the caches of 256 KiB"
    (caches,) = measured[0].runs["caches"]
    (star,) = cp.recovery(["star"], machine="secpm", variant="published", memory=[], cache="2MiB", measure=False)
    assert caches["star",] == star.to_dict()["costs"][0]


@pytest.mark.engine
def test_predictions_are_printed_with_their_sources(cli: Cli, tmp_path: Path) -> None:
    found = cli("reproduce", "integrity", "--quick", "--json", "--out", str(tmp_path))
    document = json.loads(found.out)
    assert [claim["id"] for claim in document["claims"]] == list(PREDICTED)
    assert found.code == (0 if all(claim["holds"] for claim in document["claims"]) else 1)
    page = (tmp_path / "integrity.md").read_text()
    html = (tmp_path / "report.html").read_text()
    for claim in document["claims"]:
        assert claim["source"] == PREDICTED[claim["id"]]["source"]
        assert f"| `{claim['id']}` | {claim['what']} | {claim['source']} |" in page
        assert claim["source"].split(",")[0] in html
    of = {claim["id"]: claim for claim in document["claims"]}
    assert of["integrity.anubis.boot"]["measured"] == pytest.approx(0.1106946), "a boot does not depend on the scale"


def test_the_page_has_every_claim_and_deviations_explain_what_is_missed() -> None:
    page = (ROOT / "validation" / "integrity.md").read_text()
    rows = re.findall(r"^\| `(integrity\.[^`]+)` \|.*\| (yes|\*\*no\*\*) \|$", page, re.MULTILINE)
    assert {name for name, _ in rows} == set(PREDICTED)
    missed = {name for name, verdict in rows if verdict != "yes"}
    assert f"{len(PREDICTED) - len(missed)} of {len(PREDICTED)} hold." in page
    deviations = (ROOT / "validation" / "DEVIATIONS.md").read_text()
    section = deviations.partition("\n## integrity\n")[2].partition("\n## ")[0]
    assert f"{len(PREDICTED) - len(missed)} of {len(PREDICTED)} hold" in section
    assert {name for name in PREDICTED if f"`{name.removeprefix('integrity.')}`" in section} >= missed


def test_no_two_designs_of_a_chart_have_one_colour() -> None:
    known = {design.name for design in cp.designs()}
    for experiment in experiments("integrity", "full"):
        shown = [
            [str(one) for one in spec.quantity.where.get("design", experiment.matrices[spec.matrix].axes["design"])]
            for spec in experiment.charts
        ]
        colour_of = colours.of_series(list(dict.fromkeys(name for names in shown for name in names)), known)
        for names in shown:
            assert len({colour_of[name] for name in names}) == len(names), experiment.id
