#!/usr/bin/env python3
"""Mounts Counterpoint's bridge in a checkout of ChampSim: mount.py CHECKOUT. A second time, it changes nothing."""

import re
import shutil
import sys
from pathlib import Path

HEADER = "counterpoint_bridge.h"
INCLUDE = f'#include "{HEADER}"\n'
MEMBER = "  counterpoint_champsim::bridge<channel_type> counterpoint_memory;\n"
OPERATE = """long MEMORY_CONTROLLER::operate()
{
  const auto now = current_time.time_since_epoch() / champsim::chrono::picoseconds{1};
  return counterpoint_memory.operate(queues, static_cast<uint64_t>(now), warmup);
}
"""
SIZE = """champsim::data::bytes MEMORY_CONTROLLER::size() const
{
  return champsim::data::bytes{static_cast<long long>(counterpoint_memory.size())};
}
"""


class UnknownVersionError(Exception):
    """The checkout does not have what is to be changed."""


def replaced(text: str, pattern: str, replacement: str, what: str) -> str:
    """`text` with the one place that matches `pattern` replaced."""
    changed, places = re.subn(pattern, lambda _: replacement, text, flags=re.DOTALL | re.MULTILINE)
    if places != 1:
        raise UnknownVersionError(
            f"{what} is there {places} times instead of once: this is no ChampSim of 2024-12 or later"
        )
    return changed


def at_end_of(text: str, function: str, line: str) -> str:
    """`text` with `line` as the last one of MEMORY_CONTROLLER's `function`."""
    found = re.search(
        rf"^void MEMORY_CONTROLLER::{function}\([^)]*\)\n\{{\n.*?^\}}\n", text, flags=re.DOTALL | re.MULTILINE
    )
    if not found:
        raise UnknownVersionError(f"there is no MEMORY_CONTROLLER::{function}: this is no ChampSim of 2024-12 or later")
    return text[: found.end() - 2] + f"  {line}\n}}\n" + text[found.end() :]


def mounted(header: str, source: str) -> tuple[str, str]:
    """`inc/dram_controller.h` and `src/dram_controller.cc` with the bridge."""
    first_include = re.search(r'^#include "', header, flags=re.MULTILINE)
    if not first_include:
        raise UnknownVersionError("dram_controller.h includes nothing: this is no ChampSim of 2024-12 or later")
    header = header[: first_include.start()] + INCLUDE + header[first_include.start() :]
    members = r"^  std::vector<channel_type\*> queues;\n"
    header = replaced(header, members, "  std::vector<channel_type*> queues;\n" + MEMBER, "MEMORY_CONTROLLER::queues")
    source = replaced(
        source, r"^long MEMORY_CONTROLLER::operate\(\)\n\{\n.*?^\}\n", OPERATE, "MEMORY_CONTROLLER::operate"
    )
    size = r"^champsim::data::bytes MEMORY_CONTROLLER::size\(\) const(\n\{\n.*?^\}\n| \{[^\n]*\}\n?)"
    source = replaced(source, size, SIZE, "MEMORY_CONTROLLER::size")
    source = at_end_of(source, "begin_phase", "counterpoint_memory.begin_phase();")
    return header, at_end_of(source, "end_phase", "counterpoint_memory.end_phase(warmup);")


def main() -> int:
    """Mounts the bridge in the checkout that is named."""
    if len(sys.argv) != 2:
        print("usage: mount.py CHECKOUT", file=sys.stderr)
        return 2
    checkout = Path(sys.argv[1])
    files = [checkout / "inc" / "dram_controller.h", checkout / "src" / "dram_controller.cc"]
    try:
        texts = [file.read_text() for file in files]
        changed = texts if INCLUDE in texts[0] else list(mounted(texts[0], texts[1]))
        shutil.copyfile(Path(__file__).resolve().parent / HEADER, checkout / "inc" / HEADER)
        for file, before, after in zip(files, texts, changed, strict=True):
            if before != after:
                file.write_text(after)
    except (OSError, UnknownVersionError) as error:
        print(f"error: {checkout}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
