"""The litmus tests: every verdict is as expected, and an unexpected one is reported. The holes are as on their page."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import Cli, rules_again

import campaign
import counterpoint as cp
from counterpoint.verbs.litmus_suite import DIFFERS, FAILS, HOLDS, VOID, LitmusReport, LitmusTest, Row

HOLES = (Path(__file__).parents[2] / "validation" / "HOLES.md").read_text(encoding="utf-8")
TESTS = {test.name: test for test in cp.litmus_tests()}
ROWS = [(test, row) for test in TESTS.values() for row in test.rows]


def label(one: LitmusTest | Row) -> str:
    return one.name if isinstance(one, LitmusTest) else f"{one.design}-{one.variant}-{one.case}"


class TestTheList:
    def test_list_has_every_number_of_the_model_and_more(self) -> None:
        numbers = {test.number for test in TESTS.values()}
        assert numbers == {None, *range(1, 12)}

    @pytest.mark.parametrize("test", TESTS.values(), ids=label)
    def test_each_test_has_rows_that_break_and_rows_that_hold(self, test: LitmusTest) -> None:
        assert {row.expected for row in test.rows} == {HOLDS, FAILS}
        kinds = [(row.design, row.variant, row.case, row.options["workload"]) for row in test.rows]
        assert len(set(kinds)) == len(kinds), "rows that cannot be told apart"

    def test_each_published_reading_that_must_be_hardened_is_broken_by_one(self) -> None:
        failing = (row for _, row in ROWS if row.expected == FAILS and "fault" not in row.options)
        broken = {row.design for row in failing if row.variant == "published"}
        must_fail = {name for name, verdicts in campaign.VERDICTS.items() if verdicts["published"] == "fails"}
        # What the published readings of anubis-asit, phoenix and sca-tree lose, the campaign shows: no text that is
        # quoted here says it of these designs. That of co-located is broken with a volatile global counter alone.
        assert broken == must_fail - {"anubis-asit", "phoenix", "sca-tree"} | {"co-located"}


@pytest.fixture(scope="module")
def report() -> LitmusReport:
    return cp.litmus()


@pytest.mark.engine
class TestTheVerdicts:
    def test_all_are_as_expected(self, report: LitmusReport) -> None:
        assert [verdict for verdict in report.verdicts if not verdict.as_expected] == []
        assert [(verdict.test, verdict.row) for verdict in report.verdicts] == ROWS
        assert report.as_expected

    def test_broken_rules_are_those_of_the_row(self, report: LitmusReport) -> None:
        for verdict in report.verdicts:
            if verdict.row.expected == HOLDS:
                assert verdict.rule is None
                assert re.match(r"held at \d+ crash points", verdict.explanation), verdict.explanation
                assert verdict.crash.recovered == verdict.crash.crash_points > 50
                assert bool(verdict.crash.nested_points) == bool(verdict.row.options.get("nested", False))
            else:
                assert verdict.rule in verdict.row.rules
                assert all(words in verdict.explanation for words in verdict.row.says)

    def test_the_printed_command_shows_the_same_again(self, report: LitmusReport, cli: Cli) -> None:
        for verdict in report.verdicts:
            if verdict.observed == FAILS:
                assert verdict.rule in rules_again(cli, verdict.reproduce), verdict.reproduce

    @pytest.mark.parametrize("name", ["torn-pair", "shadow-consumed", "missing-annotation"])
    def test_the_command_of_a_row_is_the_whole_run(self, report: LitmusReport, cli: Cli, name: str) -> None:
        for verdict in report.verdicts:
            if verdict.test.name == name:
                document = json.loads(cli(*shlex.split(verdict.row.command)[1:], "--json").out)
                assert document["crash_points"] == verdict.crash.crash_points
                assert document["nested_points"] == verdict.crash.nested_points
                assert document["violation_count"] == verdict.crash.violation_count

    def test_verdicts_do_not_depend_on_the_number_of_workers(self, report: LitmusReport) -> None:
        names = ["bucket-vectors", "torn-pair"]
        alone = cp.litmus(names, workers=1).to_dict()["litmus"]
        among_all = [row for name in names for row in report.to_dict()["litmus"] if row["name"] == name]
        assert alone == among_all


@pytest.mark.engine
class TestTheCommandLine:
    def test_the_document_has_every_key(self, cli: Cli) -> None:
        outcome = cli("litmus", "clean-slot", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        document = json.loads(outcome.out)
        broken, *rows = document["litmus"]
        assert (broken["name"], broken["design"], broken["variant"]) == ("clean-slot", "bbe", "published")
        assert (broken["expected"], broken["observed"], broken["rule"]) == ("fails", "fails", "line")
        assert broken["paper"].startswith(
            "sepencr, sections IV-C and VI: we can obtain the correct counter by checking"
        )
        assert broken["reproduce"].startswith("counterpoint crash bbe array --variant published ")
        assert [(row["design"], row["observed"]) for row in rows] == [("bbe", "holds"), ("sepencr", "holds")]

    def test_the_table_names_each_row(self, cli: Cli) -> None:
        outcome = cli("litmus", "torn-pair,clean-slot")
        assert outcome.code == 0
        assert "As expected: all 9 litmus rows." in outcome.out
        lines = [line.split() for line in outcome.out.splitlines()]
        assert ["torn-pair", "write-through", "published", "-", "fails", "fails", "atomicity"] in lines
        assert ["bbe", "hardened", "-", "holds", "holds", "-"] in lines

    @pytest.mark.parametrize(
        ("name", "near"), [("torn", "torn-pair"), ("staus-register", "status-register"), ("qqq", None), ("", None)]
    )
    def test_an_unknown_name_is_one_sentence(self, cli: Cli, name: str, near: str | None) -> None:
        refused = cli("litmus", "clean-slot", name, "--json").refusal
        assert refused.startswith(f"litmus test '{name}' does not exist")
        assert (f"did you mean '{near}'?" in refused) == (near is not None)
        assert "counter-in-cache, torn-pair" in refused


ONE = """
[setting]
machine = "small"
tx_size = 128
footprint = "16KiB"
transactions = 8

