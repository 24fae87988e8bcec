"""Results in notebooks: a table with a picture, one line where they are printed, options that complete."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_type_hints

import altair as alt
import pytest
from test_sweep import Inline

import counterpoint as cp
from counterpoint.contract import options
from counterpoint.report import notebook
from counterpoint.runs import sweeps
from counterpoint.system.shown import Shown

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("fake")]


def _shown(result: Shown) -> str:
    html = result._repr_html_()
    assert html.count("<div") == html.count("</div>")
    assert "<script" not in html and "<style" not in html, "a notebook keeps its own"
    return html


def test_a_run_is_a_table_of_figures_and_a_picture() -> None:
    run = cp.run("secpm", "btree")
    assert str(run).startswith("<Run of secpm on btree, machine secpm: latency ") and len(str(run)) < 100
    html = _shown(run)
    for words in ("secpm (hardened) on btree", "counters: counter cache hits", "lines of the device", "<svg"):
        assert words in html
    bars = [bar for bar in _values(notebook._view(run).picture) if "series" in bar]
    counters = {bar["x"]: bar["value"] for bar in bars if bar["series"] == "counters"}
    assert counters == {"writes": run.stats.nvm.counter_writes, "reads": run.stats.nvm.counter_reads}
    assert run.frame().equals(cp.frame([run]))


def _values(spec: Any) -> list[dict[str, Any]]:
    """Every mark of a chart."""
    if isinstance(spec, dict):
        own = spec.get("data", {}).get("values", []) if isinstance(spec.get("data"), dict) else []
        return [*own, *(value for key, part in spec.items() if key != "data" for value in _values(part))]
    return [value for part in spec for value in _values(part)] if isinstance(spec, list) else []


def test_a_crash_is_its_verdict_and_where_rules_are_broken() -> None:
    broken, kept = cp.crash("write-back", "btree"), cp.crash("secpm", "btree")
    assert str(broken) == "<Crash of write-back on btree: does not hold in 1,000 crashes, 7 violations>"
    assert repr(kept) == "<Crash of secpm on btree: holds in 1,000 crashes>"
    html = _shown(broken)
    for words in ("does not hold", "pad_reuse", "event 517", "still in the counter cache", "<svg"):
        assert words in html
    marks = _values(notebook._view(broken).picture)
    assert sorted(mark["event"] for mark in marks) == sorted(one.crash_event or 0 for one in broken.violations)
    assert "<svg" not in _shown(kept) and "holds" in _shown(kept)
    assert all(isinstance(one.plot(), alt.VConcatChart) for one in (broken, kept))


def test_a_sweep_is_its_points_and_its_first_chart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sweeps, "start", lambda *_: Inline())
    base = {"design": "secpm", "workload": "btree"}
    spec = {"name": "<q>", "base": base, "axes": {"tx_size": list(range(64, 64 * 26, 64))}}
    report = cp.sweep(spec, tmp_path / "s.duckdb")
    assert str(report) == "<Sweep <q>: 25 points, 25 runs>"
    html = _shown(report)
    assert "Sweep &lt;q&gt;" in html and "<q>" not in html
    assert html.count("<tr>") == 1 + notebook._ROWS_MAX and "The first 20 of 25 points" in html
    places = {mark["x"] for mark in _values(notebook._view(report).picture) if "series" in mark}
    assert len(places) == 25


def test_a_proof_and_a_distinction_are_tables_of_programs() -> None:
    proof = cp.prove("write-back", operations=2, lines=1, timings=["machine"])
    found = cp.distinguish("write-back", "secpm", operations=1, lines=1, timings=["machine"])
    assert "nt-store A" in _shown(proof) and "does not hold" in _shown(proof)
    assert "first-fails" in _shown(found) and "they differ" in _shown(found) and "<svg" not in _shown(found)


def test_what_is_no_result_is_not_shown() -> None:
    with pytest.raises(TypeError, match="str is no result"):
        notebook.html("x")


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (cp.resolve, options.RunOptions),
        (cp.run, options.SingleRunOptions),
        (cp.replay, options.ReplayOptions),
        (cp.crash, options.CrashOptions),
        (cp.check, options.CheckOptions),
        (cp.prove, options.ProveOptions),
        (cp.distinguish, options.DistinguishOptions),
        (cp.scene, options.SceneOptions),
        (cp.run_matrix, options.CommonOptions),
        (cp.compare, options.CommonOptions),
        (cp.replay_lines, options.LineOptions),
        (cp.recovery, options.RecoveryOptions),
        (cp.annotations, options.AnnotationOptions),
        (cp.explain, options.RunOptions),
        (cp.cite, options.RunOptions),
    ],
)
def test_the_signature_of_a_call_has_its_options(call: Any, kind: Any) -> None:
    parameters = inspect.signature(call).parameters
    assert set(get_type_hints(kind)) <= set(parameters)
    assert all(one.kind is not one.VAR_KEYWORD for one in parameters.values())
    assert all(parameters[name].default is None for name in set(get_type_hints(kind)) - {"tx_size", "cores"})
    inspect.signature(call).bind(*[None] * sum(one.default is one.empty for one in parameters.values()))
