"""Frozen dataclasses that each run of a block makes many of.

    @record
    class Bound:
        value: UserValue

Type checkers refuse assignments to their fields. At run time nothing does: `frozen=True` makes an object by one call of
`object.__setattr__` for each field, which takes four times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a class a dataclass with slots, which compares and hashes by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
