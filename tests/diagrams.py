"""Draws the diagrams of docs/ten-minutes.md, with the numbers that the engine finds.

``python tests/diagrams.py`` writes them to docs/img/; `tests/python/test_diagrams.py` fails where one of them is not
what would be drawn, and looks at them in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import counterpoint as cp
from counterpoint.contract.results import Violation
from counterpoint.report.colours import BROKEN, COUNTER, DATA, KEPT, MUTED
from drawing import Drawing

FOLDER = Path(__file__).parents[1] / "docs" / "img"

RUN = ("write-back", "queue")
"""Design and workload of the crashes that two of the diagrams draw, with one transaction."""


@cache
def _violations() -> Mapping[str, Violation]:
    """What the run breaks, the first of each rule."""
    found: dict[str, Violation] = {}
    for one in cp.crash(*RUN, transactions=1, shrink=False, blame=False).violations:
        found.setdefault(one.rule, one)
    return found


def _told(pattern: str, explanation: str) -> str:
    """What an explanation says where the group of the pattern is."""
    found = re.search(pattern, explanation)
    assert found, f"'{pattern}' is not in: {explanation}"
    return found[1]


def counter_mode() -> Drawing:
    """How a pad is made, and what it is for."""
    drawing = Drawing(
        "Counter mode",
        "AES makes a pad of 64 bytes from the key, the address of the line and the counter of the line. The exclusive "
        "or of the line and the pad is the ciphertext that lies in memory.",
        306,
    )
    boxes = [
        drawing.box(16, 16, 120, "key", "on the chip"),
        drawing.box(160, 16, 120, "address", "of the line"),
        drawing.box(304, 16, 120, "counter", "of the line", colour=COUNTER),
    ]
    aes = drawing.box(16, 94, 408, "AES", "makes a pad of 64 bytes from these three", colour=DATA)
    for box in boxes:
        drawing.arrow(box.bottom(), (box.bottom()[0], aes.y))
    ring = drawing.exclusive_or(220, 196)
    line = drawing.box(16, 171, 140, "line", "64 bytes, readable")
    ciphertext = drawing.box(284, 171, 140, "ciphertext", "what memory has", colour=DATA)
    drawing.arrow(aes.bottom(), ring.top())
    drawing.arrow(line.right, ring.left)
    drawing.arrow(ring.right, ciphertext.left)
    drawing.words(16, 254, "Each write takes the next counter: no pad is used twice.")
    drawing.words(16, 276, "A read makes the same pad again, so it needs the same", "counter.")
    return drawing


def lost_counter() -> Drawing:
    """Why data cannot be read without its counter: a line of the run, read with both."""
    explanation = _violations()["atomicity"].explanation
    written = _told(r"encrypted with counter \(major 0, minor (\d+)\)", explanation)
    kept = _told(r"says counter \(major 0, minor (\d+)\), so the line decrypts to garbage", explanation)
    event = _told(r"entered the persistence domain in event (\d+)", explanation)
    drawing = Drawing(
        "Why a lost counter loses the line",
        f"The same ciphertext, made with counter {written}, is read twice. With counter {written} the pad is the same "
        f"and the line comes out. With counter {kept}, which is what memory has after the power failure, the pad is "
        "another one and garbage comes out.",
        372,
    )
    for left, title, counter, where, result, good in (
        (16, "The counter is there", written, "in memory", "the line", True),
        (228, "The counter is lost", kept, "in memory, older", "garbage", False),
    ):
        drawing.words(left + 98, 28, title, bold=True, anchor="middle")
        block = drawing.box(left, 42, 196, f"counter {counter}", where, colour=COUNTER, lost=not good)
        pad = drawing.box(left, 120, 92, "pad", f"of {counter}")
        data = drawing.box(left + 104, 120, 92, "ciphertext", f"made with {written}", colour=DATA)
        ring = drawing.exclusive_or(left + 98, 204)
        read = drawing.box(left, 246, 196, result, colour=KEPT if good else BROKEN, lost=not good)
        drawing.arrow((pad.bottom()[0], block.bottom()[1]), pad.top())
        drawing.arrow(pad.bottom(), (ring.x + 3, ring.y + 4))
        drawing.arrow(data.bottom(), (ring.x + ring.width - 3, ring.y + 4))
        drawing.arrow(ring.bottom(), read.top())
    drawing.words(
        16,
        306,
        f"The data became durable in event {event}. Its counter, {written},",
        "was only in the counter cache, which power loss empties.",
    )
    drawing.words(16, 350, "Counter 0 means never written: the line reads as zero.")
    return drawing


def write_path() -> Drawing:
    """The way of a line and of its counter in a run that loses the line."""
    explanation = _violations()["line"].explanation
    stored = _told(r"event (\d+): core 0 stored", explanation)
    flushed = _told(r"event (\d+): core 0 flushed", explanation)
    arrived = _told(r"event (\d+): the memory controller got", explanation)
    queued = _told(r"event (\d+): the line's data entered", explanation)
    fenced = _told(r"event (\d+): a fence", explanation)
    counter = _told(r"encrypted with counter \(major 0, minor (\d+)\)", explanation)
    kept = _told(r"says counter \(major 0, minor (\d+)\), which means never written", explanation)
    drawing = Drawing(
        "Store, flush, write pending queue, media, and the counter that stays behind",
        f"A line is stored into the caches in event {stored} and flushed in event {flushed}. The memory controller "
        f"gets it in event {arrived}, encrypts it with counter {counter}, and appends it to the write pending queue in "
        f"event {queued}, from where it survives a power failure. The counter stays in the counter cache, on the side "
        f"that is lost. The counter block on the media still says {kept}.",
        486,
    )
    drawing.region(8, 254, "lost with power", BROKEN, below=True)
    drawing.region(284, 124, "survives: the persistence domain", KEPT, below=True)
    caches = drawing.box(20, 18, 400, "caches", f"event {stored}: a store; event {flushed}: the flush of its line")
    controller = drawing.box(
        20, 92, 400, "memory controller", f"event {arrived}: gets the line, encrypts it", colour=DATA
    )
    behind = drawing.box(236, 172, 184, "counter cache", f"counter {counter}", colour=COUNTER)
    queue = drawing.box(
        20, 296, 204, "write pending queue", f"event {queued}: ciphertext", f"made with counter {counter}", colour=DATA
    )
    media = drawing.box(236, 296, 184, "media", f"counter {kept}:", "never written", colour=COUNTER, lost=True)
    drawing.arrow(caches.bottom(), controller.top())
    drawing.arrow((190, controller.bottom()[1]), (190, queue.y))
    drawing.arrow((behind.bottom()[0], controller.bottom()[1]), behind.top())
    drawing.arrow(behind.bottom(), media.top(), broken=True)
    drawing.words(316, 278, "not yet", anchor="end")
    drawing.words(
        16,
        434,
        f"Event {fenced}: the fence completes, so the program may rely",
        "on the line. If power fails now, the line is in memory and",
        "its counter is not.",
    )
    return drawing


def pairs() -> Drawing:
    """What the ready bits of a pair are for, and the other way to the same end."""
    drawing = Drawing(
        "Pairs and ready bits",
        "Data enters the data queue with its ready bit clear; if power fails now, neither data nor counter survives. "
        "When the counter block enters the counter queue, one event sets both ready bits; if power fails now, both "
        "survive. secpm instead keeps both in a staging register until one event appends them to one queue.",
        412,
    )
    for middle, title in ((79, "data queue"), (219, "counter queue"), (360, "if power fails")):
        drawing.words(middle, 28, title, bold=True, anchor="middle")
    drawing.words(16, 58, "fca, first: the data is queued, and not ready.")
    data = drawing.box(16, 68, 126, "data", "ready: 0", colour=DATA, lost=True)
    drawing.box(156, 68, 126, "counter", "not queued yet", colour=COUNTER, lost=True)
    gone = drawing.box(306, 68, 118, "neither", "survives", colour=BROKEN, lost=True)
    drawing.arrow((286, data.right[1]), gone.left)
    drawing.words(16, 158, "fca, then: the counter block is queued. The same event", "sets both bits.")
    drawing.box(16, 186, 126, "data", "ready: 1", colour=DATA)
    counter = drawing.box(156, 186, 126, "counter", "ready: 1", colour=COUNTER)
    kept = drawing.box(306, 186, 118, "both", "survive", colour=KEPT)
    drawing.arrow((286, counter.right[1]), kept.left)
    drawing.words(16, 276, "secpm: a staging register has both until one event", "appends them to one queue.")
    both = drawing.box(16, 304, 266, "data and counter", "one event", colour=DATA)
    either = drawing.box(306, 304, 118, "before: neither", "after: both", colour=KEPT)
    drawing.arrow((286, both.right[1]), either.left)
    drawing.words(16, 384, "Data and counter survive together, or not at all.", bold=True)
    return drawing


def tree_at_a_crash() -> Drawing:
    """What is new and what is old in a tree after a power failure, and two boots."""
    drawing = Drawing(
        "A Bonsai tree at a crash",
        "The root is in a register on the chip. In memory, two nodes stand above four counter blocks. A write has "
        "changed the line, its MAC, its counter block and the root, all of which survive. The new node between counter "
        "block and root was in a cache and is lost: memory has the old one. A boot that uses the old node refuses "
        "memory that nobody has touched. A boot that computes the nodes from all counter blocks gets the root.",
        520,
    )
    drawing.region(8, 84, "on the chip", MUTED)
    drawing.region(112, 272, "in memory, after the power failure", MUTED, below=True)
    root = drawing.box(140, 28, 160, "root", "new", colour=KEPT)
    nodes = [
        drawing.box(24, 130, 184, "node", "old: the new one is lost", colour=BROKEN, lost=True),
        drawing.box(232, 130, 184, "node", "unchanged"),
    ]
    leaves = [
        drawing.box(24, 214, 90, "counters", "new", colour=COUNTER),
        *(drawing.box(x, 214, 90, "counters", "unchanged") for x in (123, 227, 326)),
    ]
    line = drawing.box(24, 298, 184, "line and its MAC", "new", colour=DATA)
    for place, node in enumerate(nodes):
        drawing.line(root.bottom(0.25 + 0.5 * place), node.top(), broken=place == 0)
        for leaf in leaves[2 * place : 2 * place + 2]:
            drawing.line((leaf.top()[0], node.bottom()[1]), leaf.top())
    drawing.line(leaves[0].bottom(), (leaves[0].bottom()[0], line.y))
    drawing.words(232, 318, "The MAC is made with the", "counter of the line.")
    drawing.words(16, 414, "The next boot either")
    drawing.box(
        16,
        428,
        198,
        "uses the old node:",
        "it does not fit the root.",
        "Refused: a false alarm",
        colour=BROKEN,
        lost=True,
    )
    drawing.box(226, 428, 198, "computes the nodes", "from all counter blocks:", "they fit. Accepted", colour=KEPT)
    return drawing


DRAINED = (
    ("eadr-mc-cme", "plaintext", "own address", "plaintext"),
    ("eadr-all-operation", "plaintext", "own address", "ciphertext"),
    ("bbe", "plaintext", "shadow cache", "ciphertext"),
    ("sepencr", "under cache pads", "shadow cache", "ciphertext"),
)
"""Designs whose caches a battery drains: what is in the caches, where it goes, and as what."""


def battery() -> Drawing:
    """What a battery does with the caches of four designs, at the worst power failure."""
    drawing = Drawing(
        "What a battery drains",
        "Four designs whose caches are drained on battery. eadr-mc-cme writes the plaintext of the caches to memory. "
        "eadr-all-operation reads counters, encrypts each line and writes it to its own address. bbe encrypts each "
        "line and writes it to a shadow cache in memory. sepencr only writes: the lines in its caches are under pads "
        "already.",
        496,
    )
    costs = cp.recovery([name for name, *_ in DRAINED], memory="16GiB", measure=False)
    for place, ((name, held, where, what), cost) in enumerate(zip(DRAINED, costs, strict=True)):
        work = cost.costs[0].battery
        assert work is not None
        reads, pads, writes = work.reads.total, work.pads, work.writes.total
        does = "reads, encrypts" if reads else "encrypts, writes" if pads else "only writes"
        secret = what == "ciphertext"
        top = 12 + 112 * place
        drawing.words(16, top + 14, name, bold=True)
        drawing.words(
            16, top + 32, _counted(("reads {} lines", reads), ("makes {} pads", pads), ("writes {} lines", writes))
        )
        caches = drawing.box(16, top + 42, 124, "caches", held)
        drained = drawing.box(158, top + 42, 124, "battery", does, colour=COUNTER)
        memory = drawing.box(300, top + 42, 124, where, what, colour=KEPT if secret else BROKEN, lost=not secret)
        drawing.arrow(caches.right, drained.left)
        drawing.arrow(drained.right, memory.left)
    drawing.words(16, 478, f"Worst case, machine {costs[0].machine}: every line in every cache is dirty.")
    return drawing


def _counted(*parts: tuple[str, int]) -> str:
    return ", ".join(what.format(f"{count:,}") for what, count in parts if count)


DIAGRAMS: Mapping[str, Callable[[], Drawing]] = {
    "counter-mode": counter_mode,
    "lost-counter": lost_counter,
    "write-path": write_path,
    "pairs": pairs,
    "tree-at-a-crash": tree_at_a_crash,
    "battery": battery,
}
"""By name of the file."""


def main() -> None:
    """Draws all of them."""
    for name, draw in DIAGRAMS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg())


if __name__ == "__main__":
    main()
