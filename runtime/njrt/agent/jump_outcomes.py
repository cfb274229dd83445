"""The outcome of a jump that the model asks for.

make_jump_outcome("return", 3, ("break", "return"))   Returned(3)
make_jump_outcome("raise", ValueError, ())            Raised(ValueError())
make_jump_outcome("break", None, ("return",))         Refusal("`break` is not possible here; ...")
"""

from __future__ import annotations

from collections.abc import Collection

from njrt.effects import Refusal
from njrt.outcome import Broke, Continued, Outcome, Raised, Returned, UserValue
from njrt.values.introspection import is_a, is_exception_class


def make_jump_outcome(label: str, value: UserValue, labels: Collection[str]) -> Outcome | Refusal:
    """Return the outcome of a jump to a label with a value; `labels` are legal here, besides `raise`."""
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
    """Return the outcome of raising a value: an exception or a class of exceptions."""
    if is_exception_class(value):
        value = value()
    if is_a(value, BaseException):
        return Raised(value)
    return Refusal(f"only exceptions can be raised, not a {type(value).__name__}")


def make_exception(kind: type[BaseException], message: str) -> BaseException:
    """An exception with a message; without one, where its constructor takes none. Raises what the constructor raises."""
    try:
        return kind(message) if message else kind()
    except TypeError as first:
        try:
            return kind() if message else kind("")
        except TypeError:
            raise first from None
