"""The tutorial: every command in it runs, and prints what the text shows."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

import tutorial

_PAGE = tutorial.PAGE.read_text()


class TestThePlayer:
    @pytest.mark.parametrize(
        ("expected", "printed"),
        [
            ("a\nb\n", "a\nb\n"),
            ("a\n", "a   \n"),
            ("[...]\n", ""),
            ("a\n[...]\nd\n", "a\nb\nc\nd\n"),
            ("a\n[...]\nd\n", "a\nd\n"),
            ("took [...] s on [...]\n", "took 0.1 s on this computer\n"),
        ],
    )
    def test_elision_stands_for_anything(self, expected: str, printed: str) -> None:
        assert tutorial.matches(expected, printed)

    @pytest.mark.parametrize(
        ("expected", "printed"),
        [
            ("a\n", "a\nb\n"),
            ("a\nb\n", "a\n"),
            ("1.0\n", "1x0\n"),
            ("", "a\n"),
            ("a\n[...]\nd\n", "a\nb\nc\n"),
            ("took [...] s\n", "took 0.1\n s\n"),
        ],
    )
    def test_text_without_elision_must_be_equal(self, expected: str, printed: str) -> None:
        assert not tutorial.matches(expected, printed)

    def test_blocks_have_language_title_code_and_line(self) -> None:
        page = 'a\n\n```sh exit=2\nfalse\n```\n\n```toml title="x/y.toml"\na = 1\n```\n'
        assert tutorial.blocks(page) == [
            tutorial.Block("sh", "false\n", 3, code=2),
            tutorial.Block("toml", "a = 1\n", 7, title="x/y.toml"),
        ]
        with pytest.raises(tutorial.Stale, match="line 1: the block has no end"):
            tutorial.blocks("```sh\ntrue\n")

    def test_files_edits_and_commands_are_done_in_order(self, tmp_path: Path) -> None:
        page = (
            '```text title="folder/one"\na\n```\n'
            "```diff\n--- a/folder/one\n+++ b/folder/one\n@@ -1 +1 @@\n-a\n+b\n```\n"
            "```sh exit=3\ncat folder/one; exit 3\n```\n```text\nb\n```\n"
            "```sh\necho c\n```\n"
        )
        first, second = tutorial.Place(tmp_path).play(page)
        assert (first.printed, first.expected) == ("b\n", tutorial.Block("text", "b\n", 14))
        assert (second.printed, second.expected) == ("c\n", None)

    def test_another_exit_code_another_output_and_an_edit_without_place_are_stale(self, tmp_path: Path) -> None:
        place = tutorial.Place(tmp_path)
        with pytest.raises(tutorial.Stale, match="line 1: exit code 1 and not 0"):
            list(place.play("```sh\nfalse\n```\n"))
        with pytest.raises(tutorial.Stale, match="line 1: exit code 1 and not 0"):
            list(place.play("```sh\nfalse\ntrue\n```\n"))
        with pytest.raises(tutorial.Stale, match="line 1: exit code"):
            list(place.play("```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n"))
        (done,) = place.play("```sh\necho b\n```\n```text\na\n```\n")
        with pytest.raises(tutorial.Stale, match=r"line 1: echo b[\s\S]*-a\n\+b"):
            tutorial.check(done)


@pytest.mark.engine
def test_the_tutorial_does_what_it_says() -> None:
    copy = tutorial.Copy(tutorial.folder())
    done = []
    for one in copy.play(_PAGE):
        tutorial.check(one)
        done.append(one.block.line)
    fences = [line for line, text in enumerate(_PAGE.splitlines(), 1) if re.match(r"\s*(?:```|~~~)+\s*sh\b", text)]
    needs = {block.line: block.needs for block in tutorial.blocks(_PAGE)}
    assert done == [line for line in fences if copy.offers(needs[line])], "a command was passed over"


def test_output_in_the_tutorial_follows_a_command() -> None:
    found = tutorial.blocks(_PAGE)
    assert {block.language for block in found} == {"sh", "text", "python", "toml", "diff"}
    for before, block in pairwise(found):
        assert block.language != "text" or before.language == "sh", f"line {block.line}: output of what?"
        assert block.language not in {"python", "toml"} or block.title, f"line {block.line}: goes where?"
