"""Advice for a model after a mistake: the correct form, made from the program's values.

inventory = {}         `inventory` is read-only in this block ...; change the object itself, as by
                       `inventory[KEY] = VALUE`
class Store: ...       `Store` exists already ...: write `class NAME(Store):`, define `total` in it
Store("Bag End")       the same, after Python's own message
Word("a")              after Python's own message: write `Word(text: str, tag: str)`
graph.neighbors(1)     after Python's own message: a `Graph` has `nodes`, `edges`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import get_origin

from njrt.data.outcome import UserValue
from njrt.values.introspection import (
    collect_members,
    get_class_name,
    is_a,
    is_exactly,
    is_user_class,
)
from njrt.values.rendering.members import describe_constructor, list_abstract_methods
from njrt.values.rendering.one_line import find_write_function
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.shown_attributes import list_shown_attributes
from njrt.values.rendering.signatures import format_signature, get_function_name
from njrt.values.rendering.writer import ValueWriter


def format_read_only_error(name: str, value: UserValue = None) -> str:
    """Return the message to a model that binds a read-only name, on how to change its value."""
    way = "bind another name instead (changing the object itself is allowed)"
    for kind, form in _CHANGES.items():
        if is_exactly(value, kind):
            way = f"change the object itself, as by {form.format(name)}; or bind another name"
    return (
        f"`{name}` is read-only in this block: the prompt says `<{name}>`, not `<:{name}>`; {way}"
    )


_CHANGES: Mapping[type, str] = {
    list: "`{0}.append(ITEM)` or `{0}[:] = ITEMS`",
    dict: "`{0}[KEY] = VALUE`",
    set: "`{0}.add(ITEM)` or `{0}.remove(ITEM)`",
}
"""How objects of these types are changed in place."""


def format_redefinition_error(
    name: str, value: UserValue = None, others: Sequence[str] = ()
) -> str:
    """Return the message to a model that defines or imports a prompt's name again, on its use.

    `others` are names that the same code defines again: named at once, they cost one reply.
    """
    error = f"`{name}` exists already: leave this definition out and use the program's own"
    if others:
        named = ", ".join(f"`{other}`" for other in others[:_MAX_ATTRIBUTES])
        verb = "do" if len(others) > 1 else "does"
        error = (
            f"`{name}` exists already, and so {verb} {named}: leave these definitions out and use"
            " the program's own"
        )
    if methods := list_abstract_methods(value):
        return f"{error}: {format_subclass(name, methods)}"
    if is_a(value, type):
        return f"{error}: `{name}(...)`, or `class NAME({name}):` for a subclass"
    return error


def format_subclass(name: str, methods: Sequence[str]) -> str:
    """Return how a concrete subclass of an abstract class is written."""
    return (
        f"write `class NAME({name}):` and define"
        f" {' and '.join(f'`{method}`' for method in methods)} in it"
    )


def explain_mistake(error: BaseException, source: str, lookup: Callable[[str], UserValue]) -> str:
    """Return the correct code if an exception from the model's code shows it, else an empty string.

    `lookup` returns the value of a name in the code, or None.
    """
    message = str(error) if is_exactly(error, TypeError) else ""
    if found := _ABSTRACT.search(message):
        value = lookup(found[1])
        return format_subclass(found[1], list_abstract_methods(value))
    if (found := _WRONG_CALL.match(message)) and (form := format_call(lookup(found[1]))):
        return f"write `{form}`"
    if isinstance(error, AttributeError) and type(error) is AttributeError:
        return list_attributes(error.obj, error.name or "")
    if is_exactly(error, KeyError, IndexError, ValueError) and _TAKEN_APART.search(source):
        return "code cannot understand a text: read it yourself, and write what it says as literals"
    return ""


_ABSTRACT = re.compile(r"Can't instantiate abstract class (\w+)")
_WRONG_CALL = re.compile(r"(?:\w+\.)*?(\w+)(?:\.__(?:init|new)__)?\(\) (?:missing|takes|got)")
_TAKEN_APART = re.compile(r"\.(?:r?split|r?index|find|partition)\(|\bre\.")


def list_attributes(value: UserValue, missing: str) -> str:
    """Return advice on an attribute that a value of the program does not have; empty if unknown."""
    if is_a(value, type):
        is_own_name = get_class_name(value) == missing
        return f"`{missing}` is the class itself: write `{missing}(...)`" if is_own_name else ""
    if not is_user_class(type(value)):
        return ""
    held = [name for name, _ in list_shown_attributes(value)]
    public = [name for name in (*held, *collect_members(type(value))) if not name.startswith("_")]
    names = ", ".join(f"`{name}`" for name in list(dict.fromkeys(public))[:_MAX_ATTRIBUTES])
    return f"a `{get_class_name(type(value))}` has {names}" if names else ""


_MAX_ATTRIBUTES = 20
"""The most attributes named to a model that has used an unknown one."""


def format_call(value: UserValue) -> str:
    """Return how to call a class or function of the program; empty for anything else."""
    writer = ValueWriter(find_write_function, Redactor())
    if is_a(value, type) and is_user_class(value):
        return next(describe_constructor(value, writer), "")
    if is_exactly(value, FunctionType):
        return get_function_name(value) + format_signature(value, lambda name, default: "...")
    return ""


def format_skeleton(
    outputs: Sequence[str], inputs: Mapping[str, UserValue], types: Mapping[str, UserValue]
) -> str:
    """Return the form of code that binds the outputs, or without outputs changes the inputs.

    Taken literally, it is refused: what stands in capitals is no name.
    """
    lines = []
    for name, value in inputs.items():
        if methods := list_abstract_methods(value):
            lines.append(f"class NAME({name}):")
            lines += [f"    def {method}(self, ...): ..." for method in methods]
        elif not outputs:
            form = next((form for kind, form in _CHANGES.items() if is_exactly(value, kind)), "")
            lines += [part.strip("`") for part in form.format(name).split(" or ")[:1] if part]
    for path in outputs:
        is_function = get_origin(types.get(path)) is Callable
        function = f"def {path}(PARAMETERS):\n    return RESULT"
        lines.append(function if is_function else f"{path} = VALUE")
    return "\n".join(lines)
