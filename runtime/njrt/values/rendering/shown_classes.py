"""Find the classes that a description of values and types names, so that code may use them.

    words: list[Word]     a value, or a declared type    ──find_shown_classes──>   [Word]
    order: Order          with lines: list[Line]                                   [Order, Line]
    calendar: Calendar    with add(self, ...) -> Event                             [Calendar, Event]

Not detected: classes of collection items beyond the first few.
"""

from __future__ import annotations

import re
import sys
import typing
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from types import FunctionType
from typing import Any

from njrt.values.introspection import (
    get_class_namespace,
    get_module_name,
    is_a,
    is_exactly,
    is_user_class,
    list_user_ancestors,
    read_attributes,
)
from njrt.values.rendering.members import MAX_MEMBERS
from njrt.values.rendering.signatures import read_annotations

MAX_CLASSES = 50
MAX_ITEMS = 8
"""The number of collection items to search for classes."""


_PLAIN_CLASSES = frozenset(
    map(id, (str, int, float, bool, bytes, type(None), list, dict, tuple, set, frozenset))
)
"""The ids of classes that are not the program's: ids, because a metaclass may define `__hash__`."""


def find_shown_classes(values: Iterable[Any], types: Iterable[Any]) -> list[type]:
    """Return the program's classes of values and in types, with those of fields and methods."""
    waiting = deque([*types, *chain.from_iterable(map(_list_classes, values))])
    found: dict[int, type] = {}
    while waiting and len(found) < MAX_CLASSES:
        declared = waiting.popleft()
        if id(declared) in _PLAIN_CLASSES:
            continue
        for cls in _list_named_classes(declared):
            if id(cls) not in found:
                found[id(cls)] = cls
                for owner in list_user_ancestors(cls):
                    for annotation in _list_shown_annotations(owner):
                        waiting += _resolve_names(annotation, get_module_name(owner))
    return list(found.values())


def _list_shown_annotations(cls: type) -> Iterator[Any]:
    """Yield the annotations of a class's fields and of the signatures of its public methods."""
    yield from read_annotations(cls).values()
    for name, member in islice(get_class_namespace(cls).items(), MAX_MEMBERS):
        function = member.__func__ if is_exactly(member, staticmethod, classmethod) else member
        if type(function) is FunctionType and not name.startswith("_"):
            yield from read_annotations(function).values()


def find_signature_classes(functions: Iterable[FunctionType]) -> list[type]:
    """Return the program's own classes in functions' annotations and in these classes' fields."""
    declared = [
        part
        for function in functions
        for annotation in function.__annotations__.values()
        for part in _resolve_names(annotation, function.__module__)
    ]
    return find_shown_classes((), declared)


def _list_classes(value: Any) -> list[type]:
    """Return the class of a value, the classes of a collection's first items, or a class itself."""
    if is_a(value, type):
        return [value]
    items: Iterable[Any] = [value]
    if is_exactly(value, dict):
        items = value.values()
    elif is_exactly(value, list, tuple, set, frozenset, deque):
        items = value
    classes = [type(item) for item in islice(items, MAX_ITEMS)]
    return list({id(cls): cls for cls in classes}.values())


def _resolve_names(annotation: Any, owner: str) -> list[Any]:
    """Return an annotation or, for a string, its names' values in its module; run no code."""
    if not isinstance(annotation, str):
        return [annotation]
    module = sys.modules.get(owner)
    names = read_attributes(module) if module is not None else {}
    return [names[name] for name in re.findall(r"[^\W\d]\w*", annotation) if name in names]


def _list_named_classes(declared: Any) -> Iterator[type]:
    """Yield the program's own classes in a type: the type itself, or those in its arguments."""
    if is_a(declared, type):
        if is_user_class(declared):
            yield declared
    elif not isinstance(declared, Mapping | str):
        for argument in typing.get_args(declared):
            if is_a(argument, type) or typing.get_args(argument):
                yield from _list_named_classes(argument)