[[litmus]]
name = "mine"
title = "a title"
paper = "secpm, section 2.3"
sentence = "A sentence."
because = "A reason."
setting = {{ workload = "linked-list" }}
rows = [{{ variant = "hardened", {row} }}]
"""


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of the test's own, in place of the real one."""
    source = tmp_path / "mine.toml"
    monkeypatch.setattr(importlib.import_module("counterpoint.verbs.litmus_suite"), "LITMUS", source)
    return source


@pytest.mark.engine
class TestWhatDoesNotComeOut:
    @pytest.mark.parametrize(
        ("row", "observed", "said"),
        [
            ('design = "secpm", expected = "fails", rules = ["line"]', HOLDS, "fails was expected, and it holds"),
            ('design = "write-through", expected = "holds"', FAILS, "holds was expected, and it fails"),
            (
                'design = "write-through", expected = "fails", rules = ["plaintext"]',
                DIFFERS,
                "What must break (plaintext) did not; this did: If power fails",
            ),
            (
                'design = "write-through", expected = "fails", rules = ["atomicity"], says = ["of the moon"]',
                DIFFERS,
                "What must break (atomicity, with 'of the moon') did not",
            ),
            (
                'design = "write-through", expected = "fails", rules = ["atomicity"], second_failure = true',
                DIFFERS,
                "What must break (atomicity at a second power failure) did not",
            ),
            ('design = "secpm", expected = "holds", met = ["evictions"]', VOID, "The run exercised no evictions."),
        ],
    )
    def test_unexpected_verdict_is_told_and_ends_with_1(
        self, cli: Cli, listed: Path, row: str, observed: str, said: str
    ) -> None:
        listed.write_text(ONE.format(row=row), encoding="utf-8")
        outcome = cli("litmus")
        assert outcome.code == 1
        assert "1 of 1 litmus row did not end as expected." in outcome.out
        assert said in outcome.out
        assert "  counterpoint crash " in outcome.out
        outcome = cli("litmus", "mine", "--json")
        assert outcome.code == 1
        assert json.loads(outcome.out)["litmus"][0]["observed"] == observed

    def test_the_same_row_with_the_right_verdict_ends_with_0(self, cli: Cli, listed: Path) -> None:
        listed.write_text(ONE.format(row='design = "secpm", expected = "holds", met = ["wpq_full"]'), encoding="utf-8")
        assert cli("litmus").code == 0

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            ('design = "secpm", expected = "fails"', "must fail and names no rules"),
            ('design = "secpm", expected = "maybe"', "expects 'maybe'; it must be holds or fails"),
            ('design = "secpm"', "has no 'expected'"),
            ('design = "secpm", expected = "holds", colour = "red"', "has an unknown key 'colour'"),
            ('design = "secpm", expected = "holds", met = ["rain"]', "must meet 'rain'; known: evictions"),
            ('design = "secpn", expected = "holds"', "'secpn'"),
            ('design = "secpm", ]', "cannot be read"),
        ],
    )
    def test_a_bad_list_is_one_sentence(self, cli: Cli, listed: Path, row: str, said: str) -> None:
        listed.write_text(ONE.format(row=row), encoding="utf-8")
        assert said in cli("litmus").refusal

    def test_ctrl_c_keeps_what_was_finished(self) -> None:
        told = []

        def stop_at_second(done: int, total: int) -> None:
            told.append((done, total))
            if done > 1:
                raise KeyboardInterrupt

        with pytest.raises(cp.Interrupted) as stop:
            cp.litmus(["counter-in-cache", "block-ahead-of-data"], workers=1, progress=stop_at_second)
        assert stop.value.litmus is not None
        assert len(stop.value.litmus.verdicts) == told[-1][0] < told[-1][1] == 8


