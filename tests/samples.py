"""Small valid traces of every format, and their parts: tests damage them, and fuzzing begins with them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct

BASE = 0x1000_0000
_TABLE_MAGIC, _FOOTER_MAGIC = 0x184D2A5E, 0x8F92EAB1


def unsigned(value: int) -> bytes:
    """A number as unsigned LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """A number in zigzag form."""
    return unsigned(2 * value if value >= 0 else -2 * value - 1)


def begun(size: int, name: bytes = b"pool") -> list[bytes]:
    """The records with which a stream begins that is about one file, mapped at `BASE`."""
    return [
        b"\x01\x00\x00\x00",
        b"\x02\x00" + unsigned(len(name)) + name,
        b"\x03" + unsigned(BASE) + unsigned(size) + b"\x00\x00",
    ]


def ended(body: list[bytes], instructions: int, status: int = 0, version: int = 1) -> bytes:
    """A stream of these records and an END."""
    end = b"\x7f" + unsigned(len(body)) + unsigned(instructions) + unsigned(status)
    return b"CPTRACE" + bytes([version]) + b"".join(body) + end


def records() -> list[bytes]:
    """One record of every kind but SYNC and END, over a file of 64 KiB."""
    access = bytes([3]) + signed(0)
    return [
        *begun(0x10000)[1:],
        b"\x05" + unsigned(0x400000) + unsigned(0x1000) + b"\x00" + unsigned(4) + b"code",
        b"\x06\x00" + unsigned(0x80) + unsigned(5) + b"image",
        b"\x20\x00",
        b"\x10" + access + signed(BASE + 0x40) + unsigned(8),
        b"\x11" + access + signed(0) + unsigned(4) + b"abcd",
        b"\x1d" + access + signed(0) + unsigned(4) + b"efgh",
        b"\x12" + access + signed(0x3C) + unsigned(8) + b"nontempo",
        b"\x13" + access + signed(4) + unsigned(8) + b"lockedop",
        b"\x14" + access + signed(0),
        b"\x15" + access + signed(64),
        b"\x16" + access + signed(64),
        b"\x17" + access,
        b"\x19" + access + signed(64) + unsigned(6) + b"kernel",
        b"\x1a" + access + signed(0) + unsigned(600),
        b"\x1b" + access + signed(64) + unsigned(8),
        b"\x21\x00",
        b"\x07\x01",
        b"\x25" + unsigned(3) + unsigned(0) + unsigned(4),
        b"\x18" + access,
        b"\x1c" + access,
        b"\x22" + unsigned(22) + b"pmemobj_tx_commit.END|",
        b"\x23\x01" + unsigned(BASE) + unsigned(0x40),
        b"\x24\x02\x00",
        b"\x04" + unsigned(BASE) + unsigned(0x1000),
    ]


def lacks(what: int, text: bytes = b"") -> bytes:
    """A LACKS record."""
    return b"\x24" + unsigned(what) + unsigned(len(text)) + text


def recorded(*further: bytes) -> bytes:
    """A complete trace stream; further records come last."""
    body = [b"\x01\x00\x00\x00", *records(), *further]
    instructions = 3 * sum(1 for record in body if 0x10 <= record[0] <= 0x1D or record[0] == 0x25)
    return ended(body, instructions, version=7)


def zstd_frame(content: bytes) -> bytes:
    """`content` as one frame with one block that is not compressed."""
    header = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content))
    return header + struct.pack("<I", len(content) << 3 | 1)[:3] + content


def seekable(content: bytes) -> bytes:
    """`content` in the seekable format, in one frame."""
    frame = zstd_frame(content)
    entries = struct.pack("<II", len(frame), len(content))
    footer = struct.pack("<IBI", 1, 0, _FOOTER_MAGIC)
    return frame + struct.pack("<II", _TABLE_MAGIC, len(entries) + len(footer)) + entries + footer


PMEMCHECK = (
    b"==7== pmemcheck-1.0, a simple persistent store checker\n==7== START|REGISTER_FILE;pool;0x10000000;0x10000;0x0"
    b"|pmemobj_tx_begin.BEGIN|STORE;0x10000040;0x4a42;0x8|FLUSH;0x10000040;0x40|FENCE|DEEP_SYNC;0x10000040;0x80"
    b"|pmemobj_tx_commit.END==7== a message\n==7== |STORE;0x1000007c;0x1;0x8|STOP\n"
)

STACKS = (
    b"==7== START|REGISTER_FILE;pool;0x5200000;0x1000;0x0"
    b"|STORE;0x5200000;0x7;0x8;0x48B10E4: ??? (in /usr/lib/libpmem.so.1)"
    b";0x109A3F: set (list.h:12)0x109A3F: insert (list.c:44);0x109B01: main (list.c:90)"
    b"|STORE;0x5200040;0x1;0x8;0x109A5F: list::operator||(int) (list.c:60)|FLUSH;0x5200000;0x80|FENCE|STOP\n"
)
"""A store log of pmemcheck with stacks."""


def instruction(*, loads: tuple[int, ...] = (), stores: tuple[int, ...] = (), pointer: int = 0x401000) -> bytes:
    """One instruction in ChampSim's format."""
    two, four = (*stores, 0, 0)[:2], (*loads, 0, 0, 0, 0)[:4]
    return struct.pack("<Q2B2B4B2Q4Q", pointer, 0, 0, 1, 0, 2, 0, 0, 0, *two, *four)


def champsim() -> bytes:
    """A few dozen instructions."""
    some = [instruction(), instruction(loads=(0x7FFF0000, 0x7FFF0FFC)), instruction(stores=(0x600008, 0x601000))]
    return b"".join(some * 12)


LINES = {
    "nvmain": b"NVMV0\n10 R 1040 " + b"0" * 128 + b" 0\n12 W 0x2000 0x1f02 1\n\n15 W 40\n",
    "nvmv1": b"NVMV1\n10 R 1040 " + b"0" * 128 + b" " + b"1" * 128 + b" 0\n12 W 2000 1f 0 1\n",
    "prospero": b"1 W 140734192927288 8\n5 R 140734192927296 64\n6 w 60 8\n",
    "dramsim2": b"0x7F64A0C0 P_FETCH 12\n0x7F64A100 P_LOCK_WR 24\n0x0 P_INT_ACK 30\n0x80 BOFF 33\n0x40 IFETCH 40\n",
    "dramsim3": b"0x1040 READ 3\n2000 WRITE 10\n0x40 P_MEM_WR 12\n",
    "ramulator": b"LD 0x1040\nST 8192\nR 0x40\n0x80 W\n",
}
"""Traces of memory lines by format."""


def traces() -> dict[str, bytes]:
    """A good trace of every format, in every form that it comes in."""
    instructions = champsim()
    return {
        "recorded": recorded(),
        "seekable": seekable(recorded()),
        "pmemcheck": PMEMCHECK,
        "pmemcheck-stacks": STACKS,
        "champsim": instructions,
        "champsim-gz": gzip.compress(instructions, mtime=0),
        "champsim-xz": lzma.compress(instructions),
        "champsim-bz2": bz2.compress(instructions),
        **LINES,
    }
