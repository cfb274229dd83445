"""Exceptions as JSON, and back: after a crash, a program must catch an exception as it did before.

    ShopError("closed", 7)
        {"module": "shop", "name": "ShopError", "args": ["closed", 7], "fields": {}, "text": ...}

`fields` are the attributes, those in slots too, that are JSON. If the exception that is made of it
has another text, as its text needs what is not JSON, the program gets one of a subclass with the
old text; if its class cannot be imported or refuses that, a `StepFailedError` with name and text.
Cause and traceback are not stored.
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
    """Return an exception's stored form: its class, its text, and its JSON attributes."""
    kind, args = type(error), list(error.args)
    fields = {name: value for name, value in vars(error).items() if name not in UNSTORED}
    for name, member in list_members(kind).items():
        with suppress(AttributeError):  # the slot is not set
            value = member.__get__(error)
            if name != "obj" and value is not None:  # `obj` is what lacks the attribute
                fields[name] = value
    is_found = find_class(kind.__module__, kind.__qualname__) is kind
    return {
        "module": kind.__module__ if is_found else "",
        "name": kind.__qualname__,
        "args": args if is_whole_json(args) else None,
        "fields": {name: value for name, value in fields.items() if is_whole_json(value)},
        "text": write_text(error),
        "at": find_place(error),
    }


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
    like = failure.get("like")  # of njc 0.2, which had `members` for what was in slots
    name, text = (like or failure)["name"], (like or failure).get("text")
    fields = {**(like or failure)["fields"], **failure.get("members", {})}
    args = fields.pop("args", None) if like else failure["args"]
    args = (text,) if args is None else tuple(args)
    kind = find_class((like or failure)["module"], name)
    error = None if kind is None else make_error(kind, args, fields, text)
    if error is None:
        error = StepFailedError(f"{name}: {', '.join(map(str, args)) if text is None else text}")
    if failure["at"]:
        add_place(error, CALL_NOTE + failure["at"])
    return error


def make_error(
    kind: type[Exception], args: tuple[Any, ...], fields: dict[str, Any], text: str | None
) -> Exception | None:
    """Make an exception with these attributes and text, perhaps of a subclass; None if refused."""
    with suppress(Exception):  # also raised by the exception's own class
        error = fill_error(kind, args, fields)
        if text is None or write_text(error) == text:
            return error
        home = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        members = {"__str__": lambda _: text} | home
        return fill_error(type(kind.__name__, (kind,), members), args, fields)
    return None


def fill_error(kind: type[Exception], args: tuple[Any, ...], fields: dict[str, Any]) -> Exception:
    """Make an exception without calling its `__init__`."""
    error = kind.__new__(kind, *args)
    error.args = error.args or args  # a subclass of OSError has none yet
    slots = list_members(kind)
    for name, value in fields.items():
        if name not in slots:
            vars(error)[name] = value
            continue
        with suppress(AttributeError, TypeError):  # it is read-only
            slots[name].__set__(error, value)
    return error


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
