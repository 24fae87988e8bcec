"""`counterpoint.toml`: what a project gives commands in place of their defaults (see `docs/project.md`).

A key is an option without its dashes, so the keys are what the commands have; nothing else lists them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from .._engine import InputError
from ..contract.request import literal
from ..system.paths import is_file, read_bounded
from ..system.units import excerpt

NAME = "counterpoint.toml"
_BYTES_MAX = 1 << 20
_OF_ONE_CALL = frozenset({"help", "json", "toml", "project", "no-project"})
"""Options that say how one call prints, or which file this is."""


@dataclass(frozen=True)
class Used:
    """What a command has taken from a file: the option of each key, and the key's line there."""

    path: str
    keys: Mapping[str, int]
    values: Mapping[str, Any]
    parameters: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """What the command says of it."""
        return f"project: {self.path} sets {', '.join(self.keys)}"

    def document(self) -> dict[str, Any]:
        """What JSON documents have of it."""
        return {"path": self.path, "keys": list(self.keys)}

    def blamed(self, sentence: str, parameter: str | None = None) -> str:
        """A sentence on bad input, with the place of the key that it is about, if it is about one."""
        names = [key for key, name in self.parameters.items() if name == parameter]
        names = names or [key for key, value in self.values.items() if _has_value(sentence, value)]
        names = names or [key for key in self.keys if _has_name(sentence, key)]
        places = (f"{key} comes from {self.path}:{self.keys[key]}" for key in names)
        return f"{sentence} ({', '.join(places)})" if names else sentence


_used: ContextVar[Used | None] = ContextVar("used", default=None)


def used() -> Used | None:
    """What the command that runs has taken from a file; None if nothing."""
    return _used.get()


def forget() -> None:
    """Begins another command."""
    _used.set(None)


def take(context: Any) -> None:
    """Notes which values of a command come from the file, once its options are read."""
    file: _File | None = context.meta.get(_File.__name__)
    if file is None:
        return
    found = {
        key: one.name
        for key, one in options_of(context.command).items()
        if key in file.given and getattr(context.get_parameter_source(one.name), "name", "") == "DEFAULT_MAP"
    }
    if found:
        lines = {key: file.line(file.given[key]) for key in found}
        _used.set(Used(file.shown, lines, {key: context.default_map[found[key]] for key in found}, found))


def _own_options() -> list[Any]:
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command()(_of_every_command)
    return [one for one in typer.main.get_command(alone).params if one.name != "help"]


def add_options(command: Any) -> None:
    """Gives a command `--project` and `--no-project`, if a file can say anything of it."""
    if _values(command):
        command.params += _own_options()


def _no_project(context: typer.Context, off: bool) -> None:
    context.meta["no-project"] = off
    _settle(context)


def _project(context: typer.Context, path: Path | None) -> None:
    context.meta["project"] = path
    _settle(context)


def _of_every_command(
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FILE.toml",
            is_eager=True,
            expose_value=False,
            callback=_project,
            help=f"Take defaults from this file; default the {NAME} here or in a folder above.",
        ),
    ] = None,
    no_project: Annotated[
        bool,
        typer.Option(
            "--no-project",
            is_eager=True,
            expose_value=False,
            callback=_no_project,
            help=f"Take no defaults from a {NAME}.",
        ),
    ] = False,
) -> None:
    """Options of every command that a file can say something of."""


def _settle(context: Any) -> None:
    """Finds and reads the file, once both options are known."""
    meta = context.meta
    if context.resilient_parsing or not {"project", "no-project"} <= meta.keys():
        return
    asked, off = meta.pop("project"), meta.pop("no-project")
    if off and asked is not None:
        raise InputError("--project and --no-project contradict each other; give one of them")
    path = None if off else asked or _found()
    if path is None:
        return
    file = meta[_File.__name__] = _File(path)
    file.check(context.find_root().command.commands)
    context.default_map = file.defaults(context.command)


def _found() -> Path | None:
    """The nearest file, here or in a folder above.

    Raises:
        InputError: it lies above, and somebody else could have put it there.
    """
    try:
        here = Path.cwd()
    except OSError:
        return None
    path = next((folder / NAME for folder in (here, *here.parents) if is_file(folder / NAME)), None)
    if path is None or path.parent == here or path.stat().st_uid in {0, os.geteuid()}:
        return path
    # It may name a command, which `crash --recover` runs.
    raise InputError(f"'{path}' belongs to another user; --project {path} takes it all the same, --no-project does not")