ENTRY = re.compile(r"^### (\S+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\*\*Reproduction\*\*, `(\S+)`: breaks (.*)\.\n\n    (counterpoint crash .*)$", re.MULTILINE)
ENTRIES = dict(ENTRY.findall(HOLES))


class TestTheHoles:
    def test_every_published_reading_that_breaks_has_an_entry(self) -> None:
        broken = [test.name for test, row in ROWS if row.expected == FAILS and row.variant == "published"]
        assert set(ENTRIES) == set(broken)

    @pytest.mark.parametrize("name", ENTRIES)
    def test_an_entry_is_whole_and_quotes_what_its_test_quotes(self, name: str) -> None:
        entry, test = " ".join(ENTRIES[name].split()), TESTS[name]
        assert f'**Text.** {test.paper}: "{test.sentence}"' in entry
        parts = [entry.find(f"**{part}**") for part in ("Text.", "Argument.", "Reproduction", "Fix.")]
        assert parts == sorted(parts)
        assert parts[0] >= 0
        assert ENTRIES[name].count("    counterpoint crash ") == len(COMMAND.findall(ENTRIES[name])) > 0

    @pytest.mark.engine
    @pytest.mark.parametrize("name", ENTRIES)
    def test_commands_of_an_entry_show_the_stated_rules(self, name: str, cli: Cli, report: LitmusReport) -> None:
        rows = {verdict.row.command: verdict.crash for verdict in report.verdicts}
        for design, rules, command in COMMAND.findall(ENTRIES[name]):
            assert shlex.split(command)[1:3] == ["crash", design]
            known = rows.get(command)
            found = {one.rule for one in known.violations} if known else rules_again(cli, command)
            stated = re.findall(r"`(\w+)`", rules)
            assert stated
            assert found.issuperset(stated), command

    @pytest.mark.engine
    def test_one_of_them_needs_no_crash(self, cli: Cli) -> None:
        (command,) = re.findall(r"^    counterpoint (run .*)$", HOLES, re.MULTILINE)
        arguments = shlex.split(command)
        outcome = cli(*arguments, "--json")
        assert (outcome.code, outcome.out) == (3, "")
        assert "the caches and the program disagree" in outcome.err
        assert cli(*arguments, "--set", "controller.aes_units=1").code == 0
        assert cli(*arguments, "--set", "design.append_order=bump-order").code == 0
        without = [word for word in arguments if word != "design.append_order=unit-order"]
        assert len(without) == len(arguments) - 1
        without.remove("--set")
        assert cli(*without).code == 0


def test_the_page_lists_every_test() -> None:
    page = (Path(__file__).parents[2] / "docs" / "litmus.md").read_text(encoding="utf-8")
    listed = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    expected = [
        [
            f"`{test.name}`",
            str(test.number or ""),
            test.title,
            test.paper,
            ", ".join(f"`{rule}`" for rule in dict.fromkeys(rule for row in test.rows for rule in row.rules)),
        ]
        for test in TESTS.values()
    ]
    assert [cells for cells in listed if len(cells) == len(expected[0])] == expected
