"""A program's function that a command calls, and its arguments from JSON.

    load_target("mail.njpy:triage")         TargetFunction(function=<function triage>, ...)
    load_target("shop.mail:Inbox.triage")   in a module that Python finds

    target.bind_arguments({"day": "2026-03-01"})   ((), {"day": date(2026, 3, 1)})

Pydantic converts values to the types of the annotated parameters; files may be given by path or
URL. Not detected: parameters that a decorator without `functools.wraps` hides.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
import inspect
import operator
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from njc import hook
from njc.hook import NaturalLoader
from njc.project.units import SUFFIX
from njrt.data.media import Media
from njrt.data.records import record
from njrt.data.similar import find_similar
from njrt.errors import ConfigurationError, NaturalError

ArgumentValue = Any
"""An argument of the user's function."""


class InvalidRowError(ValueError):
    """A row is not a JSON object, or does not fit the function's parameters."""


@record
class TargetFunction:
    """A function, its program's file, its signature, and the types of annotated parameters."""

    name: str
    program: Path
    function: Callable[..., Any]
    is_async: bool
    signature: inspect.Signature
    annotations: Mapping[str, Any]

    def bind_arguments(
        self, row: Mapping[str, ArgumentValue]
    ) -> tuple[list[ArgumentValue], dict[str, ArgumentValue]]:
        """Return a call's positional and keyword arguments; raises InvalidRowError."""
        try:
            bound = self.signature.bind(**row)
        except TypeError as error:  # such as "missing a required argument: 'day'"
            raise InvalidRowError(str(error)) from None
        parameters = self.signature.parameters
        for name, value in bound.arguments.items():
            if parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {it: self._convert(name, it, value[it]) for it in value}
            else:
                bound.arguments[name] = self._convert(name, name, value)
        return [*bound.args], bound.kwargs

    def call(self, positional: list[Any], named: dict[str, Any]) -> Any:
        """Call the function, and wait for the result if it is async."""
        result = self.function(*positional, **named)
        return asyncio.run(_await(result)) if inspect.isawaitable(result) else result

    def _convert(self, parameter: str, name: str, value: ArgumentValue) -> ArgumentValue:
        """Return the value, converted to the annotated type."""
        if parameter not in self.annotations:
            return value
        from pydantic import ValidationError

        from njrt.values.dataclass_json import describe_validation_error

        try:
            return _make_converter(self.name, parameter)(value)
        except ValidationError as error:
            text = describe_validation_error(error)
            raise InvalidRowError(f"argument `{name}`: {text}") from None


def load_target(name: str) -> TargetFunction:
    """Import a program and return its function; `name` is PROGRAM:FUNCTION.

    Raises ConfigurationError or NaturalSyntaxError.
    """
    program, colon, path = name.rpartition(":")
    if not colon or not program or not path:
        raise ConfigurationError(
            f"`{name}` does not name a function; write PROGRAM:FUNCTION, such as mail.njpy:triage"
        )
    module = _import_program(program)
    function: Any = module
    for part in path.split("."):
        owner = function
        try:
            function = getattr(function, part)
        except AttributeError:
            raise ConfigurationError(_describe_missing(module, program, path)) from None
    if isinstance(owner, type) and inspect.isfunction(inspect.getattr_static(owner, part)):
        problem = "is a method, and has no object; name a function that calls it"
        raise ConfigurationError(f"`{path}` in {program} {problem}")
    if not callable(function) or isinstance(function, type):
        raise ConfigurationError(f"`{path}` in {program} is not a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        way = "name a function that returns"
        raise ConfigurationError(f"`{path}` in {program} is a generator; {way}")
    try:
        signature = inspect.signature(function)
        annotations = typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, ValueError, AttributeError) as error:
        raise ConfigurationError(f"the signature of `{path}` cannot be read: {error}") from None
    is_async = inspect.iscoroutinefunction(function)
    file = Path(getattr(module, "__file__", None) or program)
    return TargetFunction(name, file, function, is_async, signature, annotations)


