"""Encode a value as a Python expression, and decode an equal value without evaluating it.

    encode_value(Node("a", [1]))      ("Node(name='a', edges=[1])", {"Node": "graphs"})
    encode_value(open("a.log"))       NotEncodableError("a TextIOWrapper")

Keywords are an instance's state (its `__init__` does not run); positional arguments go to a
constructor. A part that occurs twice comes back as two equal parts, and what holds itself is not
encoded. Not detected: state held by an extension type or a weak reference.
"""

from __future__ import annotations

import ast
import enum
import importlib
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from njrt.data.media import Audio, Document, Image
from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    VALUE_CLASSES,
    find_member,
    has_known_state,
    is_exactly,
    list_slots,
    read_attributes,
)

MAX_ENCODED_OBJECTS = 5_000
"""The most objects in a value."""

_PLAIN_TYPES = (bool, int, str, bytes, type(None))
CONTAINER_TYPES = (list, tuple, dict, set, frozenset)
_CONSTRUCTIBLE_TYPES: Mapping[str, tuple[str, ...]] = {
    **VALUE_CLASSES,
    "pathlib": ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"),
}
_PUBLIC_MODULES: Mapping[str, str] = {"pathlib._local": "pathlib"}
"""Modules that implement another module (Python 3.13), and the module that programs import."""
_ConstructorParts = tuple[str, tuple[UserValue, ...], Mapping[str, UserValue]]
"""A constructor, its positional arguments and its keyword arguments."""


class NotEncodableError(Exception):
    """The value cannot be encoded; the message describes it."""


def encode_value(value: UserValue) -> tuple[str, dict[str, str]]:
    """Return a value as text, and the modules of its classes and functions by their names.

    Raises NotEncodableError if a part of it cannot be encoded.
    """
    encoder = Encoder()
    try:
        return encoder.write(value), encoder.classes
    except NotEncodableError:
        raise
    except RecursionError:
        raise NotEncodableError("a value that is nested too deeply") from None
    except Exception as error:  # raised by the program's own code
        raise NotEncodableError(f"a value that fails by {type(error).__name__}") from None


@dataclass(slots=True)
class Encoder:
    """Writes a value (state: the classes in it, and how many more objects it may have)."""

    classes: dict[str, str] = field(default_factory=dict)
    left: int = MAX_ENCODED_OBJECTS

    def take_apart(self, value: UserValue) -> _ConstructorParts:
        """Split an object into its constructor and the values that it holds."""
        cls = type(value)
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
            return self.register_name(value), (), {}
        if isinstance(value, types.ModuleType):
            raise NotEncodableError(f"the module {value.__name__}")
        if isinstance(value, enum.Enum):
            return f"{self.register_name(cls)}.{value.name}", (), {}
        if cls in CONTAINER_TYPES:
            inside = [*value, *value.values()] if cls is dict else value
            return _OPENING_BRACKETS[cls], tuple(inside), {}
        if (made := _find_constructor_arguments(value)) is not None:
            is_repeated = getattr(value, "fold", 0)  # the repeated hour at the end of summer time
            return f"{self.register_name(cls)}(", made, {"fold": 1} if is_repeated else {}
        if isinstance(value, tuple) and hasattr(cls, "_fields"):
            return f"{self.register_name(cls)}(", tuple(value), {}
        if isinstance(value, BaseException) and not vars(value):
            return f"{self.register_name(cls)}(", value.args, {}
        if cls is types.SimpleNamespace:
            return f"{self.register_name(cls)}(", (), vars(value)
        return f"{self.register_name(cls)}(", (), _read_state(value)

    def register_name(self, thing: Any) -> str:
        """Return the name of a class or function that can be found again by name."""
        module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
        if isinstance(thing, type) and thing.__module__ == "builtins":
            return name
        what = "class" if isinstance(thing, type) else "function"
        if not name or not isinstance(module, str) or "<" in name:
            raise NotEncodableError(f"the {what} {name or '?'}, which cannot be found by its name")
        module = _PUBLIC_MODULES.get(module, module)
        if self.classes.setdefault(name, module) != module:
            raise NotEncodableError(f"one of two things named {name}")
        return name

    def write(self, value: UserValue) -> str:
        """Write a value; raise NotEncodableError if it cannot be encoded."""
        if is_exactly(value, *_PLAIN_TYPES):
            return repr(value)
        if type(value) is float:
            return repr(value) if value - value == 0 else f"float('{value!r}')"
        self.left -= 1
        if self.left < 0:
            raise NotEncodableError(f"more than {MAX_ENCODED_OBJECTS:,} objects")
        match value:
            case list() if type(value) is list:
                return f"[{', '.join(map(self.write, value))}]"
            case tuple() if type(value) is tuple:
                return f"({', '.join(map(self.write, value))}{',' if len(value) == 1 else ''})"
            case dict() if type(value) is dict:
                items = (f"{self.write(key)}: {self.write(item)}" for key, item in value.items())
                return f"{{{', '.join(items)}}}"
            case set() | frozenset() if type(value) in CONTAINER_TYPES:
                inside = f"{{{', '.join(sorted(map(self.write, value)))}}}" if value else ""
                bare = inside and type(value) is set
                return inside if bare else f"{type(value).__name__}({inside})"
        name, positional, named = self.take_apart(value)
        if not name.endswith("("):
            return name
        written = [
            *map(self.write, positional),
            *(f"{attribute}={self.write(item)}" for attribute, item in named.items()),
        ]
        return f"{name}{', '.join(written)})"


_OPENING_BRACKETS: Mapping[type, str] = {list: "[", tuple: "(", dict: "{", set: "{", frozenset: "{"}


