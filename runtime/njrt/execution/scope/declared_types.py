"""The declared types of a block's outputs, evaluated, as of `lambda: {"rows": "list[Row]"}`.

    {"rows": "list[Row]"}                  list[Row], if the text stands in the program's source
    {"x": kind}, and kind = "list[Row]"    OutputTypeError: the text of a variable is data
    {"x": list["check(Row)"]}              no type, unless the text stands in the declaration itself

Not detected: a type that the program has made of data itself, as by `list[text]`.
"""

from __future__ import annotations

import ast
import builtins
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from types import CellType, FunctionType
from typing import Annotated, Any, ForwardRef, Literal, Union

from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.errors import OutputTypeError
from njrt.values.introspection import get_module_name, is_a


def resolve_types(
    declare: Callable[[], Mapping[str, Any]],
    module: dict[str, Any],
    namespace: Mapping[str, Any] | None = None,
    outputs: Collection[str] = (),
) -> Mapping[str, Any]:
    """Evaluate declared types and the strings in them, leaving out types that cannot be evaluated.

    Names are looked up in the `namespace` of a class body, then in the module. The name of one of
    the `outputs` (mangled), as in `<:date: date>`, means the same name outside, not the output's
    value. Raises OutputTypeError for a variable that holds text: data is not read as a type.
    """
    resolved = {}
    resolver = Resolver(module, namespace, declare, frozenset(outputs))
    for path, annotation in (evaluate_declarations(declare, outputs) or {}).items():
        try:
            is_plain = type(annotation) is type
            resolved[path] = annotation if is_plain else resolver.resolve(annotation)
        except OutputTypeError:
            raise
        except Exception:
            continue
    return resolved


def evaluate_declarations(
    declare: Callable[[], Mapping[str, Any]], outputs: Collection[str]
) -> Mapping[str, Any] | None:
    """Return the declared types, with references for missing names; None if evaluation fails."""
    code = declare.__code__ if isinstance(declare, FunctionType) else None
    named = {*code.co_freevars, *code.co_names}.intersection(outputs) if code else set()
    try:
        return _replace_missing_names(declare, named)() if named else declare()
    except Exception:  # a name that is defined later, or under TYPE_CHECKING only
        for make in (ForwardRef, _UnknownType):
            with suppress(Exception):
                declared: Mapping[str, Any] = _replace_missing_names(declare, named, make)()
                return declared
        return None


def list_type_variables(declare: Callable[[], Any] | None) -> Iterator[tuple[str, UserValue]]:
    """Yield the bound variables that declarations name, with their values."""
    if not isinstance(declare, FunctionType):
        return
    for name, cell in zip(declare.__code__.co_freevars, declare.__closure__ or (), strict=True):
        with suppress(ValueError):
            yield name, cell.cell_contents
    for name in declare.__code__.co_names:
        if name in declare.__globals__:
            yield name, declare.__globals__[name]
    yield from zip(declare.__code__.co_varnames, declare.__defaults__ or (), strict=False)


def _is_alias(name: str, declare: Any) -> bool:
    """Return whether a name is an alias of a quoted type: `Rows: TypeAlias = "list[Row]"`."""
    names = declare.__globals__
    with suppress(Exception):
        held = names.get("__annotations__") or sys.modules[names["__name__"]].__annotations__
        return "TypeAlias" in str(held[name])
    return False


def _list_written(declare: Callable[[], Any]) -> frozenset[str]:
    """Return the texts that stand in the declarations themselves."""
    constants = declare.__code__.co_consts if isinstance(declare, FunctionType) else ()
    parts = (part for held in constants for part in (held if is_a(held, tuple) else (held,)))
    return frozenset(part for part in parts if is_a(part, str))


def is_declared(
    path: str, declare: Callable[[], Mapping[str, Any]], outputs: Collection[str]
) -> bool:
    """Return whether a path has a declared type; True if the declarations cannot be read."""
    declared = evaluate_declarations(declare, outputs)
    return declared is None or path in declared


