"""Decoding values from the expressions that njrt.values.encode writes, and from no others.

    decode_values({"graph": "Graph(nodes=[(_1 := Node(next=_1))])", "first": "_1"}, vars(module), classes)

        {"graph": <Graph>, "first": <Node>}          graph.nodes[0] is first, and first.next is first

Nothing is evaluated: only literals, names of classes and calls of them are read. The classes are those
of the program's own file, given as its namespace, and those of modules that are imported for it.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from njrt.outcome import UserValue
from njrt.values.encode import CONTAINER_TYPES, is_inherited_from_object
from njrt.values.introspection import list_slots


def decode_values(
    texts: Mapping[str, str], namespace: Mapping[str, Any], classes: Mapping[str, str]
) -> dict[str, UserValue]:
    """Make the values; `namespace` is that of the program's own file. Raises whatever a constructor raises."""
    decoder = _Decoder(namespace, classes)
    return {name: decoder.decode(ast.parse(text, mode="eval").body) for name, text in texts.items()}


@dataclass(slots=True)
class _Decoder:
    """Makes the values of expressions, and keeps those that are named."""

    namespace: Mapping[str, Any]
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
        """Call a constructor, or make an instance and set its state."""
        is_bare = function is types.SimpleNamespace
        is_plain = isinstance(function, type) and is_inherited_from_object(function, "__reduce__")
        if arguments or not (is_plain or is_bare) or function in CONTAINER_TYPES:
            return function(*map(self.decode, arguments))
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
        namespace = vars(importlib.import_module(module)) if module else self.namespace
        return reduce(getattr, others, namespace[first])
