"""Matrices of runs: points are the product of the axes in order, and every bad matrix gets one sentence."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoint import InputError
from counterpoint.runs import matrix

_KEYS = ("design", "workload", "seed", "cores", "transactions", "device.t_wr_ns", "controller.wpq_entries")
_VALUES = {
    "design": st.sampled_from(["unencrypted", "secpm", "write-back"]),
    "workload": st.sampled_from(["array", "btree"]),
    "device.t_wr_ns": st.floats(1, 1000),
}


@st.composite
def _axes(draw: st.DrawFn) -> dict[str, list[Any]]:
    keys = draw(st.lists(st.sampled_from(_KEYS), unique=True))
    return {
        key: draw(st.lists(_VALUES.get(key, st.integers(0, 2**64 - 1)), min_size=1, max_size=4, unique=True))
        for key in keys
    }


@given(axes=_axes())
def test_points_are_the_product_of_the_axes_the_first_one_slowest(axes: dict[str, list[Any]]) -> None:
    base = {"design": "secpm", "workload": "array", "machine": "small"}
    document = {"base": {key: value for key, value in base.items() if key not in axes}, "axes": axes}
    found = matrix.parse(document, "here")
    assert [dict(point.values) for point in found.points] == [
        dict(zip(axes, row, strict=True)) for row in itertools.product(*axes.values())
    ]
    for point in found.points:
        asked = {**base, **point.values}
        assigned = {key: value for key, value in asked.items() if "." in key}
        assert {key: asked[key] for key in asked if "." not in key} == {
            key: value for key, value in point.request.items() if key != "set"
        }
        assert point.request.get("set", []) == [f"{key}={value}" for key, value in assigned.items()]


@given(length=st.integers(1, 6), others=st.integers(1, 4))
def test_lists_of_a_zip_go_together(length: int, others: int) -> None:
    document = {
        "base": {"workload": "array", "design": "secpm"},
        "axes": {"seed": list(range(others))},
        "zip": [{"cores": list(range(length)), "device": {"t_wr_ns": [10 * n for n in range(length)]}}],
    }
    points = matrix.parse(document, "here").points
    assert [(point.values["seed"], point.values["cores"]) for point in points] == list(
        itertools.product(range(others), range(length))
    )
    assert all(point.values["device.t_wr_ns"] == 10 * int(point.values["cores"]) for point in points)


@given(first=st.integers(-50, 50), steps=st.integers(0, 40), step=st.integers(1, 20), over=st.integers(0, 19))
def test_a_range_by_steps_ends_at_the_last_that_is_not_above_its_end(
    first: int, steps: int, step: int, over: int
) -> None:
    last = first + steps * step + min(over, step - 1)
    assert _range({"from": first, "to": last, "step": step}) == tuple(range(first, last + 1, step))


@given(first=st.integers(1, 1000), doublings=st.integers(0, 20), factor=st.integers(2, 5))
def test_a_range_by_factors_is_exact(first: int, doublings: int, factor: int) -> None:
    last = first * factor**doublings
    assert _range({"from": first, "to": last, "factor": factor}) == tuple(
        first * factor**n for n in range(doublings + 1)
    )


@given(
    first=st.floats(0.001, 1e6),
    times=st.floats(1.1, 1e6),
    points=st.integers(2, 60),
    scale=st.sampled_from(["linear", "log"]),
)
def test_a_range_of_points_begins_and_ends_where_it_says_and_rises(
    first: float, times: float, points: int, scale: str
) -> None:
    values = _range({"from": first, "to": first * times, "points": points, "scale": scale})
    assert (values[0], values[-1], len(values)) == (first, first * times, points)
    assert sorted(set(values)) == list(values)


def test_a_range_of_sizes_is_in_bytes() -> None:
    assert _range({"from": "64KiB", "to": "1MiB", "factor": 4}) == (65536, 262144, 1048576)
    assert _range({"from": 1, "to": 3}) == (1, 2, 3)
    assert _range({"from": 1, "to": 100, "points": 3, "scale": "log"}) == (1, 10, 100)


def _range(given: dict[str, Any]) -> tuple[Any, ...]:
    document = {"base": {"design": "secpm", "workload": "array"}, "axes": {"device": {"x": given}}}
    return matrix.parse(document, "here").axes["device.x"]


_GOOD = 'base.design = "secpm"\nbase.workload = "array"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "there is no design"),
        ('base.design = "secpm"', "there is no workload"),
        ("base = 3", "base is 3; it must be a table"),
        ("axes = [1]", "axes is [1]; it must be a table"),
        ("zip = 1", "zip is 1; it must be tables"),
        ("zip = [1]", "zip is [1]; it must be tables"),
        (_GOOD + "base.seed = [1, 2]", "base.seed is [1, 2]; it must be one value"),
        (_GOOD + "base.sead = 1", "did you mean 'seed'"),
        (_GOOD + "axes.nothing = [1]", "'nothing' does not exist"),
        (_GOOD + "axes.seed = 3", "axes.seed is 3; it must be a list"),
        (_GOOD + "axes.seed = []", "axes.seed is empty"),
        (_GOOD + "axes.seed = [1, 1]", "axes.seed has a value twice"),
        (_GOOD + "axes.seed = [[1]]", "axes.seed has [1] in its list"),
        (_GOOD + "axes.seed = [1.5]", "seed is '1.5'; it must be a whole number"),
        (_GOOD + "axes.seed = [-1]", "seed is -1"),
        (_GOOD + 'axes.design = ["secpm"]', "design is given twice, in an axis and in base"),
        (_GOOD + "axes.seed = [1]\n[[zip]]\nseed = [2]", "seed is given twice, in an axis and in another axis"),
        (_GOOD + "[[zip]]\nseed = [1, 2]\ncores = [1]", "must be of one length (seed has 2, cores has 1)"),
        (_GOOD + "axes.seed = { from = 1 }", "the range has no end"),
        (_GOOD + "axes.seed = { from = 3, to = 1 }", "it must go up"),
        (_GOOD + "axes.seed = { from = 1, to = 3, by = 1 }", "'by' is not a part of a range"),
        (_GOOD + "axes.seed = { from = 1, to = 3, step = 0 }", "step is 0; it must be above zero"),
        (_GOOD + "axes.seed = { from = 1, to = 3, factor = 1 }", "factor is 1; it must be above 1"),
        (_GOOD + "axes.seed = { from = 0, to = 3, factor = 2 }", "must begin above zero"),
        (_GOOD + "axes.seed = { from = 1, to = 3, points = 1 }", "points is 1; it must be"),
        (_GOOD + "axes.seed = { from = 1, to = 3, points = 2, step = 1 }", "one of step, factor and points"),
        (_GOOD + 'axes.seed = { from = 1, to = 3, scale = "log" }', "scale is 'log'"),
        (_GOOD + 'axes.seed = { from = 1, to = "many" }', "is 'many'; it must be a number, or a size"),
        (_GOOD + "axes.seed = { from = 1, to = true }", "is True; it must be a number"),
        (_GOOD + "axes.seed = { from = 1, to = inf }", "is inf; it must be a number"),
        (_GOOD + "axes.seed = { from = 1, to = 1e9 }", "points; at most 1000000 are allowed"),
        (_GOOD + 'axes.tx_size = { from = "64B", to = "1KiB", factor = 1.3 }', "not a whole number of bytes"),
    ],
)
def test_a_bad_matrix_gets_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)) as refused:
        matrix.parse(tomllib.loads(text), "here")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("here") or "seed is" in str(refused.value)


@given(text=st.text(max_size=200))
def test_any_text_is_a_matrix_or_gets_a_sentence(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(InputError):
        matrix.load(path)


@given(
    part=st.sampled_from(["base", "axes", "zip"]),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["from", "to", "step", "points", "factor", "scale", *_KEYS]), inner)
        ),
        max_leaves=12,
    ),
)
def test_any_document_is_a_matrix_or_gets_a_sentence(part: str, value: Any) -> None:
    document = {"base": {"design": "secpm", "workload": "array"}} | {part: value}
    try:
        found = matrix.parse(document, "here")
    except InputError as refused:
        assert "\n" not in str(refused)
    else:
        assert found.points


def test_unreadable_matrix_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        matrix.load(tmp_path / "missing.toml")
    with pytest.raises(InputError, match="is not TOML"):
        (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
        matrix.load(tmp_path / "bad.toml")
