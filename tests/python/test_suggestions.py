"""A name that does not exist is answered by the nearest ones, and by how to list all, not by a long list."""

from __future__ import annotations

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.cli import Program, suggestions

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "run secmp queue",
            "'secmp' does not exist: did you mean 'secpm' or 'secpb'? (`counterpoint designs` lists all {})",
        ),
        ("run xyzzy queue", "design 'xyzzy' does not exist (`counterpoint designs` lists all {})"),
        ("compare -d secpm,SCA", "design 'SCA' does not exist: did you mean 'sca'"),
        (
            "run secpm qeue",
            "and is not a trace file: did you mean 'queue'? (`counterpoint workloads` lists all",
        ),
        ("replay app.cptrace -d secpm", "workload 'app.cptrace' does not exist and is not a trace file\n"),
        ("crash secpm queue --fault stag", "did you mean 'staging-register'? (`counterpoint faults` lists all"),
        ("run secpm queue --machine smal", "did you mean 'small'? (`counterpoint machines` lists all"),
        ("bugs xyzzy", "bug 'xyzzy' does not exist (`counterpoint bugs` lists all 42)"),
        ("run secpm queue --transactons 3", "No such option: --transactons (Possible options: --transactions)"),
        ("run secpm queue --xyzzy 3", "No such option: --xyzzy; `counterpoint run --help` lists all options"),
        ("compare secpm star", "extra argument(s) (secpm star). Example: counterpoint compare -d unencrypted,secpm -w"),
        ("run secpm", "Missing argument 'WORKLOAD'. Example: counterpoint run secpm btree"),
        ("xyzzy", "No such command 'xyzzy'; `counterpoint --help` lists all commands"),
    ],
)
def test_a_name_that_does_not_exist(words: str, said: str, cli: Cli) -> None:
    refusal = cli(*words.split()).refusal
    assert said.format(len(cp.designs())) in refusal
    assert len(refusal) < 200


def test_the_commands_that_list_names_are_there() -> None:
    assert set(suggestions._LISTED.values()) <= set(Program.places)


def test_other_sentences_stay_as_they_are() -> None:
    names = ", ".join(f"n{number}" for number in range(9))
    for sentence in (f"paper 'x' does not exist (known: {names})", "design 'x' does not exist (known: a, b)", "x"):
        assert suggestions.shortened(sentence) == sentence
    assert suggestions.shortened(f"a: design 'n' does not exist (known: {names}); b") == (
        "a: design 'n' does not exist: did you mean 'n0', 'n1' or 'n2'? (`counterpoint designs` lists all 9); b"
    )
