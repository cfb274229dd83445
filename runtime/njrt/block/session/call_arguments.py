"""The arguments of a gated call: copied, shown to those who decide, and compared.

copy_containers(([1], order))     ([1], order): another list, the same object
show_arguments(arguments, redactor)   {"cents": 5, "order": "Order(number=1)"}
digest_arguments(arguments, redactor) the same as long as their content is the same
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from njrt.data.message_json import hash_json
from njrt.values.digest import digest_value
from njrt.values.introspection import is_exactly
from njrt.values.rendering.describe import render_value
from njrt.values.rendering.redaction import Redactor

MAX_VALUE_CHARS = 200
"""Characters that the recording and interceptors show of a value that is not JSON."""
_MAX_DEPTH = 6


def copy_containers(value: Any, copies: dict[int, Any] | None = None) -> Any:
    """Return a copy of plain containers; objects of classes in them stay the same objects.

    `copies` are the copies so far by the ids of the originals, which may contain themselves.
    """
    copies = {} if copies is None else copies
    if id(value) in copies:
        return copies[id(value)]
    copied: Any = value
    if is_exactly(value, tuple, frozenset):
        return type(value)([copy_containers(part, copies) for part in value])
    if is_exactly(value, set, bytearray):
        copied = copies[id(value)] = value.copy()
    elif is_exactly(value, list):
        copied = copies[id(value)] = []
        copied += [copy_containers(part, copies) for part in value]
    elif is_exactly(value, dict):
        copied = copies[id(value)] = {}
        copied |= {name: copy_containers(part, copies) for name, part in value.items()}
    return copied


def show_arguments(arguments: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return arguments as JSON, redacted; a value without a JSON form is its text."""
    redactor.scan(arguments.items())
    return {name: _show(value, redactor) for name, value in arguments.items()}


def _show(value: Any, redactor: Redactor, depth: int = 0) -> Any:
    if value is None or is_exactly(value, bool, int, float):
        return value
    if type(value) is str:
        return redactor.redact(value)
    if depth < _MAX_DEPTH and is_exactly(value, list, tuple):
        return [_show(member, redactor, depth + 1) for member in value]
    if depth < _MAX_DEPTH and type(value) is dict and all(type(key) is str for key in value):
        return {key: _show(member, redactor, depth + 1) for key, member in value.items()}
    return render_value(value, MAX_VALUE_CHARS, redactor)


def digest_arguments(arguments: Mapping[str, Any], redactor: Redactor) -> str:
    """Return a digest of arguments' content; of objects with unknown state, their shown texts."""
    digests: dict[str, Any] = {}
    for name, value in arguments.items():
        try:
            digests[name] = digest_value(value)
        except Exception:  # also raised by the program's own code
            digests[name] = _show(value, redactor)
    return hash_json(digests)
