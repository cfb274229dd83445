"""Copies of values with everything reachable from them, made without running any of the program's code.

    copy_values({"graph": graph, "first": graph.nodes[0]})
        values    {"graph": <Graph>, "first": <Node>}: the copied graph holds the copied node itself
        classes   (Graph, Node)

Containers, named tuples, exceptions, and instances with all state in attributes and slots are copied; immutable values
are kept. Files, locks, generators, objects of extension types, paths and bound methods raise `NotCopyableError`.
"""

from __future__ import annotations

import enum
import re
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from njrt.outcome import UserValue
from njrt.records import record
from njrt.values.introspection import (
    VALUE_CLASSES,
    find_built_in_base,
    get_class_name,
    has_known_state,
    is_a,
    is_exactly,
    list_slots,
    make_namespace_reader,
    read_slots,
)

MAX_COPIED_OBJECTS = 5_000
"""The most objects that are copied, which takes some ten milliseconds."""

_ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range)
_KEPT_TYPES = (
    types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.GenericAlias, types.UnionType,
    enum.Enum, re.Pattern,
)  # fmt: skip
_KEPT_CLASSES: Mapping[str, tuple[str, ...]] = {
    **VALUE_CLASSES,
    "typing": ("_GenericAlias", "_UnionGenericAlias", "_LiteralGenericAlias"),
}


class NotCopyableError(Exception):
    """The value cannot be copied; the message describes it."""


@record
class CopiedValues:
    """Copies, the classes of the instances among them, and the parts of the program's source that they hold."""

    values: Mapping[str, UserValue]
    classes: tuple[type, ...]
    held: tuple[UserValue, ...]
    """Functions, classes and modules held by a container or an instance."""


def copy_values(values: Mapping[str, UserValue]) -> CopiedValues:
    """Copy values, which may share objects; raise `NotCopyableError`."""
    copier = _Copier()
    try:
        copied = {
            name: value if is_kept(value) else copier.copy(value) for name, value in values.items()
        }
        return CopiedValues(copied, tuple(copier.classes), tuple(copier.held))
    except NotCopyableError:
        raise
    except RecursionError:
        raise NotCopyableError("a value that is nested too deeply") from None
    except Exception as error:  # from `__hash__`, or because another thread changes a container
        raise NotCopyableError(f"a value that fails by {type(error).__name__}") from None


class _Copier:
    """Copies values (state: the copies so far, by their originals' identity)."""

    def __init__(self) -> None:
        self.classes: dict[type, None] = {}
        self.held: list[UserValue] = []
        self._copies: dict[int, UserValue] = {}
        self._kept: list[UserValue] = []  # so that no id is reused

    def copy(self, value: UserValue) -> UserValue:
        cls = type(value)
        if is_exactly(value, *_ATOMS):
            return value
        if is_kept(value):
            self.held.append(value)
            return value
        if id(value) in self._copies:
            return self._copies[id(value)]
        if len(self._copies) >= MAX_COPIED_OBJECTS:
            raise NotCopyableError(f"more than {MAX_COPIED_OBJECTS:,} objects")
        self._kept.append(value)
        if cls is tuple or cls is frozenset:
            return self._remember(value, cls(map(self.copy, list(value))))
        if cls is bytearray:
            return self._remember(value, bytearray(value))
        if (
            is_a(value, tuple)
            and hasattr(cls, "_fields")
            and not make_namespace_reader(cls, None)(value)
        ):
            self.classes[cls] = None
            return self._remember(value, tuple.__new__(cls, map(self.copy, tuple(value))))
        if (empty := _make_empty_container(value)) is not None:
            self._copies[id(value)] = empty
            self._fill(empty, value)
            return empty
        return self._copy_instance(value)

    def _remember(self, value: UserValue, copied: UserValue) -> UserValue:
        # A tuple that holds itself through a list has already been copied.
        return self._copies.setdefault(id(value), copied)

    def _fill(self, empty: UserValue, value: UserValue) -> None:
        if is_a(value, dict):
            for key, item in list(value.items()):
                empty[self.copy(key)] = self.copy(item)
        elif is_a(value, set):
            empty.update([self.copy(member) for member in list(value)])
        else:
            empty.extend([self.copy(item) for item in list(value)])

    def _copy_instance(self, value: UserValue) -> UserValue:
        cls = type(value)
        copied = _make_empty_instance(value)
        self.classes[cls] = None
        self._copies[id(value)] = copied
        if is_a(value, BaseException):
            copied.args = tuple(map(self.copy, value.args))
        for name, member in list_slots(cls):
            for _, item in read_slots(((name, member),), value):
                member.__set__(copied, self.copy(item))
        read = make_namespace_reader(cls, None)
        attributes = read(value)
        if attributes:
            target = read(copied)
            if target is None:
                raise NotCopyableError(f"a {get_class_name(cls)}")
            target.update({name: self.copy(item) for name, item in list(attributes.items())})
        return copied


def is_kept(value: UserValue) -> bool:
    """Return whether a value is kept: it cannot change, or is part of the program's source."""
    cls = type(value)
    return any(is_a(value, kept) for kept in _KEPT_TYPES) or (
        cls.__name__ in _KEPT_CLASSES.get(str(cls.__module__), ())
    )


def _make_empty_container(value: UserValue) -> UserValue | None:
    """Return an empty container of the same built-in class; None for other classes."""
    if is_exactly(value, list, dict, set, OrderedDict, Counter):
        return type(value)()
    if is_exactly(value, deque):
        return deque(maxlen=value.maxlen)
    if is_exactly(value, defaultdict):
        factory = value.default_factory
        if is_a(factory, partial) or not (factory is None or is_kept(factory)):
            raise NotCopyableError("a defaultdict with a custom factory")
        return defaultdict(factory)
    return None


def _make_empty_instance(value: UserValue) -> UserValue:
    """Return an instance of the same class without attributes, without running its `__init__`."""
    cls = type(value)
    if cls is types.SimpleNamespace:
        return types.SimpleNamespace()
    if is_a(value, BaseException):
        base = find_built_in_base(cls)
        if has_known_state(cls, base):
            make_empty: Any = base.__new__
            return make_empty(cls)
    elif has_known_state(cls):
        return object.__new__(cls)
    raise NotCopyableError(f"a {get_class_name(cls)}")
