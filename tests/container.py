"""Checks the container file and .devcontainer/, and builds the container where something here can build one.

Usage: container.py. A build takes as long as one of the engine, and needs the network; then a design is crashed in the
container. Without docker, podman or buildah that works, only what can be read is checked, and that is said.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "Containerfile"
TAG = "localhost/counterpoint-test"
BUILDERS = {
    "podman": (["podman", "info"], ["podman", "build", "--tag", TAG, "."]),
    "docker": (["docker", "info"], ["docker", "build", "--tag", TAG, "--file", "Containerfile", "."]),
    "buildah": (["buildah", "info"], ["buildah", "build", "--tag", TAG, "."]),
}
"""What says whether a builder works, and what builds."""

_FORMS = {
    "FROM": r"\S+( AS [a-z]+)?",
    "RUN": r".+",
    "COPY": r"(--from=[a-z]+ )?\S+ \S+",
    "WORKDIR": r"/\S+",
    "ENV": r'(\w+=("[^"]*"|\S+) ?)+',
    "ENTRYPOINT": r"\[.*\]",
    "CMD": r"\[.*\]",
}
"""The instructions that the file may have, each with the form of what follows."""


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a container file, with continued lines as one."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def mistakes(text: str, ignored: Sequence[str], rust: str) -> list[str]:
    """What of a container file cannot be right, as far as reading it tells.

    Args:
        text: of the file.
        ignored: what no build sees.
        rust: the version of Rust that the sources need.
    """
    wrong, stages = [], []
    for word, rest in instructions(text):
        if word not in _FORMS or not re.fullmatch(_FORMS[word], rest):
            wrong.append(f"{word} {rest}: no instruction of this form is known")
        elif word == "FROM":
            image, _, stage = rest.partition(" AS ")
            if image.startswith("rust:") and image != f"rust:{rust}-slim-bookworm":
                wrong.append(f"{image}: the sources need Rust {rust}")
            stages.append(stage)
        elif word == "RUN":
            read = subprocess.run(["sh", "-n"], input=rest, capture_output=True, text=True, check=False)
            wrong += [f"RUN {rest}: {read.stderr.strip()}"] if read.returncode else []
        elif word == "COPY":
            wrong += _copied(rest, stages, ignored)
        elif word in ("ENTRYPOINT", "CMD") and not isinstance(json.loads(rest), list):
            wrong.append(f"{word} {rest}: not a list")
    return wrong


def _copied(rest: str, stages: Sequence[str], ignored: Sequence[str]) -> list[str]:
    """What is wrong with what an instruction copies."""
    if found := re.match(r"--from=(\S+) ", rest):
        return [] if found[1] in stages else [f"COPY {rest}: there is no stage {found[1]} before"]
    source = rest.split()[0]
    there = (ROOT / source).exists() and source not in ignored
    return [] if there else [f"COPY {rest}: there is no {source}"]


def checked() -> list[str]:
    """What is wrong with the files of the repository."""
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    rust = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    text = FILE.read_text()
    wrong = mistakes(text, ignored, rust)
    place = ROOT / ".devcontainer"
    build = json.loads((place / "devcontainer.json").read_text())["build"]
    if (place / build["dockerfile"]).resolve() != FILE or (place / build["context"]).resolve() != ROOT:
        wrong.append("devcontainer.json builds another file, or in another folder")
    if f" AS {build['target']}\n" not in text:
        wrong.append(f"devcontainer.json: there is no stage {build['target']}")
    return wrong


def builder() -> str | None:
    """The first builder that works here."""
    for name, (asked, _) in BUILDERS.items():
        if shutil.which(name) and subprocess.run(asked, capture_output=True, check=False).returncode == 0:
            return name
    return None


def main() -> int:
    """Checks, builds and runs; the exit code is 1 if something fails."""
    if wrong := checked():
        print("\n".join(wrong), file=sys.stderr)
        return 1
    name = builder()
    if name is None:
        print(f"read, and not built: none of {', '.join(BUILDERS)} works here")
        return 0
    subprocess.run(BUILDERS[name][1], cwd=ROOT, check=True)
    run = "docker" if name == "docker" else "podman"
    if not shutil.which(run):
        print(f"built by {name}, and not run: podman is missing")
        return 0
    crash = ["crash", "secpm", "queue", "--machine", "small", "--transactions", "1"]
    return subprocess.run([run, "run", "--rm", TAG, *crash], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
