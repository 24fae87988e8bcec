"""What helps and docs/cli.md say of options, their ranges and their defaults is what the program does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import typer.main
from conftest import Cli

import counterpoint as cp
import pages
from counterpoint.cli import app
from counterpoint.contract.request import bytes_of
from counterpoint.papers import reproduce

pytestmark = pytest.mark.engine

_ENGINE = pages.ROOT / "crates/engine/src"
_COMMAND_LINE = (pages.ROOT / "docs/cli.md").read_text()
_SHORT = ("--machine", "small", "--transactions", "2", "--no-shrink", "--no-blame")


def _helps() -> dict[tuple[str, str], Any]:
    """Every option by command and name."""
    group: Any = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.list_commands(None)}
    return {
        (name, one.opts[-1]): one
        for name, command in commands.items()
        for one in command.params
        if one.param_type_name == "option"
    }


_TRACE = "tests/data/btree-20.pmemcheck.log.zst"
_LINES = "tests/data/nvmain-pcm.nvt.gz"

_RANGES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "--transactions": (("run", "secpm", "array", "--transactions", "0"), "from 1 to 1000000000", "1 to 10^9"),
    "--warmup": (("run", "secpm", "array", "--warmup", "1000000001"), "from 0 to 1000000000", "0 to 10^9"),
    "--tx-size": (
        ("run", "secpm", "array", "--tx-size", "65600"),
        "a multiple of 64 from 64 to 65536 bytes",
        "a multiple of 64 up to 64KiB",
    ),
    "--cores": (("run", "secpm", "array", "--cores", "65"), "from 1 to 64", "1 to 64"),
    "--top": (("check", _TRACE, "--top", "0"), "from 1 to", "at least 1"),
    "--trace-clock": (("replay", _LINES, "--trace-clock", "1000001"), "from 1 to 1000000", "1 to 1000000"),
    "--at-event": (("crash", "secpm", "array", *_SHORT, "--at-event", "0"), "the first is 1", "counted from 1"),
    "--nested-depth": (("crash", "secpm", "array", *_SHORT, "--nested-depth", "5"), "from 1 to 4", "1 to 4"),
    "--states": (("crash", "secpm", "array", *_SHORT, "--states", "0"), "at least 1", "at least 1"),
    "--schedules": (("crash", "secpm", "array", *_SHORT, "--schedules", "0"), "at least 1", "at least 1"),
    "--attack-every": (
        ("crash", "secpm", "array", *_SHORT, "--attack", "all", "--attack-every", "0"),
        "at least 1",
        "at least 1",
    ),
    "--stop-after": (("crash", "secpm", "array", *_SHORT, "--stop-after", "0"), "at least 1", "at least 1"),
    "--time-budget": (
        ("crash", "secpm", "array", *_SHORT, "--time-budget", "604801"),
        "from 1 to 604800 seconds",
        "1 to 604800",
    ),
    "--recover-timeout": (
        ("crash", "secpm", _TRACE, "--recover", "{pool}", "--recover-timeout", "86401"),
        "from 1 to 86400 seconds",
        "1 to 86400",
    ),
    "--sector": (
        (
            "crash",
            "unencrypted",
            _TRACE,
            "--recover",
            "{pool}",
            "--explore",
            "legal",
            "--no-preflight",
            "--sector",
            "513",
        ),
        "512 or 4096 bytes",
        "512 or 4096 bytes",
    ),
    "--operations": (("prove", "secpm", "--operations", "13"), "from 1 to 12", "1 to 12"),
    "--lines": (("prove", "secpm", "--lines", "5"), "from 1 to 4", "1 to 4"),
    "--memory": (("recovery", "secpm", "--memory", "32TiB"), "from 64KiB to 16TiB", "64KiB to 16TiB"),
    "--cache": (("recovery", "secpm", "--cache", "2GiB"), "from 64B to 1GiB", "64B to 1GiB"),
    "--seeds": (("reproduce", "secpm", "--seeds", "32"), "from 1 to 31", "1 to 31"),
    "--budget": (("calibrate", "secpm", "--budget", "9"), "from 10 to 100000", "10 to 100000"),
}
"""By option: a command that is refused, the range in the sentence that says so, and the same range in the help."""


@pytest.mark.parametrize("option", _RANGES)
def test_the_range_in_a_help_is_the_one_that_is_enforced(option: str, cli: Cli) -> None:
    words, enforced, told = _RANGES[option]
    refused = cli(*words)
    assert (refused.code, enforced in refused.err) == (2, True), refused.err
    helps = [one.help for (_, name), one in _helps().items() if name == option]
    assert all(told in text for text in helps), helps


def _constant(file: str, name: str) -> int:
    found = re.search(rf"const {name}: \w+ = ([\d_]+);", (_ENGINE / file).read_text())
    assert found, f"{file} has no constant {name}"
    return int(found[1])


_DEFAULTS: dict[str, Callable[[], str]] = {
    "--seed": lambda: f"default {cp.resolve('secpm', 'array')['seed']}",
    "--trace-clock": lambda: f"default {1000}, a cycle a nanosecond",
    "--states": lambda: (
        f"default {_constant('legal_states/explorer.rs', 'STATES_PER_POINT')}, of a recorded program "
        f"{_constant('recorded_states/explore.rs', 'STATES_PER_POINT')} memories"
    ),
    "--operations": lambda: f"default {_constant('api/small.rs', 'OPERATIONS')}",
    "--lines": lambda: f"default {_constant('api/small.rs', 'LINES')}",
    "--schedules": lambda: f"default {_constant('api/crash.rs', 'SCHEDULES')}",
    "--recover-timeout": lambda: f"default {_constant('user_recovery/settings.rs', 'TIMEOUT_SECONDS')}",
    "--seeds": lambda: f"default {reproduce.SEEDS}, with --quick 1",
    "--seeds of runs": lambda: "default 1, without",
    "--line-ns": lambda: f"default {cp.recovery(['strict'], memory='1GiB', measure=False)[0].papers_ns_per_line:.0f}",
    "--memory": lambda: "default {}GiB to {}TiB".format(
        cp.recovery(["strict"])[0].costs[0].memory_bytes >> 30, cp.recovery(["strict"])[0].costs[-1].memory_bytes >> 40
    ),
}
"""By option, what its help says of a default that is a number."""


def test_the_default_in_a_help_is_the_one_that_is_used() -> None:
    # Runs have one seed where reproductions have more.
    of_runs = {(name, "--seeds") for name in ("run", "compare", "replay", "sweep", "search", "explain")}
    stated = {
        f"{name} of runs" if (command, name) in of_runs else name: one.help
        for (command, name), one in _helps().items()
        if re.search(r"default \d", one.help)
    }
    assert set(stated) == set(_DEFAULTS)
    for name, text in stated.items():
        assert _DEFAULTS[name]() in text, name


def test_a_cycle_of_a_trace_takes_a_nanosecond() -> None:
    lines: list[dict[str, Any]] = []
    for clock in (None, 1000, 500):
        (run,) = cp.replay_lines(pages.ROOT / _LINES, ["unencrypted"], machine="secpm", trace_clock_mhz=clock)
        lines.append({key: value for key, value in run.to_dict().items() if key != "host"})
    assert lines[0] == lines[1] != lines[2]


def test_every_number_in_a_help_is_one_that_a_test_holds() -> None:
    known = {*_RANGES, *_DEFAULTS} - {"--seeds of runs"}
    # A switch of a number of processors, or of the machine's own schedule, is no range.
    free = {"--workers", "--schedule", "--omit-annotations", "--footprint", "--window"}
    numbers = {name for (_, name), one in _helps().items() if re.search(r"\d", one.help)}
    assert numbers - free == known


def test_the_table_of_defaults_is_that_of_the_program() -> None:
    table = _COMMAND_LINE.split("| default | `run`, `compare` | `crash`, `annotations` |\n|---|---|---|\n")[1]
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.split("\n\n")[0].splitlines()]
    run = cp.resolve("secpm", "array")
    words = cp.scene("secpm", "array", machine="small", at_event=50)["command"].split()
    crash = dict(zip(words[4::2], words[5::2], strict=True))
    sizes = {1024: "1 KiB", 256: "256 B"}
    shown = {name: cells for name, *cells in rows}
    assert shown["`--tx-size`"] == [sizes[run["tx_size"]], sizes[int(crash["--tx-size"])]]
    assert shown["`--transactions`"] == [f"{run['transactions']:,}", crash["--transactions"]]
    assert shown["`--cores`, `--seed`"] == [
        f"{run['cores']}, {run['seed']}",
        f"{crash['--cores']}, {crash['--seed']}",
    ]
    assert run["warmup"] * 10 == run["transactions"] and shown["`--warmup`"][0].startswith(
        "a tenth of the transactions"
    )
    assert shown["`--warmup`"][1] == crash["--warmup"] == "0"
    assert shown["`--footprint`"][1].endswith("at most 256 KiB over all cores")
    for machine in cp.machines():
        for cores in (1, 2):
            resolved = cp.resolve("unencrypted", "array", machine=machine.name, cores=cores)
            program = resolved["machine"]["program"]
            each = cores if program["footprint_per_core"] else 1
            assert resolved["footprint"] == (bytes_of(program["footprint"]) or 0) * each, machine.name
    for name, footprint in (("secpm", 256 << 10), ("small", 64 << 10)):
        command = cp.scene("secpm", "array", machine=name, at_event=50)["command"]
        assert f"--footprint {footprint} " in command


def test_options_that_are_not_taken_together_are_refused(cli: Cli) -> None:
    table = _COMMAND_LINE.split("| not together | commands |\n|---|---|\n")[1].split("\n\n")[0]
    values = {
        "--timeline": "t.json",
        "--seeds": "2",
        "--cluster": "tcp://127.0.0.1:1",
        "--workers": "1",
        "--points": "3",
        "--at-event": "9",
        "--from-mark": "a",
        "--to-mark": "b",
        "--recover": "true {pool}",
        "--json": "",
        "--toml": "",
    }
    subjects = {
        "run": ["secpm", _TRACE],
        "crash": ["secpm", _TRACE],
        "designs": ["secpm"],
        "sweep": ["docs/none.toml"],
        "search": ["docs/none.toml"],
        "reproduce": ["secpm"],
    }
    pairs = [re.findall(r"`(--[a-z-]+)`|`([a-z]+)`", row) for row in table.splitlines()]
    assert len(pairs) > 5
    for pair in pairs:
        first, second = (option for option, _ in pair if option)
        for command in (name for _, name in pair if name):
            words = [word for option in (first, second) for word in (option, values.get(option, "")) if word]
            refused = cli(command, *subjects[command], *words)
            assert (refused.code, refused.out) == (2, ""), (command, words, refused)
            assert first[2:] in refused.err or first[2:].replace("-", "_") in refused.err, refused.err


def test_cores_on_a_machine_with_banks_of_their_own_end_where_the_page_says() -> None:
    (cores,) = re.findall(r"at most (\d+) cores on `secpm` and `secpm-workshop`", " ".join(_COMMAND_LINE.split()))
    for machine in ("secpm", "secpm-workshop"):
        short: Any = {"machine": machine, "transactions": 1, "warmup": 0, "tx_size": 64, "footprint": "1MiB"}
        assert cp.run("secpm", "array", cores=int(cores), **short).cores == int(cores)
        with pytest.raises(cp.InputError, match="need a bank each"):
            cp.run("secpm", "array", cores=int(cores) + 1, **short)


def test_the_list_of_commands_says_what_each_does_and_cuts_nothing_off(cli: Cli) -> None:
    listed = " ".join(cli("--help").out.split())
    group: Any = typer.main.get_command(app)
    for name in group.list_commands(None):
        told = group.get_command(None, name).help
        begin = min((told.index(end) for end in ("; ", ": ") if end in told), default=len(told.rstrip(".")))
        assert f" {name} {told[:begin]} " in listed, name
