"""Exceptions as JSON, and back: after a crash, a program must catch an exception as it did before.

    ShopError("closed", 7)
        {"module": "shop", "name": "ShopError", "args": ["closed", 7], "fields": {}, "text": ...}

`args` and `fields` are what its builtin base pickles, if they are JSON. If they do not give its
text, the program gets an exception of its class with the text as argument; if its class is not
imported, or refuses that, a `StepFailedError` with name and text. Its own slots, cause and
traceback are not stored.
"""

from __future__ import annotations

import json
import sys
import traceback
from contextlib import suppress
from functools import reduce
from typing import Any

from njrt.errors import NaturalError
from njrt.values.introspection import is_exactly

UNSTORED = ("run", "attempts", "__notes__")
"""Attributes of exceptions that are not stored."""

CALL_NOTE = "raised in a gated call, at "


class StepFailedError(NaturalError):
    """A gated call has raised an exception that cannot be stored, and which the text names."""


def failure_to_json(error: Exception) -> dict[str, Any]:
    """Return an exception's stored form: its class, its text, and its JSON attributes."""
    kind, (args, held) = type(error), take_apart(error)
    fields = {name: value for name, value in held.items() if name not in UNSTORED}
    is_found = find_class(kind.__module__, kind.__qualname__) is kind
    return {
        "module": kind.__module__ if is_found else "",
        "name": kind.__qualname__,
        "args": args if is_whole_json(args) else None,
        "fields": {name: value for name, value in fields.items() if is_whole_json(value)},
        "text": write_text(error),
        "at": find_place(error),
    }


def find_builtin(kind: type[Exception]) -> Any:
    """Return the nearest builtin base of a class of exceptions."""
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def take_apart(error: Exception) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of an exception, and its other attributes."""
    _, args, *state = find_builtin(type(error)).__reduce__(error)
    return list(args), dict(*state)


def failure_from_json(failure: dict[str, Any]) -> Exception:
    """Return the stored exception, with its place in a note."""
    stored = failure.get("like", failure)  # of njc 0.2
    name, text, fields = stored["name"], stored.get("text"), dict(stored["fields"])
    args = fields.pop("args", None) if "like" in failure else failure["args"]
    kind = find_class(stored["module"], name)
    tried = [tuple(it) for it in (args, [text]) if kind is not None and it is not None]
    made = (make_error(kind, it, fields) for it in tried)  # type: ignore[arg-type]
    fallback = StepFailedError(f"{name}: {', '.join(map(str, args)) if text is None else text}")
    error = next((it for it in made if it and text in (None, write_text(it))), fallback)
    if failure["at"]:
        add_place(error, CALL_NOTE + failure["at"])
    return error


def make_error(
    kind: type[Exception], args: tuple[Any, ...], fields: dict[str, Any]
) -> Exception | None:
    """Make an exception without calling its `__init__`; None if its class refuses that."""
    with suppress(Exception):  # raised by the exception's own class
        error: Exception = kind.__new__(kind, *args)
        find_builtin(kind).__init__(error, *args)
        error.__setstate__(fields)
        return error
    return None


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
