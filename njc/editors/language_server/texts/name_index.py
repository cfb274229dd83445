'''Every name in a file, both in the program and in its prompts, and the variable that it means.

    def add(price):                             price    Variable("price", add), a parameter
        """natural
        Add <price> to <:total: int>.           price    the same;  total    Variable("total", add)
        """

A variable is a name in a scope, stored as Python stores it: `__x` in `class Box` is `_Box__x`. Quoted annotations are read.
Not detected: attributes, keywords in calls, strings, names bound by `exec`, `globals()`, other modules or `import *`.
A name that a class body binds and reads is taken to be the class's own.
'''

from __future__ import annotations

import ast
import builtins
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from njc.frontend.source import SourceFile
from njrt.records import record

VariableScopeKind = Literal["module", "class", "function", "comprehension", "types", "builtins"]
Role = Literal["bind", "read", "parameter", "import", "declare", "define"]
"""The role of a name in the text; `define` names a function or class, `declare` is in a `global` statement."""


@dataclass(frozen=True, slots=True, eq=False)
class VariableScope:
    """A part of the program with its own variables; `start` and `end` are offsets in the text."""

    kind: VariableScopeKind
    name: str
    parent: VariableScope | None
    start: int = 0
    end: int = 0
    class_name: str | None = None
    """The class that private names are mangled for."""
    node: ast.AST | None = None
    bound: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)


@record
class Variable:
    """A variable: its stored name, and its scope."""

    name: str
    scope: VariableScope

    @property
    def is_builtin(self) -> bool:
        """Whether nothing in the file binds it."""
        return self.scope.kind == "builtins"


@record
class Occurrence:
    """One occurrence of a name; `in_prompt` if it is in a natural block's reference."""

    name: str
    start: int
    end: int
    role: Role
    in_prompt: bool
    scope: VariableScope
    node: ast.AST | None = None
    """The import, parameter or definition that the name is part of."""
    is_printed: bool = False
    """Whether an f-string prints the name, as in `{total=}`."""

    @property
    def binds(self) -> bool:
        """Whether the name gets a value here."""
        return self.role not in ("read", "declare")


@dataclass(frozen=True)
class NameIndex:
    """A file's names in the order of the text."""

    source: SourceFile
    module: VariableScope
    occurrences: tuple[Occurrence, ...]
    star_import: bool = False
    """Whether names may come from `from m import *`."""

    @cached_property
    def _builtins(self) -> VariableScope:
        return VariableScope("builtins", "builtins", None)

    @cached_property
    def variables(self) -> Mapping[Variable, tuple[Occurrence, ...]]:
        """Each variable's occurrences, in the order of the text."""
        found: dict[Variable, list[Occurrence]] = {}
        for occurrence in self.occurrences:
            found.setdefault(self.resolve(occurrence), []).append(occurrence)
        return {variable: tuple(places) for variable, places in found.items()}

    @cached_property
    def _starts(self) -> list[int]:
        return [occurrence.start for occurrence in self.occurrences]

    def find_at(self, offset: int) -> Occurrence | None:
        """Return the name at an offset, or just before it."""
        index = bisect_right(self._starts, offset)
        for occurrence in reversed(self.occurrences[max(0, index - 2) : index]):
            if occurrence.start <= offset <= occurrence.end:
                return occurrence
        return None

    def resolve(self, occurrence: Occurrence) -> Variable:
        return self.look_up(occurrence.name, occurrence.scope)

    def look_up(self, name: str, scope: VariableScope) -> Variable:
        """Return the variable that a stored name means in a scope, by Python's rules."""
        place: VariableScope | None = scope
        sees_class = True
        while place is not None:
            if place.kind == "module":
                break
            if name in place.globals and (place is scope or place.kind != "class"):
                break
            is_visible = place.kind != "class" or sees_class
            if is_visible and name in place.bound and name not in place.nonlocals:
                return Variable(name, place)
            sees_class = place.kind == "types" and sees_class
            place = place.parent
        if name in self.module.bound or (self.star_import and not hasattr(builtins, name)):
            return Variable(name, self.module)
        is_global = name in self._declared_globals
        return Variable(name, self.module if is_global else self._builtins)

    @cached_property
    def _declared_globals(self) -> frozenset[str]:
        return frozenset(name for place in self.occurrences for name in place.scope.globals)
