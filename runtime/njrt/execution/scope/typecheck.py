"""Check that a value fits a declared type.

    find_type_mismatch(["a", 1], list[str])    "expected list[str]; at 1: expected str, got int"
    find_type_mismatch(3, float)               None: an int fits a declared float
    find_type_mismatch(len, Callable[[], int]) "...; it does not take 0 arguments"

Values are never converted, and iterators are never advanced. Unlike in type checkers, a bool is not
an int, a str is not a `Sequence[str]`, and an instance of a generic class is checked only for its
class. Not checked: items of iterators and of tuples with `*`, the types of parameters and results
of functions, Protocols without `runtime_checkable`, special forms such as `TextIO` and
`LiteralString`, and unresolvable names, as a type has in its own definition.
"""

from __future__ import annotations

import builtins
import collections.abc as abc
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from types import FunctionType
from typing import Annotated, Any, ForwardRef, Literal, Union

from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.errors import OutputTypeError
from njrt.execution.scope.declared_types import Resolver, evaluate_declarations
from njrt.values.adapters import get_adapter
from njrt.values.rendering.signatures import format_type

_MAX_PROBLEMS = 3
_ACCEPTED_NUMBERS: Mapping[Any, tuple[type, ...]] = {
    int: (int,),
    float: (float, int),
    complex: (complex, float, int),
}
"""The numeric tower of PEP 484; bool, though a subclass of int, does not fit."""
_QUALIFIERS = {"ClassVar", "Final", "NotRequired", "ReadOnly", "Required"}
_COLLECTION_MODULES = {"builtins", "collections", "collections.abc"}

Problem = tuple[tuple[str, ...], str]
"""The path to a part of a value, and its problem."""


def find_type_mismatch(
    value: UserValue, declared: Any, module: dict[str, Any] | None = None
) -> str | None:
    """Describe in one line why `value` does not fit the type `declared`; None if it fits.

    Recursive types look up their names in the namespace `module`.
    """
    try:
        problems = _TypeChecker(module or {}).find_problems(value, declared)
        found = list(islice(problems, _MAX_PROBLEMS + 1))
    except RecursionError:  # nested deeper than can be checked
        return None
    except Exception as error:  # the program's own __instancecheck__ or __iter__
        return f"expected {format_type(declared)}; checking it failed: {type(error).__name__}"
    if not found:
        return None
    expected = f"expected {format_type(declared)}"
    if found[0] == ((), _format_mismatch(value, declared)):
        return found[0][1]
    lines = [
        f"at {'.'.join(path)}: {message}" if path else message
        for path, message in found[:_MAX_PROBLEMS]
    ]
    return "; ".join([expected, *lines, *(["and more"] if len(found) > _MAX_PROBLEMS else [])])


def _format_mismatch(value: UserValue, declared: Any) -> str:
    return f"expected {format_type(declared)}, got {format_type(type(value))}"


def check_type(place: str, path: str, value: UserValue, declare: Callable[[], Any]) -> None:
    """Raise OutputTypeError unless static code's output fits its type, if that can be evaluated."""
    assert isinstance(declare, FunctionType)
    module, code = declare.__globals__, declare.__code__
    declared = evaluate_declarations(declare, {*code.co_freevars, *code.co_names})
    if declared is None:
        return
    try:
        type_ = Resolver(module, None, declare).resolve(declared)
    except Exception:
        return
    if problem := find_type_mismatch(value, type_, module):
        error = OutputTypeError(
            f"{place}: static code has bound `{path}` to another type: {problem}"
        )
        error.place = place
        raise error


# ── values ────────────────────────────────────────────────────────────────────────────────────────


