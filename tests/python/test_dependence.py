"""What predictions depend on: decisions that move them are found and ranked, the same ones each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import reproduced
from conftest import Cli

import counterpoint as cp
from counterpoint.papers import declared, dependence, predicted
from counterpoint.papers.declared import PAPERS, Experiment, Paper, Scale, experiments, paper
from counterpoint.papers.predicted import PREDICTION, Change, Dependence
from counterpoint.report import markdown, reproduction
from counterpoint.runs.computing import computing
from counterpoint.runs.matrix import Matrix

ROOT = Path(__file__).parents[2]

OVERTAKE, UNWRITTEN = "controller.counters_overtake", "counters.reencrypt_unwritten"
HIGH, LOW = "controller.wpq_high_watermark", "controller.wpq_low_watermark"


def test_a_short_figure_has_the_designs_and_programs_of_the_whole() -> None:
    for name in PAPERS:
        for full, short in zip(experiments(name, "full"), experiments(name, "short"), strict=True):
            for key, matrix in short.matrices.items():
                assert {one.request["transactions"] for one in matrix.points} == {
                    paper(name).document["short"]["transactions"]
                }
                assert matrix.axes.keys() == full.matrices[key].axes.keys()
                for axis, values in matrix.axes.items():
                    if axis in ("design", "workload"):
                        assert values == full.matrices[key].axes[axis]
                    elif axis != "warmup":
                        assert set(values) <= set(full.matrices[key].axes[axis])


def test_the_sentence_about_predictions_is_the_same_everywhere() -> None:
    assert PREDICTION in " ".join((ROOT / "docs" / "reproduce.md").read_text().split())
    for name in PAPERS:
        page = (ROOT / "validation" / f"{name}.md").read_text()
        assert page.count(PREDICTION) == sum(one.prediction for one in experiments(name, "full")), name


def on_trees(matrix: Matrix) -> Matrix:
    """Only the runs of two workloads."""
    return replace(
        matrix, points=tuple(each for each in matrix.points if each.request["workload"] in ("btree", "rbtree"))
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures 13 and 14 of secpm on two workloads, and four of the decisions."""
    full = paper("secpm")
    kept = [spec for spec in full.decisions if spec.name in (OVERTAKE, UNWRITTEN, HIGH, LOW)]
    rows = {HIGH: ((8,), (12,)), UNWRITTEN: ((True,), (False,))}
    kept = [replace(spec, rows=rows.get(spec.name, spec.rows)) for spec in kept]

    def of(name: str) -> Paper:
        return replace(full, decisions=tuple(kept)) if name == "secpm" else declared.paper(name)

    def figures(name: str, scale: Scale, changed: Mapping[str, Any]) -> list[Experiment]:
        found = [one for one in experiments(name, scale, changed) if one.id in ("secpm.f12", "secpm.f13", "secpm.f14")]
        return [replace(one, matrices={key: on_trees(matrix) for key, matrix in one.matrices.items()}) for one in found]

    monkeypatch.setattr(dependence, "paper", of)
    monkeypatch.setattr(dependence, "experiments", figures)


@pytest.mark.engine
@pytest.mark.usefixtures("few")
def test_decisions_that_move_a_prediction_come_before_those_that_cannot(tmp_path: Path) -> None:
    with computing(tmp_path / "s.duckdb") as computer:
        found = dependence.dependence("secpm", computer, scale="quick")
        computed = computer.computed
        again = dependence.dependence("secpm", computer, scale="quick")
        assert computer.computed == computed
    with computing(None, workers=1) as other:
        assert dependence.dependence("secpm", other, scale="quick") == found == again
    of = {(one.figure, one.decision): one for one in found}
    assert {figure for figure, _ in of} == {"secpm.f13", "secpm.f14"}, "Figure 12 is published"
    assert not {("secpm.f13", HIGH), ("secpm.f13", LOW)} & of.keys(), "the figure varies them"
    order = [one.largest for one in found if one.figure == "secpm.f13"]
    assert order == sorted(order, reverse=True)
    assert of["secpm.f13", OVERTAKE].largest > 1
    assert of["secpm.f14", HIGH].largest > 0
    # No line is written 128 times in so few transactions, so no page is encrypted again.
    assert of["secpm.f13", UNWRITTEN].largest == of["secpm.f14", UNWRITTEN].largest == 0
    low = of["secpm.f14", LOW]
    assert low.refused + len({one.choice for one in low.changes}) == 3, "all choices but the preset's"
    assert low.refused == 1, "draining cannot end where it begins"
    assert [one.unit for one in of["secpm.f13", OVERTAKE].changes] == ["points", "%", "%"]


