"""What pages say of the program is what the program says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from conftest import Cli

import counterpoint as cp
import page_tables
import pages
from counterpoint.contract.request import ANNOTATIONS, PROGRAM_STEPS
from counterpoint.contract.results import AttackKind, AttackMoment, AttackOutcome, AttackTarget, FindingKind
from counterpoint.report import attack_words

pytestmark = pytest.mark.engine

_ENGINE = pages.ROOT / "crates/engine/src"


@pytest.mark.parametrize(("page", "name"), pages.WRITTEN)
def test_a_part_of_a_page_is_what_the_program_gives(page: str, name: str) -> None:
    written = pages.WRITTEN[page, name]()
    assert pages.part((pages.ROOT / page).read_text(), name)[1] == written, "`make pages` writes it"


def test_a_part_of_a_page_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nb\n<!-- end of x -->\nc\n<!-- y -->\n<!-- end of y -->\n")
    pages.write(page, "x", "d\ne\n")
    assert page.read_text() == "a\n<!-- x -->\nd\ne\n<!-- end of x -->\nc\n<!-- y -->\n<!-- end of y -->\n"


def _tables(text: str) -> dict[str, list[list[str]]]:
    """The tables of an output, by their titles, as rows of cells."""
    found = {}
    for paragraph in "\n".join(line.rstrip() for line in text.splitlines()).split("\n\n"):
        title, *rows = [line for line in paragraph.splitlines() if not line.startswith("machine ")] or [""]
        found[title] = [re.split(r" {2,}", row.strip()) for row in rows]
    return found


@pytest.mark.parametrize(("page", "place"), [("docs/compare.md", 1), ("docs/integrity.md", 0)])
def test_tables_of_comparisons_have_what_compare_prints_of_one_workload(page: str, place: int, cli: Cli) -> None:
    workload = "hash"
    block, command = list(pages.played(page))[place]
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
            column = head.index(workload) + 1
            assert [[row[0], row[-1]] for row in ours[title][1:]] == [[row[0], row[column]] for row in rows], title
            held += len(rows)
    assert held == (35 if page == "docs/compare.md" else 8)


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


def test_output_of_recovery_is_on_its_page(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
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
        # Persist buffers are no caches that persist.
        if parts.get("domain") != "persist-buffers":
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
    assert len(families) == 6 and all(len(of) > 1 for of in families.values())
    paths = [pages.ROOT / "README.md", pages.ROOT / "ARCHITECTURE.md"]
    paths += [path for folder in ("docs", "validation", "integrations") for path in (pages.ROOT / folder).rglob("*.md")]
    # What keeps the same, or breaks the same, is in one group there, whatever its family.
    for page in ("lattice.md", "cxl.md"):
        paths.remove(pages.ROOT / "docs" / page)
    assert {path.name: found for path in paths if (found := _incomplete(path.read_text(), families))} == {}
    assert _incomplete("of `hw-log` and\n`alc`", families) == [{"hw-log", "alc"}]
    assert _incomplete("`hw-log`, [alc](a.md) and `easy-pm`, or `bbe` and `alc`", families) == []


def test_pages_list_what_there_is() -> None:
    def rows(page: str, head: str) -> list[str]:
        (_, after) = (pages.ROOT / "docs" / page).read_text().split(head)
        return [re.findall(r"`([^`]+)`", row.split(" | ")[0])[0] for row in after.split("\n\n")[0].splitlines()[1:]]

    assert rows("integrity.md", "| attack | what the attacker does |\n") == list(attack_words.CLASSES)
    workloads = [one.name for one in cp.workloads()]
    text = (pages.ROOT / "docs/workloads.md").read_text()
    assert [name for name in re.findall(r"^## (\S+)$", text, re.MULTILINE) if name in workloads] == workloads
    assert rows("crash.md", "| step | without it |\n")
    steps = re.findall(r"`([a-z-]+)`", (pages.ROOT / "docs/crash.md").read_text().split("| step | without it |\n")[1])
    assert set(PROGRAM_STEPS) <= set(steps)
    assert rows("cli.md", "| annotation | stage | what it is |\n") == list(ANNOTATIONS)


def test_every_attack_of_the_engine_has_words_for_its_tables() -> None:
    assert list(attack_words.CLASSES) == list(get_args(AttackKind))
    assert set(attack_words.KINDS) == set(get_args(AttackTarget))
    assert set(attack_words.MOMENTS) == set(get_args(AttackMoment))
    assert list(attack_words.VERDICTS) == list(attack_words.MEANINGS) == list(get_args(AttackOutcome))


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
    assert shown == list(get_args(FindingKind))


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


def test_pages_of_designs_promise_what_the_designs_do() -> None:
    atomic = {"every": "yes|every line", "marked": ".*lines that hold a `CounterAtomic` variable", "none": "no"}
    seen = 0
    for design in cp.designs():
        text = (pages.ROOT / "docs/designs" / f"{design.name}.md").read_text()
        promises = dict(re.findall(r"^- (Crash consistent|Line atomic|Secret|Integrity): (.*)$", text, re.MULTILINE))
        readings = [cp.design_parts(design.name, variant) for variant in ("published", "hardened")]
        published, _, hardened = promises["Line atomic"].partition("hardened, ")
        for parts, said in zip(readings, (published, hardened or published), strict=True):
            assert re.match(atomic[str(parts["line_atomic"])], said), design
            assert promises["Secret"].startswith("no") != parts["secret"], design
            assert (parts.get("integrity", "none") != "none") == promises.get("Integrity", "no").startswith("yes"), (
                design
            )
        assert promises["Crash consistent"].startswith("no") != design.crash_consistent, design
        told = " ".join(text.split())
        assert set(re.findall(r"the design's preset, `([a-z-]+)`", told)) <= {design.machine}
        assert "Both variants are the same" not in told or readings[0] == readings[1], design
        seen += len(promises)
    assert seen > 100


def test_the_tiers_of_searches_are_those_of_their_page() -> None:
    file = tomllib.loads((pages.ROOT / "python/counterpoint/searches/crash_tests.toml").read_text())
    table = (pages.ROOT / "docs/search.md").read_text().split("| tier | tests")[1].split("\n\n")[0]
    shown = {cells[0]: cells[1] for cells in _rows(f"| tier{table}")}
    assert list(shown) == [tier["name"] for tier in file["tier"]]
    for tier in file["tier"]:
        counts = [f"{one[key]:,}" for one in tier["tests"] for key in one.keys() & {"schedules", "cores", "points"}]
        counts += [f"{one['transactions']} transactions" for one in tier["tests"] if "transactions" in one]
        assert all(count in shown[tier["name"]] for count in counts), tier["name"]
    assert f"{file['setting']['transactions']} transactions of {file['setting']['tx_size']} B" in shown["every event"]