class _File:
    """A file, and what it gives one command."""

    def __init__(self, path: Path) -> None:
        """Reads it.

        Raises:
            InputError: it cannot be read, or is not TOML.
        """
        self.shown = _near(path)
        self._folder = path.parent
        try:
            self._text = read_bounded(self.shown, _BYTES_MAX, "a file of a project's defaults").decode()
            self._document = tomllib.loads(self._text)
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"'{self.shown}' is not TOML: {error}") from None
        self.given: dict[str, tuple[str, ...]] = {}

    def check(self, commands: Mapping[str, Any]) -> None:
        """Refuses what no command has, and values that no option takes.

        Args:
            commands: all commands by name.
        """
        known = {name: options_of(command) for name, command in commands.items()}
        for key, value in self._document.items():
            if isinstance(value, dict) and known.get(key):
                for inner, given in value.items():
                    if inner not in known[key]:
                        self._refuse((key, inner), f"`{key}` has no option --{inner}{_meant(inner, known[key])}")
                    self._text_of((key, inner), known[key][inner], given)
            elif having := [of[key] for of in known.values() if key in of]:
                self._check_any((key,), having, value)
            elif known.get(key):
                self._refuse((key,), f"'{key}' is a command; its defaults are a table, [{key}]")
            else:
                what = "command that takes defaults" if isinstance(value, dict) else "option of a command"
                every = {name for command, of in known.items() if of for name in (command, *of)}
                self._refuse((key,), f"'{key}' is no {what}{_meant(key, every)}")

    def _check_any(self, path: tuple[str, ...], having: Sequence[Any], value: Any) -> None:
        """Refuses a value that none of these options takes; commands may have an option in several forms."""
        refusals = []
        for option in having:
            try:
                self._text_of(path, option, value)
            except InputError as error:
                refusals.append(error)
        if len(refusals) == len(having):
            raise refusals[0]

    def defaults(self, command: Any) -> dict[str, Any]:
        """The values for a command's parameters, as they would be typed; those of its own table come first."""
        known = options_of(command)
        own = self._document.get(command.name, {})
        found = {}
        for key, one in known.items():
            if key in own:
                self.given[key], value = (command.name, key), own[key]
            elif key in self._document and not (isinstance(self._document[key], dict) and key != "set"):
                self.given[key], value = (key,), self._document[key]
            else:
                continue
            found[one.name] = self._text_of(self.given[key], one, value)
        return found

    def line(self, path: tuple[str, ...]) -> int:
        """The line in which the statement of a key begins.

        Beginnings of the file that are whole are read, one line longer each time, until the key is there.
        """
        lines = self._text.splitlines(keepends=True)
        begin = 0
        for end in range(1, len(lines) + 1):
            try:
                document: Any = tomllib.loads("".join(lines[:end]))
            except ValueError:
                continue
            for key in path:
                document = document.get(key) if isinstance(document, dict) else None
            if document is not None:
                break
            begin = end
        blank = (not text.strip() or text.lstrip().startswith("#") for text in lines[begin:])
        return begin + 1 + next((number for number, skipped in enumerate(blank) if not skipped), 0)

    def _refuse(self, path: tuple[str, ...], sentence: str) -> NoReturn:
        raise InputError(f"{self.shown}:{self.line(path)}: {sentence}")

    def _text_of(self, path: tuple[str, ...], option: Any, value: Any) -> Any:
        """A value as it would be typed."""
        key = path[-1]
        if key == "set" and isinstance(value, dict):
            value = [f"{name}={literal(inner)}" for name, inner in _flat(value)]
        if option.is_flag:
            if not isinstance(value, bool):
                self._refuse(path, f"{key} is {excerpt(literal(value))}; it must be true or false")
            return value
        values = value if isinstance(value, list) else [value]
        if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
            self._refuse(path, f"{key} is {excerpt(literal(value))}; it must be a text or a number")
        texts = [self._placed(option, str(one)) for one in values]
        if option.multiple:
            return texts
        if isinstance(value, list) and not is_comma_list(option):
            self._refuse(path, f"{key} is a list; --{key} takes one value")
        return ",".join(texts)

    def _placed(self, option: Any, text: str) -> str:
        """A value that is a path, from the folder of the file; a name is a path if there is such a file."""
        metavar = option.metavar or ""
        path = self._folder / text
        always = re.match(r"(FILE|DIR)\b", metavar) is not None
        return _near(path) if always or ("NAME" in metavar and is_file(path)) else text


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command that a file can give, by key; none if it takes nothing from files."""
    return _values(command) if any(one.name == "no_project" for one in command.params) else {}


def is_comma_list(option: Any) -> bool:
    """Whether the value of an option may be several, with commas between."""
    return "[," in (option.metavar or "")


def _values(command: Any) -> dict[str, Any]:
    found = {one.opts[-1].removeprefix("--"): one for one in command.params if one.param_type_name == "option"}
    return {key: one for key, one in found.items() if key not in _OF_ONE_CALL}


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _meant(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, sorted(known), n=1)
    return f": did you mean '{near[0]}'?" if near else "; docs/project.md says which keys there are"


def _near(path: Path) -> str:
    """A path from the current folder."""
    try:
        return os.path.relpath(path)
    except (OSError, ValueError):
        return os.fspath(path)


def _has_value(sentence: str, value: Any) -> bool:
    """Whether a sentence quotes a value, or the key that an assignment changes."""
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    changed = (text.partition("=")[0] for text in texts if "=" in text)
    return any(text and f"'{text}'" in sentence for text in texts) or any(f"{key} " in sentence for key in changed)


def _has_name(sentence: str, key: str) -> bool:
    names = "|".join({re.escape(key), re.escape(key.replace("-", "_"))})
    return re.search(rf"(?<![\w-])(?:--)?(?:{names})(?![\w-])", sentence) is not None
