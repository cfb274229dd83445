"""Frozen data: `@record` makes a class a dataclass with slots, cheap to define and to create.

    @record
    class Bound:
        value: UserValue

Type checkers refuse assignments to the fields. At run time nothing does: `frozen=True` would call
`object.__setattr__` for each field of a new object, which takes four times as long. A dataclass
also compiles all its methods when its module is imported, a third of njrt's import time; a record
compiles `__init__` and shares the others.
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, field, fields, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, cast, dataclass_transform

__all__ = ["asdict", "astuple", "field", "fields", "record", "replace"]

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class a dataclass with slots that compares and hashes by its fields."""
    made = dataclass(slots=True, eq=False, repr=False)(cls)
    get = attrgetter("__class__", *(each.name for each in fields(cast(Any, made)) if each.compare))

    def is_equal(self: Any, other: Any) -> bool:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    shared = {"__eq__": is_equal, "__hash__": lambda self: hash(get(self)), "__repr__": _write}
    for name in [each for each in shared if vars(cls).get(each) is None]:
        setattr(made, name, shared[name])
    return made


@recursive_repr()
def _write(self: Any) -> str:
    parts = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"