@functools.cache
def get_target(name: str) -> TargetFunction:
    """Return the function with a name, imported once per process."""
    return load_target(name)


def load_again(name: str) -> TargetFunction:
    """Import a program again, with its compiled modules and those of its folder."""
    folder = get_target(name).program.parent
    for key, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or os.devnull)
        is_own = file.is_relative_to(folder) and "site-packages" not in file.parts
        if is_own or isinstance(getattr(module, "__loader__", None), NaturalLoader):
            del sys.modules[key]
    return load_target(name)


def make_absolute(target: str) -> str:
    """Return the target with the absolute path of its file."""
    program, colon, function = target.rpartition(":")
    return f"{Path(program).absolute()}{colon}{function}" if Path(program).is_file() else target


def _import_program(program: str) -> ModuleType:
    hook.install()
    file = Path(program)
    try:
        if file.suffix not in (SUFFIX, ".py"):
            if not sys.flags.safe_path and os.getcwd() not in sys.path:
                sys.path.insert(0, os.getcwd())
            return importlib.import_module(program)
        if not file.is_file():
            raise ConfigurationError(f"there is no file {program}")
        return _import_file(file.absolute())
    except (NaturalError, SyntaxError):
        raise
    except ModuleNotFoundError as error:
        if error.name and program.startswith(error.name):
            raise ConfigurationError(
                f"there is no module `{program}`; a file is named with its suffix, such as"
                " mail.njpy"
            ) from None
        raise ConfigurationError(f"{program} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        way = "; name it as a module: package.module" if "relative import" in str(error) else ""
        problem = f"{type(error).__name__}: {error}{way}"
        raise ConfigurationError(f"{program} cannot be imported: {problem}") from error


def _import_file(file: Path) -> ModuleType:
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # A program may have the same name as a loaded module of Python.
    name = file.stem if file.stem not in sys.modules else f"njc_batch_{file.stem}"
    loader = NaturalLoader(name, str(file)) if file.suffix == SUFFIX else None
    spec = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _describe_missing(module: ModuleType, program: str, path: str) -> str:
    functions = [name for name, value in vars(module).items() if inspect.isfunction(value)]
    return f"there is no function `{path}` in {program}{_suggest(path, functions)}"


def _suggest(name: str, known: Iterable[str]) -> str:
    close = find_similar(name, known)
    return f"; did you mean `{close}`?" if close else ""


async def _await(awaitable: Any) -> Any:
    return await awaitable


@functools.cache
def _make_converter(target: str, parameter: str) -> Callable[[ArgumentValue], ArgumentValue]:
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    wanted = get_target(target).annotations[parameter]
    try:
        return TypeAdapter(_accept_files(wanted)).validate_python
    except (PydanticSchemaGenerationError, PydanticUserError):
        raise ConfigurationError(
            f"pydantic cannot make a `{getattr(wanted, '__name__', wanted)}`, the type of the"
            f" parameter `{parameter}`, from JSON; give the function a parameter of another type"
        ) from None


def _accept_files(wanted: Any) -> Any:
    """Return the type `wanted`, but accept files as text, too: a path, a URL or a `data:` URL."""
    from pydantic import PlainValidator

    if isinstance(wanted, type) and issubclass(wanted, Media):
        return Annotated[wanted, PlainValidator(functools.partial(_read_file, wanted))]
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    accepting = inner if origin is typing.Literal else tuple(map(_accept_files, inner))
    if origin is None or accepting == inner:
        return wanted
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, accepting)
    return Annotated[accepting] if origin is Annotated else origin[accepting]


def _read_file(kind: type[Media], value: ArgumentValue) -> ArgumentValue:
    if not isinstance(value, str):
        raise ValueError("should be the path or the URL of a file")
    if value.startswith(("http://", "https://", "data:")):
        return kind.from_url(value)
    try:
        return kind.from_path(value)
    except OSError as error:
        raise ValueError(f"cannot read {value}: {error.strerror or error}") from None
