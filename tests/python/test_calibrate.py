"""The search over what papers leave open: what is declared, its command, its pages, and a small one with the engine."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.cli import main
from counterpoint.contract.request import literal
from counterpoint.papers import asking, calibrate, claims, declared, evaluate, evaluations, reproduce, sensitivity
from counterpoint.papers.decisions import DecisionSpec, Simulator, read, simulator_of, simulators
from counterpoint.papers.declared import PAPERS, Paper, Scale, experiments, paper
from counterpoint.papers.evaluate import Outcome, Setting, simulate
from counterpoint.papers.explore import explore
from counterpoint.papers.finish import Finalist
from counterpoint.papers.model import Claim, ClaimRow
from counterpoint.papers.pool import SEEDS, Ask, Pool
from counterpoint.papers.quantity import METRICS
from counterpoint.report import assumptions, calibration_page
from counterpoint.runs.computing import computing
from counterpoint.runs.store import Store
from counterpoint.searches.space import changed, values_at
from counterpoint.verbs import catalogue

ROOT = Path(__file__).parents[2]


def test_every_paper_cites_one_simulator() -> None:
    cited = [name for simulator in simulators() for name in simulator.papers]
    assert sorted(cited) == sorted(PAPERS)
    for name in PAPERS:
        shared = simulator_of(name).decisions
        assert paper(name).decisions[: len(shared)] == shared
        keys = [key for spec in paper(name).decisions for key in spec.keys]
        assert len(keys) == len(set(keys)), "no value is decided twice"


@pytest.mark.engine
@pytest.mark.parametrize("name", PAPERS)
def test_decisions_are_values_of_the_preset_and_ranges_the_engine_takes(name: str) -> None:
    design = experiments(name, "quick")[-2].matrices[""].points[0].request["design"]
    decisions = paper(name).decisions
    start = values_at(decisions, tuple(spec.place(spec.start) for spec in decisions))
    choices = [values_at([spec], (place,)) for spec in decisions for place in range(len(spec.rows))]
    for spec in decisions:
        assert spec.rows[spec.place(asking.set_now(name, spec))]
    # A low watermark may need a higher high one: a choice is taken with the start, or beside one other choice.
    for choice in choices:
        assert any(takes(design, name, {**start, **other, **choice}) for other in [{}, *choices]), choice


def takes(design: str, machine: str, values: Mapping[str, Any]) -> bool:
    """Whether the engine takes values of a machine, and has them."""
    given = {key: value for key, value in values.items() if "." in key}
    try:
        resolved = cp.resolve(design, "array", machine=machine, set=given)["machine"]
    except cp.InputError:
        return False
    return all(resolved[key.split(".")[0]][key.split(".")[1]] == value for key, value in given.items())


ENTRY: dict[str, Any] = {"key": "a.b", "start": 1, "range": [1, 2], "reason": "open"}
GROUP: dict[str, Any] = {
    "name": "queue",
    "start": {"a.b": 1, "a.c": True},
    "shipped": {"a.c": 0, "a.b": 2},
    "range": [{"a.b": 1, "a.c": True}, {"a.b": 2, "a.c": 0}],
    "reason": "open",
}


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({**ENTRY, "start": 3}, "decision a.b: start is not in its range"),
        ({**ENTRY, "start": True}, "decision a.b: start is not in its range"),
        ({**ENTRY, "shipped": 3}, "decision a.b: shipped is not in its range"),
        ({**ENTRY, "range": [1, 1]}, "decision a.b: its range has a choice twice"),
        ({**ENTRY, "ship": 1}, "decision a.b: ship is not known"),
        ({**ENTRY, "name": "x"}, "decision a.b: a decision has a key, or a name and tables of values"),
        ({**ENTRY, "key": "transactions"}, "decision transactions: 'transactions' is no machine value and none of"),
        ({**ENTRY, "start": {"a.b": 1}}, "decision a.b: {'a.b': 1} must be one value, because it has a key"),
        ({**GROUP, "start": 1}, "decision queue: 1 must be a table, because it has a name"),
        ({**GROUP, "range": [*GROUP["range"], {"a.b": 3}]}, "decision queue: its choices set different values"),
    ],
)
def test_a_table_that_is_no_decision_is_refused(entry: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read([entry])


def test_a_decision_is_a_value_or_several_that_go_together() -> None:
    (one,) = read([ENTRY])
    assert (one.shipped, one.is_group, one.is_ordered) == (None, False, True)
    assert (one.text(one.start), one.plain(one.start)) == ("1", 1)
    (group,) = read([GROUP], "gem5")
    assert group.shipped is not None
    assert group.place(group.shipped) == 1, "the order of keys says nothing"
    assert (group.is_group, group.is_ordered, group.simulator) == (True, False, "gem5")
    assert group.text(group.start) == "b 1, c true"
    assert group.plain(group.start) == {"a.b": 1, "a.c": True}
    (sizes,) = read([{**ENTRY, "key": "footprint", "start": "4KiB", "range": ["4KiB", "1MiB"]}])
    (words,) = read([{**ENTRY, "start": "x", "range": ["x", "y"]}])
    (switch,) = read([{**ENTRY, "start": True, "range": [False, True]}])
    assert [spec.is_ordered for spec in (sizes, words, switch)] == [True, False, False]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["secmp"], "paper 'secmp' does not exist (known: all, secpm,"),
        (["easy-pm", "secmp"], "paper 'secmp' does not exist"),
        (["easy-pm", "--budget", "100001"], "budget is 100001; it must be"),
        (["easy-pm", "--store", "/dev/null/x"], "store '/dev/null/x' cannot be written: not a directory"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str, cli: Cli) -> None:
    assert cli("calibrate", *arguments).refusal.startswith(sentence)


@pytest.mark.parametrize("missing", ["optuna", "scipy.stats.qmc"])
def test_a_missing_library_is_named_with_what_installs_it(
    missing: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    found = cli("calibrate", "easy-pm")
    assert found.code == 2
    assert found.err == (
        "error: the search needs SciPy and Optuna, which are not installed: pip install 'counterpoint[calibrate]'\n"
    )


def test_the_libraries_of_the_search_are_loaded_by_the_search_alone() -> None:
    program = (
        "import sys, counterpoint.cli, counterpoint.papers.calibrate\n"
        "print([name for name in ('scipy', 'numpy', 'optuna', 'altair') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_papers_of_a_simulator_are_searched_together() -> None:
    assert [one.name for one in calibrate.cited_by("all")] == [one.name for one in simulators()]
    assert [one.papers for one in calibrate.cited_by("secpm")] == [("secpm", "secpm-workshop")]
    assert [one.name for one in calibrate.cited_by(["sepencr", "counter-atomicity"])] == ["gem5"]


def test_a_score_falls_with_what_is_missed() -> None:
    row = ClaimRow("", "", "", holds=False)

    def missed(measured: float) -> float:
        return evaluate.score(Claim("x", "y", "", 10, measured, 2, False, (row,)))

    assert missed(14) == 0.5 > missed(90) > 0


TINY = "easy-pm"
SHARED: dict[str, Any] = {
    "key": "device.write_recovery",
    "start": "each-write",
    "shipped": "row-close",
    "range": ["each-write", "row-close"],
    "reason": "open",
}
OWN: list[dict[str, Any]] = [
    {"key": "cores", "start": 1, "range": [1, 2], "reason": "open"},
    {
        "name": "queue",
        "start": {"controller.wpq_entries": 16, "controller.wpq_high_watermark": 12},
        "range": [
            {"controller.wpq_entries": 16, "controller.wpq_high_watermark": 12},
            {"controller.wpq_entries": 32, "controller.wpq_high_watermark": 24},
            {"controller.wpq_entries": 8, "controller.wpq_high_watermark": 24},
        ],
        "reason": "open; the last has a watermark above its queue",
    },
]


WRONG = {"controller.wpq_entries": 8, "controller.wpq_high_watermark": 24}


@contextmanager
def tiny_paper() -> Iterator[None]:
    """A paper of short runs, with few decisions."""
    whole = paper(TINY)
    document = {
        **whole.document,
        "full": {**whole.document["full"], "cores": 1, "transactions": 6, "warmup": 0, "footprint": "256KiB"},
        "short": {"transactions": 4, "warmup": 0, "footprint": "256KiB"},
        "calibration": {"transactions": 5, "warmup": 0, "footprint": "256KiB"},
    }
    simulator = Simulator("tiny", "Tiny", (TINY,), read([SHARED], "tiny"))
    small = Paper(TINY, whole.title, whole.names, (*simulator.decisions, *read(OWN)), (), document)

    def known(name: str) -> Paper:
        return small if name == TINY else paper(name)

    with pytest.MonkeyPatch.context() as patch:
        for module in (declared, asking, calibrate, reproduce, calibration_page):
            patch.setattr(module, "paper", known)
        patch.setattr(calibrate, "simulators", lambda: (simulator,))
        yield


@pytest.fixture
def tiny() -> Iterator[None]:
    with tiny_paper():
        yield


@dataclass(frozen=True)
class Searched:
    """A search by the command line, which begins with an empty store. It is read, not changed."""

    code: int
    out: str
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "runs.duckdb"

    @property
    def document(self) -> Any:
        return json.loads(self.out)["calibrations"][0]


def search_in(folder: Path) -> tuple[str, ...]:
    """The words of a search that has its files in a folder."""
    files = ("--store", str(folder / "runs.duckdb"), "--out", str(folder / "docs"))
    return ("calibrate", TINY, "--budget", "10", *files, "--json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    folder = tmp_path_factory.mktemp("whole")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with tiny_paper(), pytest.MonkeyPatch.context() as patch, redirect_stdout(out), pytest.raises(SystemExit) as stop:
        patch.setattr("sys.argv", ["counterpoint", *search_in(folder)])
        main()
    assert isinstance(stop.value.code, int)
    return Searched(stop.value.code, out.buffer.getvalue().decode(), folder)


def simulations(store: Path) -> int:
    with Store(store, read_only=True) as opened:
        return len(opened._database.ask("SELECT key FROM results"))


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_a_search_with_the_engine_from_end_to_end(whole: Searched, cli: Cli, tmp_path: Path) -> None:
    assert whole.code == 0
    (document,) = json.loads(whole.out)["calibrations"]
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    store = tmp_path / "runs.duckdb"
    kept = simulations(store)
    assert kept > 0

    assert (document["simulator"], document["papers"]) == ("tiny", [TINY])
    assert [entry["key"] for entry in document["decisions"]] == ["device.write_recovery", "cores", "queue"]
    refused = [one for one in document["evaluations"] if one["refused"]]
    assert refused, "the watermark above its queue"
    assert all(one["values"]["controller.wpq_entries"] == 8 and "watermark" in one["refused"] for one in refused)
    admitted = [one for one in document["evaluations"] if not one["refused"]]
    assert all(set(one["scores"]) == set(evaluate.judged_claims(TINY)) for one in admitted)
    assert {seed for one in admitted for seed in one["seeds"]} == set(SEEDS)
    assert {one["scale"] for one in admitted} == {"short", "calibration", "full"}
    assert document["points"]["shipped"]["values"][TINY]["device.write_recovery"] == "row-close"
    assert document["points"]["start"]["departures"] == 1
    chosen = document["points"]["chosen"]
    assert chosen["score"] >= document["points"]["start"]["score"] or document["cross_validation"]["weight"] > 0
    assert {fold["left_out"] for fold in document["cross_validation"]["folds"]} == set(evaluate.judged_claims(TINY))
    assert document["finish"][0]["values"] == chosen["values"]
    assert len(document["sensitivity"]) == 2 + 2 + 3

    page = (tmp_path / "docs" / "calibration" / "tiny.md").read_text()
    assert "| `device.write_recovery` | each-write, row-close | each-write | row-close | " in page.replace("|  |", "|")
    assert "wpq_entries 8, wpq_high_watermark 24 | refused |" in page
    assert "## What the engine refuses" in page
    scores = pl.read_csv(tmp_path / "docs" / "calibration" / "tiny.csv")
    assert scores.height == len(evaluate.judged_claims(TINY)) * (2 + 2 + 3)
    assert set(scores.filter(pl.col("score").is_null())["value"]) == {
        f"wpq_entries 8, wpq_high_watermark {mark}" for mark in (24,)
    }
    assert not (tmp_path / "docs" / "assumptions.md").exists(), "which is about all papers"

    simulator = calibrate.cited_by(TINY)[0]
    known = evaluations.read(calibrate.space_of(simulator), tmp_path / "docs" / "calibration" / "tiny.parquet")
    repeated = calibrate.repeated(simulator, known, budget=10)
    assert json.loads(json.dumps(repeated.to_dict())) == document
    assert calibration_page.page(repeated) == page
    known.popitem()
    with pytest.raises(cp.InputError, match=f"no evaluation is known of {TINY} with"):
        calibrate.repeated(simulator, known, budget=10)

    again = cli(*search_in(tmp_path), "--workers", "1")
    assert json.loads(again.out)["calibrations"] == [document], "nothing depends on workers"
    assert simulations(store) == kept, "nor is anything simulated twice"


def test_evaluations_that_cannot_be_read_are_one_sentence(tmp_path: Path) -> None:
    (simulator,) = (one for one in simulators() if TINY in one.papers)
    space = calibrate.space_of(simulator)
    path = tmp_path / "some.parquet"
    with pytest.raises(cp.InputError, match=r"evaluations '.*' cannot be read: no such file"):
        evaluations.read(space, path)
    path.write_text("paper\n")
    with pytest.raises(cp.InputError, match=r"evaluations '.*' cannot be read: "):
        evaluations.read(space, path)
    ask = Ask(TINY, space.start[: len(space.decisions_of(TINY))], "short", (1,))
    evaluations.write(space, {ask: Outcome({}, "refused")}, path)
    assert evaluations.read(space, path) == {ask: Outcome({}, "refused")}
    frame = pl.read_parquet(path)
    for values, what in (
        ({}, "controller.policy"),
        ({**json.loads(frame["values"][0]), "device.colour": 1}, "device.colour"),
    ):
        frame.with_columns(values=pl.lit(json.dumps(values))).write_parquet(path)
        with pytest.raises(cp.InputError, match=rf"{TINY} has other decisions now: .*{what}"):
            evaluations.read(space, path)


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_a_search_that_was_interrupted_goes_on(whole: Searched, tmp_path: Path) -> None:
    halved = tmp_path / "halved.duckdb"

    def stop(done: int, total: int) -> None:
        if done > 0.3 * total:
            raise KeyboardInterrupt

    with pytest.raises(cp.Interrupted):
        calibrate.calibrate(TINY, budget=10, store=halved, progress=stop)
    before = simulations(halved)
    assert 0 < before < simulations(whole.store)
    told: list[tuple[int, int]] = []
    found = calibrate.calibrate(TINY, budget=10, store=halved, progress=lambda *at: told.append(at))[0].to_dict()
    assert json.loads(json.dumps(found)) == whole.document
    assert simulations(halved) == simulations(whole.store)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert all(0 <= done <= total for done, total in told) and told[-1][0] == told[-1][1]


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_only_what_claims_need_is_simulated_and_each_run_once(tmp_path: Path) -> None:
    with computing(tmp_path / "runs.duckdb") as computer:
        one, same = simulate(computer, [Setting(TINY, {}, (1,))] * 2)
    assert one == same
    assert "exact" not in {claims.published()[claim.id]["kind"] for claim in one.claims}
    assert simulations(tmp_path / "runs.duckdb") == 15, "five workloads with three designs"


def test_in_short_several_cores_share_the_transactions_of_one() -> None:
    def transactions(scale: Scale, **values: Any) -> set[Any]:
        taken = evaluate._declared(Setting("secpm", values, (1,), scale), 1)
        return {asked["transactions"] for asked in asking.requests_of(taken)}

    (alone,) = transactions("short")
    assert transactions("short", cores=1) == {alone}
    assert transactions("short", cores=4) == {alone // 4}
    for scale in ("calibration", "full"):
        assert transactions(scale, cores=4) == transactions(scale), "so many for each core"


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_at_full_length_claims_are_measured_as_by_reproduce() -> None:
    with computing(None) as computer:
        found, refused = simulate(computer, [Setting(TINY, values, (1, 2, 3), "full") for values in ({}, WRONG)])
    reproduced = {claim.id: claim for claim in reproduce.reproduce(TINY, seeds=3).claims}
    assert [claim.id for claim in found.claims] == list(evaluate.judged_claims(TINY))
    for claim in found.claims:
        assert claim == reproduced[claim.id]
        assert claim.intervals, "over all seeds"
        assert found.scores[claim.id] == evaluate.score(claim)
    assert "watermark" in refused.refused and not refused.claims


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_point_that_only_a_run_refuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "refused", lambda _: "")
    wrong = Setting(TINY, WRONG, (1,))
    with computing(None) as computer:
        (alone,) = simulate(computer, [wrong])
        beside, admitted = simulate(computer, [wrong, Setting(TINY, {}, (1,))])
    assert alone == beside
    assert "watermark" in alone.refused and not alone.scores
    assert admitted.scores and not admitted.refused


@pytest.mark.engine
@pytest.mark.usefixtures("tiny")
def test_a_point_at_which_a_claim_has_no_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "throughput", lambda _: None)
    with computing(None) as computer:
        (found,) = simulate(computer, [Setting(TINY, {}, (1,))])
    assert "has no throughput" in found.refused and not found.scores


def thinks(spec: DecisionSpec) -> bool:
    return "program.think_instructions" in spec.keys


@cache
def judged_claims_of(name: str) -> tuple[str, ...]:
    return evaluate.judged_claims(name)


def thinking(asked: Sequence[Ask]) -> list[Outcome]:
    """Scores that depend on one decision alone, the third choice of which is best."""
    found = []
    for ask in asked:
        space = calibrate.space_of(simulator_of(ask.paper))
        places = zip(space.decisions_of(ask.paper), ask.point, strict=True)
        place = next(place for spec, place in places if thinks(spec))
        score = 1 - abs(place - 2) / 8
        row = ClaimRow("", "1 ± 1", f"{score}", holds=score == 1)
        known = judged_claims_of(ask.paper)
        judged = tuple(Claim(name, ask.paper, "", 1, score, 1, row.holds, (row,)) for name in known)
        found.append(Outcome(dict.fromkeys(known, score), claims=judged))
    return found


@pytest.fixture(scope="module")
def found_by_thinking() -> list[calibrate.Calibration]:
    found = []
    for simulator in simulators():
        space = calibrate.space_of(simulator)
        names = [claim for name in space.own for claim in evaluate.judged_claims(name)]
        explored = explore(space, thinking, names, budget=30, seed=1)
        pool, validation = explored.pool, explored.validation
        assert validation is not None
        varied = sensitivity.sensitivity(pool, validation.best)
        settings = dict.fromkeys(space.own, "")
        found.append(calibrate.Calibration(simulator, pool, validation, (), None, varied, settings, 30, 1))
    return found


def test_the_pages_of_all_papers_say_what_each_claim_depends_on(
    found_by_thinking: list[calibrate.Calibration], tmp_path: Path
) -> None:
    found = found_by_thinking
    written = calibration_page.write_pages(found, tmp_path)
    assert [str(path.relative_to(tmp_path)) for path in written] == [
        *(f"calibration/{simulator.name}.{kind}" for simulator in simulators() for kind in ("md", "csv", "parquet")),
        "img/assumptions.svg",
        "assumptions.md",
    ]
    for one in found:
        shown = (tmp_path / "calibration" / f"{one.simulator.name}.md").read_text()
        assert "| chosen | 1.000 |" in shown
        assert "## What the engine refuses" not in shown
        for name, spec, _ in one.by_decision(one.chosen):
            heading = f"| `{spec.name}`" + (f" ({name})" if name else "") + " | score |"
            assert shown.count(heading) == 1
    page = (tmp_path / "assumptions.md").read_text()
    for name in PAPERS:
        think = next(filter(thinks, paper(name).decisions))
        moved = max(abs(place - 2) for place in range(len(think.rows))) / 8
        for claim in evaluate.judged_claims(name):
            assert re.search(rf"^\| `{re.escape(claim)}` \|(  \|)* {moved:.2f} \|", page, re.MULTILINE), claim
    assert page.count("No result depends on `") == len(simulators())
    picture = ElementTree.fromstring((tmp_path / "img" / "assumptions.svg").read_text())
    texts = ["".join(text.itertext()) for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    judged = [claim for name in PAPERS for claim in evaluate.judged_claims(name)]
    assert sorted(text for text in texts if text in judged) == sorted(judged)


def test_the_page_has_what_was_measured_at_full_length(found_by_thinking: list[calibrate.Calibration]) -> None:
    one = found_by_thinking[0]
    row = ClaimRow("", "", "", holds=True)
    claim = Claim("p.f1.x", "p", "", 1, 1, 1, True, (row,))
    missed = Claim("p.f1.y", "p", "", 1, 9, 1, False, (row,))
    other = changed(one.chosen, 0, 1 - one.chosen[0])
    finalists = (Finalist(one.chosen, (claim, claim), 1.0), Finalist(other, (claim, missed), 0.75))
    page = calibration_page.page(replace(one, finalists=finalists))
    first = one.space.decisions[0]
    assert "| nothing | 2 of 2 | 1.000 | none |" in page
    assert f"| `{first.name}` {first.text(first.rows[other[0]])} | 1 of 2 | 0.750 | `p.f1.y` |" in page
    assert "too weak" not in page and page.count("| 2 of 2 |") == 1
    weak = calibration_page.page(replace(one, finalists=finalists[1:], before=finalists[0]))
    assert "more claims hold there, so the search was too weak." in weak and weak.count("| 2 of 2 |") == 1


def test_the_page_says_what_the_choice_costs_each_paper(found_by_thinking: list[calibrate.Calibration]) -> None:
    """One paper alone is best where another cannot be."""
    one = next(one for one in found_by_thinking if len(one.space.own) == 2)
    page = calibration_page.page(one)
    for name in one.space.own:
        assert f"| {name} | 1.000 | 1.000 | none | none | the same |" in page
    name = next(iter(one.space.own))
    best, outcome = one.alone(name)
    lost = replace(outcome.claims[0], id=f"{name}.f9.lost")
    better = Outcome(outcome.scores, claims=(*outcome.claims, lost))
    moved = changed(best, 0, 1 - best[0])
    ask = Ask(name, moved, "calibration", SEEDS[:1])
    worse = {key: replace(each, scores=dict.fromkeys(each.scores, 0.5)) for key, each in one.pool.outcomes.items()}
    pool = replace_outcomes(one, {**worse, ask: better})
    row = next(
        line for line in calibration_page.page(replace(one, pool=pool)).splitlines() if f"| `{name}.f9.lost` |" in line
    )
    assert row.startswith(f"| {name} | 1.000 | 0.500 | `{name}.f9.lost` | none | `{one.space.decisions[0].name}` ")


def replace_outcomes(one: calibrate.Calibration, outcomes: Mapping[Ask, Outcome]) -> Pool:
    pool = Pool(one.space, thinking)
    pool.outcomes = dict(outcomes)
    return pool


def test_the_page_of_assumptions_is_written_with_the_last_search(
    found_by_thinking: list[calibrate.Calibration], tmp_path: Path
) -> None:
    folder, together = tmp_path / "apart", tmp_path / "together"
    found = found_by_thinking
    calibration_page.write_pages(found, together)
    whole = {path.relative_to(together): path.read_bytes() for path in together.rglob("*.*")}
    for one in reversed(found):
        assert not (folder / "assumptions.md").exists()
        calibration_page.write_pages([one], folder)
    assert {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")} == whole

    damaged = folder / "calibration" / f"{found[0].simulator.name}.csv"
    for content in ("claim,score\n", "", damaged.read_text() + "x,y,z,high\n"):
        damaged.write_text(content)
        with pytest.raises(cp.InputError, match=f"'{damaged}' cannot be read: it does not have the columns claim, "):
            calibration_page.write_pages(found[1:], folder)


def test_a_refused_value_moves_no_result(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("claim,decision,value,score\nc,d,1,0.5\nc,d,2,\nc,d,3,0.75\nc,e,1,\n")
    assert assumptions._moves(assumptions._scores(path)).rows() == [("c", "d", 0.25)]


def decision_rows(page: str) -> list[list[str]]:
    section = page.split("## What the papers leave open")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


@pytest.mark.engine
@pytest.mark.parametrize("simulator", simulators(), ids=lambda one: one.name)
def test_presets_have_what_the_published_search_chose(simulator: Simulator) -> None:
    """The published pages are of these decisions, and the presets have what they chose, or what they say that was found
    after the search."""
    if simulator.name in OLDER:
        pytest.skip("the next test holds its page against the presets")
    page = (ROOT / "docs" / "calibration" / f"{simulator.name}.md").read_text()
    after = [line for line in page.splitlines() if line.startswith("| presets, by hand |")]
    rows = decision_rows(page)
    space = calibrate.space_of(simulator)
    different, unexplained = set(), set()
    for row, owner, spec in zip(rows, space.owners, space.decisions, strict=True):
        name, key, choices, start, shipped, chosen, preset = row[:7]
        assert (name, key) == (owner, f"`{spec.name}`")
        assert choices == ("; " if spec.is_group else ", ").join(map(spec.text, spec.rows))
        assert (start, shipped) == (spec.text(spec.start), spec.text(spec.shipped))
        told = f"{name} {key} {preset}".strip()
        if preset != chosen.strip("*") and not any(told in re.split(r"; | \| ", line) for line in after):
            unexplained.add(f"{name} {key}")
        published = next(one for one in spec.rows if spec.text(one) == preset)
        for one in [owner] if owner else simulator.papers:
            pairs = zip(spec.keys, asking.set_now(one, spec), published, strict=True)
            different |= {f"{owner} {key}".strip() for key, now, then in pairs if now != then}
    assert not different
    assert not unexplained


OLDER = ("gem5-nvmain", "gem5")
"""Pages of searches from before the decisions that `docs/calibration.md` names under "Results"."""


BEFORE = "What the presets had when the search began"


@pytest.mark.engine
@pytest.mark.parametrize("simulator", [one for one in simulators() if one.name not in OLDER], ids=lambda one: one.name)
def test_a_published_page_follows_from_the_evaluations_beside_it(simulator: Simulator) -> None:
    """The rules of the search lead through these evaluations, and only these, to what the page says."""
    published = ROOT / "docs" / "calibration" / f"{simulator.name}.md"
    known = evaluations.read(calibrate.space_of(simulator), published.with_suffix(".parquet"))
    page = published.read_text()
    (budget,) = map(int, re.findall(r"--budget (\d+) --seed 1`", page))
    repeated = calibration_page.page(calibrate.repeated(simulator, known, budget=budget))

    def without_before(text: str) -> list[str]:
        """Its paragraphs but for what the presets had, which are others now."""
        paragraphs = text.split("\n\n")
        begin = next(place for place, one in enumerate(paragraphs) if one.startswith(BEFORE))
        return [one for one in paragraphs[:begin] + paragraphs[begin + 2 :] if not one.startswith("Written by")]

    assert without_before(repeated) == without_before(page)


@pytest.mark.engine
@pytest.mark.parametrize("name", OLDER)
def test_a_page_of_an_older_search_says_what_the_presets_have(name: str) -> None:
    page = (ROOT / "docs" / "calibration" / f"{name}.md").read_text()
    (simulator,) = (one for one in simulators() if one.name == name)
    presets = {machine.name: machine.values for machine in catalogue.machines()}
    rows = [row for row in decision_rows(page) if "." in row[1]]
    assert len(rows) > len(simulator.papers)
    for owner, key, *_, preset, _ in (row[:8] for row in rows):
        section, value = key.strip("`").split(".")
        for one in [owner] if owner else simulator.papers:
            assert literal(presets[one][section][value]) == preset, (one, key)


def test_the_page_of_assumptions_is_about_every_claim() -> None:
    page = (ROOT / "docs" / "assumptions.md").read_text()
    for name in PAPERS:
        for claim in evaluate.judged_claims(name):
            assert f"`{claim}`" in page
    picture = (ROOT / "docs" / "img" / "assumptions.svg").read_text()
    assert "<script" not in picture
