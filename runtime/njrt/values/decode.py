"""Values made again of the expressions that they were spelled as (njrt.values.encode), and of no others.

    rebuilt({"graph": "Graph(nodes=[(_1 := Node(next=_1))])", "first": "_1"}, vars(module), classes)

        {"graph": <Graph>, "first": <Node>}          graph.nodes[0] is first, and first.next is first

Nothing is evaluated: only literals, names of classes and calls of them are understood. The classes are those
of the program's own file, given as its namespace, and those of modules that are imported for it.
"""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from njrt.outcome import UserValue
from njrt.values.encode import CONTAINER_TYPES, is_inherited_from_object, list_slots


def decode_values(
    texts: Mapping[str, str], namespace: Mapping[str, Any], classes: Mapping[str, str]
) -> dict[str, UserValue]:
    """Make the values again; `namespace` is that of the program's own file. Raises what goes wrong."""
    maker = _Decoder(namespace, classes)
    return {name: maker.made(ast.parse(text, mode="eval").body) for name, text in texts.items()}


@dataclass(slots=True)
class _Decoder:
    """Reads expressions of this module's own kind; nothing else is evaluated."""

    namespace: Mapping[str, Any]
    classes: Mapping[str, str]
    shared: dict[str, UserValue] = field(default_factory=dict)

    def made(
        self, node: ast.expr, keep: Callable[[UserValue], None] = lambda it: None
    ) -> UserValue:
        """Make a value; `keep` is told of an object before it is filled."""
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

                remember(self.made(value, remember))
                return self.shared[name]
            case ast.List(elts=elements):
                items: list[UserValue] = []
                keep(items)
                items += map(self.made, elements)
                return items
            case ast.Dict(keys=keys, values=values):
                table: dict[UserValue, UserValue] = {}
                keep(table)
                for key, value in zip(keys, values, strict=True):
                    assert key is not None
                    table[self.made(key)] = self.made(value)
                return table
            case ast.Set(elts=elements):
                return set(map(self.made, elements))
            case ast.Tuple(elts=elements):
                return tuple(map(self.made, elements))
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self.decode_call(self.found(function), arguments, keywords, keep)
            case ast.Name() | ast.Attribute():
                return self.found(node)
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
        is_made = arguments or not (is_plain or is_bare) or function in CONTAINER_TYPES
        if is_made:
            return function(*map(self.made, arguments))
        instance = function() if is_bare else object.__new__(function)
        keep(instance)
        for keyword in keywords:
            held = self.made(keyword.value)
            namespace = getattr(instance, "__dict__", None)
            name = str(keyword.arg)
            if namespace is None or name in list_slots(function):
                object.__setattr__(instance, name, held)
            else:
                namespace[name] = held
        return instance

    def found(self, node: ast.expr) -> Any:
        """Find a class, a function or a member of an enumeration by its name."""
        path = ast.unparse(node)
        first, *others = path.split(".")
        known = [name for name in self.classes if path == name or path.startswith(f"{name}.")]
        module = self.classes[max(known, key=len)] if known else "builtins"
        space = vars(importlib.import_module(module)) if module else self.namespace
        found = space[first]
        for each in others:
            found = getattr(found, each)
        return found
