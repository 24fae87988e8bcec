"""Commands that are loaded when they are called, and whose values are converted without Pydantic.

Typer converts every value by Pydantic, also one that is not given. Loading it takes longer than most commands.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from . import project, screen


@dataclass(frozen=True)
class Place:
    """Where a command is.

    Attributes:
        module: a module of this package.
        function: the function of the command in it.
        example: a call of it, without the program's name.
        settings: settings of its context.
        has_defaults: whether a project's file can give it options.
    """

    module: str
    function: str
    example: str
    settings: Mapping[str, object] = field(default_factory=dict)
    has_defaults: bool = True


class Commands(Mapping[str, Any]):
    """The commands by name, in the order of the help; each is loaded when it is looked up first."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        """Commands that are not loaded yet."""
        self._places = places
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """One command."""
        if name not in self._loaded:
            place = self._places[name]
            module = importlib.import_module(f".{place.module}", __package__)
            alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
            made = alone.command(name, cls=Command, context_settings=dict(place.settings), epilog=example_of(place))
            made(getattr(module, place.function))
            command = typer.main.get_command(alone)
            if place.has_defaults:
                project.add_options(command)
            self._loaded[name] = command
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Their names."""
        return iter(self._places)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)


def example_of(place: Place) -> str:
    """The line of a help that shows a call of a command."""
    return f"Example: counterpoint {place.example}"


class Group(TyperGroup):
    """A program with commands that are loaded when they are called; a subclass says which, by what they are for."""

    groups: ClassVar[Mapping[str, Mapping[str, Place]]]
    places: ClassVar[Mapping[str, Place]]
    """The commands of all groups."""

    def __init_subclass__(cls) -> None:
        """The commands follow from the groups."""
        cls.places = {name: place for commands in cls.groups.values() for name, place in commands.items()}

    def __init__(self, **attributes: Any) -> None:
        """As Typer calls it; the commands are those of `places`."""
        super().__init__(**attributes)
        self.commands = cast(Any, Commands(self.places))

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, of which one is for the help."""
        return _quick(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help."""
        del ctx
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands of the help by group, and an example of each."""
        width = max(map(len, self.places))
        for title, commands in self.groups.items():
            helps = ((name, self.get_command(ctx, name)) for name in commands)
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), _begin(one.help or "")) for name, one in helps if one])
                formatter.write_text(example_of(next(iter(commands.values()))))


def _begin(text: str) -> str:
    """What a command does, up to what is said of it besides."""
    return re.split(r"[:;.](?=\s|$)", text, maxsplit=1)[0]


class Command(TyperCommand):
    """A command that converts its values without Pydantic, and says what it has from the project's file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options; a value that is refused may come from the file."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException:
            project.take(ctx)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        project.take(ctx)
        if (taken := project.used()) is not None:
            screen.note(taken.sentence)
        return super().invoke(ctx)

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, of which one is for the help."""
        return _quick(super().get_params(ctx))


def _quick(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if "get_runtime_param" not in vars(parameter):
            # Typer asks here for what converts a value. A Typer that asks elsewhere is slower, and nothing else.
            parameter.get_runtime_param = _Conversion(parameter, parameter.get_runtime_param).here
    return parameters


class _Conversion:
    """The conversion of a parameter's values; those that need more than a function are left to Typer."""

    def __init__(self, parameter: Any, of_typer: Callable[[], Any]) -> None:
        self._several = parameter.multiple or parameter.nargs == -1
        self._convert = _converter(parameter.type_descriptor)
        self._of_typer = of_typer

    def here(self) -> _Conversion:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """A value, or several of an option that is repeated."""
        if value is None:
            return () if self._several else None
        if self._convert is None:
            return self._of_typer().coerce(value, param=param, ctx=ctx)
        return [self._convert(one) for one in value] if self._several else self._convert(value)


def _converter(descriptor: Any) -> Callable[[Any], Any] | None:
    """What converts one value; None if Typer does."""
    kind, parser = descriptor.annotation, descriptor.parameter_info.parser
    if parser is not None:
        return cast(Callable[[Any], Any], parser)
    if get_origin(kind) is list:
        (kind,) = get_args(kind)
    if kind is str:
        return str
    if get_origin(kind) is Literal:
        return lambda value: _choice(value, get_args(kind))
    return None


def _choice(value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(map(repr, choices))}.")
    return value
