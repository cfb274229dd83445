"""Exceptions as JSON, and back: after a crash, a program must catch an exception as it did before.

    ShopError("closed", 7)
        {"module": "shop", "name": "ShopError", "args": ["closed", 7], "fields": {}, "at": ...}

Values in slots and attributes of built-in exceptions, such as `ImportError.name`, are `members`. If
a class cannot be imported or parts are not JSON, the program gets, if possible, an exception of a
subclass with the JSON attributes, else a `StepFailedError` with name and message. Cause and
traceback are not stored.
"""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import suppress
from functools import reduce
from types import MemberDescriptorType
from typing import Any

from njrt.errors import NaturalError
from njrt.values.introspection import is_exactly

UNSTORED = ("run", "attempts", "__notes__", "__suppress_context__")
"""Attributes of exceptions that are not stored."""

CALL_NOTE = "raised in a gated call, at "


class StepFailedError(NaturalError):
    """A gated call has raised an exception that cannot be stored, and which the text names."""


def failure_to_json(error: Exception) -> dict[str, Any]:
    """Return an exception's stored form: whole, or else its class and its JSON attributes."""
    kind = type(error)
    fields = {name: value for name, value in vars(error).items() if name not in UNSTORED}
    failure = {
        "module": kind.__module__,
        "name": kind.__qualname__,
        "args": list(error.args),
        "fields": fields,
        "at": find_place(error),
    }
    if members := read_members(error):
        failure["members"] = members
    if not can_be_stored(failure, error):
        text = f"{kind.__qualname__}: {write_text(error)}"
        failure |= {"module": __name__, "name": "StepFailedError", "args": [text], "fields": {}}
        failure.pop("members", None)
        found: dict[str, Any] = {"args": list(error.args), **read_members(error), **fields}
        if find_class(kind.__module__, kind.__qualname__) is kind:
            kept = {name: value for name, value in found.items() if is_whole_json(value)}
            text = text.removeprefix(f"{kind.__qualname__}: ")
            place = {"module": kind.__module__, "name": kind.__qualname__}
            failure["like"] = {**place, "text": text, "fields": kept}
    return failure


def read_members(error: Exception) -> dict[str, Any]:
    """Return an exception's values outside its namespace; for built-in classes, only JSON."""
    found: dict[str, Any] = {}
    for name, member in list_members(type(error)).items():
        is_built_in = member.__objclass__.__module__ == "builtins"
        with suppress(AttributeError):  # the slot is not set
            value = member.__get__(error)
            # `obj` is the object that lacks the attribute.
            if value is not None and not (is_built_in and (name == "obj" or not is_json(value))):
                found[name] = value
    return found


def list_members(kind: type[Exception]) -> dict[str, MemberDescriptorType]:
    """Return the slots of a class of exceptions, also of the built-in ones."""
    return {
        name: member
        for base in reversed(kind.__mro__)
        for name, member in vars(base).items()
        if type(member) is MemberDescriptorType and name not in UNSTORED
    }


def failure_from_json(failure: dict[str, Any]) -> Exception:
    """Return the stored exception, with its place in a note."""
    error = make_similar(**failure["like"]) if "like" in failure else None
    if error is None:
        kind = find_class(failure["module"], failure["name"])
        if kind is None:
            return StepFailedError(f"{failure['name']}: {', '.join(map(str, failure['args']))}")
        error = kind.__new__(kind, *failure["args"])
        error.args = error.args or tuple(failure["args"])  # a subclass of OSError has none yet
        vars(error).update(failure["fields"])
        slots = list_members(kind)
        for name, value in failure.get("members", {}).items():
            # From another version of the class, or read-only.
            with suppress(AttributeError, KeyError, TypeError):
                slots[name].__set__(error, value)
    if failure["at"]:
        add_place(error, CALL_NOTE + failure["at"])
    return error


def make_similar(module: str, name: str, text: str, fields: dict[str, Any]) -> Exception | None:
    """Make an exception of a subclass with this name, text and JSON attributes; None if refused."""
    kind = find_class(module, name)
    if kind is None:
        return None
    members = {"__str__": lambda _: text, "__module__": module, "__qualname__": name}
    with suppress(Exception):  # also raised by the exception's own class
        made: type[Exception] = type(kind.__name__, (kind,), members)
        error = made.__new__(made)
        error.args = (text,)
        for each, value in fields.items():
            with suppress(AttributeError, TypeError):
                setattr(error, each, value)
        return error
    return None


def can_be_stored(failure: dict[str, Any], error: Exception) -> bool:
    """Return whether an equal exception can be restored from the stored form."""
    try:
        read = failure_from_json(failure)
        is_equal = (type(read), read.args, str(read)) == (type(error), error.args, str(error))
        return is_equal and is_whole_json(failure)
    except Exception:  # also raised by the exception's own class
        return False


def write_text(error: BaseException) -> str:
    """Return the text of an exception as valid UTF-8; never raises."""
    try:
        return str(error).encode(errors="replace").decode()
    except Exception as problem:
        return f"<its message cannot be shown: {type(problem).__name__}>"


def find_class(module: str, name: str) -> type[Exception] | None:
    """Return the exception class with this name in an imported module."""
    found: Any = sys.modules.get(module)
    found = reduce(lambda value, part: getattr(value, part, None), name.split("."), found)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def find_place(error: Exception) -> str:
    """Return the place that raised an exception: from its note, or innermost in its traceback."""
    for note in vars(error).get("__notes__", ()):
        if note.startswith(CALL_NOTE):
            return str(note.removeprefix(CALL_NOTE))
    for frame in traceback.extract_tb(error.__traceback__)[-1:]:
        name = frame.filename.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{frame.lineno}"
    return ""


def add_place(error: Exception, place: str) -> None:
    """Note an exception's place on it if it has none; avoid `add_note`, which classes may break."""
    notes = vars(error).get("__notes__", [])
    if not any(note.startswith(CALL_NOTE) for note in notes):
        vars(error)["__notes__"] = [*notes, place]


def is_whole_json(value: Any) -> bool:
    """Return whether a value is JSON, and the same after a round trip through text."""
    with suppress(ValueError, RecursionError):  # such as an int with too many digits
        return is_json(value) and bool(json.loads(json.dumps(value)) == value)
    return False


def is_json(value: Any) -> bool:
    """Return whether a value is JSON, not counting subclasses of the JSON types."""
    match value:
        case dict():
            return type(value) is dict and all(map(is_json, (*value, *value.values())))
        case list():
            return type(value) is list and all(map(is_json, value))
        case _:
            return value is None or is_exactly(value, str, int, float, bool)
