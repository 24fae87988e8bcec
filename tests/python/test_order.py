"""The order in which runs are computed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterpoint.runs.executor.order import in_order, place_in_memory

REQUESTS = st.lists(
    st.fixed_dictionaries(
        {"workload": st.sampled_from(["array", "btree"]), "footprint": st.sampled_from([1 << 20, "2MiB"])},
        optional={
            "cores": st.sampled_from([1, 4, 8]),
            "transactions": st.sampled_from([20, 2_000, "2000"]),
            "warmup": st.sampled_from([0, 16_384]),
        },
    ),
    max_size=40,
)


@given(REQUESTS)
def test_every_run_comes_once(requests: list[dict[str, object]]) -> None:
    named = {str(place): request for place, request in enumerate(requests)}
    assert sorted(in_order(named)) == sorted(named)


def test_runs_of_one_length_are_ordered_by_their_memory() -> None:
    named = {str(place): {"workload": ["hash", "array"][place % 2], "transactions": 9} for place in range(10)}
    places = [place_in_memory(named[name]) for name in in_order(named)]
    assert places == sorted(places)


def test_long_runs_are_spread_over_the_others_and_none_is_the_last() -> None:
    long = {f"long {place}": {"cores": 8, "transactions": 1_000} for place in range(5)}
    short = {f"short {place}": {"cores": 1, "transactions": 1_000 - place} for place in range(40)}
    ordered = in_order(short | long)
    places = [place for place, name in enumerate(ordered) if name in long]
    assert places == [0, 9, 18, 27, 36]
    assert ordered[-1] == "short 39"