@pytest.mark.engine
def test_what_moves_predictions_is_shown_where_they_are(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = paper("easy-pm")
    monkeypatch.setattr(dependence, "paper", lambda _: replace(whole, decisions=whole.decisions[:3]))
    store = tmp_path / "runs.duckdb"
    words = ("reproduce", "easy-pm", "--quick", "--depends", "--store", str(store))
    document = json.loads(cli(*words, "--json", "--out", str(tmp_path)).out)
    of = {figure["id"]: figure["depends"] for figure in document["figures"]}
    assert of["easy-pm.f5"] is None, "its values are published"
    names = {spec.name for spec in whole.decisions[:3]}
    for name in ("easy-pm.f6", "easy-pm.f7"):
        assert {one["decision"] for one in of[name]} == names
        assert all(one["figure"] == name for one in of[name])
    assert "20 transactions per core" in document["facts"]["dependence of predictions"]
    page = (tmp_path / "easy-pm.md").read_text()
    assert "--quick --seeds 1 --depends --out DIR" in page
    assert page.count("Depends most on: “") == 2
    assert (tmp_path / "report.html").read_text().count("Depends most on: “") == 2
    shown = cli(*words).out
    assert "depends most on" in shown and "easy-pm.f7" in shown
    found = cp.reproduce("easy-pm", quick=True, store=store)
    assert all(figure.depends is None for figure in found.figures), "only where it is asked for"
    assert "dependence of predictions" not in found.facts


def changes(chart: str, *given: tuple[Any, float | None]) -> Iterator[Change]:
    for choice, change in given:
        yield Change(chart, choice, change, "%")


def one(name: str, *parts: Iterable[Change]) -> Dependence:
    return Dependence("p.f1", name, tuple(change for part in parts for change in part), 0)


def test_a_sentence_has_three_decisions_with_their_ends() -> None:
    found = [
        one("a.b", changes("c", (8, 12.4), (16, 2.0), (32, -4.25), (64, None))),
        one("queue", changes("c", ({"x.y": 1, "x.z": True}, -1_234.5))),
        one("small", changes("c", (1, 0.04))),
        one("d", changes("c", ("row", 0.06))),
        one("e", changes("c", (1, 3.0), (2, 5.0))),
    ]
    assert predicted.sentence(found) == (
        "Depends most on: `queue` (y 1, z true: -1,234 %), `a.b` (8: +12 %; 32: -4.2 %), `e` (2: +5.0 %)."
    )
    assert (
        predicted.sentence(found[2:3])
        == predicted.sentence([])
        == ("Depends most on: nothing that the paper leaves open.")
    )
    assert found[0].largest == 12.4 and one("none").largest == 0
    assert found[0].to_dict()["changes"][3] == {"chart": "c", "choice": 64, "change": None, "unit": "%"}


def test_each_chart_of_a_figure_has_its_own() -> None:
    found = [one("a", changes("(a)", (1, 7.0)), changes("(b)", (1, 1.0))), one("b", changes("(b)", (2, -3.0)))]
    assert predicted.sentence(found) == (
        "Depends most on: “(a)”: `a` (1: +7.0 %); “(b)”: `b` (2: -3.0 %), `a` (1: +1.0 %)."
    )


def test_pages_have_the_sentence_below_a_prediction() -> None:
    made = reproduced.reproduction()
    found = (one("a<b", changes("c", (1, 7.0))),)
    figures = tuple(replace(each, depends=found) if each.prediction else each for each in made.figures)
    text = markdown.page(replace(made, figures=figures), "easy-pm")
    assert f"{PREDICTION} Depends most on: `a<b` (1: +7.0 %)." in text
    html = reproduction.render(replace(made, figures=figures))
    assert "Depends most on: <code>a&lt;b</code> (1: +7.0 %)." in html
    assert "Depends most on" not in markdown.page(made, "easy-pm") + reproduction.render(made)
