"""`record`: errors are reported in one sentence. Recording itself is tested by tests/recorder."""

from pathlib import Path

import pytest

from counterpoint import InputError, recorder


def test_the_program_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'/no/such/program' is no program that can be run"):
        recorder.record(["/no/such/program"], tmp_path / "out.cptrace")


def test_the_folder_of_the_trace_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: there is no folder '.*missing'"):
        recorder.record(["/bin/sh"], tmp_path / "missing" / "out.cptrace")


def test_without_valgrind_it_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"needs Valgrind, which is not installed; .*apt-get install valgrind"):
        recorder.record(["/bin/sh"], tmp_path / "out.cptrace")
    assert not list(tmp_path.iterdir())


def test_only_x86_64_linux_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(InputError, match=r"x86-64 Linux only; this is aarch64"):
        recorder.tool()


def test_the_sources_are_part_of_the_package() -> None:
    assert {"Makefile", "COPYING", "main.c", "recorder.h"} <= {file.name for file in recorder._SOURCES.iterdir()}
