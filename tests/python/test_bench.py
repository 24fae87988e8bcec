"""The comparison of benches with their baseline."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import bench

_PRINTED = """Timer precision: 20 ns
controller                fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ real_bytes                           │               │               │               │         │
│  ├─ co-located          216.5 ms      │ 330.9 ms      │ 278.3 ms      │ 281.4 ms      │ 5       │ 5
│  │                      923.6 Kitem/s │ 604.3 Kitem/s │ 718.5 Kitem/s │ 710.6 Kitem/s │         │
│  ╰─ unencrypted         211 ms        │ 217.9 ms      │ 213.5 ms      │ 213.8 ms      │ 5       │ 5
│                         947.5 Kitem/s │ 917.6 Kitem/s │ 936.5 Kitem/s │ 935 Kitem/s   │         │
╰─ issue                  156.2 ms      │ 182 ms        │ 178.3 ms      │ 172.1 ms      │ 5       │ 5
                          1.279 Mitem/s │ 1.098 Mitem/s │ 1.121 Mitem/s │ 1.161 Mitem/s │         │
"""


def test_the_fastest_rate_of_each_bench_is_read() -> None:
    expected = {"real_bytes/co-located": 923.6e3, "real_bytes/unencrypted": 947.5e3, "issue": 1.279e6}
    assert bench.rates(_PRINTED) == expected


def test_a_bench_falls_by_its_ratio_and_not_by_its_rate() -> None:
    baseline = {"a": 1.0, "b": 1.0}
    assert bench.falls({"a": (1.0, 0.81), "b": (9e9, 0.79), "new": (1.0, 0.1)}, baseline) == ["b"]


def test_the_better_of_several_runs_counts() -> None:
    assert bench.better({"a": (2.0, 0.5), "b": (1.0, 1.0)}, {"a": (1.0, 0.9)}) == {"a": (1.0, 0.9), "b": (1.0, 1.0)}


def test_goals_and_baseline_are_of_benches_that_exist() -> None:
    goals = json.loads(bench.GOALS.read_text())
    files = {path.stem for path in (bench.ENGINE / "benches").glob("*.rs")} - {bench.CALIBRATION}
    baselines = json.loads(bench.BASELINE.read_text())
    assert baselines
    for baseline in baselines.values():
        assert set(goals) <= set(baseline)
        assert {name.partition("/")[0] for name in baseline} == files


def test_the_kind_of_processor_is_that_of_the_first_one() -> None:
    one = "processor\t: {0}\nvendor_id\t: AuthenticAMD\ncpu family\t: {1}\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n"
    assert bench.processor(one.format(0, 26) + "\n" + one.format(1, 25)) == "AuthenticAMD, family 26, model 2"
    assert bench.processor("") == bench.processor("CPU implementer\t: 0x41\n") == platform.machine()


def test_a_bench_that_does_not_exist_is_one_sentence() -> None:
    command = [sys.executable, str(Path(bench.__file__)), "nope"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: bench 'nope' does not exist; there are ")