def _find_constructor_arguments(value: UserValue) -> tuple[UserValue, ...] | None:
    """Return the constructor arguments of an equal object for standard classes, files for models,
    and strings with `__getnewargs__`; None for other classes.
    """
    cls = type(value)
    if cls is range:
        return value.start, value.stop, value.step
    if cls is complex:
        return value.real, value.imag
    if cls is bytearray:
        return (bytes(value),)
    if cls is deque:
        return list(value), value.maxlen
    if cls in (Counter, OrderedDict):
        return (dict(value),)
    if cls is defaultdict:
        return value.default_factory, dict(value)
    if cls in (Image, Document, Audio):
        return value.data, value.media_type, value.url, value.identity
    if isinstance(value, str) and "__getnewargs__" in vars(cls):
        return tuple(value.__getnewargs__())
    home = _PUBLIC_MODULES.get(cls.__module__, cls.__module__)
    if cls.__name__ not in _CONSTRUCTIBLE_TYPES.get(home, ()):
        return None
    zone = () if getattr(value, "tzinfo", None) is None else (_find_zone(value),)
    match cls.__name__:
        case "timezone":
            return tuple(value.__getinitargs__())
        case "ZoneInfo" if value.key is None:
            raise NotEncodableError("a zone without a name")
        case "date":
            return value.year, value.month, value.day
        case "time":
            return value.hour, value.minute, value.second, value.microsecond, *zone
        case "datetime":
            day = (value.year, value.month, value.day)
            return *day, value.hour, value.minute, value.second, value.microsecond, *zone
        case "timedelta":
            return value.days, value.seconds, value.microseconds
        case "Fraction":
            return value.numerator, value.denominator
        case _:
            return (str(value),)


def _find_zone(value: Any) -> UserValue:
    """Return a time's zone, or a fixed offset for a zone that cannot be found by name."""
    zone = value.tzinfo
    fixed = importlib.import_module("datetime").timezone
    if type(zone) is fixed or (type(zone).__module__ == "zoneinfo" and zone.key is not None):
        return zone
    offset = value.utcoffset()
    if offset is None:
        raise NotEncodableError("a time with a zone without an offset")
    return fixed(offset)


def _read_state(value: UserValue) -> dict[str, UserValue]:
    """Return the attributes that make up an instance of one of the program's classes."""
    cls = type(value)
    if not has_known_state(cls):
        raise NotEncodableError(f"a {cls.__name__}")
    state = read_attributes(value)
    for name in state:
        if not isinstance(name, str) or not name.isidentifier():
            raise NotEncodableError(f"a {cls.__name__} with the attribute {name!r}")
    return dict(state)


# ── and back: only from expressions that are written here ────────────────────────────────────────


def decode_value(text: str, classes: Mapping[str, str]) -> UserValue:
    """Return the value of a text; raise what the constructors raise."""
    return _Decoder(classes).decode(ast.parse(text, mode="eval").body)


@dataclass(slots=True)
class _Decoder:
    """Makes the value of an expression; in files of njc 0.2, parts of it have names (state)."""

    classes: Mapping[str, str]
    shared: dict[str, UserValue] = field(default_factory=dict)

    def decode(
        self, node: ast.expr, keep: Callable[[UserValue], None] = lambda made: None
    ) -> UserValue:
        """Make a value; `keep` is called with a mutable object before it is filled."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)):
                return -value  # type: ignore[operator]
            case ast.Name(id=name) if name in self.shared:
                return self.shared[name]
            case ast.NamedExpr(target=ast.Name(id=name), value=value):

                def remember(made: UserValue) -> None:
                    self.shared[name] = made

                remember(self.decode(value, remember))
                return self.shared[name]
            case ast.List(elts=elements):
                items: list[UserValue] = []
                keep(items)
                items += map(self.decode, elements)
                return items
            case ast.Dict(keys=keys, values=values):
                table: dict[UserValue, UserValue] = {}
                keep(table)
                for key, value in zip(keys, values, strict=True):
                    assert key is not None
                    table[self.decode(key)] = self.decode(value)
                return table
            case ast.Set(elts=elements):
                return set(map(self.decode, elements))
            case ast.Tuple(elts=elements):
                return tuple(map(self.decode, elements))
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self.decode_call(self.find(function), arguments, keywords, keep)
            case ast.Name() | ast.Attribute():
                return self.find(node)
        raise ValueError(f"no value: {ast.unparse(node)}")

    def decode_call(
        self,
        function: Any,
        arguments: list[ast.expr],
        keywords: list[ast.keyword],
        keep: Callable[[UserValue], None],
    ) -> UserValue:
        is_bare = function is types.SimpleNamespace
        reduce = find_member(function, "__reduce__") if isinstance(function, type) else None
        is_plain = reduce is vars(object)["__reduce__"]
        if arguments or not (is_plain or is_bare) or function in CONTAINER_TYPES:
            named = {str(keyword.arg): self.decode(keyword.value) for keyword in keywords}
            return function(*map(self.decode, arguments), **named)
        instance = function() if is_bare else object.__new__(function)
        keep(instance)
        slots = dict(list_slots(function))
        for keyword in keywords:
            name, value = str(keyword.arg), self.decode(keyword.value)
            if name in slots:
                slots[name].__set__(instance, value)
            else:
                vars(instance)[name] = value
        return instance

    def find(self, node: ast.expr) -> Any:
        """Find a class, a function or a member of an enumeration by its name."""
        path = ast.unparse(node)
        first, *others = path.split(".")
        known = [name for name in self.classes if path == name or path.startswith(f"{name}.")]
        module = self.classes[max(known, key=len)] if known else "builtins"
        return reduce(getattr, others, vars(importlib.import_module(module))[first])
