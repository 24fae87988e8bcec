"""Charts for papers: what they show, their width, their formats; and what is cited of a run."""

from __future__ import annotations

import re
import shlex
import struct
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
import reproduced
from conftest import Cli
from test_reproduction_page import marks, words

import counterpoint as cp
import document_types
from counterpoint.papers.model import Chart, Mark
from counterpoint.report import column, compared
from counterpoint.verbs import catalogue

_ROOT = Path(__file__).parents[2]


def _drawn(chart: Chart) -> ElementTree.Element:
    svg, _, _ = column.render(column.Figure("x", chart))
    return ElementTree.fromstring(svg)


@pytest.mark.parametrize("chart", [reproduced.MISSES, reproduced.SCALING, reproduced.WRITES])
def test_a_chart_fits_a_column_in_each_format(chart: Chart) -> None:
    svg, pdf, png = column.render(column.Figure("x", chart))
    text = svg.decode()
    width, height = (float(size) for size in re.findall(r'(?:width|height)="([\d.]+)in"', text)[:2])
    assert 2.9 < width <= column.WIDTH_IN
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box and [float(side) / 72 for side in box.groups()] == pytest.approx([width, height], abs=0.001)
    pixels = struct.unpack(">II", png[16:24])
    assert pixels == pytest.approx([300 * width, 300 * height], abs=2)
    assert b"/Type3" not in pdf and b"/FontFile2" in pdf
    assert "prefers-color-scheme" not in text and "<style" not in text


def test_a_column_has_the_legend_and_the_marks_of_a_chart() -> None:
    root = _drawn(reproduced.WRITES)
    assert len(marks(root, "rect")) == len(reproduced.WRITES.marks)
    said = words(root)
    for name in (*reproduced.WRITES.series, reproduced.WRITES.line_title, "published"):
        assert said[name] >= 1, name
    plain = Chart("", "bar", "", "y", ("",), ("a",), ("",), (Mark("", "a", "", 1.0, 0.25),))
    root = _drawn(plain)
    assert len(marks(root, "rect")) == len(marks(root, "rule")) == 1, "a bar and its interval"
    assert words(root)["published"] == 0


