"""Writes what pages say of the program, from the program.

Such a part of a page lies between ``<!-- NAME -->`` and ``<!-- end of NAME -->``. ``python tests/pages.py`` writes the
parts that `WRITTEN` lists; `tests/python/test_pages.py` fails where one of them is not what would be written. Parts
that other tests hold are written by these tests if ``COUNTERPOINT_WRITE_PAGES`` is set.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import typer.main
from rich.console import Console, RenderableType

import contract
import counterpoint as cp
import file_tables
import lattice
import page_tables
import proof_tables
import report_types
import tutorial
from counterpoint.cli import app, crash_table, distinction_table
from counterpoint.cli.crash_table import explained
from counterpoint.contract.results import Crash, Violation

ROOT = Path(__file__).parents[1]
_WIDTH = 120

EXAMPLE = ("write-back", "queue")
EXAMPLE_TRANSACTIONS = 20
"""Design, workload and length of the crash that README and docs/crash.md explain and show."""

SECTIONS: Mapping[tuple[str, str], str] = {
    ("crash", "--at-event"): "crash.md#what-a-crash-point-is",
    ("crash", "--attack"): "integrity.md#the-attacker",
    ("crash", "--beside"): "crash-page.md#two-designs-under-one-handle",
    ("crash", "--by-line"): "crash-programs.md#which-lines-explain-the-failures",
    ("crash", "--explore"): "crash-schedules.md#other-schedules-and-every-legal-state",
    ("crash", "--fault"): "crash.md#a-mechanism-that-is-switched-off",
    ("crash", "--from-mark"): "crash-programs.md#between-two-marks",
    ("crash", "--leave-out"): "crash.md#programs-that-are-wrong-in-themselves",
    ("crash", "--nested"): "crash-schedules.md#power-that-fails-again",
    ("crash", "--nested-depth"): "crash-schedules.md#power-that-fails-again",
    ("crash", "--no-blame"): "crash.md#whose-fault-it-is",
    ("crash", "--no-shrink"): "crash.md#the-smallest-reproduction",
    ("crash", "--omit-annotations"): "record.md#annotations",
    ("crash", "--points"): "crash.md#what-a-crash-point-is",
    ("crash", "--recover"): "crash-programs.md",
    ("crash", "--stages"): "crash-verdict.md#by-stage",
    ("crash", "--states"): "crash-schedules.md#other-schedules-and-every-legal-state",
    ("crash", "--to-mark"): "crash-programs.md#between-two-marks",
    ("crash", "--watch-reads"): "crash-legal-states.md#states-that-the-recovery-cannot-tell-apart",
    ("crash", "--wrapper"): "check.md#where-it-is-shown",
    ("check", "--design"): "check.md#what-it-costs",
    ("check", "--mark"): "check.md#what-it-finds",
    ("check", "--suppressions"): "ci.md#suppressions",
    ("check", "--baseline"): "ci.md#a-baseline",
    ("check", "--only"): "ci.md#one-class-of-findings",
    ("check", "--all"): "ci.md#findings-inside-pmdk",
    ("crash", "--format"): "ci.md#formats",
    ("explain", "--figure"): "search.md#figures",
    ("record", "--mark-stderr"): "record.md#annotations",
    ("record", "--pmem"): "record.md#what-is-persistent",
    ("replay", "--by-line"): "source-lines.md",
    ("replay", "--requests"): "line-traces.md#request-by-request",
    ("replay", "--stats"): "line-traces.md#as-other-simulators-print-it",
    ("replay", "--trace-clock"): "line-traces.md",
    ("compare", "--figures"): "figures.md#charts",
    ("run", "--csv"): "figures.md#tables",
    ("run", "--figures"): "figures.md#over-time",
    ("run", "--window"): "figures.md#over-time",
    ("run", "--project"): "project.md",
    ("run", "--no-project"): "project.md",
    ("run", "--parquet"): "figures.md#tables",
    ("run", "--machine"): "machine-files.md",
    ("run", "--set"): "machine-files.md#changing-some-values",
    ("sweep", "--cluster"): "sweep.md#workers",
    ("sweep", "--store"): "sweep.md#the-store",
}
"""Where docs/ says more about an option of a command; rows of the table that have it link there."""


def _commands() -> Iterator[tuple[str, Any, Any]]:
    """The commands, each with its name and a context for it."""
    group: Any = typer.main.get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield name, command, typer.Context(command, info_name=name)


def commands() -> str:
    """The table of commands, with their arguments."""
    text = "| command | what it does |\n|---|---|\n"
    for name, command, _ in _commands():
        words = [name, "[OPTIONS]", *map(_argument, (one for one in command.params if _is_argument(one)))]
        text += f"| {_code(' '.join(words))} | {command.help} |\n"
    return text


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _argument(parameter: Any) -> str:
    name = parameter.metavar + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def options() -> str:
    """The table of options: each with the commands that have it in one meaning."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    sections: dict[tuple[str, str], str] = {}
    names = []
    for command_name, command, context in _commands():
        names.append(command_name)
        for parameter in command.params:
            if _is_argument(parameter):
                continue
            shown, meaning = parameter.get_help_record(context)
            row = (shown.replace("<", "").replace(">", ""), meaning)
            rows[row].append(command_name)
            if section := SECTIONS.get((command_name, parameter.opts[-1])):
                sections[row] = section
    text = "| option | commands | meaning |\n|---|---|---|\n"
    for (shown, meaning), having in rows.items():
        option = f"[{_code(shown)}]({sections[shown, meaning]})" if (shown, meaning) in sections else _code(shown)
        rest = [name for name in names if name not in having]
        listed = f"all but {_listed(rest)}" if len(rest) < 4 else _listed(having)
        text += f"| {option} | {listed} | {meaning.replace('|', chr(92) + '|')} |\n"
    assert len(sections) == len(set(sections)), "a section is for one row"
    return text


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@cache
def example() -> tuple[Crash, Violation]:
    """The crash that README and docs/crash.md explain: a verdict and its first violation, at which its page opens."""
    verdict = cp.crash(*EXAMPLE, transactions=EXAMPLE_TRANSACTIONS, shrink=False, blame=False)
    return verdict, verdict.violations[0]