@record
class _TypeChecker:
    """Compares a value with a type."""

    module: dict[str, Any]

    def find_problems(self, value: UserValue, declared: Any) -> Iterator[Problem]:
        """Yield each part of the value that does not fit."""
        origin, arguments = typing.get_origin(declared), typing.get_args(declared)
        name = getattr(origin or declared, "__name__", None) or getattr(declared, "_name", None)
        if declared is Any or declared is object or isinstance(declared, str | ForwardRef):
            return
        if isinstance(declared, typing.TypeVar):
            if alternatives := declared.__constraints__ or (declared.__bound__ or object,):
                yield from self.find_union_problems(value, declared, alternatives)
        elif origin in (Union, types.UnionType):
            yield from self.find_union_problems(value, declared, arguments)
        elif hasattr(declared, "__supertype__"):  # NewType
            yield from self.find_problems(value, declared.__supertype__)
        elif type(origin or declared).__name__ == "TypeAliasType":
            alias = (origin or declared).__value__
            yield from self.find_problems(value, alias[arguments] if arguments else alias)
        elif origin is Annotated:
            problem = None
            for problem in self.find_problems(value, arguments[0]):
                yield problem
            if problem is None and (message := _find_constraint_problem(value, declared)):
                yield (), message
        elif name in _QUALIFIERS and arguments:
            yield from self.find_problems(value, arguments[0])
        elif origin is Literal:
            if not any(type(value) is type(known) and value == known for known in arguments):
                yield (), _format_mismatch(value, declared)
        elif origin is type:
            if not _is_subclass(value, arguments[0]):
                yield (), _format_mismatch(value, declared)
        elif hasattr(origin or declared, "__required_keys__"):
            # A TypedDict, also of typing_extensions.
            yield from self.find_key_problems(value, declared)
        elif not _is_instance(value, declared, arguments):
            yield (), _format_mismatch(value, declared)
        elif origin is abc.Callable and isinstance(arguments[0], list):
            if not _takes(value, count := len(arguments[0])):
                plural = "" if count == 1 else "s"
                yield (), f"it does not take {count} argument{plural}"
        elif arguments and getattr(origin, "__module__", "") in _COLLECTION_MODULES:
            yield from self.find_item_problems(value, origin, arguments)

    def find_union_problems(
        self, value: UserValue, declared: Any, alternatives: tuple[Any, ...]
    ) -> Iterator[Problem]:
        """Check a union; if no alternative fits, yield the deepest problem, the intended type's."""
        problems = [next(self.find_problems(value, one), None) for one in alternatives]
        if None not in problems:
            path, message = max((one for one in problems if one), key=lambda one: len(one[0]))
            yield path, message if path else _format_mismatch(value, declared)

    def find_key_problems(self, value: UserValue, declared: Any) -> Iterator[Problem]:
        """Check a dict against a TypedDict."""
        if not isinstance(value, dict):
            yield (), _format_mismatch(value, declared)
            return
        definition = typing.get_origin(declared) or declared
        home = vars(sys.modules.get(definition.__module__, builtins))
        resolver = Resolver(home, self.module)
        hints: dict[str, Any] = {}
        for key, annotation in definition.__annotations__.items():
            with suppress(Exception):
                hints[key] = resolver.resolve(annotation)
        for key in sorted(definition.__required_keys__ | definition.__optional_keys__):
            hint = hints.get(key, Any)
            is_required = key in definition.__required_keys__
            if key in value:
                yield from _put_under(str(key), self.find_problems(value[key], hint))
            elif is_required and "NotRequired" not in str(typing.get_origin(hint)):
                yield (str(key),), "this key is missing"

    def find_item_problems(
        self, value: Any, origin: Any, arguments: tuple[Any, ...]
    ) -> Iterator[Problem]:
        """Check the items of a collection; iterators are not advanced."""
        if origin is tuple:
            if arguments[-1] is ...:
                arguments = (arguments[0],) * len(value)
            if any(map(_is_unpacked, arguments)):
                return
            if len(value) != len(arguments):
                yield (), f"expected {len(arguments)} items, got {len(value)}"
                return
            for number, (item, declared) in enumerate(zip(value, arguments, strict=True)):
                yield from _put_under(str(number), self.find_problems(item, declared))
        elif issubclass(origin, abc.Mapping):
            key_type, item_type = (*arguments, int)[:2]  # Counter[K] counts
            for key in value:
                yield from _put_under(f"key {key!r:.40}", self.find_problems(key, key_type))
                yield from _put_under(f"{key!s:.40}", self.find_problems(value[key], item_type))
        elif issubclass(origin, abc.Iterable | abc.Container) and isinstance(value, abc.Collection):
            item_type = arguments[0]
            if len(arguments) > 1:
                item_type = tuple[arguments]  # type: ignore[valid-type]
            for number, item in enumerate(value):
                yield from _put_under(str(number), self.find_problems(item, item_type))