@pytest.mark.usefixtures("fake")
class TestComparisons:
    def test_each_figure_of_the_page_is_a_chart(self) -> None:
        frame = cp.compare(["unencrypted", "write-back", "secpm"], ["array", "btree"])
        drawn = {one.name: one.chart for one in compared.of_paper(frame)}
        assert list(drawn) == ["latency", "writes", "counters"]
        latency, writes = drawn["latency"], drawn["writes"]
        assert (latency.panels, latency.xs) == (("",), ("array", "btree", "mean"))
        expected = frame.filter(design="secpm", workload="btree")["relative_latency"][0]
        assert Mark("", "btree", "secpm", expected) in latency.marks
        assert (writes.panels, writes.series) == (("array", "btree", "mean"), ("data", "log", "counters"))
        bars = marks(_drawn(writes), "rect")
        assert len(bars) == len(writes.marks)
        tops = frame.group_by("design", maintain_order=True).agg(pl.col("relative_writes").max())
        heights = [float(re.findall(r"v(-?[\d.]+)h", str(bar.get("d")))[0]) for bar in bars]
        assert len(tops) == 3 and max(heights) > 0

    def test_points_have_files_of_their_own_and_lines_go_over_them(self) -> None:
        frame = cp.compare(["eadr", "bbe"], ["array"], tx_size=[64, 256], cores=[1, 2])
        names = [one.name for one in compared.of_paper(frame)]
        assert names[0] == "execution_time-64B-1core"
        assert {name for name in names if "_by_" in name} == {
            "throughput_by_cores-64B",
            "throughput_by_cores-256B",
            "execution_time_by_tx_size-1core",
            "execution_time_by_tx_size-2cores",
            "execution_time_by_cores-64B",
            "execution_time_by_cores-256B",
        }
        assert len(set(names)) == len(names)

    def test_many_designs_have_a_panel_for_each_workload(self) -> None:
        plain = [one.name for one in cp.designs() if one.form == "plain"]
        designs = [name for name in plain if not catalogue.needs_modules(name)][:18]
        frame = cp.compare(designs, ["array", "btree"])
        chart = next(one.chart for one in compared.of_paper(frame) if one.name == "latency")
        assert (chart.panels, chart.xs, len(chart.series)) == (("array", "btree", "mean"), ("",), len(designs))

    def test_commands_write_tables_and_charts(self, cli: Cli, tmp_path: Path) -> None:
        paths = [str(tmp_path / name) for name in ("f", "t.csv", "t.parquet")]
        outcome = cli("compare", "-w", "array", *sum(zip(("--figures", "--csv", "--parquet"), paths, strict=True), ()))
        assert outcome.code == 0
        assert sorted(path.suffix for path in (tmp_path / "f").iterdir()) == [".pdf"] * 3 + [".png"] * 3 + [".svg"] * 3
        csv, parquet = pl.read_csv(paths[1]), pl.read_parquet(paths[2])
        assert csv["design"].to_list() == parquet["design"].to_list() == list(cp.compare(workloads=["array"])["design"])
        assert parquet.schema["nvm_writes"] == pl.Int64
        outcome = cli("replay", "t.log", "-d", "secpm", "--csv", paths[1])
        assert pl.read_csv(paths[1])["design"].to_list() == ["secpm"]
        assert outcome.err == f"table: {paths[1]}\n"

    def test_files_that_cannot_be_written_are_found_before_anything_is_simulated(
        self, cli: Cli, fake: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        fake.setattr("counterpoint._engine.run_many", None)
        for option in ("--csv", "--parquet"):
            for command in ("run secpm btree", "compare", "replay t.log"):
                assert "cannot be written" in cli(*command.split(), option, str(tmp_path)).refusal
        assert "cannot be written" in cli("compare", "--figures", "/proc/nowhere").refusal


def test_figures_of_papers_have_files_named_after_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[column.Figure] = []

    def render(figure: column.Figure) -> tuple[bytes, bytes, bytes]:
        drawn.append(figure)
        return b"", b"", b""

    monkeypatch.setattr(column, "render", render)
    written = {path.stem for path in cp.write_figures(reproduced.reproduction(), tmp_path)}
    assert written == {"secpm-f11", "easy-pm-f5", "easy-pm-f5-2", "easy-pm-f6"}
    assert [one.chart for one in drawn] == [reproduced.WRITES, reproduced.SCALING, reproduced.MISSES, reproduced.MANY]


def test_names_of_files_are_plain_and_different(tmp_path: Path) -> None:
    chart = Chart("", "bar", "", "y", ("",), ("a",), ("",), (Mark("", "a", "", 1.0),))
    drawn = [column.Figure(name, chart) for name in ("../a b", "a/b", "\0")]
    written = {path.name for path in column.write(drawn, tmp_path)}
    assert written == {f"{name}.{form}" for name in ("a-b", "a-b-2", "chart") for form in column.FORMATS}


@pytest.mark.engine
class TestCitations:
    def test_the_digest_is_the_key_of_the_run_in_a_store(self, tmp_path: Path) -> None:
        base = {"design": "secpm", "workload": "btree", "machine": "small", "transactions": 2}
        rows = cp.sweep({"base": base, "axes": {"tx_size": [64, 128]}}, tmp_path / "s.duckdb").frame()
        cited = [cp.cite("secpm", "btree", machine="small", transactions=2, tx_size=size) for size in (64, 128)]
        assert [one.digest for one in cited] == rows["key"].to_list()
        assert cited[0].engine_build == rows["engine_build"][0]
        document_types.check("documents/cite.json", cited[0].to_dict())

    def test_its_command_repeats_the_run(self, cli: Cli) -> None:
        asked = ["secpm", "btree", "--machine", "small", "--transactions", "2", "--set", "controller.wpq_entries=64"]
        cited = cp.cite("secpm", "btree", machine="small", transactions=2, set={"controller.wpq_entries": 64})
        again = cli("cite", *cited.command.split()[2:])
        assert again == cli("cite", *asked)
        assert cited.command in again.out and cited.bibtex.rstrip() in again.out
        assert cli(*cited.command.split()[1:]).code == 0

    def test_a_trace_has_no_options_of_workloads(self, cli: Cli) -> None:
        trace = str(_ROOT / "tests/data/btree-20.pmemcheck.log.zst")
        cited = cp.cite("secpm", trace)
        assert cited.command == f"counterpoint run secpm {trace} --variant hardened --seed 1 --machine secpm"
        assert cli(*cited.command.split()[1:]).code == 0

    def test_a_program_that_is_written_out_has_none_either(self, cli: Cli) -> None:
        program = "store A; clwb A; sfence"
        cited = cp.cite("write-back", program, machine="small")
        assert cited.command == f"counterpoint run write-back '{program}' --variant hardened --seed 1 --machine small"
        assert cli(*shlex.split(cited.command)[1:]).code == 0
        shown = cli("cite", "write-back", program, "--machine", "small").out
        assert shown.startswith(f"write-back (hardened) on {program}, machine small, 1 core, seed 1\n")
        assert cli("cite", "secpm", "store A; clwb").refusal == cli("run", "secpm", "store A; clwb").refusal

    def test_what_no_run_takes_is_refused_as_by_run(self, cli: Cli) -> None:
        for bad in ("no-such", str(_ROOT / "README.md")):
            assert cli("cite", "secpm", bad).refusal == cli("run", "secpm", bad).refusal
        lines = str(_ROOT / "tests/data/nvmain-pcm.nvt.gz")
        assert "has no program" in cli("cite", "secpm", lines).refusal
        assert cli("cite", "no-such", "btree").refusal == cli("run", "no-such", "btree").refusal

    def test_the_entry_names_the_package_as_it_is_published(self) -> None:
        project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
        entry = cp.cite("secpm", "btree").bibtex
        assert f"author = {{{{{project['authors'][0]['name']}}}}}" in entry
        assert project["description"].lower() in entry.lower()
        assert f"Version {cp.__version__}," in entry