def crash_shown() -> str:
    """The crash as README has it: how the terminal shows it begins, and its first violation."""
    verdict, violation = example()
    shown = _printed(crash_table.verdict(verdict))
    head = shown[: next(place for place, line in enumerate(shown) if line.startswith("╰")) + 1]
    title, *told = _printed(*explained(violation))[1:]
    ends = next(place for place, line in enumerate(told) if "What happened there last" in line)
    told[ends] = told[ends].partition(" What happened")[0]
    lines = [*head, "[...]", title, *told[: ends + 1], "[...]"]
    return "```console\n" + "".join(f"{line}\n" for line in lines) + "```\n"


def violation_explained() -> str:
    """The same as docs/crash.md goes through it: the command, and what it says of the violation."""
    _, violation = example()
    command = f"counterpoint crash {' '.join(EXAMPLE)} --transactions {EXAMPLE_TRANSACTIONS} --at-event"
    shown = "".join(f"    {line}\n" for line in _printed(*explained(violation))[1:])
    return (
        f"    {command} {violation.crash_event}\n\n"
        f"cuts power after one event. The first violation that it prints is:\n\n{shown}\n"
    )


def _printed(*parts: RenderableType) -> list[str]:
    """The lines in which a terminal shows something."""
    told = io.StringIO()
    console = Console(file=told, width=_WIDTH - 4, color_system=None, highlight=False)
    for one in parts:
        console.print(one, crop=False)
    return [line.rstrip() for line in told.getvalue().rstrip().splitlines()]


DISTINGUISHED = ("secpm", "write-through")
"""The designs that docs/distinguish.md compares."""


def distinction_shown() -> str:
    """The comparison of docs/distinguish.md as a terminal shows it."""
    shown = _printed(distinction_table.distinction(cp.distinguish(*DISTINGUISHED, lines=1)))
    return "```console\n" + "".join(f"{line}\n" for line in shown) + "```\n"


WRITTEN: Mapping[tuple[str, str], Callable[[], str]] = {
    ("README.md", "crash"): crash_shown,
    ("docs/crash.md", "violation"): violation_explained,
    ("docs/cli.md", "commands"): commands,
    ("docs/cli.md", "options"): options,
    ("docs/python.md", "options"): contract.python_table,
    ("docs/python.md", "schemas"): contract.schema_table,
    ("docs/machine-files.md", "keys"): file_tables.machine_keys,
    ("docs/design-files.md", "texts"): file_tables.design_texts,
    ("docs/design-files.md", "parts"): file_tables.design_parts,
    **{
        (f"docs/{page}.md", name): partial(report_types.keys_table, of)
        for page, name, of in (
            ("cli", "at-crash", "AtCrash"),
            ("cli", "drained", "DrainPart"),
            ("line-traces", "line-runs", "LineRun"),
            ("figures", "windows", "Windows"),
            ("crash-verdict", "stages", "StageTally"),
            ("crash-verdict", "stage-lines", "Part"),
            ("crash-programs", "by-line", "LineLosses"),
            ("crash-legal-states", "causes", "Cause"),
            ("crash-legal-states", "lost", "LostLine"),
            ("crash-legal-states", "watched", "WatchedReads"),
            ("crash-programs", "recoveries", "Recoveries"),
            ("crash-legal-states", "recovery-causes", "RecoveryCause"),
            ("crash-legal-states", "nested", "NestedRecoveries"),
            ("crash", "shrunk", "Shrunk"),
            ("proof", "keys", "Proof"),
            ("distinguish", "keys", "Distinction"),
            ("distinguish", "row-keys", "Difference"),
            ("distinguish", "outcome-keys", "DesignOutcome"),
        )
    },
    ("docs/integrity.md", "battery"): page_tables.battery,
    ("docs/litmus.md", "counters-before-data"): page_tables.counters_before_data,
    ("docs/distinguish.md", "example"): distinction_shown,
    ("docs/proof.md", "places"): proof_tables.places,
    ("docs/proof.md", "timings"): proof_tables.timings,
    ("docs/wear.md", "leveling"): page_tables.leveling,
    ("docs/wear.md", "interruption"): page_tables.interruption,
    ("docs/wear.md", "flips"): page_tables.flips,
    ("docs/workloads.md", "line-writes"): page_tables.line_writes,
}
"""By page and name: the parts that a test holds as a whole."""