class _UnknownType:
    """A missing name, or any type made from it: `Missing[int]` cannot be a reference."""

    def __init__(self, *_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> _UnknownType:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> _UnknownType:
        return self

    __or__ = __ror__ = __call__ = __getitem__


class _WithMissingNames(dict[str, Any]):
    """A module's namespace that returns what `make` makes for a missing name."""

    def __init__(self, names: dict[str, Any], make: Callable[[str], Any]) -> None:
        super().__init__(names)
        self.make = make

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name) if hasattr(builtins, name) else self.make(name)


def _replace_missing_names(
    declare: Callable[[], Any], outputs: Collection[str], make: Callable[[str], Any] = ForwardRef
) -> Callable[[], Any]:
    """Return the same function, with references for unbound names, and types for outputs."""
    assert isinstance(declare, FunctionType)
    scope, cells = _WithMissingNames(declare.__globals__, make), []
    for name in outputs:
        if name in scope and hasattr(builtins, name) and not _is_type(scope[name]):
            del scope[name]
    for name, cell in zip(declare.__code__.co_freevars, declare.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:
            held = scope[name] if name in outputs else make(name)
        cells.append(CellType(scope[name] if name in outputs and not _is_type(held) else held))
    return FunctionType(declare.__code__, scope, "types", declare.__defaults__, tuple(cells))


def _is_type(value: UserValue) -> bool:
    """Return whether a value is a type, or a module, which may contain types."""
    is_class = is_a(value, type) or is_a(value, types.ModuleType)
    return is_class or get_module_name(type(value)) in ("typing", "types", "typing_extensions")


@record
class Resolver:
    """Evaluates the strings in annotations.

    `typing.get_type_hints` cannot be used here: it caches the meaning of `Optional["Foo"]` from the
    first module that used it.
    """

    module: dict[str, Any]
    namespace: Mapping[str, Any] | None = None
    declare: Callable[[], Any] | None = None
    """The declarations, whose own texts may call something; None: all texts may."""
    outputs: frozenset[str] = frozenset()
    """The variables of the declarations that are not read."""

    def resolve(self, annotation: Any, around: frozenset[str] = frozenset()) -> Any:
        """Evaluate the strings in an annotation; a name in its own definition stays a reference."""
        if type(annotation) is type:
            return annotation
        if isinstance(annotation, _UnknownType):
            raise NameError("a name in this type is missing")
        if isinstance(annotation, ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            if annotation in around:
                return ForwardRef(annotation)
            if self.declare is not None:
                self._check_text(annotation, self.declare)
            evaluated = eval(annotation, self.module, self.namespace)
            return self.resolve(evaluated, around | {annotation})
        is_parameter_list = isinstance(annotation, list)  # of a Callable
        origin = typing.get_origin(annotation)
        arguments = tuple(annotation) if is_parameter_list else typing.get_args(annotation)
        if not arguments or origin is Literal:
            return annotation
        notes = arguments[1:] if origin is Annotated else ()
        types_ = arguments[: len(arguments) - len(notes)]
        inside = (*(self.resolve(each, around) for each in types_), *notes)
        if all(new is old for new, old in zip(inside, arguments, strict=True)):
            return annotation
        if is_parameter_list:
            return list(inside)
        if origin in (Union, types.UnionType):
            return Union[inside]  # noqa: UP007
        return origin[inside if len(inside) > 1 else inside[0]]

    def _check_text(self, text: str, declare: Callable[[], Any]) -> None:
        """Raise OutputTypeError for a variable's text, NameError for text that may call something.

        Only what stands in the declarations may be more than names, parts in brackets and `|`.
        """
        for name, value in list_type_variables(declare):
            is_text = is_a(value, str) and value == text and name not in self.outputs
            if is_text and not _is_alias(name, declare):
                raise OutputTypeError(
                    f"the type of an output names `{name}`, a variable that holds text: text is not"
                    " read as a type; let the variable hold a type, such as `list[int]`"
                )
        if text not in _list_written(declare):
            nodes = ast.walk(ast.parse(text, mode="eval"))
            if not all(isinstance(node, _TYPE_NODES) for node in nodes):
                raise NameError("this text is not a type")


_TYPE_NODES = (
    *(ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List),
    *(ast.BinOp, ast.BitOr, ast.Starred, ast.Load),
)