def _put_under(part: str, problems: Iterator[Problem]) -> Iterator[Problem]:
    for path, message in problems:
        yield (part, *path), message


def _is_unpacked(argument: Any) -> bool:
    """Return whether an item type of a tuple stands for any number of items."""
    is_written = typing.get_origin(argument) is typing.Unpack
    return is_written or getattr(argument, "__unpacked__", False)


def _is_instance(value: UserValue, declared: Any, arguments: tuple[Any, ...]) -> bool:
    """Return whether `value` is of a class; True if it is no class."""
    cls = typing.get_origin(declared) or declared
    if cls is None:
        return value is None
    if cls in _ACCEPTED_NUMBERS:
        return isinstance(value, _ACCEPTED_NUMBERS[cls]) and not isinstance(value, bool)
    if declared == tuple[()]:
        return isinstance(value, tuple) and not value
    if cls is abc.Sequence and arguments == (str,) and isinstance(value, str):
        return False
    if not isinstance(cls, type) or cls in (typing.IO, typing.TextIO, typing.BinaryIO):
        return True
    try:
        is_instance = isinstance(value, cls)
    except TypeError:  # a Protocol that is not runtime_checkable
        return True
    if not is_instance and hasattr(cls, "__get_pydantic_core_schema__"):
        return not hasattr(cls, "__pydantic_fields__") and _is_of_placeholder(value, cls)
    return is_instance


def _takes(function: Any, count: int) -> bool:
    """Return whether a function takes this number of arguments; True without a signature."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def _is_of_placeholder(value: UserValue, cls: type) -> bool:
    """Return whether a class without instances, such as EmailStr, accepts a value unconverted."""
    try:
        made = get_adapter(cls).validate_python(value, strict=True)
    except ValueError:
        return False
    except Exception:  # pydantic knows no such type
        return True
    return type(made) is type(value)


def _is_subclass(value: UserValue, declared: Any) -> bool:
    if not isinstance(value, type):
        return False
    alternatives = (
        typing.get_args(declared)
        if typing.get_origin(declared) in (Union, types.UnionType)
        else (declared,)
    )
    classes = [typing.get_origin(one) or one for one in alternatives]
    return any(cls is Any or not isinstance(cls, type) or issubclass(value, cls) for cls in classes)


def _find_constraint_problem(value: UserValue, declared: Any) -> str | None:
    """Describe the constraint that a value violates, such as `Annotated[int, Field(gt=0)]`."""
    if typing.get_origin(declared) is Annotated and all(
        isinstance(note, str) for note in declared.__metadata__
    ):
        return None
    if typing.get_origin(declared) is Annotated:  # the type itself has been checked
        is_optional = type(None) in typing.get_args(declared.__origin__)
        declared = Annotated[(Any | None if is_optional else Any, *declared.__metadata__)]
    try:
        adapter = get_adapter(declared)
    except Exception:  # pydantic knows no such type
        return None
    from pydantic import ValidationError

    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        return "; ".join(
            problem["msg"] for problem in error.errors(include_url=False)[:_MAX_PROBLEMS]
        )
    return None
