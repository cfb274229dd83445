"""Classes whose objects are data: no more than their fields.

is_data_class(Point)                True for a named tuple, or a frozen class without public methods
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

from njrt.values.introspection import is_user_class


def is_data_class(kind: type) -> bool:
    """Return whether a class's objects are only their shown fields: frozen, no public methods."""
    config = getattr(kind, "model_config", {})
    is_frozen = config.get("frozen") if hasattr(kind, "__pydantic_fields__") else is_record(kind)
    hooks = getattr(kind, "__pydantic_decorators__", None)
    groups = [getattr(hooks, each.name) for each in fields(hooks)] if hooks else []
    called_by_pydantic = {name for group in groups for name in group}
    declared = getattr(kind, "__dataclass_fields__", getattr(kind, "__pydantic_fields__", {}))
    is_shown = all(field.repr for field in declared.values())
    return (
        bool(is_frozen)
        and is_shown
        and not any(
            isinstance(member, FunctionType | classmethod | staticmethod)
            and (name == "__call__" or not name.startswith("_"))
            and name not in called_by_pydantic
            for base in kind.__mro__
            if is_user_class(base)
            for name, member in vars(base).items()
        )
    )


def is_record(kind: type) -> bool:
    """Return whether a class is a named tuple or a frozen dataclass constructed from its fields."""
    if is_dataclass(kind):
        parameters: Any = getattr(kind, "__dataclass_params__", None)
        return bool(parameters.frozen) and not has_own_constructor(kind)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def has_own_constructor(made: type) -> bool:
    """Return whether a dataclass customizes `__init__` or `__new__`, which pydantic bypasses."""
    if hasattr(made, "__pydantic_validator__"):
        return False
    init: Any = made.__init__  # type: ignore[misc]
    new: Any = made.__new__
    file = getattr(getattr(init, "__code__", None), "co_filename", "")
    return file != "<string>" or new is not object.__new__