LONG: Mapping[tuple[str, str], Callable[[], str]] = {
    ("docs/integrity.md", "means"): page_tables.means,
    ("docs/proof.md", "proofs"): proof_tables.proofs,
    ("docs/proof.md", "faults"): proof_tables.faults,
    **{
        ("docs/lattice.md", f"{name}-{part}"): partial(text, name)
        for name in lattice.BOUNDS
        for part, text in lattice.PARTS.items()
    },
    ("docs/cxl.md", "links"): page_tables.links,
    ("docs/cxl.md", "designs"): page_tables.linked_designs,
    ("docs/optane.md", "claims"): page_tables.module_claims,
    ("docs/optane.md", "designs"): page_tables.module_designs,
}
"""The parts that take too long for a test."""

PLAYED = ("docs/compare.md", "docs/integrity.md", "docs/recovery.md")
"""Pages with blocks of what the command before them prints."""


def played(page: str) -> Iterator[tuple[tutorial.Block, str]]:
    """The blocks of output of a page, each with the command that prints it."""
    command = ""
    for block in tutorial.blocks((ROOT / page).read_text()):
        if block.language == "sh":
            command = block.body.splitlines()[-1].removesuffix(" --out out")
        elif block.language == "text":
            yield block, command


EXAMPLES: Mapping[str, tuple[str, str]] = {
    "examples/design": ("docs/tutorial.md", "split-pairs.toml"),
    "examples/sweep": ("docs/tutorial.md", "queue.toml"),
    "examples/ci": ("docs/ci.md", ""),
}
"""By folder: the page that shows its files, and the only one that it takes, if it takes not all."""


def examples() -> Iterator[tuple[Path, str]]:
    """The files of examples that pages show, each with what is in it."""
    for folder, (page, only) in EXAMPLES.items():
        for block in tutorial.blocks((ROOT / page).read_text()):
            if block.title and block.title.startswith(only):
                yield ROOT / folder / block.title, block.body


def _refresh(page: str) -> None:
    path = ROOT / page
    lines = path.read_text().splitlines(keepends=True)
    output = cache(page_tables.output)
    for block, command in reversed(list(played(page))):
        lines[block.line : block.end - 1] = [page_tables.refreshed(block.body, output(command))]
    path.write_text("".join(lines))


def _first_table() -> None:
    """Puts the first table of docs/compare.md into README."""
    (shown, _), *_ = played("docs/compare.md")
    _, *first = shown.body.split("\n\n")[0].splitlines()
    path = ROOT / "README.md"
    (block,) = [one for one in tutorial.blocks(path.read_text()) if one.language == "text"]
    lines = path.read_text().splitlines(keepends=True)
    lines[block.line : block.end - 1] = [f"{line}\n" for line in first]
    path.write_text("".join(lines))


def part(page: str, name: str) -> tuple[str, str, str]:
    """What is before a part of a text, the part, and what is after it."""
    before, rest = page.split(f"<!-- {name} -->\n")
    shown, after = rest.split(f"<!-- end of {name} -->")
    return before, shown, after


def hold(page: Path, name: str, text: str) -> None:
    """Raises `AssertionError` if a part of a page is not `text`; writes it if COUNTERPOINT_WRITE_PAGES is set."""
    if "COUNTERPOINT_WRITE_PAGES" in os.environ:
        write(page, name, text)
    assert part(page.read_text(), name)[1] == text, f"{page.name}: COUNTERPOINT_WRITE_PAGES=1 writes '{name}'"


def write(page: Path, name: str, text: str) -> None:
    """Puts `text` in the place of a part of a page."""
    before, _, after = part(page.read_text(), name)
    page.write_text(f"{before}<!-- {name} -->\n{text}<!-- end of {name} -->{after}")


def main() -> None:
    """Writes every part, what commands print, and the files of examples."""
    for (page, name), text in {**WRITTEN, **LONG}.items():
        write(ROOT / page, name, text())
    for page in PLAYED:
        _refresh(page)
    _first_table()
    for path, body in examples():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)


if __name__ == "__main__":
    main()
