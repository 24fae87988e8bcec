"""Damaged traces of every format: one clear sentence, exit code 2, and bounded time and memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

import samples

pytestmark = pytest.mark.engine

_COMMANDS = (("replay", "-d", "secpm", "--machine", "small"), ("run", "secpm"), ("crash", "secpm"))
_ALL_ONES = (1 << 64) - 1
_STREAM, _RECORDS = samples.recorded(), samples.records()
_BEGINNING = b"CPTRACE\x05\x01\x00\x00\x00" + _RECORDS[0] + _RECORDS[1]
_INSTRUCTIONS = samples.champsim()
_LOG = samples.PMEMCHECK


def _after_beginning(*records: bytes) -> bytes:
    return _BEGINNING + b"".join(records) + b"\x7f" + samples.unsigned(3 + len(records)) + b"\x00\x00"


def _record_of_log(record: bytes) -> bytes:
    return _LOG.replace(b"|FENCE", b"|" + record, 1)


def _swapped_words(data: bytes, width: int) -> bytes:
    return b"".join(data[at : at + width][::-1] for at in range(0, len(data), width))


def _windowed(log: int) -> bytes:
    """A frame whose header asks for a window of 2^log bytes."""
    return struct.pack("<IBB", 0xFD2FB528, 0, (log - 10) << 3) + struct.pack("<I", 1 << 3 | 1)[:3] + b"C"


_CASES: dict[str, bytes] = {
    "empty": b"",
    "text": b"hello, world\n",
    "zeros": bytes(4096),
    "recorded: truncated": _STREAM[:-3],
    "recorded: other byte order": _swapped_words(_STREAM[: len(_STREAM) & ~7], 8),
    "recorded: bad tag": _after_beginning(b"\x50"),
    "recorded: END counts 2^64 instructions": _BEGINNING + b"\x7f\x03" + samples.unsigned(_ALL_ONES) + b"\x00",
    "recorded: something after the END": _STREAM + b"\x00",
    "seekable: truncated": samples.seekable(_STREAM)[: len(_STREAM) // 2],
    "seekable: damaged frame": samples.zstd_frame(_STREAM[:40] + b"\xff" * 20 + _STREAM[60:]),
    "seekable: other byte order": samples.seekable(_STREAM)[3::-1] + samples.seekable(_STREAM)[4:],
    "seekable: bad block": samples.zstd_frame(_STREAM)[:9] + b"\xff\xff\xff" + _STREAM,
    "seekable: huge window": _windowed(31) + samples.seekable(_STREAM),
    "seekable: huge content size": struct.pack("<IBQ", 0xFD2FB528, 0xE0, _ALL_ONES) + samples.zstd_frame(_STREAM)[9:],
    "pmemcheck: truncated": _LOG[:-40],
    "pmemcheck: bad record": _record_of_log(b"FROB;0x1"),
    "pmemcheck: other byte order": _swapped_words(_LOG[: len(_LOG) & ~3], 4),
    "champsim: truncated": _INSTRUCTIONS[:-7],
    "champsim: other byte order": _swapped_words(_INSTRUCTIONS, 8),
    "champsim: damaged behind the beginning": _INSTRUCTIONS * 3 + b"\xff" * 64,
    "champsim: addresses of more than 57 bits": samples.instruction(loads=(1 << 60,)) * 4,
    "champsim-gz: truncated": gzip.compress(_INSTRUCTIONS)[:-9],
    "champsim-gz: damaged": gzip.compress(_INSTRUCTIONS)[:-6] + b"\x00" * 6,
    "champsim-xz: truncated": lzma.compress(_INSTRUCTIONS)[:-9],
    "champsim-xz: damaged": lzma.compress(_INSTRUCTIONS)[:-40] + b"\xff" * 40,
    "champsim-bz2: truncated": bz2.compress(_INSTRUCTIONS)[:-9],
    "champsim-bz2: damaged": bz2.compress(_INSTRUCTIONS)[:-40] + b"\xff" * 40,
    "pmemcheck-stacks: bad frame": _record_of_log(b"STORE;0x10000040;0x1;0x8;0x10: main"),
    "pmemcheck-stacks: endless frame": _record_of_log(b"STORE;0x10000040;0x1;0x8;0x10: " + b"f" * 70_000 + b" (a.c:1)"),
    "prospero: truncated": samples.LINES["prospero"][:-4],
    "prospero: huge size": b"1 W 64 8\n2 W 64 4097\n",
    "prospero: huge address": b"1 W 64 8\n2 W 18446744073709551615 2\n",
    "dramsim2: unknown word": samples.LINES["dramsim2"] + b"0x40 P_IO_RD 50\n",
    "dramsim2: first line": b"0x40 P_IO_RD 50\n",
    "nvmain: truncated": b"NVMV0\n10 R 0x1040 0 0\n12 W",
    "nvmain: other byte order": _swapped_words(samples.LINES["nvmain"], 4),
    "nvmain: cycle beyond the end of time": b"10 R 0x1040 0 0\n18446744073709551615 R 0x1040 0 0\n",
    "nvmain: huge data": b"10 R 0x1040 0 0\n11 W 0x40 " + b"0" * 129 + b" 0\n",
    "nvmv1: truncated": b"NVMV1\n10 R 1040 0 0 0\n12",
    "nvmv1: huge version": b"NVMV18446744073709551616\n10 R 1040 0 0 0\n",
    "dramsim3: truncated": b"0x1040 READ 3\n0x2000 WRI",
    "dramsim3: huge cycle": b"0x1040 READ 3\n0x2000 READ 18446744073709551616\n",
    "dramsim3: other byte order": _swapped_words(samples.LINES["dramsim3"], 4),
    "ramulator: truncated": b"LD 0x1040\nST",
    "ramulator: huge address": b"LD 0x1040\nLD 18446744073709551616\n",
    "ramulator: other byte order": _swapped_words(samples.LINES["ramulator"], 4),
}
"""The engine's own tests have each record and line that can be wrong."""


