"""Puts what was built under a prefix, and takes away what it has put there.

Usage: place.py install FOLDER... | place.py uninstall. PREFIX is where it is used, DESTDIR what comes before that while
a package is made. A file is written under another name beside its own and renamed, so that it is whole or not there,
and a program that uses the old one keeps it. `share/counterpoint/installed.json` says what was put there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

RECORD = "share/counterpoint/installed.json"


class Refused(Exception):
    """What is asked for cannot be done; the sentence says why."""


@dataclass
class Record:
    """What installations have put under a prefix: paths from there."""

    files: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)


class Place:
    """A prefix, below DESTDIR."""

    def __init__(self, prefix: str, destination: str) -> None:
        """Refuses a prefix that depends on the current folder."""
        for name, given in (("PREFIX", prefix), ("DESTDIR", destination)):
            if given and not given.startswith("/"):
                raise Refused(f"{name} is '{given}'; it must be an absolute path")
        if not prefix:
            raise Refused("PREFIX is empty; it must be an absolute path")
        self.root = Path(f"{destination}/{prefix}" if destination else prefix)

    def install(self, built: Iterable[Path]) -> int:
        """Puts the files of these folders here, instead of those of an installation that is here already."""
        sources = {
            str(path.relative_to(folder)): path
            for folder in built
            for path in sorted(folder.rglob("*"))
            if path.is_symlink() or path.is_file()
        }
        old = self._recorded()
        for name in [*sources, RECORD]:
            self._make_folder(PurePosixPath(name).parent, old.folders)
        # First of all, so that what is interrupted can be taken away.
        self._write_record(Record(old.files | sources.keys(), old.folders))
        for name, source in sources.items():
            self._put(name, source)
        for name in old.files - sources.keys():
            (self.root / name).unlink(missing_ok=True)
        self._write_record(Record(set(sources), old.folders))
        return len(sources)

    def uninstall(self) -> int:
        """Takes away what was put here, and the folders that were made for it if they are empty."""
        found = self._recorded()
        if not found.files:
            raise Refused(f"nothing of Counterpoint is installed in {self.root}")
        for name in [*found.files, RECORD]:
            (self.root / name).unlink(missing_ok=True)
            _unfinished(self.root / name).unlink(missing_ok=True)
        for name in sorted(found.folders, key=lambda name: len(PurePosixPath(name).parts), reverse=True):
            folder = self.root / name
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        return len(found.files)

    def _recorded(self) -> Record:
        path = self.root / RECORD
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            record = Record(set(document["files"]), set(document["folders"]))
            inside = all(not name.startswith("/") and ".." not in name.split("/") for name in record.files)
        except (FileNotFoundError, NotADirectoryError):
            return Record()
        except (ValueError, KeyError, TypeError, AttributeError):
            inside = False
        if not inside:
            raise Refused(f"{path} does not say what is installed; remove it, and what is installed, by hand")
        return record

    def _make_folder(self, name: PurePosixPath, made: set[str]) -> None:
        folder = self.root / name
        if folder.is_dir():
            return
        if folder.exists():
            raise Refused(f"{folder} is not a folder")
        if name.parts:
            self._make_folder(name.parent, made)
            folder.mkdir()
        else:
            folder.mkdir(parents=True)
        folder.chmod(0o755)
        made.add(str(name))

    def _put(self, name: str, source: Path) -> None:
        path = self.root / name
        unfinished = _unfinished(path)
        unfinished.unlink(missing_ok=True)
        if source.is_symlink():
            unfinished.symlink_to(source.readlink())
        else:
            shutil.copyfile(source, unfinished)
            unfinished.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        unfinished.replace(path)

    def _write_record(self, record: Record) -> None:
        path = self.root / RECORD
        document = {"files": sorted(record.files), "folders": sorted(record.folders)}
        unfinished = _unfinished(path)
        unfinished.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        unfinished.chmod(0o644)
        unfinished.replace(path)


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def main() -> int:
    """Installs or uninstalls; the exit code is 2 if that cannot be done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("install").add_argument("built", type=Path, nargs="+")
    commands.add_parser("uninstall")
    given = parser.parse_args()
    prefix, destination = os.environ.get("PREFIX", ""), os.environ.get("DESTDIR", "")
    try:
        place = Place(prefix, destination)
        if given.command == "install":
            print(f"{place.install(given.built)} files are installed in {place.root}")
        else:
            print(f"{place.uninstall()} files are removed from {place.root}")
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.filename2 or error.filename} cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
