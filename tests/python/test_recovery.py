"""`recovery`: costs by size on the screen, as JSON and as types, bad input, and what `compare` shows of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

import counterpoint as cp
from counterpoint.contract.results import RecoveryCost
from counterpoint.system import units

_TREES = ("strict", "triad-nvm", "osiris", "anubis-agit-plus")


def _lines(found: RecoveryCost) -> list[int]:
    return [cost.recovery.work.reads.total for cost in found.costs if cost.recovery]


@pytest.mark.engine
def test_recovery_grows_with_memory_or_with_the_caches() -> None:
    sizes = ["16GiB", "64GiB", "16TiB"]
    strict, triad, osiris, anubis = cp.recovery(_TREES, memory=sizes, measure=False)
    assert [cost.memory_bytes for cost in osiris.costs] == [16 << 30, 64 << 30, 16 << 40]
    assert _lines(strict) == [0, 0, 0]
    for found in (triad, osiris):
        first, second, last = _lines(found)
        assert second / first == pytest.approx(4, rel=1e-3) and last / first == pytest.approx(1024, rel=1e-3)
    # What the shadow table lists does not depend on memory, apart from the children of the root.
    assert max(_lines(anubis)) - min(_lines(anubis)) <= 8
    half, full = cp.recovery(["anubis-agit-plus"], memory="1TiB", cache="128KiB,256KiB", measure=False)[0].costs
    assert (half.counter_cache_bytes, full.metadata_cache_bytes) == (128 << 10, 256 << 10)
    assert half.recovery and full.recovery
    assert full.recovery.work.macs == 2 * half.recovery.work.macs
    assert half.recovery.time_ns < full.recovery.time_ns < full.recovery.papers_ns


@pytest.mark.engine
def test_the_counts_are_those_of_the_papers_arguments() -> None:
    (found,) = cp.recovery(["osiris"], memory=["1TiB"], measure=False)
    (cost,) = found.costs
    assert cost.recovery
    lines, blocks = cost.data_bytes // 64, cost.data_bytes // 4096
    behind = cost.counter_cache_bytes // 64
    counters, tree = cost.recovery.steps
    assert (counters.step, counters.work.reads.data, counters.work.reads.counter) == ("recover-counters", lines, blocks)
    assert counters.work.trials == lines + behind * 64 * 3
    assert counters.work.writes.total == behind
    assert (tree.step, tree.work.reads.counter) == ("rebuild-tree", blocks)
    assert cost.recovery.papers_ns == 100 * (lines + 2 * blocks)
    assert cost.recovery.time_ns < cost.recovery.papers_ns


@pytest.mark.engine
def test_bytes_on_the_chip_are_those_of_the_parts() -> None:
    def items(design: str, **options: object) -> dict[str, int]:
        (found,) = cp.recovery([design], memory=[], measure=False, **options)  # type: ignore[arg-type]
        (cost,) = found.costs
        assert sum(item.bytes for item in cost.on_chip) == cost.on_chip_bytes
        return {item.item: item.bytes for item in cost.on_chip}

    assert items("unencrypted", machine="secpm") == {"write pending queue": 32 * 72}
    # The hardened staging register is volatile: what it holds is not acknowledged.
    assert items("secpm") == {"write pending queue": 32 * 72, "reencryption status": 20}
    assert items("secpm", variant="published") == {"write pending queue": 32 * 72, "reencryption status": 20}
    # A MAC of 8 bytes moves with its line, and a write of `strict` has seven nodes and a counter block beside it.
    strict = items("strict")
    assert (strict["write pending queue"], strict["integrity root"]) == (32 * 80, 64)
    assert strict["registers beside the queue"] == 8 * 72
    assert items("osiris")["registers beside the queue"] == 72
    one, eight = items("bbe"), items("bbe", cores=8)
    assert one["caches"] < eight["caches"] == (4 << 20) // 64 * 72
    assert "counter cache" in one


@pytest.mark.engine
def test_a_battery_writes_what_it_drains_and_hashes_what_a_tree_protects(cli: Cli) -> None:
    def battery(design: str, cores: int = 1) -> tuple[int, int, int]:
        (found,) = cp.recovery([design], memory=[], measure=False, machine="sepencr", cores=cores)
        work = found.costs[0].battery
        assert work is not None
        return work.writes.data, work.pads, work.hashes

    # On eight cores 64 Ki slots, or half of them with pads, and a line of metadata for four of them.
    assert battery("eadr", cores=8) == (64 << 10, 0, 0)
    assert battery("bbe", cores=8) == (80 << 10, 64 << 10, 0)
    assert battery("sepencr", cores=8) == (40 << 10, 0, 0)
    for design, protected in (("bbe", "bbe-tree"), ("sepencr", "sepencr-tree")):
        lines, pads, hashes = battery(protected)
        assert (lines, pads, 0) == battery(design)
        # Each line, and a node for eight of them, and so on.
        assert lines * 8 / 7 - 3 < hashes < lines * 8 / 7 + 6
    assert cp.recovery(["secpm"], memory=[], measure=False)[0].costs[0].battery is None
    outcome = cli("recovery", "sepencr", "sepencr-tree", "--memory", "16GiB")
    assert re.search(r"^sepencr-tree +0 +44,288 +0 +36,571 +0$", outcome.out, re.M)


@pytest.mark.engine
def test_the_screen_shows_every_size_the_steps_the_small_memory_and_the_chip(cli: Cli) -> None:
    outcome = cli("recovery", "osiris", "anubis-agit-plus,write-back-tree", "--memory", "64GiB,1TiB")
    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(r"^osiris +64 GiB +1 MiB \+ 256 KiB +(\d[\d,]+ +){4}[\d.,]+ s +[\d.,]+ min$", outcome.out, re.M)
    assert re.search(r"^ +1 TiB +", outcome.out, re.M)
    assert re.search(r"^write-back-tree +64 GiB +1 MiB \+ 256 KiB( +-){6}$", outcome.out, re.M)
    assert "recover-counters" in outcome.out and "restore-nodes" in outcome.out
    counted = re.findall(r"^(?:\S+ +counted| +model) +(.*)$", outcome.out, re.M)
    assert len(counted) == 4 and counted[0] == counted[1] and counted[2] == counted[3]
    assert "write-back-tree promises no recovery: its counters, MACs and nodes are lost" in outcome.out


@pytest.mark.engine
def test_the_document_and_the_types_say_the_same(cli: Cli) -> None:
    outcome = cli("recovery", "triad-nvm", "--memory", "16GiB", "--set", "integrity.persisted_levels=2", "--json")
    document = json.loads(outcome.out)
    assert (outcome.code, list(document), document["schema"]) == (0, ["schema", "recoveries"], 1)
    found = cp.recovery(["triad-nvm"], memory=16 << 30, set={"integrity.persisted_levels": 2})
    assert [one.to_dict() for one in found] == document["recoveries"]
    assert found == [RecoveryCost.from_dict(one) for one in document["recoveries"]]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("osiris", "--memory", "16GiB,"), "memory: "),
        (("osiris", "--memory", ",".join(["1GiB"] * 65)), "memory has 65 values; at most 64 are allowed"),
        (
            ("osiris", "--memory", ",".join(["1GiB"] * 13), "--cache", "64KiB,128KiB,256KiB,512KiB,1MiB"),
            "memory with each size of cache has 65 values; at most 64 are allowed",
        ),
        (("osiris", "--memory", "100000"), 'device.capacity = "100000B" must be a size from 64KiB to 16TiB'),
        (("osiris", "--cache", "3KiB"), "controller.counter_cache_size = 3KiB must be a power of two times"),
        (("osiris", "--seed", "1"), "No such option"),
        ((), "Missing argument 'DESIGN'"),
    ],
)
def test_bad_input_gets_a_sentence(arguments: tuple[str, ...], said: str, cli: Cli) -> None:
    assert said in cli("recovery", *arguments).refusal


@pytest.mark.engine
def test_progress_rises_over_all_designs_and_an_interruption_ends_it() -> None:
    told: list[tuple[int, int]] = []
    cp.recovery(["secpm", "strict"], memory=["16GiB"], progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told) and all(done <= total for done, total in told)

    def stop(done: int, total: int) -> None:
        del done, total
        raise KeyboardInterrupt

    # A sweep of all sizes takes longer than it takes to notice.
    with pytest.raises(KeyboardInterrupt):
        cp.recovery(["osiris"], progress=stop)


@pytest.mark.engine
def test_compare_shows_recovery_and_kinds_where_a_design_protects_integrity(cli: Cli, tmp_path: Path) -> None:
    sizes = ("-w", "array", "--transactions", "20", "--footprint", "1MiB")
    outcome = cli("compare", "-d", "secpm,strict,anubis-agit-plus", *sizes, "--out", str(tmp_path))
    assert outcome.code == 0
    page = (tmp_path / "report.html").read_text()
    assert "<h2>Recovery</h2>" in page and "What the boot of 16 GiB costs" in page
    assert all(f"</i>{kind}" in page or f">{kind}<" in page for kind in ("nodes", "shadow table"))
    assert "NVM writes by kind, NVM writes of secpm = 1\n" in outcome.out
    kinds = outcome.out.split("NVM writes by kind")[1].split("\n\n")[0].splitlines()
    assert kinds[1].split() == ["data", "log", "counters", "MACs", "nodes", "table"]
    assert "Writes of the most-written line of each kind" in outcome.out
    recovery = outcome.out.split("Recovery after the worst power failure, 16 GiB of memory")[1].splitlines()
    assert [line.split()[0] for line in recovery[2:5]] == ["secpm", "strict", "anubis-agit-plus"]
    document = json.loads(cli("compare", "-d", "secpm,strict,anubis-agit-plus", *sizes, "--json").out)
    assert [one["design"] for one in document["recoveries"]] == ["secpm", "strict", "anubis-agit-plus"]
    stats = {run["design"]: run["nvm"] for run in document["runs"]}
    assert stats["strict"]["max_tree_writes"] >= stats["strict"]["max_counter_writes"] > 0
    assert stats["anubis-agit-plus"]["max_table_writes"] > 0 == stats["strict"]["max_table_writes"]
    for run in stats.values():
        most = [run[f"max_{kind}_writes"] for kind in ("data", "counter", "mac", "tree", "table")]
        assert max(most) == run["max_line_writes"]


@pytest.mark.engine
def test_compare_of_other_designs_is_as_it_was(cli: Cli) -> None:
    sizes = ("-w", "array", "--transactions", "20", "--footprint", "1MiB")
    outcome = cli("compare", "-d", "secpm,unencrypted", *sizes)
    assert outcome.code == 0 and "by kind" not in outcome.out and "Recovery" not in outcome.out
    assert json.loads(cli("compare", "-d", "secpm", *sizes, "--json").out)["recoveries"] == []


def test_durations_are_read_in_the_largest_unit() -> None:
    show: Callable[[float | None], str] = units.duration
    assert [show(value) for value in (None, 999.0, 5.9e10, 6e10, 3.59e12, 3.6e12, 1e17)] == [
        *("-", "999 ns", "59.00 s", "1.00 min", "59.83 min", "1.00 h", "27,777.78 h")
    ]
    assert [units.size(value) for value in (16 << 40, 16 << 30)] == ["16 TiB", "16 GiB"]


@pytest.mark.engine
def test_the_papers_arithmetic_takes_another_time_for_a_line() -> None:
    usual, slower = (
        cp.recovery(["triad-nvm"], memory="1GiB", measure=False, line_ns=line_ns)[0] for line_ns in (None, 250)
    )
    assert (usual.papers_ns_per_line, slower.papers_ns_per_line) == (100, 250)
    before, after = usual.costs[0].recovery, slower.costs[0].recovery
    assert before and after and (after.papers_ns, after.time_ns) == (2.5 * before.papers_ns, before.time_ns)
