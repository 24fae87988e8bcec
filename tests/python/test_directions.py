"""What papers say about effects: how they are judged, and that each is declared as it must be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from counterpoint.papers import directions, evaluate
from counterpoint.papers.declared import PAPERS, DirectionSpec, Experiment, experiments, paper
from counterpoint.papers.model import Direction
from counterpoint.papers.quantity import Document, Key, Quantity
from counterpoint.runs.matrix import parse

VALIDATION = Path(__file__).parents[2] / "validation"


def stated() -> dict[str, list[DirectionSpec]]:
    """The statements of each paper."""
    return {
        name: [spec for one in experiments(name, "full") for spec in one.directions] + list(paper(name).directions)
        for name in PAPERS
    }


def judge(values: Sequence[Any], quantity: Quantity | None = None, **spec: Any) -> Direction:
    """A statement about two programs and the sizes 64, 128 and 256.

    Args:
        values: for each seed, writes by program and size.
        quantity: what is looked at, else the writes.
        spec: the rest of the statement.
    """
    matrix = parse(
        {"base": {"design": "secpm"}, "axes": {"workload": ["array", "queue"], "tx_size": [64, 128, 256]}}, "test"
    )
    runs: list[Mapping[Key, Document]] = [
        {
            (workload, size): {"nvm": {"writes": of_size}}
            for workload, of_program in zip(("array", "queue"), one, strict=True)
            for size, of_size in zip((64, 128, 256), of_program, strict=True)
        }
        for one in values
    ]
    experiment = Experiment("p.f1", "p", "Figure 1", "", matrices={"": matrix})
    asked = DirectionSpec("p.f1.x", "as printed", "1", quantity or Quantity("writes"), **{"along": "tx_size", **spec})
    return directions.judge(asked, "p", experiment, {"": runs})


def one(first: float, middle: float, last: float, **spec: Any) -> str:
    """The verdict on one program with one seed."""
    array = Quantity("writes", where={"workload": ("array",)})
    return judge([[(first, middle, last), (1, 1, 1)]], array, **spec).verdict


@pytest.mark.parametrize(
    ("trend", "last", "verdict"),
    [
        ("rises", 1001, "right"),
        ("rises", 1000.99, "wrong"),
        ("rises", 900, "wrong"),
        ("falls", 999, "right"),
        ("falls", 999.01, "wrong"),
        ("falls", 1100, "wrong"),
        ("flat", 1050, "right"),
        ("flat", 1050.01, "wrong"),
        ("flat", 950, "right"),
        ("flat", 949.99, "wrong"),
    ],
)
def test_a_trend_is_right_up_to_its_edge_and_not_beyond(trend: str, last: float, verdict: str) -> None:
    assert one(1000, 5, last, trend=trend) == verdict, "what lies between the ends does not count"


def test_percentages_are_compared_in_points() -> None:
    def verdict(trend: str, *writes: int) -> Direction:
        less = Quantity("writes", "percent-less", {"workload": ("queue",)}, {"workload": "array"})
        return judge([[(1000, 1000, 1000), writes]], less, trend=trend)

    assert verdict("flat", 999, 0, 950).verdict == "right", "from 0.1 to 5 % less"
    assert verdict("flat", 999, 0, 948).verdict == "wrong"
    assert verdict("rises", 999, 0, 997).verdict == "right"
    assert verdict("rises", 1000, 0, 1000).rows[0].shown == "+0.0 points"


def test_an_order_has_no_ties() -> None:
    assert one(1000, 1001, 1003, order=((64,), (128,), (256,))) == "right"
    assert one(1000, 1000.99, 1003, order=((64,), (128,), (256,))) == "wrong"
    assert one(1000, 1000, 1003, order=((64, 128), (256,))) == "right", "within a group nothing is compared"
    assert one(1003, 1000, 1002, order=((64, 128), (256,))) == "wrong", (
        "each of a group lies above each of the one before"
    )
    assert one(1003, 1000, 1000, order=((128,), (64,))) == "right", "other values do not count"
    shown = judge([[(1000, 1000, 1003)] * 2], mean_over=("workload",), order=((64,), (128,), (256,))).shown
    assert shown == "64 B = 128 B < 256 B (+0.0 %)"


def test_an_interval_that_is_partly_allowed_is_undecided() -> None:
    def over(trend: str, *lasts: float) -> str:
        return judge([[(1000, 1000, last)] * 2 for last in lasts], mean_over=("workload",), trend=trend).verdict

    # Half of the interval of two seeds that differ by 0.2 % is 1.27 %, so these lie at the edge from both sides.
    assert over("rises", 1012.8, 1014.8) == "right"
    assert over("rises", 1012.6, 1014.6) == "undecided"
    assert over("rises", 987.2, 989.2) == "wrong"
    assert over("falls", 985.2, 987.2) == "right"
    assert over("falls", 985.4, 987.4) == "undecided"
    assert over("flat", 1036.2, 1038.2) == "right"
    assert over("flat", 1036.4, 1038.4) == "undecided"
    assert over("flat", 1063.8, 1065.8) == "wrong"


def test_changes_are_those_of_each_seed() -> None:
    of_seeds = [[(seed, seed, 1.5 * seed)] * 2 for seed in (100, 200, 900)]
    assert judge(of_seeds, mean_over=("workload",), trend="rises").rows[0].shown == "+50.0 ± 0.0 %"


def test_a_statement_holds_at_each_point_or_at_some() -> None:
    mixed = [[(1, 1, 2), (2, 1, 1)]]
    each = judge(mixed, trend="rises")
    assert [(row.at, row.verdict) for row in each.rows] == [("array", "right"), ("queue", "wrong")]
    assert each.verdict == "wrong" and each.shown == "array: +100.0 %; queue: -50.0 %"
    assert each.expected == "rises from 64 B to 256 B"
    some = judge(mixed, trend="rises", judged="some")
    assert some.verdict == "right" and some.expected == "rises from 64 B to 256 B, somewhere"
    assert judge([[(2, 1, 1)] * 2], trend="rises", judged="some").verdict == "wrong"


def test_long_lines_say_how_many_points_are_right() -> None:
    found = judge([[(1, 2, 2), (2, 1, 4)]], along="workload", order=(("array",), ("queue",)))
    assert (
        found.shown == "64 B: array < queue (+100.0 %); 128 B: queue < array (-50.0 %); 256 B: array < queue (+100.0 %)"
    )
    rows = (*found.rows, *found.rows)
    many = Direction("x", "p", "1", "", "", "", "wrong", rows)
    assert (
        many.shown
        == "right at 4 of 6 (-50.0 to +100.0 %); 128 B: queue < array (-50.0 %); 128 B: queue < array (-50.0 %)"
    )


def test_what_has_no_figure_is_not_measured() -> None:
    assert one(0, 1, 1, trend="rises") == "not measured", "nothing is a share of 0"
    assert one(0, 0, 1, order=((64,), (256,))) == "not measured"
    empty = DirectionSpec("p.x", "as printed", "1", Quantity(""), unmeasured="nobody can")
    found = directions.judge(empty, "p", None, {})
    assert (found.verdict, found.shown, found.rows) == ("not measured", "nobody can", ())


def test_values_that_an_axis_lacks_are_refused() -> None:
    with pytest.raises(ValueError, match="tx_size has no 4096"):
        one(1, 1, 1, order=((64,), (4096,)))


@pytest.mark.parametrize("name", PAPERS)
def test_every_statement_is_declared_whole(name: str) -> None:
    specs = stated()[name]
    assert len({spec.id for spec in specs}) == len(specs)
    for spec in specs:
        assert spec.says and spec.section and spec.id.startswith(f"{name}."), spec.id
        assert "withheld" not in spec.says, spec.id
        says = [bool(spec.unmeasured), bool(spec.trend), bool(spec.order), spec.at_least is not None]
        assert says.count(True) == 1, spec.id
        assert bool(spec.along) == bool(spec.trend or spec.order), spec.id
    for experiment in experiments(name, "full"):
        for spec in experiment.directions:
            assert spec.id.startswith(f"{experiment.id}."), spec.id
            if spec.along:
                assert spec.along in experiment.matrices[spec.matrix].axes, spec.id
    assert all(spec.unmeasured for spec in paper(name).directions), "what is measured belongs to a figure"


PAGES = sorted(VALIDATION.glob("*.directions.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_in_validation_has_every_statement_of_its_paper(page: Path) -> None:
    written = re.findall(r"^\| `([\w.-]+)` \|", page.read_text(), re.MULTILINE)
    assert written == [spec.id for spec in stated()[page.name.partition(".")[0]]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_wrong_on_a_page_in_validation_is_explained(page: Path) -> None:
    wrong = re.findall(r"^\| `([\w.-]+)` \|.*\| \*\*wrong\*\* \|$", page.read_text(), re.MULTILINE)
    _, _, told = (VALIDATION / "DEVIATIONS.md").read_text().partition(f"\n## {page.name.partition('.')[0]}\n")
    told = told.partition("\n## ")[0]
    assert [name for name in wrong if f"`{name.partition('.')[2]}`" not in told] == []


@pytest.mark.parametrize(
    ("least", "verdict", "score"), [(90, "right", 1), (89.1, "wrong", 10 / 11), (45, "wrong", 1 / 6)]
)
def test_a_bound_is_reached_or_not_and_a_search_scores_by_how_far_it_is_missed(
    least: float, verdict: str, score: float
) -> None:
    matrix = parse(
        {"base": {"design": "secpm"}, "axes": {"workload": ["array", "queue"], "tx_size": [64, 128]}}, "test"
    )
    at_128 = {"array": least - 5, "queue": least + 5}
    runs: list[Mapping[Key, Document]] = [
        {
            (workload, size): {"nvm": {"writes": 95 if size == 64 else at_128[workload]}}
            for workload in at_128
            for size in (64, 128)
        }
    ]
    spec = DirectionSpec("p.f1.x", "as printed", "1", Quantity("writes"), mean_over=("workload",), at_least=90)
    found = directions.judge(spec, "p", Experiment("p.f1", "p", "Figure 1", "", matrices={"": matrix}), {"": runs})
    assert (found.expected, found.verdict) == ("at least 90", verdict)
    assert [row.verdict for row in found.rows] == ["right", verdict]
    claim = directions.condition(spec, "p", matrix, runs)
    assert (claim.id, claim.measured, claim.holds) == ("p.f1.x", least, verdict == "right")
    assert evaluate.score(claim) == pytest.approx(score)


def test_over_seeds_a_bound_may_be_undecided() -> None:
    matrix = parse({"base": {"design": "secpm", "workload": "array"}, "axes": {"tx_size": [64]}}, "test")
    spec = DirectionSpec("p.f1.x", "as printed", "1", Quantity("writes"), at_least=90)
    experiment = Experiment("p.f1", "p", "Figure 1", "", matrices={"": matrix})
    for values, verdict in (
        ((95, 95.1), "right"),
        ((80, 99), "undecided"),
        ((70, 70.1), "wrong"),
        ((90, None), "not measured"),
    ):
        runs: list[Mapping[Key, Document]] = [{(64,): {"nvm": {"writes": value}}} for value in values]
        assert directions.judge(spec, "p", experiment, {"": runs}).verdict == verdict
