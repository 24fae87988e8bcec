"""What pages, helps and pictures say of the program is what the program says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from conftest import Cli

import counterpoint as cp
import page_tables
import pages
from counterpoint import attack_words
from counterpoint.cli import app
from counterpoint.papers import reproduce

pytestmark = pytest.mark.engine

_ENGINE = pages.ROOT / "crates/engine/src"
_COMMAND_LINE = (pages.ROOT / "docs/cli.md").read_text()
_SHORT = ("--machine", "small", "--transactions", "2", "--no-shrink", "--no-blame")


@pytest.mark.parametrize(("page", "name"), pages.WRITTEN)
def test_a_part_of_a_page_is_what_the_program_gives(page: str, name: str) -> None:
    written = pages.WRITTEN[page, name]()
    assert pages.part((pages.ROOT / page).read_text(), name)[1] == written, "`make pages` writes it"


def test_a_part_of_a_page_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nb\n<!-- end of x -->\nc\n<!-- y -->\n<!-- end of y -->\n")
    pages.write(page, "x", "d\ne\n")
    assert page.read_text() == "a\n<!-- x -->\nd\ne\n<!-- end of x -->\nc\n<!-- y -->\n<!-- end of y -->\n"


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
        f"{_constant('legal_states/recorded/explore.rs', 'STATES_PER_POINT')} memories"
    ),
    "--schedules": lambda: f"default {_constant('api/crash.rs', 'SCHEDULES')}",
    "--recover-timeout": lambda: f"default {_constant('user_recovery/mod.rs', 'TIMEOUT_SECONDS')}",
    "--seeds": lambda: f"default {reproduce.SEEDS}, with --quick 1",
    "--memory": lambda: "default {}GiB to {}TiB".format(
        cp.recovery(["strict"])[0].costs[0].memory_bytes >> 30, cp.recovery(["strict"])[0].costs[-1].memory_bytes >> 40
    ),
}
"""By option, what its help says of a default that is a number."""


def test_the_default_in_a_help_is_the_one_that_is_used() -> None:
    stated = {name: one.help for (_, name), one in _helps().items() if re.search(r"default \d", one.help)}
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
    known = {*_RANGES, *_DEFAULTS}
    # A switch of a number of processors, or of the machine's own schedule, is no range.
    free = {"--workers", "--schedule", "--omit-annotations", "--footprint"}
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
            assert resolved["footprint"] == _bytes(program["footprint"]) * each, machine.name
    for name, footprint in (("secpm", 256 << 10), ("small", 64 << 10)):
        command = cp.scene("secpm", "array", machine=name, at_event=50)["command"]
        assert f"--footprint {footprint} " in command


def _bytes(size: str | int) -> int:
    if isinstance(size, int):
        return size
    number, unit = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB|TiB)", size).groups()  # type: ignore[union-attr]
    return int(number) << 10 * ("B", "KiB", "MiB", "GiB", "TiB").index(unit)


def test_options_that_are_not_taken_together_are_refused(cli: Cli) -> None:
    table = _COMMAND_LINE.split("| not together | commands |\n|---|---|\n")[1].split("\n\n")[0]
    values = {
        "--timeline": "t.json",
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


def _tables(text: str) -> dict[str, list[list[str]]]:
    """The tables of an output, by their titles, as rows of cells."""
    found = {}
    for paragraph in "\n".join(line.rstrip() for line in text.splitlines()).split("\n\n"):
        title, *rows = [line for line in paragraph.splitlines() if not line.startswith("machine ")] or [""]
        found[title] = [re.split(r" {2,}", row.strip()) for row in rows]
    return found


@pytest.mark.parametrize(("page", "workload"), [("docs/compare.md", "hash"), ("docs/integrity.md", "hash")])
def test_tables_of_comparisons_have_what_compare_prints_of_one_workload(page: str, workload: str, cli: Cli) -> None:
    (block, command), *_ = pages.played(page)
    words = command.split()[1:]
    if "--tx-size" in words:
        words[words.index("--tx-size") + 1] = "1024"
    printed = cli(*words, "-w", workload)
    assert printed.code == 0
    assert printed.out.splitlines()[0] == block.body.splitlines()[0]
    ours, shown = _tables(printed.out), _tables(block.body)
    held = 0
    for title, (head, *rows) in shown.items():
        if title.startswith("Recovery"):
            assert ours[title] == [head, *rows]
        elif workload in head:
            place = head.index(workload) + 1
            assert [[row[0], row[-1]] for row in ours[title][1:]] == [[row[0], row[place]] for row in rows], title
            held += len(rows)
    assert held == (30 if page == "docs/compare.md" else 8)


def test_the_means_of_one_size_are_those_of_the_block_above() -> None:
    text = (pages.ROOT / "docs/integrity.md").read_text()
    (block, _), *_ = pages.played("docs/integrity.md")
    tables = _tables(block.body)
    (_, *latencies), (_, *writes) = (
        next(rows for title, rows in tables.items() if title.startswith(begin))
        for begin in ("Transaction latency", "NVM writes by kind")
    )
    means = {cells[0].strip("`"): cells for cells in _rows(pages.part(text, "means")[1])}
    for row in latencies[1:]:
        assert means[row[0]][3] == row[-1]
    for row in writes[1:]:
        assert abs(float(means[row[0]][7]) - sum(map(float, row[1:]))) < 0.031, row


def _rows(table: str) -> list[list[str]]:
    """The rows of a table of a page, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_what_recovery_prints_is_on_its_page(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("COLUMNS", page_tables.WIDTH)
    blocks = list(pages.played("docs/recovery.md"))
    printed = {command: cli(*command.split()[1:]).out for _, command in blocks}
    for block, command in blocks:
        assert page_tables.refreshed(block.body, printed[command]) == block.body
    assert len(blocks) == 3


def test_times_of_boots_in_the_text_are_those_of_the_model() -> None:
    text = " ".join((pages.ROOT / "docs/recovery.md").read_text().split())
    (agit,) = cp.recovery(["anubis-agit-plus"], memory=["1TiB"], cache=["256KiB"])
    (wide,) = cp.recovery(["anubis-agit-plus"], memory=["1TiB"], cache=["256KiB"], set=["integrity.mac_units=32"])
    slow, fast = (one.costs[0].recovery for one in (agit, wide))
    assert slow and fast
    assert f"they take {fast.time_ns / 1e6:.2f} ms instead of {slow.time_ns / 1e6:.2f} ms" in text
    papers = [one.costs[0].recovery for one in cp.recovery(["star", "anubis-asit"], memory=["1TiB"], cache=["2MiB"])]
    star, asit = (f"{one.papers_ns / 1e6:.0f} ms" for one in papers if one)
    assert f"have here {star} (`star`) and {asit} (`anubis-asit`)" in text
    large = cp.recovery(["osiris", "anubis-agit-plus"], memory=["8TiB"], cache=["256KiB"])
    osiris, anubis = (one.costs[0].recovery for one in large)
    assert osiris and anubis
    shown = f"{osiris.papers_ns / 3.6e12:.2f} h for `osiris` and {anubis.papers_ns / 1e6:.1f} ms"
    assert f"the papers' arithmetic gives {shown} for `anubis-agit-plus`" in text


def test_the_first_examples_of_crashes_end_as_their_comments_say() -> None:
    text = (pages.ROOT / "docs/crash.md").read_text()
    found = re.findall(r"^\.venv/bin/counterpoint (crash \S+ btree) +# (.*)$", text, re.MULTILINE)
    assert len(found) == 2
    for command, told in found:
        verdict = cp.crash(*command.split()[1:], shrink=False, blame=False)
        assert f"some {round(verdict.crash_points, -3):,} crashes" in told
        assert told.startswith("no violation") == verdict.holds
        assert ("nearly all of them fail" in told) == (verdict.recovered < verdict.crash_points / 20)


def test_refused_machines_are_told_as_on_their_page(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (pages.ROOT / "docs/machine-files.md").read_text()
    quoted = text.split("\n## Errors\n")[1].split("\n## ")[0]
    quoted = "\n".join(line.removeprefix(">").strip() for line in quoted.splitlines() if line.startswith(">"))
    told = [" ".join(one.split()) for one in quoted.split("\n\n")]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("[controller]\nwpq_entires = 64\n")
    runs = (
        ("--machine", "mine.toml"),
        ("--set", "controller.wpq_entries=1"),
        ("--set", "controller.wpq_entries=8"),
    )
    assert [" ".join(cli("run", "secpm", "queue", *more).err.split()) for more in runs] == told


_ITEM = r"(?:`[\w-]+`|\[[\w-]+\]\([\w./#-]+\))"
_LISTED = re.compile(rf"{_ITEM}(?:(?:, and |, | and ){_ITEM})+")


def _families() -> dict[str, set[str]]:
    """Kinds of designs that pages list."""
    found: dict[str, set[str]] = {}
    for design in cp.designs():
        parts = cp.design_parts(design.name)
        found.setdefault(design.form, set()).add(design.name)
        if parts.get("integrity", "none") not in {"none", "macs"} and design.crash_consistent:
            found.setdefault("with a tree", set()).add(design.name)
        if str(parts.get("drain", "")).endswith("to-shadow"):
            found.setdefault("with a shadow cache", set()).add(design.name)
    return found


def _incomplete(text: str, families: dict[str, set[str]]) -> list[set[str]]:
    """Lists of more than half of a family, and of nothing else, that leave some of it out."""
    wrong = []
    for match in _LISTED.finditer(" ".join(text.split())):
        listed = {item.strip("`[").split("](")[0].rstrip("`]") for item in re.findall(_ITEM, match[0])}
        wrong += [listed for family in families.values() if listed < family and 2 * len(listed) > len(family)]
    return wrong


def test_lists_of_designs_are_complete() -> None:
    families = _families()
    assert {name: len(of) for name, of in families.items() if name != "plain"} == {
        "annotated": 2,
        "hardware-logged": 3,
        "flush-free": 8,
        "with a tree": 16,
        "with a shadow cache": 4,
    }
    paths = [pages.ROOT / "README.md", pages.ROOT / "ARCHITECTURE.md"]
    paths += [path for folder in ("docs", "validation", "integrations") for path in (pages.ROOT / folder).rglob("*.md")]
    assert {path.name: found for path in paths if (found := _incomplete(path.read_text(), families))} == {}
    assert _incomplete("of `hw-log` and\n`alc`", families) == [{"hw-log", "alc"}]
    assert _incomplete("`hw-log`, [alc](a.md) and `easy-pm`, or `bbe` and `alc`", families) == []


def test_pages_list_what_there_is() -> None:
    def rows(page: str, head: str) -> list[str]:
        (_, after) = (pages.ROOT / "docs" / page).read_text().split(head)
        return [re.findall(r"`([^`]+)`", row.split(" | ")[0])[0] for row in after.split("\n\n")[0].splitlines()[1:]]

    assert rows("integrity.md", "| attack | what he does |\n") == list(attack_words.CLASSES)
    workloads = [one.name for one in cp.workloads()]
    text = (pages.ROOT / "docs/workloads.md").read_text()
    assert [name for name in re.findall(r"^## (\S+)$", text, re.MULTILINE) if name in workloads] == workloads
    assert rows("crash.md", "| step | without it |\n")
    steps = re.findall(r"`([a-z-]+)`", (pages.ROOT / "docs/crash.md").read_text().split("| step | without it |\n")[1])
    assert set(cp.PROGRAM_STEPS) <= set(steps)
    assert rows("cli.md", "| annotation | stage | what it is |\n") == list(cp.ANNOTATIONS)


def test_every_name_of_the_package_that_a_page_uses_is_there() -> None:
    named = {
        (path.name, name)
        for path in [pages.ROOT / "README.md", *(pages.ROOT / "docs").rglob("*.md")]
        for name in re.findall(r"(?<![\w.-])cp\.([A-Za-z_]+)", path.read_text())
    }
    assert len(named) > 40
    assert sorted((page, name) for page, name in named if not hasattr(cp, name)) == []


def test_findings_of_a_check_are_those_of_its_page() -> None:
    table = (pages.ROOT / "docs/check.md").read_text().split("| kind | what the trace shows | count |\n")[1]
    shown = re.findall(r"^\| `([a-z-]+)`", table.split("\n\n")[0], re.MULTILINE)
    source = (_ENGINE / "check/kind.rs").read_text()
    assert shown == list(dict.fromkeys(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', source)))


def _quoted(page: str, section: str) -> list[str]:
    """The quotations of a section of a page, each on one line."""
    text = (pages.ROOT / page).read_text().split(f"{section}\n")[1].split("\n## ")[0]
    lines = [line[1:].strip() if line.startswith(">") else "|" for line in text.splitlines()]
    return [" ".join(one.split()) for part in "\n".join(lines).split("|") for one in part.split("\n\n") if one.strip()]


def test_refused_traces_are_told_as_on_their_page(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (pages.ROOT / "tests/data/btree-5.pmemcheck.log").read_bytes()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "cut.log").write_bytes(whole[:30_000])
    (other,) = _quoted("docs/traces.md", "# Traces")[:1]
    told = " ".join(cli("run", "secpm", "notes.txt").err.split())
    assert re.fullmatch(".*".join(map(re.escape, other.split("..."))), told), told
    (cut,) = _quoted("docs/traces.md", "### A trace that is cut off")
    assert " ".join(cli("run", "secpm", "cut.log").err.split()) == cut


def test_refused_batteries_are_told_as_on_their_page(cli: Cli) -> None:
    (told,) = _quoted("docs/machine-files.md", "## What must hold of all of them")
    refused = cli("run", "bbe", "array", "--set", "eadr.battery=write-only")
    assert " ".join(refused.err.split()) == told


@pytest.mark.parametrize(
    ("accesses", "figure"),
    [
        ("0x40 READ 0\n", r"a read takes (\S+) ns"),
        ("0x40 READ 0\n0x80 READ 9000\n", r"idle bank with its row closed, (\S+) ns with its row open"),
        ("0x40 WRITE 0\n", r"A write occupies its bank for (\S+) ns"),
    ],
)
def test_accesses_of_an_idle_device_take_as_long_as_the_model_says(accesses: str, figure: str, tmp_path: Path) -> None:
    (told,) = re.findall(figure, " ".join((pages.ROOT / "docs/model.md").read_text().split()))
    trace = tmp_path / "lines.trace"
    trace.write_text(accesses)
    (run,) = cp.replay_lines(trace, ["unencrypted"], machine="secpm")
    taken = run.media_write_latency_ns if run.reads == 0 else run.read_latency_ns
    assert taken is not None
    if run.reads == 2:
        taken = 2 * taken - 75
    assert taken == float(told)


def test_the_deviations_count_the_claims_of_their_pages() -> None:
    folder = pages.ROOT / "validation"
    text = " ".join((folder / "DEVIATIONS.md").read_text().split())
    counts = {}
    for paper in ("secpm", "secpm-workshop", "counter-atomicity", "easy-pm", "sepencr"):
        ((held, of),) = re.findall(r"^(\d+) of (\d+) hold\.", (folder / f"{paper}.md").read_text(), re.MULTILINE)
        counts[paper] = (int(held), int(of))
    told = re.findall(r"(?:of|and of) ([a-z-]+) (\d+) of (\d+)", text.split("Of secpm")[1].split("18 of")[0])
    assert {"secpm": counts["secpm"], **{name: (int(held), int(of)) for name, held, of in told}} == counts
    held, of = (sum(column) for column in zip(*counts.values(), strict=True))
    assert f"{held} of {of}, each over five seeds" in text


def test_presets_have_what_the_search_changed() -> None:
    section = (pages.ROOT / "docs/decisions.md").read_text().split("## What the search changed\n")[1].split("\n## ")[0]
    preset, seen = "", 0
    for named, keys, _, after in _rows(section):
        preset = (re.findall(r"^`([a-z-]+)`", named) or [preset])[0]
        machine = cp.resolve("unencrypted", "array", machine=preset)["machine"]
        names = re.findall(r"`([a-z0-9_.]+)`", keys)
        room = names[0].split(".")[0]
        for name, value in zip(names, after.replace(",000", "000").split(", "), strict=True):
            has = machine[room][name.split(".")[-1]]
            assert str(has).lower().replace("kib", " kib").replace("mib", " mib") == value.lower(), (preset, name)
            seen += 1
    assert seen > 45