@pytest.mark.parametrize("case", _CASES)
def test_damage_is_one_sentence(case: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "damaged.trace"
    path.write_bytes(_CASES[case])
    for command in _COMMANDS:
        assert cli(*command, str(path)).refusal


@pytest.mark.parametrize("name", samples.traces())
def test_undamaged_traces_are_read(name: str, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "good.trace"
    path.write_bytes(samples.traces()[name])
    outcome = cli("replay", "-d", "secpm", "--machine", "small", str(path))
    assert (outcome.code, outcome.err) == (0, ""), outcome


_MIB = 1 << 20
_UNPACKED_MIB = 256


def _repeated(member: Callable[[bytes], bytes], begin: bytes, filler: bytes, end: bytes) -> bytes:
    """Members of a MiB after another; each format of compression takes them for one stream."""
    packed = member(filler * (_MIB // len(filler)))
    return member(begin) + packed * _UNPACKED_MIB + member(end)


_BLANK = b" " * 1023 + b"\n"
_IDLE = samples.instruction()
_BOMBS: dict[str, Callable[[], bytes]] = {
    "lines in gzip": lambda: _repeated(gzip.compress, b"LD 0x40\n", _BLANK, b"LD 0x\n"),
    "lines in xz": lambda: _repeated(lzma.compress, b"LD 0x40\n", _BLANK, b"LD 0x\n"),
    "lines in bzip2": lambda: _repeated(bz2.compress, b"LD 0x40\n", _BLANK, b"LD 0x\n"),
    "instructions in gzip": lambda: _repeated(gzip.compress, _IDLE * 64, _IDLE, b"\xff" * 64),
    "instructions in xz": lambda: _repeated(lzma.compress, _IDLE * 64, _IDLE, b"\xff" * 64),
}
_KIB_MAX = 200 << 10
"""Less than what is unpacked; the process alone takes some 60 MiB."""

_SECONDS_MAX = 120


@pytest.mark.parametrize("bomb", _BOMBS)
def test_bombs_take_no_memory(bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.trace"
    path.write_bytes(_BOMBS[bomb]())
    begun = time.monotonic()
    # Not that of getrusage: it knows what the process was before this program, too.
    script = "from counterpoint import _engine, cli\ntry: cli.main()\n"
    script += "finally: print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    arguments = ["replay", "-d", "secpm", "--machine", "small", str(path)]
    shown = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False, timeout=_SECONDS_MAX
    )
    assert shown.returncode == 2, shown
    assert shown.stderr.startswith("error: "), shown.stderr
    assert shown.stderr.count("\n") == 1, shown.stderr
    assert int(shown.stdout.split()[-1]) < _KIB_MAX
    assert time.monotonic() - begun < _SECONDS_MAX
    assert path.stat().st_size < _UNPACKED_MIB * _MIB // 100
