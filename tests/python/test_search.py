"""The search over decisions, on papers whose scores follow from a formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from searched import Formula, Papers, decision, names

from counterpoint.papers import crossvalidate, descent, finish, sensitivity
from counterpoint.papers.crossvalidate import CrossValidation, folds_of, objectives
from counterpoint.papers.decisions import DecisionSpec
from counterpoint.papers.evaluate import Outcome
from counterpoint.papers.explore import BATCH, _profile, _Search, explore, spread
from counterpoint.papers.model import Claim, ClaimRow
from counterpoint.papers.pool import (
    CONFIRMED,
    FIGURES,
    LONG,
    NOTHING,
    SEEDS,
    SHORT,
    Ask,
    Level,
    Objective,
    Pool,
    Space,
)
from counterpoint.searches.space import Point, changed

ONE, BOTH = Objective(frozenset({"p.f1.x"}), 0.0), Objective(frozenset({"p.f1.x", "q.f1.x"}), 0.0)
TWO = ("p.f1.x", "p.f2.x")
CORNER = {"a": 3, "b": 4, "c": 2, "d": 3}
CORNERED = Space((), {"p": tuple(decision(name, 5) for name in CORNER)})


def corner(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
    """Every single change from the start makes it worse; it is best far away, where four values are right together."""
    moved = sum(place != 0 for place in chosen.values())
    distance = sum(abs(chosen[name] - best) for name, best in CORNER.items())
    score = max(0.6 - 0.1 * moved, 1 - 0.12 * distance, 0.0)
    return {"p.f1.x": score, "p.f2.x": score}


def explored(
    space: Space, papers: Papers, budget: int, seed: int = 1, claims: Sequence[str] = TWO
) -> tuple[Pool, CrossValidation]:
    found = explore(space, papers, claims, budget=budget, seed=seed)
    assert found.validation is not None
    return found.pool, found.validation


def chosen_by_name(space: Space, point: Point) -> dict[str, int]:
    return {names(spec): place for spec, place in zip(space.decisions, point, strict=True)}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_that_are_right_only_together_are_found(seed: int) -> None:
    start = dict.fromkeys(CORNER, 0)
    changes = [{**start, name: place} for name in CORNER for place in range(1, 5)]
    better = [one for one in changes if corner("p", one, 1)["p.f1.x"] >= corner("p", start, 1)["p.f1.x"]]
    assert better == [], "a walk along single decisions does not leave the start"
    _, validation = explored(CORNERED, Papers(CORNERED, corner), 120, seed)
    assert chosen_by_name(CORNERED, validation.best) == CORNER


def test_the_same_seed_evaluates_the_same_points_in_the_same_order() -> None:
    first, again, other = (Papers(CORNERED, corner) for _ in range(3))
    explored(CORNERED, first, 60)
    explored(CORNERED, again, 60)
    explored(CORNERED, other, 60, seed=2)
    assert first.asked == again.asked
    assert first.asked != other.asked
    assert max(Counter(first.asked).values()) == 1, "nothing is evaluated twice"


def of_level(papers: Papers, level: Level) -> list[Ask]:
    return [ask for ask in papers.asked if (ask.scale, ask.seeds) in [(level.scale, seeds) for seeds in level.groups]]


def test_many_points_are_looked_at_in_short_and_the_best_of_them_with_more() -> None:
    pool = Pool(CORNERED, papers := Papers(CORNERED, corner))
    explore_without_descent(pool, 80)
    counts = [len({ask.point for ask in of_level(papers, level)}) for level in (SHORT, LONG, CONFIRMED)]
    objectives_and_begin = 6 * 3 + 1
    assert 80 <= counts[0] < 80 + BATCH
    assert 20 <= counts[1] <= 20 + objectives_and_begin, "the best of each objective always"
    assert 5 <= counts[2] <= 5 + objectives_and_begin
    assert {seeds for ask in of_level(papers, CONFIRMED) for seeds in ask.seeds} == set(SEEDS)
    for level, before in ((LONG, SHORT), (CONFIRMED, LONG)):
        known = {ask.point for ask in of_level(papers, before)}
        assert {ask.point for ask in of_level(papers, level)} <= known


def explore_without_descent(pool: Pool, budget: int) -> None:
    _Search(pool, objectives(TWO), objectives(TWO), budget, 1).run()


@pytest.mark.parametrize("names", ["ab", ""])
def test_a_space_with_few_points_ends_before_its_budget(names: str) -> None:
    space = Space((), {"p": tuple(decision(name, 2) for name in names)})
    papers = Papers(space, lambda *_: {"p.f1.x": 1.0, "p.f2.x": 0.5})
    _, validation = explored(space, papers, 500)
    assert len(set(papers.asked)) == len(papers.asked) <= 2 ** len(names) * (1 + len(SEEDS))
    assert len(validation.best) == len(names)


def test_points_of_the_start_fill_the_space() -> None:
    points = list(spread(CORNERED, 1, 64))
    assert len(points) == 64
    for column in zip(*points, strict=True):
        assert set(Counter(column).values()) <= set(range(10, 17)), "every choice equally often"


def test_the_search_begins_with_what_is_shipped_the_start_and_all_points_that_fill_the_space() -> None:
    space = Space((), {"p": tuple(decision(name, 5, start=1, shipped=2) for name in CORNER)})
    papers = Papers(space, corner)
    explored(space, papers, 80)
    points = list(spread(space, 1, 24))
    begun = list(dict.fromkeys([space.shipped, space.start, *points[:16]]))
    assert [ask.point for ask in papers.asked[: len(begun)]] == begun


def test_refused_points_are_recorded_and_cost_nothing() -> None:
    def formula(paper: str, chosen: Mapping[str, int], seed: int) -> Mapping[str, float] | str:
        return "a is above b" if chosen["a"] > chosen["b"] else corner(paper, chosen, seed)

    papers = Papers(CORNERED, formula)
    pool, validation = explored(CORNERED, papers, 80)
    refused = [ask for ask, outcome in pool.outcomes.items() if outcome.refused and ask.scale == SHORT.scale]
    assert refused
    assert all(pool.outcomes[ask].refused == "a is above b" for ask in refused)
    assert max(Counter(papers.asked).values()) == 1, "nor is one asked for again"
    assert len(of_level(papers, SHORT)) - len(refused) >= 80
    assert chosen_by_name(CORNERED, validation.best) == CORNER


def test_search_in_which_all_is_refused_chooses_nothing() -> None:
    papers = Papers(CORNERED, lambda *_: "no")
    found = explore(CORNERED, papers, ["p.f1.x", "p.f2.x"], budget=20, seed=1)
    assert (found.validation, found.ends) == (None, ())
    assert all(outcome.refused for outcome in found.pool.outcomes.values())
    assert len(papers.asked) <= 4 * 20 + 16, "and the search ends"


TOGETHER = Space((decision("s", 3),), {"p": (decision("a", 4),), "q": (decision("b", 4),)})


def both(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
    """Apart, p is best with 0 for what is shared and q with 1; together both are with 2."""
    if paper == "p":
        return {"p.f1.x": (1.0, 0.1, 0.9)[chosen["s"]] - 0.1 * abs(chosen["a"] - 3)}
    return {"q.f1.x": (0.1, 1.0, 0.9)[chosen["s"]] - 0.1 * abs(chosen["b"] - 1)}


def test_papers_that_share_a_decision_get_one_value() -> None:
    papers = Papers(TOGETHER, both)
    pool, validation = explored(TOGETHER, papers, 40, claims=("p.f1.x", "q.f1.x"))
    best = pool.ranking(BOTH, CONFIRMED).best()
    assert best is not None
    assert chosen_by_name(TOGETHER, best) == {"s": 2, "a": 3, "b": 1}
    assert {fold.left_out for fold in validation.folds} == {"p.f1", "q.f1"}


def test_evaluations_of_papers_are_put_together() -> None:
    pool = Pool(TOGETHER, Papers(TOGETHER, both))
    pool.evaluate([(2, 3, 0), (2, 0, 1)], SHORT)
    ranking = pool.ranking(BOTH, SHORT)
    value, best = ranking.top(1)[0]
    assert best == (2, 3, 1), "of two points that were asked for, a third that is better than both"
    assert value == pytest.approx(0.9)


def test_the_prior_prices_departures_and_ties_go_to_what_is_shipped() -> None:
    space = Space((), {"p": (decision("a", 2, shipped=0), decision("b", 2, start=1), decision("c", 2, shipped=1))})
    pool = Pool(space, Papers(space, lambda _, chosen, __: {"p.f1.x": 0.5 + 0.1 * chosen["a"]}))
    pool.evaluate([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)], SHORT)

    def best(weight: float) -> dict[str, int]:
        found = pool.ranking(Objective(frozenset({"p.f1.x"}), weight), SHORT).best()
        assert found is not None
        return chosen_by_name(space, found)

    assert best(0.0) == {"a": 1, "b": 1, "c": 1}, "of equals that with what is shipped, then that nearest to the start"
    assert best(0.29) == {"a": 1, "b": 1, "c": 1}
    assert best(0.31) == {"a": 0, "b": 1, "c": 1}, "0.31 for each of three decisions is more than the gain of 0.1"


def test_folds_are_figures_or_claims_where_there_is_one_figure() -> None:
    assert folds_of(["p.f1.x", "p.f1.y", "q.f1.x"]) == {
        "p.f1": frozenset({"p.f1.x", "p.f1.y"}),
        "q.f1": frozenset({"q.f1.x"}),
    }
    assert list(folds_of(["p.f1.x", "p.f1.y"])) == ["p.f1.x", "p.f1.y"]
    found = objectives(["p.f1.x", "q.f1.x"], (0.0, 1.0))
    assert found[0] == BOTH
    assert Counter(found) == Counter(
        Objective(frozenset(some), weight)
        for some in (("p.f1.x", "q.f1.x"), ("p.f1.x",), ("q.f1.x",))
        for weight in (0.0, 1.0)
    )


NOISY = Space((), {"p": (decision("true", 2, shipped=0), *(decision(name, 2, shipped=0) for name in "bcd"))})
THREE = ("p.f1.x", "p.f2.x", "p.f3.x")


def fitted_by_chance(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
    """Departing in `true` helps every figure; in another, two figures a little, and the third loses much."""
    scores = dict.fromkeys(THREE, 0.4 + 0.3 * chosen["true"])
    for place, name in enumerate("bcd"):
        for number, figure in enumerate(THREE):
            scores[figure] += chosen[name] * (-0.2 if number == place else 0.02)
    return scores


def test_the_weight_that_predicts_best_is_chosen_and_not_the_one_that_fits_best() -> None:
    _, validation = explored(NOISY, Papers(NOISY, fitted_by_chance), 60, claims=THREE)
    assert validation.weight > 0
    assert chosen_by_name(NOISY, validation.best) == {"true": 1, "b": 0, "c": 0, "d": 0}
    assert validation.predicted(validation.weight) > validation.predicted(0.0)
    assert validation.fitted(validation.weight) < validation.fitted(0.0), "without a price the folds fit better"
    unpriced = [fold for fold in validation.folds if fold.weight == 0]
    assert [fold.left_out for fold in unpriced] == ["p.f1", "p.f2", "p.f3"]
    for fold, name in zip(unpriced, "bcd", strict=True):
        assert chosen_by_name(NOISY, fold.best)[name] == 1, "what lost only in the figure that was left out"
        assert fold.predicted == pytest.approx(0.5)
        assert fold.fitted == pytest.approx(0.72)


def test_a_price_that_hinders_prediction_is_not_paid() -> None:
    def formula(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        return dict.fromkeys(THREE, 0.5 + 0.02 * sum(chosen.values()))

    _, validation = explored(NOISY, Papers(NOISY, formula), 60, claims=THREE)
    assert set(chosen_by_name(NOISY, validation.best).values()) == {1}
    assert validation.weight == 0.05, "the largest under which a departure that gains 0.02 pays: 0.05 of four decisions"


def test_a_fold_ends_with_a_descent_that_does_not_see_what_it_leaves_out() -> None:
    space = Space((), {"p": tuple(decision(name, 6) for name in "abcdef")})

    def steep(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """The first two figures rise with every decision; the third is met by one corner that they do not lead to."""
        risen = sum(chosen.values()) / 30
        return {"p.f1.x": risen, "p.f2.x": risen, "p.f3.x": float(not any(chosen.values()))}

    _, validation = explored(space, Papers(space, steep), 20, claims=THREE)
    without_third = next(fold for fold in validation.under(validation.weight) if fold.left_out == "p.f3")
    assert without_third.best == (5,) * 6, "few points of so short a search are there"
    assert (without_third.fitted, without_third.predicted) == (1.0, 0.0)


def test_what_the_others_leave_undecided_counts_with_every_choice() -> None:
    space = Space((), {"p": (decision("a", 4), decision("only", 2), decision("idle", 3))})

    def formula(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """`only` is decided by the third figure alone, `idle` by none."""
        rises = chosen["a"] / 4
        return {"p.f1.x": rises, "p.f2.x": rises, "p.f3.x": 1.0 if chosen["only"] else 0.0}

    _, validation = explored(space, Papers(space, formula), 20, claims=THREE)
    fold = next(fold for fold in validation.under(validation.weight) if fold.left_out == "p.f3")
    assert chosen_by_name(space, fold.best) == {"a": 3, "only": 0, "idle": 0}, "the start"
    chosen = [chosen_by_name(space, point) for point in fold.alike]
    assert {each["a"] for each in chosen} == {3}
    assert {(each["only"], each["idle"]) for each in chosen} == {(only, idle) for only in (0, 1) for idle in (0, 1, 2)}
    assert len(chosen) == len(set(fold.alike)) == 6
    assert fold.predicted == pytest.approx(0.5), "the start alone would be 0, the other choice 1"
    first = next(fold for fold in validation.under(validation.weight) if fold.left_out == "p.f1")
    assert {chosen_by_name(space, point)["only"] for point in first.alike} == {1}, "which these others decide"


def test_points_that_may_be_alike_are_drawn_over_all_decisions_at_once() -> None:
    own = (decision("a", 4), decision("b", 4), decision("c", 4))
    space = Space((decision("s", 3),), {"p": own, "q": (decision("d", 3),)})

    def formula(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        if paper == "q":
            return {"q.f1.x": 0.5}
        return {"p.f1.x": 0.5 + 0.4 * (chosen["a"] == 2) - 0.0005 * (chosen["b"] == 3)}

    def drawn(seed: int) -> set[Point]:
        pool = Pool(space, papers := Papers(space, formula))
        pool.evaluate([(0, 2, 0, 0, 0)], LONG)
        descent.draw_alike(pool, ONE, (0, 2, 0, 0, 0), "p", seed)
        others = {ask.point[-1] for ask in pool.outcomes if ask.paper == "q"}
        assert others == {0}, "its choices say nothing of the other paper"
        return {ask.point for ask in of_level(papers, LONG) if ask.paper == "p"}

    points = drawn(1)
    assert len(points) > 8
    assert {point[1] for point in points} == {2}, "what is decided stays"
    for which, count in ((0, 3), (2, 4), (3, 4)):
        assert len({point[which] for point in points}) == count
    assert drawn(1) == points != drawn(2)


def test_a_shared_choice_is_looked_at_with_what_is_right_beside_it() -> None:
    space = Space((decision("s", 3),), {"p": (decision("a", 6), decision("b", 6)), "q": (decision("c", 6),)})

    def formula(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        """Each shared choice wants other values beside it; 1 is best in the end, 2 is hopeless."""
        shared, wanted = chosen["s"], (0, 5, 0)[chosen["s"]]
        off = sum(abs(place - wanted) for name, place in chosen.items() if name != "s")
        return {f"{paper}.f1.x": (0.80, 0.84, 0.5)[shared] - 0.02 * off}

    pool = Pool(space, Papers(space, formula))
    pool.evaluate([(0, 0, 0, 0), (1, 3, 3, 3), (2, 0, 0, 0)], LONG)
    assert descent.descend(pool, BOTH, (0, 0, 0, 0)) == (0, 0, 0, 0), "where no single change or pair of them is better"
    assert _profile(pool, BOTH, (0, 0, 0, 0)) == [(1, 5, 5, 5)]
    seen = {ask.point[0] for ask in pool.outcomes if ask.scale == LONG.scale and ask.point[1:] not in [(0, 0), (0,)]}
    assert seen == {0, 1}, "nothing good is known of the third"


def test_a_descent_keeps_what_it_is_told_to_keep() -> None:
    space = Space((decision("s", 3),), {"p": (decision("a", 4),)})
    papers = Papers(space, lambda _, chosen, __: {"p.f1.x": 0.1 * (chosen["a"] - chosen["s"])})
    assert descent.descend(Pool(space, papers), ONE, (2, 0)) == (0, 3)
    assert descent.descend(Pool(space, papers), ONE, (2, 0), kept=[0]) == (2, 3)


def test_points_compete_with_all_seeds() -> None:
    space = Space((), {"p": (decision("lucky", 3),)})

    def formula(_: str, chosen: Mapping[str, int], seed: int) -> Mapping[str, float]:
        score = (0.5, 1.0 if seed == 1 else 0.1, 0.6)[chosen["lucky"]]
        return {"p.f1.x": score, "p.f2.x": score}

    _, validation = explored(space, Papers(space, formula), 30)
    assert chosen_by_name(space, validation.best) == {"lucky": 2}


def test_the_best_of_every_objective_is_confirmed() -> None:
    papers = Papers(NOISY, fitted_by_chance)
    pool, _ = explored(NOISY, papers, 20, claims=THREE)
    for objective in objectives(THREE):
        best = pool.ranking(objective, LONG).best()
        assert best is not None
        assert pool.joint_scores(best, CONFIRMED) is not None


def scores_over(varied: Sequence[sensitivity.Varied], spec: DecisionSpec, claim: str) -> list[float]:
    return [each.scores[claim] for each in varied if each.spec is spec and claim in each.scores]


def test_each_decision_is_varied_around_the_chosen_point() -> None:
    pool, _ = explored(TOGETHER, Papers(TOGETHER, both), 40, claims=("p.f1.x", "q.f1.x"))
    varied = sensitivity.sensitivity(pool, (2, 3, 1))
    choices = [(name, place) for name, count in (("x.s", 3), ("x.a", 4), ("x.b", 4)) for place in range(count)]
    assert [(each.spec.name, each.place) for each in varied] == choices
    shared, own, other = TOGETHER.decisions
    assert scores_over(varied, shared, "p.f1.x") == pytest.approx([1.0, 0.1, 0.9])
    assert scores_over(varied, own, "p.f1.x") == pytest.approx([0.6, 0.7, 0.8, 0.9])
    assert not scores_over(varied, other, "p.f1.x"), "q's decision is none of p's"


def test_a_refused_choice_moves_nothing() -> None:
    space = Space((), {"p": (decision("a", 3),)})
    papers = Papers(space, lambda _, chosen, __: "no" if chosen["a"] == 2 else {"p.f1.x": 0.5 + 0.25 * chosen["a"]})
    pool = Pool(space, papers)
    varied = sensitivity.sensitivity(pool, space.start)
    assert [each.refused for each in varied] == ["", "", "no"]
    assert scores_over(varied, space.decisions[0], "p.f1.x") == [0.5, 0.75]
    assert isinstance(varied[0].outcomes["p"], Outcome)
    assert crossvalidate.figure_of("p.f1.x") == "p.f1"


def descended(formula: Formula, objective: Objective = BOTH) -> tuple[dict[str, int], Pool]:
    space = Space((decision("s", 3),), {"p": (decision("a", 4), decision("b", 3, shipped=0)), "q": (decision("c", 3),)})
    pool = Pool(space, Papers(space, formula))
    pool.evaluate([space.start], CONFIRMED)
    return chosen_by_name(space, descent.descend(pool, objective, space.start)), pool


def test_a_papers_own_choices_go_with_other_shared_ones() -> None:
    space = Space((decision("s", 3),), {"p": (decision("a", 4), decision("b", 4)), "q": (decision("c", 3),)})

    def formula(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        """No single change of `a` and `b` brings anything, and `q` does well at the start only."""
        own = (chosen["a"], chosen["b"]) == (3, 3) if paper == "p" else chosen["s"] == 0
        return {f"{paper}.f1.x": 0.9 * own}

    pool = Pool(space, Papers(space, formula))
    elsewhere = (2, 3, 3, 1)
    pool.evaluate([space.start, elsewhere], SHORT)
    assert descent.descend(pool, BOTH, space.start) == space.start
    assert descent.crossed(pool, BOTH, space.start) == (0, 3, 3, 0)


def test_single_changes_that_are_better_are_put_together() -> None:
    def apart(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        own = chosen["a"] + chosen["b"] if paper == "p" else -chosen["c"]
        return {f"{paper}.f1.x": (own + (chosen["s"] == 1)) / 10}

    found, pool = descended(apart)
    assert found == {"s": 1, "a": 3, "b": 2, "c": 0}
    best = tuple(found[names(spec)] for spec in pool.space.decisions)
    assert pool.joint_scores(best, CONFIRMED) is not None, "it is evaluated with all seeds"
    priced, _ = descended(apart, Objective(frozenset(["p.f1.x", "q.f1.x"]), 1.0))
    assert priced == {"s": 1, "a": 3, "b": 0, "c": 0}, "departing from what is shipped costs more than it brings"


def test_a_claim_that_holds_is_worth_more_than_two_that_come_nearer() -> None:
    def either(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        if paper == "q":
            return {"q.f1.x": 0.5}
        return {"p.f1.x": (0.9, 0.97, 1.0)[chosen["a"]], "p.f2.x": (0.8, 0.97, 0.85)[chosen["a"]]}

    space = Space((), {"p": (decision("a", 3),), "q": (decision("b", 2),)})
    claims = ["p.f1.x", "p.f2.x", "q.f1.x"]
    by_score, by_held = (Objective(frozenset(claims), 0.0, holding) for holding in (0.0, crossvalidate.HOLDING))
    for objective, best in ((by_score, 1), (by_held, 2)):
        pool = Pool(space, Papers(space, either))
        assert descent.descend(pool, objective, space.start) == (best, 0)
        value, point = pool.ranking(objective, CONFIRMED).top(1)[0]
        assert point == (best, 0)
        assert value == pytest.approx(pool.value(objective, point, CONFIRMED))
    held = crossvalidate.without("p.f2", claims, ["q.f1.c"], 0.5)
    assert held == Objective(frozenset(["p.f1.x", "q.f1.x", "q.f1.c"]), 0.5, crossvalidate.HOLDING)


def test_what_holds_with_some_seeds_counts_by_their_share() -> None:
    space = Space((), {"p": (decision("a", 2),)})
    pool = Pool(space, Papers(space, lambda _, __, seed: {"p.f1.x": 1.0 if seed < 3 else 0.9}))
    pool.evaluate([space.start], CONFIRMED)
    for holding in (0.0, 0.5):
        scores = pool.joint_scores(space.start, CONFIRMED, holding)
        assert scores is not None
        assert scores["p.f1.x"] == pytest.approx(0.94 + holding * 2 / 5)


def test_better_of_two_exclusive_changes_is_kept() -> None:
    def either(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float] | str:
        if paper == "q":
            return {"q.f1.x": 0.5}
        if chosen["s"] == 2:
            return "refused"
        return {"p.f1.x": 0.0 if chosen["a"] and chosen["b"] else 0.2 * bool(chosen["b"]) + 0.1 * bool(chosen["a"])}

    found, _ = descended(either)
    assert (found["a"], found["b"] > 0) == (0, True)
    assert found["s"] == 0, "what is refused is never better"


def test_after_a_round_only_what_came_near_is_looked_at_but_for_a_last_look_at_all() -> None:
    def late(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """`b` is good with `a` only, and far from it without; `c` a little worse always; `d` changes nothing."""
        with_a = chosen["a"] == 1
        return {"p.f1.x": 0.5 + 0.1 * with_a + (0.1 if with_a else -0.2) * chosen["b"] - 0.05 * chosen["c"]}

    space = Space((), {"p": tuple(decision(name, 2) for name in "abcd")})
    looked: dict[bool, set[str]] = {}
    for thorough, end in ((False, (1, 0, 0, 0)), (True, (1, 1, 0, 0))):
        papers = Papers(space, late)
        assert descent.descend(Pool(space, papers), ONE, space.start, thorough=thorough) == end
        beside = [ask.point for ask in of_level(papers, SHORT) if ask.point[0] == 1 and sum(ask.point) == 2]
        looked[thorough] = {"abcd"[point.index(1, 1)] for point in beside}
    assert looked == {False: {"c"}, True: {"b", "c", "d"}}


def test_a_round_goes_on_from_where_the_last_one_ended() -> None:
    def stairs(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        own = (chosen["a"] > 0) + 2 * (chosen["a"] > 0 and chosen["b"] == 2) if paper == "p" else 0
        return {f"{paper}.f1.x": own / 10}

    found, _ = descended(stairs)
    assert (found["a"], found["b"]) == (1, 2), "the second change is good only after the first"


def test_the_descent_goes_on_while_it_gains() -> None:
    names = "abcdef"
    space = Space((), {"p": tuple(decision(name, 2) for name in names)})

    def ended(height: float) -> tuple[Point, Pool]:
        def stairs(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
            """Each decision is good only after the one before it."""
            steps = next((place for place, name in enumerate(names) if not chosen[name]), len(names))
            return {"p.f1.x": steps * height}

        pool = Pool(space, Papers(space, stairs))
        return descent.descend(pool, ONE, space.start), pool

    assert ended(0.1)[0] == (1,) * 6
    found, pool = ended(NOTHING / 2)
    assert found == space.start
    seen = {ask.point for ask in pool.outcomes}
    assert (1, 1, 0, 0, 0, 0) not in seen, "a round that gains next to nothing is the last one"


def test_a_search_descends_from_the_start_too() -> None:
    space = Space((), {"p": tuple(decision(name, 6) for name in "abcdefgh")})

    def narrow(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """Good where all but two decisions are as at the start, which few points of a search are."""
        near = all(chosen[name] == 0 for name in "abcdef")
        return {"p.f1.x": 0.5 * near + 0.05 * (chosen["g"] + chosen["h"]) * near, "p.f2.x": 0.4}

    _, validation = explored(space, Papers(space, narrow), 10)
    found = chosen_by_name(space, validation.best)
    assert (found["g"], found["h"]) == (5, 5)


def test_choice_without_effect_goes_back_to_its_start() -> None:
    space = Space((decision("s", 3),), {"p": (decision("a", 4), decision("b", 4), decision("d", 2))})

    def formula(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """`a` changes next to nothing; `b` and `d` are good only together."""
        good = 0.3 * (chosen["s"] == 2) + 0.3 * (chosen["b"] == 1 and chosen["d"] == 1)
        return {"p.f1.x": good + 0.0009 * (chosen["a"] == 3)}

    pool = Pool(space, Papers(space, formula))
    point = (2, 3, 1, 1)
    found = descent.descend(pool, ONE, point)
    assert found == (2, 0, 1, 1)
    assert pool.joint_scores(found, CONFIRMED) is not None, "it is evaluated with all seeds"
    pool.evaluate([point], CONFIRMED)
    ranking = pool.ranking(ONE, CONFIRMED)
    assert (ranking.best(), ranking.plainest(0.001, 10)) == (point, found)
    assert ranking.plainest(0.0005, 10) == point
    assert (2, 3, 0, 1) not in {ask.point for ask in pool.outcomes if ask.scale == LONG.scale}, "in short it costs"


def test_the_better_of_some_points_is_the_first_of_equals() -> None:
    space = Space((), {"p": (decision("a", 4), decision("b", 4))})

    def formula(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float] | str:
        return "refused" if chosen["a"] == 3 else {"p.f1.x": 0.1 * chosen["a"]}

    pool = Pool(space, Papers(space, formula))
    refused, first, second, worse = (3, 0), (2, 1), (2, 3), (1, 0)
    assert descent.better(pool, ONE, (refused, worse), SHORT) == worse
    assert descent.better(pool, ONE, (worse, first, second), LONG) == first
    assert {(ask.scale, ask.seeds) for ask in pool.outcomes} == {("short", (1,)), ("calibration", (1,))}


def test_two_changes_that_are_good_only_together_are_put_together() -> None:
    space = Space((), {"p": tuple(decision(name, 3) for name in "abcdef")})

    def paired(_: str, chosen: Mapping[str, int], __: int) -> Mapping[str, float]:
        """Every change alone costs a little."""
        moved = sum(place != 0 for place in chosen.values())
        return {"p.f1.x": 0.9 if (chosen["b"], chosen["d"], moved) == (1, 1, 2) else 0.5 - 0.01 * moved}

    pool = Pool(space, Papers(space, paired))
    assert descent.descend(pool, ONE, space.start) == (0, 1, 0, 1, 0, 0)


def test_a_change_that_is_better_in_short_only_is_not_kept() -> None:
    space = Space((), {"p": (decision("a", 2), decision("b", 2))})

    def outcomes(asked: Sequence[Ask]) -> list[Outcome]:
        return [
            Outcome({"p.f1.x": 0.5 + 0.1 * ask.point[0] * (ask.scale == "short") + 0.1 * ask.point[1]}) for ask in asked
        ]

    assert descent.descend(Pool(space, outcomes), ONE, space.start) == (0, 1)


FINISHED = Space((decision("s", 3),), {"p": (decision("a", 4), decision("b", 3)), "q": (decision("c", 3),)})
HALVES = Objective(frozenset(["p.f1.x", "p.f2.x", "q.f1.x"]), 0.0)


def judged(scores: Mapping[str, float]) -> Outcome:
    """Claims that hold where their score is 1."""
    row = ClaimRow("", "", "", holds=True)
    claims = tuple(Claim(name, name[0], "", 1, 1, 1, score == 1, (row,)) for name, score in scores.items())
    return Outcome(scores, claims=claims)


class Finishing:
    """Evaluates by one formula and measures at full length by another."""

    def __init__(self, short: Formula, full: Formula) -> None:
        self.short, self.full = short, full
        self.pool = Pool(FINISHED, lambda asked: [self._outcome(ask) for ask in asked])

    @property
    def measured(self) -> list[Ask]:
        return [ask for ask in self.pool.outcomes if ask.scale == "full" and len(ask.seeds) > 1]

    def ended(self, point: Point) -> tuple[finish.Finalist, ...]:
        return finish.finish(self.pool, HALVES, point)

    def _outcome(self, ask: Ask) -> Outcome:
        found = Papers(FINISHED, self.full if ask.scale == "full" else self.short)([ask])[0]
        return found if found.refused else judged(found.scores)


def nearly(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
    """`a` 1 and 2 meet a claim at little cost, `b` 1 at a great one, `s` 2 costs nothing and meets nothing."""
    if paper == "q":
        return {"q.f1.x": 0.5}
    meets = chosen["a"] in (1, 2) or chosen["b"] == 1
    cost = 0.02 * (chosen["a"] == 1) + 0.01 * (chosen["a"] == 2) + 0.1 * (chosen["b"] == 1)
    return {"p.f1.x": 1.0 if meets else 0.99, "p.f2.x": 0.6 - cost}


def test_a_change_that_meets_a_claim_at_little_cost_is_measured_at_full_length() -> None:
    one = Finishing(nearly, nearly)
    start, better = FINISHED.start, changed(FINISHED.start, 1, 2)
    missed = ["p.f1.x"]
    found = finish.promising(one.pool, HALVES, start, missed)
    assert found[0] == better, "the best value of the decision, no dear one"
    assert all(point[1] == 2 and point[2] != 1 for point in found), "or that with another decision"
    assert finish.promising(one.pool, HALVES, start, ["p.f2.x"]) == []
    ended = one.ended(start)
    assert (ended[0].point, ended[0].held) == (better, 1)
    assert ended[0].score == pytest.approx((1 + 0.59 + 0.5) / 3)
    assert (ended[-1].point, ended[-1].held) == (start, 0)
    assert len(ended) == 1 + finish.NARROWED[FIGURES], "and as many others as are looked at"
    assert len(one.measured) == len(set(one.measured)), "nothing is measured twice"


def test_choice_that_fails_at_full_length_is_not_taken() -> None:
    def full(paper: str, chosen: Mapping[str, int], seed: int) -> Mapping[str, float]:
        return {name: min(score, 0.999) for name, score in nearly(paper, chosen, seed).items()}

    one = Finishing(nearly, full)
    found = one.ended(FINISHED.start)
    assert [each.held for each in found] == [0] * len(found)
    assert found[0].point == FINISHED.start, "of equals the point where the descent ended"
    refused = Finishing(nearly, lambda paper, chosen, seed: "no" if chosen.get("a") else nearly(paper, chosen, seed))
    assert [each.point for each in refused.ended(FINISHED.start)] == [FINISHED.start]
    nothing = Finishing(nearly, lambda *_: "no")
    assert nothing.ended(FINISHED.start) == ()


def test_a_claim_that_is_missed_at_full_length_only_is_looked_after() -> None:
    def short(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        """All hold; `a` 3 costs too much to be tried."""
        return {"q.f1.x": 1.0} if paper == "q" else {"p.f1.x": 1.0, "p.f2.x": 0.5 if chosen["a"] == 3 else 1.0}

    def full(paper: str, chosen: Mapping[str, int], seed: int) -> Mapping[str, float]:
        if paper == "q":
            return {"q.f1.x": 1.0}
        return {"p.f1.x": 1.0 if chosen["b"] == 1 or chosen["a"] == 3 else 0.9, "p.f2.x": 1.0}

    found = Finishing(short, full).ended(FINISHED.start)
    assert found[0].point == changed(FINISHED.start, 2, 1)
    assert {each.held for each in found if each.point[2] == 1} == {3}
    assert {each.held for each in found if each.point[2] != 1} == {2}


def test_the_finish_may_begin_at_another_point_that_holds_more() -> None:
    def far(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        """Both claims of p are met far from the start, where no change alone leads."""
        if paper == "q":
            return {"q.f1.x": 0.5}
        return dict.fromkeys(("p.f1.x", "p.f2.x"), 1.0 if (chosen["a"], chosen["b"], chosen["s"]) == (3, 2, 2) else 0.9)

    there, elsewhere = (2, 3, 2, 0), (1, 1, 1, 1)
    one = Finishing(far, far)
    assert one.ended(FINISHED.start)[0].held == 0
    found = finish.finish(one.pool, HALVES, FINISHED.start, [FINISHED.start, elsewhere, there])
    assert (found[0].point, found[0].held) == (there, 2)
    assert elsewhere not in [each.point for each in found], "of the others, that which holds most"


def test_point_without_better_neighbours_is_measured_alone() -> None:
    def missed(paper: str, *_: object) -> Mapping[str, float]:
        return {"q.f1.x": 0.5} if paper == "q" else {"p.f1.x": 0.5, "p.f2.x": 1.0}

    one = Finishing(missed, missed)
    assert [each.point for each in one.ended(FINISHED.start)] == [FINISHED.start]
    assert [ask[:2] for ask in one.measured] == list(FINISHED.pieces(FINISHED.start))


def test_the_finish_goes_on_while_more_claims_hold() -> None:
    def stairs(paper: str, chosen: Mapping[str, int], _: int) -> Mapping[str, float]:
        """The claim of q is met by `c`, but only beside what meets that of p."""
        if paper == "q":
            return {"q.f1.x": 1.0 if chosen["c"] == 2 and chosen["s"] == 1 else 0.99}
        return {"p.f1.x": 1.0 if chosen["s"] == 1 else 0.99, "p.f2.x": 0.5}

    one = Finishing(stairs, stairs)
    found = one.ended(FINISHED.start)
    assert found[0].point == (1, 0, 0, 2)
    assert [each.held for each in found] == sorted((each.held for each in found), reverse=True)
    assert {each.held for each in found} == {2, 1, 0}
    assert len(one.measured) == len(set(one.measured)), "nothing is measured twice"
