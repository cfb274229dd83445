"""Leaving a block by an effect: which outcome a jump to a label has, if it is legal here.

jump("return", 3, ("break", "return"))      Returned(3)
jump("raise", ValueError, ())               Raised(ValueError())
jump("continue", None, ("return",))         Refusal("`continue` is not possible here; ...")
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard

from njrt.effects import Refusal
from njrt.outcome import Broke, Continued, Outcome, Raised, Returned, UserValue
from njrt.values.introspection import get_mro, is_a


def make_jump_outcome(label: str, value: UserValue, labels: Collection[str]) -> Outcome | Refusal:
    """Jump to a label with a value; `labels` are those that are legal beyond `raise`."""
    legal = {"raise", *labels}
    match label:
        case "break" if label in legal:
            return Broke()
        case "continue" if label in legal:
            return Continued()
        case "return" if label in legal or ("bare_return" in legal and value is None):
            return Returned(value)
        case "raise":
            return make_raise_outcome(value)
        case "return" if "bare_return" in legal:
            return Refusal("only a `return` without a value is possible here")
        case _:
            known = ", ".join(name.removeprefix("bare_") for name in sorted(legal))
            return Refusal(f"`{label}` is not possible here; the labels are {known}")


def make_raise_outcome(value: UserValue) -> Raised | Refusal:
    """The outcome of raising a value: an exception, or a class of them; nothing else can be raised."""
    if is_exception_class(value):
        value = value()
    if is_a(value, BaseException):
        return Raised(value)
    return Refusal(f"only exceptions can be raised, not a {type(value).__name__}")


def is_exception_class(value: UserValue) -> TypeGuard[type[BaseException]]:
    """Whether a value is a class of exceptions in truth, and not by what it says of itself."""
    return is_a(value, type) and any(base is BaseException for base in get_mro(value))
