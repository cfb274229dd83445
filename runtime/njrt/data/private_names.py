"""Private names: `__x` in the body of class `Box` is stored as `_Box__x`."""

from __future__ import annotations


def mangle(name: str, class_name: str | None) -> str:
    """Return a name as Python stores it inside a class; `class_name` is None outside a class."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stem = class_name.lstrip("_")
    return f"_{stem}{name}" if stem else name


def unmangle(name: str, class_name: str | None) -> str:
    """Return a stored name as the source spells it."""
    prefix = f"_{(class_name or '').lstrip('_')}"
    return name.removeprefix(prefix) if class_name and name.startswith(f"{prefix}__") else name
