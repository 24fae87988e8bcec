"""Records programs and compares the traces with the files that the programs left: the test of the recorder.

Usage: check.py --out FOLDER [--tool FOLDER]. Without --tool the recorder is built as `counterpoint record` builds it.
Needs valgrind, gcc, make, libpmemobj-dev and libpmem-dev; `make test-recorder` installs them.

Each program runs on files of its own. The records, replayed over the images by the reader in stream.py, must give these
files byte for byte; stress.c and threads.c also say how many records of each kind there must be.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import following
import raw
import stream
from raw import Failure, require
from waiting import ended

if TYPE_CHECKING:
    from counterpoint.contract.results import Place

HERE = Path(__file__).parent
COUNTERPOINT = [sys.executable, "-m", "counterpoint"]
EXAMPLES = Path("/usr/share/doc/libpmemobj-dev/examples")
MAP_SOURCES = ("map/map*.c", "hashmap/*.c", "tree_map/*.c", "list_map/*.c")
MAP_PROGRAMS = ("mapcli.c", "data_store.c", "kv_server.c")
SPARSE_BYTES = 256 << 20


@dataclass
class Case:
    """A program, its input, and the files whose final content the trace must give."""

    name: str
    command: list[str]
    files: list[Path]
    stdin: str = ""
    status: int = 0
    expects: list[str] = field(default_factory=list)
    """Tags of which there must be some."""


def replayed(trace: Path, keep: Callable[[stream.Record], bool] = lambda _: False) -> stream.Replay:
    """What the records of a trace make of the files."""
    with trace.open("rb") as source:
        return stream.replay(source, keep)


def compile_program(out: Path, sources: list[Path], *options: str) -> str:
    command = ["gcc", "-g", "-O1", "-w", "-o", str(out), *map(str, sources), *options]
    subprocess.run(command, check=True)
    return str(out)


def map_program(out: Path, main: str) -> str:
    sources = [EXAMPLES / "map" / main]
    for pattern in MAP_SOURCES:
        sources += [source for source in sorted(EXAMPLES.glob(pattern)) if source.name not in MAP_PROGRAMS]
    includes = [f"-I{EXAMPLES / folder}" for folder in (".", "map", "hashmap", "tree_map", "list_map")]
    return compile_program(out, sources, f"-I{HERE / 'include'}", *includes, "-lpmemobj", "-lpmem", "-pthread")


def cases(out: Path) -> list[Case]:
    def pool(name: str) -> Path:
        return out / f"{name}.pool"

    stress = compile_program(out / "stress", [HERE / "stress.c"])
    threads = compile_program(out / "threads", [HERE / "threads.c"], "-pthread")
    mapcli = map_program(out / "mapcli", "mapcli.c")
    pi = compile_program(out / "pi", [EXAMPLES / "pi.c"], f"-I{HERE / 'include'}", "-lpmemobj", "-pthread", "-lm")
    pmdk = ["LOAD", "STORE", "NT_STORE", "CLWB", "SFENCE", "TX_BEGIN", "TX_END"]
    moves = Path(f"{pool('stress')}.moves")
    found = [
        Case("stress", [stress, str(pool("stress"))], [pool("stress"), moves], status=7),
        Case("threads", [threads, str(pool("threads"))], [pool("threads")]),
        # Several threads, each with transactions of its own.
        Case("pi", [pi, str(pool("pi")), "calc", "3", "12"], [pool("pi")], expects=["LOAD", "STORE", "SFENCE"]),
    ]
    for kind in ("hashmap_tx", "btree", "rbtree", "skiplist"):
        command = [mapcli, kind, str(pool(kind)), "17"]
        found.append(Case(kind, command, [pool(kind)], "n 40\ni 5\ni 6\nr 5\nq\n", expects=pmdk))
    return found


def same_bytes(replay: stream.Replay, file: Path) -> None:
    there, rebuilt = file.read_bytes(), replay.content(str(file))
    if (size := replay.size(str(file))) is not None:
        require(size == len(there), f"{file.name} has {len(there)} bytes, not {size}")
        rebuilt = rebuilt[:size]
    length = max(len(there), len(rebuilt))
    there, rebuilt = there.ljust(length, b"\0"), rebuilt.ljust(length, b"\0")
    if there != rebuilt:
        at = next(i for i in range(length) if there[i] != rebuilt[i])
        raise Failure(f"{file.name} differs from its trace at offset {at:#x}: {there[at]:#x}, not {rebuilt[at]:#x}")


class Sections:
    """Counts records by the part of the program that they are in, which its marks tell.

    Locked operations on other memory count only where the program's own code has them, as libraries lock as well.
    """

    def __init__(self, program: str) -> None:
        self.program = program.encode()
        self.code = range(0)
        self.section = "counted"
        self.counts: dict[str, Counter[str]] = {}
        self.between: dict[int, int] = {}
        self.base = 0

    def __call__(self, record: stream.Record) -> bool:
        if record.tag == stream.MARK:
            self.section = record.data.decode()
        elif record.tag == stream.MAP and self.base == 0 and record.fields[0] < stream.WINDOWS:
            self.base = record.fields[0]
        elif record.tag == stream.CODE and record.data == self.program:
            self.code = range(record.fields[0], record.fields[0] + record.fields[1])
        elif record.tag in stream.NAMES and (record.tag != stream.LOCKED or record.pc in self.code):
            self.counts.setdefault(self.section, Counter())[stream.NAMES[record.tag]] += 1
        if record.address:
            self.between.setdefault(record.address - self.base, record.between)
        return False


def facts(case: Case, printed: str, replay: stream.Replay, sections: Sections) -> None:
    """Compares the counts with those that stress.c and threads.c print."""
    for line in printed.splitlines():
        match line.split():
            case ["count", tag, number]:
                counted = sections.counts.get("counted", Counter())[tag]
                require(counted == int(number), f"{counted} records of {tag}, not {number}")
            case ["between", offset, number]:
                counted = sections.between.get(int(offset), -1)
                require(counted == int(number), f"{counted} instructions before offset {offset}, not {number}")
            case ["memory", address]:
                left = Path(f"{case.files[0]}.memory").read_bytes()
                require(
                    replay.content(f"memory:{address}").ljust(len(left), b"\0") == left, "registered memory differs"
                )


def check(case: Case, out: Path, tool: Path) -> str:
    for file in out.glob(f"{case.name}.pool*"):
        file.unlink()
    trace = out / f"{case.name}.cptrace"
    printed = raw.record(case.command, trace, tool, status=case.status, stdin=case.stdin)
    sections = Sections(case.command[0])
    replay = replayed(trace, sections)
    require(replay.status == case.status, f"END has status {replay.status}, not {case.status}")
    for file in case.files:
        same_bytes(replay, file)
    for tag in case.expects:
        require(replay.counts[tag] > 0, f"no record of {tag}")
    require(replay.counts["TX_BEGIN"] == replay.counts["TX_END"], "transactions begin and do not end")
    facts(case, printed, replay, sections)
    if case.name == "threads":
        require(replay.threads == {0, 1, 2, 3, 4}, f"threads {replay.threads}")
    if case.name == "stress":
        msync = sections.counts["msync"]
        require(
            msync["KERNEL_FLUSH"] == 3, f"msync made {msync['KERNEL_FLUSH']} ranges durable, not two pages and a size"
        )
        require(msync["SFENCE"] == 2, "msync is no fence")
        scratch = [(what, length) for what, _, length in replay.scratch]
        require(scratch == [(1, 4096), (0, 64)], f"scratch {scratch}, not a page from here on and a line so far")
        require(sections.counts["kernel"]["KERNEL_STORE"] >= 11, "system calls are missing")
    return f"{replay.counts.total()} records, {replay.instructions} instructions"


def killed(out: Path, tool: Path) -> str:
    """A program that a signal ends has its END."""
    trace = out / "killed.cptrace"
    raw.record(["/bin/sh", "-c", "kill -SEGV $$"], trace, tool, status=-11)
    status = replayed(trace).status
    require(status == 128 + 11, f"END has status {status}, not 139")
    return "killed"


def broken_pipe(out: Path, tool: Path) -> str:
    """A program whose trace cannot be written continues to its end, unrecorded."""
    for file in out.glob("broken.pool*"):
        file.unlink()
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        ["valgrind", "--tool=counterpoint", "--quiet", f"--trace-fd={writing}", out / "threads", out / "broken.pool"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=[writing],
        env={**os.environ, "VALGRIND_LIB": str(tool)},
    )
    os.close(writing)
    require(done.returncode == 0, f"the program ended with {done.returncode}, not 0")
    require("the trace cannot be written" in done.stderr, "nothing was said of the trace")
    return "broken pipe"


def command_line(out: Path) -> str:
    """`counterpoint record` writes a trace, keeps the program's output and passes its exit code on."""
    trace, pool = out / "command.cptrace", out / "command.pool"
    pool.unlink(missing_ok=True)
    command = [*COUNTERPOINT, "record", "--out", str(trace), "--", str(out / "stress"), str(pool)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    require(done.returncode == 7, f"counterpoint record ended with {done.returncode}, not 7")
    require("count LOAD" in done.stdout, "the program's output is missing")
    magic = trace.read_bytes()[:8]
    require(magic == stream.MAGIC or magic[:4] == b"\x28\xb5\x2f\xfd", "the trace is no trace")
    return f"{trace.stat().st_size} bytes"


def stopped(out: Path) -> str:
    """A signal to `counterpoint record` alone ends the program and what it has started, and its trace is whole."""
    program = compile_program(out / "family", [HERE / "family.c"])
    trace, began, pool = out / "stopped.cptrace", out / "stopped.began", out / "stopped.pool"
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # A shell starts what is in the background with SIGINT ignored, and what is ignored stays so.
        signal.signal(number, signal.SIG_DFL)
        for file in (trace, began, pool):
            file.unlink(missing_ok=True)
        command = [*COUNTERPOINT, "record", "--out", str(trace), "--pmem", str(pool), "--"]
        # A session of its own has no terminal that would tell the program of Ctrl-C.
        recording = subprocess.Popen(
            [*command, program, str(pool), str(began)], start_new_session=True, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 60
        while not (began.exists() and began.read_text().endswith("\n")):
            require(time.monotonic() < deadline and recording.poll() is None, "the program did not begin")
            time.sleep(0.05)
        recording.send_signal(number)
        _, told = recording.communicate(timeout=60)
        code = recording.returncode
        require(code == 128 + number, f"counterpoint record ended with {code}, not {128 + number}")
        while not all(map(ended, map(int, began.read_text().split()))):
            require(time.monotonic() < deadline, "what was recorded is still there")
            time.sleep(0.05)
        require("1 stores, 1 flushes" in told and "cut off" not in told, f"the trace is not whole: {told}")
        replay = [*COUNTERPOINT, "replay", str(trace), "-d", "unencrypted", "--json"]
        subprocess.run(replay, stdout=subprocess.DEVNULL, check=True)
        require(not list(out.glob(".counterpoint-*")), "a temporary file is left")
    return "3 signals"


def left_to_others(out: Path) -> str:
    """A program that forks is recorded, and verdicts on its trace say so; one that only starts others is refused."""
    from counterpoint import check, crash, replay

    pool, trace, began = out / "others.pool", out / "others.cptrace", out / "others.began"
    family = compile_program(out / "family", [HERE / "family.c"])
    threads = compile_program(out / "threads", [HERE / "threads.c"], "-pthread")

    def record(*program: str) -> tuple[int, str]:
        pool.unlink(missing_ok=True)
        command = [*COUNTERPOINT, "record", "--out", str(trace), "--", *program]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stderr

    for script, what in ((f"exec {threads} {pool}", f"became '{threads}'"), (f"{threads} {pool}; :", "started other")):
        code, told = record("/bin/sh", "-c", script)
        require(code == 2 and what in told, f"'{script}' ended with {code}: {told}")
        require(not trace.exists(), f"'{script}' left a trace")
    code, told = record(family, str(pool), str(began), "0")
    require(code == 0 and "warning" in told and "started other" in told, f"a fork ended with {code}: {told}")
    (replayed,) = replay(trace, ["unencrypted"])
    assert replayed.stats.recorded is not None
    for verdict in (check(trace), crash("unencrypted", trace), replayed.stats.recorded):
        found = [lack for lack in verdict.lacks if "other processes" in lack or str(began) in lack]
        require(len(found) == 2 == len(verdict.lacks), f"{verdict} does not say what it lacks")
    code, told = record(threads, str(pool))
    require(code == 0 and "warning" not in told, f"a program alone ended with {code}: {told}")
    return "2 refused"


def limits(out: Path) -> str:
    """The program finds its own limits of open files; where Valgrind takes some, that is told."""
    program = compile_program(out / "limits", [HERE / "limits.c"])
    for limit, finds, warned in (("-S -n 300; ulimit -H -n 3000", (300, 2988), False), ("-n 300", (288, 288), True)):
        record = [*COUNTERPOINT, "record", "--out", str(out / "limits.cptrace"), "--", program]
        done = subprocess.run(
            ["/bin/sh", "-c", f'ulimit {limit}; exec "$@"', "sh", *record],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        found = f"{finds[0]} {finds[1]} 1\n"
        require(done.stdout == found, f"after 'ulimit {limit}' the program finds {done.stdout}: {done.stderr}")
        told = "the limit of 300 open files leaves 288 to the program" in done.stderr
        require(told == warned, f"after 'ulimit {limit}': {done.stderr}")
    return "2 limits"


def sparse(out: Path, tool: Path) -> str:
    """The holes of a file are not read, those at its end neither."""
    pool, trace = out / "sparse.pool", out / "sparse.cptrace"
    program = compile_program(out / "sparse", [HERE / "sparse.c"])
    with pool.open("wb") as file:
        file.truncate(SPARSE_BYTES)
        for text, at in ((b"first", 0), (b"last", SPARSE_BYTES // 2)):
            file.seek(at)
            file.write(text)
    name, read = raw.record([program, str(pool)], trace, tool).split()
    require(name == "rchar:" and int(read) < SPARSE_BYTES // 4, f"{read} bytes were read")
    content = replayed(trace).content(str(pool))
    require(content[:5] == b"First" and content[SPARSE_BYTES // 2 :][:4] == b"last", "the file's data are missing")
    return f"{read} bytes read"


def lines(out: Path, tool: Path) -> str:
    """`counterpoint replay --by-line` finds the program's own line for each flush, in a library or not."""
    program = compile_program(out / "lines", [HERE / "lines.c"], "-lpmem")
    pool, trace = out / "lines.pool", out / "lines.cptrace"
    pool.unlink(missing_ok=True)
    printed = raw.record([program, str(pool)], trace, tool)
    command = [*COUNTERPOINT, "replay", str(trace), "-d", "secpm,unencrypted", "--by-line", "--json"]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for result in json.loads(shown.stdout)["runs"]:
        sites = {site["source"]: site for site in result["sites"]}
        for line in printed.splitlines():
            _, function, number, flushes = line.split()
            source = f"{HERE / 'lines.c'}:{number}"
            require(source in sites, f"line {number} is not among {sorted(filter(None, sites))}")
            site = sites[source]
            found = (site["function"], site["flushes"], site["object"])
            require(found == (function, int(flushes), program), f"line {number} has {found}")
        first = result["sites"][0]
        require(first["function"] == "by_library", f"{result['design']} waits most for {first['place']}")
        stalls = sum(site["waited_for_ns"] for site in result["sites"])
        require(abs(stalls - result["core"]["fence_stall_ns"]) < 1, "lines and run disagree about fences")
    return printed.replace("\n", ", ")


def called(out: Path, tool: Path) -> str:
    """What libraries and copying functions store is found once at each line that calls them; a setter has a call."""
    from counterpoint import check

    expected: list[str] = []
    for form, options in (
        ("called", ["-lpmem"]),
        ("optimised", ["-O2", "-lpmem"]),
        ("static", ["-DALONE", "-static"]),
    ):
        program = compile_program(out / form, [HERE / "callers.c"], *options)
        pool, trace = out / f"{form}.pool", out / f"{form}.cptrace"
        pool.unlink(missing_ok=True)
        printed = raw.record([program, str(pool)], trace, tool)
        said = [line.split() for line in printed.splitlines()]
        expected = sorted(f"{HERE / 'callers.c'}:{line}" for _, line, *_ in said)
        lost = [one for one in check(trace, wrappers=["copy_repeated"]).findings if one.correctness]
        found = sorted(one.source or one.place for one in lost)
        require(found == expected, f"{form}: a check finds {found}, not {expected}")
        (setter, call) = next(lines for what, *lines in said if what == "set")
        calls = [one.example.called_at for one in lost if one.place.endswith(f":{setter}")]
        require(calls == [f"{HERE / 'callers.c'}:{call}"], f"{form}: the setter is called at {calls}, not {call}")
        lost = [one for one in check(trace, wrappers=["copy_repeated", "set"]).findings if one.correctness]
        require(len(lost) == len(expected) + 1, f"{form}: with the setter as a wrapper, a check finds {lost}")
        stores = replayed(trace, lambda record: record.tag == stream.STORE).kept
        require(all(store.callers for store in stores), f"{form}: stores without callers")
    return f"{len(expected)} calls"


def annotated(out: Path, tool: Path) -> str:
    """Annotations and marks are recorded where they are made, lines on standard error, too, and `sca` rests on them."""
    from counterpoint import annotations, crash
    from counterpoint.verbs import recorder

    verdicts = []
    for form, options in (("annotated", []), ("forgotten", ["-DFORGOTTEN"])):
        compiled = ["-mclwb", f"-I{recorder.INCLUDE}", *options]
        program = compile_program(out / form, [HERE / "annotated.c"], *compiled)
        pool, trace = out / f"{form}.pool", out / f"{form}.trace"
        pool.unlink(missing_ok=True)
        raw.record([program, str(pool)], trace, tool, "--vgdb=no", "--mark-stderr=done: ")
        replay = replayed(trace, lambda record: record.tag in stream.ANNOTATIONS)
        said = [text for n in range(1, 10) for text in (f"appended {n}", f"done: {n}, and more")]
        require(replay.marks == [text.encode() for text in said], f"the marks are {replay.marks}")
        number, *records = replay.kept
        require((number.tag, number.size) == (stream.COUNTER_ATOMIC, 64), f"the first annotation is {number}")
        written_back = [(record.tag, record.address - number.address, record.size) for record in records]
        expected = [(stream.COUNTER_WRITEBACK, 64 * n, 64) for n in range(1, 10)] if form == "annotated" else []
        require(written_back == expected, f"the annotations of records are {written_back}")
        require(all(record.callers for record in replay.kept), "an annotation has no callers")
        verdict = crash("sca", trace, recover=f"{program} {{pool}} check")
        of_annotations = "The recorded program has no annotations" in (verdict.assumed or "")
        require(not of_annotations, f"with annotations, something is assumed of them: {verdict.assumed}")
        source_lines = (HERE / "annotated.c").read_text().splitlines()
        places = {
            (Path(line.stored.place).name, Path(line.flushed.place).name)
            for found in verdict.violations
            for line in found.lines
            if line.flushed
        }
        stored = next(n for n, text in enumerate(source_lines, 1) if "record->value =" in text)
        named = {(f"annotated.c:{stored}", f"annotated.c:{stored + 1}")}
        require(form == "annotated" or named <= places, f"the lines of violations are touched at {places}")
        verdicts.append((verdict.holds, verdict.blame and verdict.blame.who))
        found = [
            (one.name, one.verdict)
            for one in annotations("sca", trace, recover=f"{program} {{pool}} check").annotations
        ]
        needed = [("counter-atomic", "needed"), ("counter-writeback", "needed")]
        require(form != "annotated" or found == needed, f"the annotations of the program are {found}")
    require(verdicts == [(True, None), (False, "annotations")], f"the verdicts are {verdicts}")
    return "10 annotations and 18 marks"


def lengths(out: Path, tool: Path) -> str:
    """Requests with lengths that are negative or huge end where memory does, and soon."""
    from counterpoint.verbs import recorder

    program = compile_program(out / "lengths", [HERE / "lengths.c"], "-mclwb", f"-I{recorder.INCLUDE}")
    pool, trace = out / "lengths.pool", out / "lengths.cptrace"
    pool.unlink(missing_ok=True)
    begun = time.monotonic()
    raw.record([program, str(pool)], trace, tool)
    took = time.monotonic() - begun
    require(took < 60, f"it took {took:.0f} s")
    replay = replayed(trace, lambda record: record.tag in (*stream.ANNOTATIONS, stream.MAP))
    annotations = [record for record in replay.kept if record.tag != stream.MAP]
    base = next(record.fields[0] for record in replay.kept if record.tag == stream.MAP and record.fields[1] == 8192)
    in_pool = {
        (record.tag, record.address - base, record.size) for record in annotations if record.address - base < 8192
    }
    whole = {(stream.COUNTER_ATOMIC, 0, 8192), (stream.COUNTER_WRITEBACK, 64, 8128)}
    require(in_pool == whole, f"the annotations are {in_pool}, not {whole}")
    require(trace.stat().st_size < 32 << 20, f"the trace has {trace.stat().st_size} bytes")
    return f"{len(annotations)} annotations"


_FENCES: dict[str, tuple[list[tuple[str, str | None]], dict[str, str | None]]] = {
    "return": ([("never-fenced", "libc")], {"unencrypted": None, "eadr": None}),
    "exit": ([("never-fenced", None)], {"unencrypted": None, "eadr": None}),
    "counted": ([("never-fenced", "fences")], {"unencrypted": None, "eadr": None}),
    "together": ([], {"unencrypted": "missing-fence", "eadr": None}),
    "past": ([], {"unencrypted": "non-temporal-not-fenced", "eadr": "non-temporal-not-fenced"}),
    "past-flushed": ([], {"unencrypted": "non-temporal-not-fenced", "eadr": "non-temporal-not-fenced"}),
}
"""By what fences.c does: what a check finds, with the object that alone fences it; why legal memories fail."""


def _object(fenced_by: Place | None) -> str | None:
    """The C library, or the name of another object file."""
    name = None if fenced_by is None else Path(fenced_by.object or "").name
    return name and ("libc" if name.startswith("libc.") else name.partition("-")[0])


def fences(out: Path, tool: Path) -> str:
    """What is fenced by chance alone is found, and a check claims nothing of what it does not look at."""
    from counterpoint import check, crash

    for form, options in (("chance", []), ("fenced", ["-DFIXED"])):
        program = compile_program(out / f"fences-{form}", [HERE / "fences.c"], "-mclwb", *options)
        for how, (lost, fails) in _FENCES.items():
            pool, trace = out / "fences.pool", out / f"fences-{how}.cptrace"
            pool.unlink(missing_ok=True)
            raw.record([program, how, str(pool)], trace, tool)
            verdict = check(trace)
            found = [(one.kind, _object(one.fenced_by)) for one in verdict.findings if one.correctness]
            require(found == (lost if form == "chance" else []), f"{how}, {form}: a check finds {found}")
            legal = [one.command or "" for one in verdict.not_checked]
            require("crash unencrypted" in legal[0] and "--explore legal" in legal[0], f"not checked: {legal}")
            for design, cause in fails.items():
                recover = f"{program} {how} {{pool}} check"
                explored = crash(design, trace, explore="legal", recover=recover)
                causes = [one.kind for one in explored.causes or ()]
                expected = [cause] if cause is not None and form == "chance" else []
                require(causes == expected, f"{how}, {form}, on {design}: causes {causes}, not {expected}")
            if how == "past":
                schedule = crash("eadr", trace, recover=f"{program} {how} {{pool}} check")
                require(schedule.holds == (form == "fenced"), f"{form}: the schedule on eadr holds: {schedule.holds}")
                require("non-temporal" in (schedule.assumed or ""), f"assumed: {schedule.assumed}")
    return f"{len(_FENCES)} ways"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder for pools and traces")
    parser.add_argument("--tool", type=Path, help="a built recorder")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tool: Path | None = options.tool
    if tool is None:
        from counterpoint.verbs import recorder

        tool = recorder.tool()
    checks: dict[str, Callable[[], str]] = {case.name: partial(check, case, out, tool) for case in cases(out)}
    checks["killed"] = partial(killed, out, tool)
    checks["sparse"] = partial(sparse, out, tool)
    checks["lengths"] = partial(lengths, out, tool)
    # Functions that are looked up when they are first called have words that threads share.
    follows_program = compile_program(out / "follows", [HERE / "follows.c"], "-pthread", "-Wl,-z,now")
    checks["follows"] = partial(following.follows, out, tool, follows_program)
    checks["broken pipe"] = partial(broken_pipe, out, tool)
    if options.tool is None:
        checks["command line"] = partial(command_line, out)
        checks["left to others"] = partial(left_to_others, out)
        checks["limits"] = partial(limits, out)
        checks["stopped"] = partial(stopped, out)
        apart = compile_program(out / "apart", [HERE / "apart.c"], "-pthread", "-Wl,-z,now")
        checks["parallel"] = partial(following.parallel, out, tool, apart)
        checks["lines"] = partial(lines, out, tool)
        checks["called"] = partial(called, out, tool)
        checks["annotated"] = partial(annotated, out, tool)
        checks["fences"] = partial(fences, out, tool)
    failed = 0
    for name, one in checks.items():
        try:
            print(f"{name}: {one()}", flush=True)
        except (Failure, AssertionError, EOFError) as failure:
            print(f"{name}: FAILED: {failure}", flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
